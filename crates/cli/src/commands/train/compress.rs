//! Compression of DECC's policy network.

use std::time::Instant;

use paceline_lab::run::Control;
use paceline_learn::decc::{self, Apart, Tuned, Tuning};
use serde_json::{Value, json};

use super::args::CompressArgs;
use super::policy::{Policy, finish};
use super::session::Session;
use crate::failure::Ended;
use crate::interrupt;

/// Compresses and fine-tunes a network, writes its folder and prints the results.
pub(super) fn compress(args: &CompressArgs, session: &Session) -> Ended {
    let teacher = decc::base(&args.model)?;
    let decc::LawClone { law, network } = decc::clone_of(&teacher)?;
    let tuning = Tuning {
        seed: session.seed(),
        threads: session.threads,
        ..Tuning::default()
    };
    let tuning = if args.quick { tuning.quick() } else { tuning };
    let begun = Instant::now();
    let tuned = decc::tuned(&law, &network, &tuning, &session.checkpoints, &mut |_, _| {
        Control::Continue
    })?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = format!("{}-q4", teacher.card().name);
    let policy = Policy {
        scheme: "decc",
        files: decc::files_of_compressed(&name, &tuned, tuning.seed, &session.command)?,
        record: record(&name, &tuned, &session.command),
        page: None,
        message: format!("{}in {wall_s:.1} s; ", message(&tuned)),
        name,
        stopped: false,
    };
    finish(&policy, session, interrupt::keep())
}

fn message(tuned: &Tuned) -> String {
    let compressed = &tuned.compressed;
    let apart = |apart: &Apart| {
        format!(
            "actions {:.2} % of their range apart, cost in trials {:.3} (before compression {:.3})",
            100.0 * apart.difference,
            apart.costs.1,
            apart.costs.0
        )
    };
    format!(
        "taken away: {:.2} % of the weights, those up to {:.5}\n\
         left: {:.2} bits in the mean, multiples up to {}\n\
         before tuning: {}\nafter tuning: {}\nin whole numbers: {}\n",
        100.0 * compressed.taken,
        compressed.threshold,
        compressed.bits,
        compressed.most,
        apart(&tuned.rounded),
        apart(&tuned.tuned),
        apart(&tuned.whole)
    )
}

/// Returns the content of `training.json`.
fn record(name: &str, tuned: &Tuned, command: &str) -> Value {
    let compressed = &tuned.compressed;
    let apart = |apart: &Apart| json!({"difference": apart.difference, "cost": apart.costs.1});
    json!({
        "what": name,
        "command": command,
        "scales": compressed.scales,
        "threshold": compressed.threshold,
        "taken": compressed.taken,
        "steps": compressed.steps,
        "bits": compressed.bits,
        "most": compressed.most,
        "cost": tuned.tuned.costs.0,
        "rounded": apart(&tuned.rounded),
        "tuned": apart(&tuned.tuned),
        "whole": apart(&tuned.whole),
        "observations": tuned.observations,
        "version": paceline_learn::version(),
    })
}
