//! `paceline demo`: the 20-to-1 incast under several schemes.

use std::path::PathBuf;

use clap::Args;
use paceline_congestion::registry;
use paceline_lab::files::Writing;
use paceline_scenario::Overrides;

use super::compare::{Comparison, interrupted};
use crate::args::{JobArgs, SayArgs, positive};
use crate::failure::{Ended, Failure};
use crate::{input, say};

const EXAMPLES: &str = "\
Examples:
  paceline demo
  paceline demo --scale 0.1 --schemes hpcc,timely-patched --out results/small";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DemoArgs {
    /// Scale flow sizes (200, 200, 150 MB, and 17 of 5 MB)
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    scale: f64,
    /// Schemes to compare
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "hpcc,dcqcn,timely,dctcp"
    )]
    schemes: Vec<String>,
    /// Folder for the results; replaces an earlier demo
    #[arg(
        short,
        long,
        value_name = "DIR",
        default_value = "results/demo",
        help_heading = "Output"
    )]
    out: PathBuf,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
}

/// Runs the built-in incast, and prints a table with suggestions.
pub(super) fn demo(args: &DemoArgs) -> Ended {
    let text = paceline_scenario::demo(args.scale);
    let load = |scheme: &&str| {
        let overrides = Overrides {
            scheme: Some((*scheme).to_string()),
            ..Overrides::default()
        };
        Ok(paceline_scenario::load_text("demo.toml", &text, &overrides)?)
    };
    let inputs = input::schemes(&args.schemes)?
        .iter()
        .map(load)
        .collect::<Result<Vec<_>, Failure>>()?;
    if !args.say.quiet {
        let run = &inputs[0].run;
        say!(
            "20 hosts send to one through a switch: {} flows, {} in all, {} links, {} cables",
            run.flows.len(),
            paceline_kernel::Bytes::new(run.flows.iter().map(|flow| flow.size.get()).sum()),
            run.links[0].rate,
            run.links[0].delay,
        );
    }
    let again = inputs[0].scheme.clone();
    let (done, folder) = Comparison {
        inputs: inputs.into_iter().map(|input| vec![input]).collect(),
        folder: &args.out,
        // Only the folder of an earlier run is ever replaced.
        writing: Writing {
            force: true,
            ..Writing::default()
        },
        jobs: args.jobs.count(),
        say: args.say,
        published: false,
        buckets: None,
    }
    .run()?;
    if !args.say.quiet && !interrupted(done) {
        let folder = folder.display();
        say::text(&format!(
            "\n\
             open the report      {folder}/report.html\n\
             change a parameter   paceline run {folder}/{again} --set {}\n\
             try another network  paceline compare permutation-k8 --schemes {}\n\
             look things up       paceline explain {again}; paceline list scenarios\n",
            change(&again),
            args.schemes.join(","),
        ));
    }
    Ok(done)
}

/// Returns a setting to try next under the scheme: a parameter, or the cable length if the scheme has none.
fn change(scheme: &str) -> String {
    let found = registry::find(scheme).ok();
    found
        .and_then(|(scheme, _)| paceline_explain::setting(scheme))
        .unwrap_or_else(|| "topology.star.delay=2us".to_string())
}
