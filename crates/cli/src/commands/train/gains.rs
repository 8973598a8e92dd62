//! Tuning of the rate controller's gains.

use std::io::Write as _;
use std::path::Path;

use paceline_congestion::lstm_pid::Gains;
use paceline_congestion::registry::AnyParams;
use paceline_lab::text::percent;
use paceline_learn::Error;
use paceline_learn::dataset::Source;
use paceline_learn::page::{self, GainsPage};
use paceline_learn::pidnn::{self, Damping as Sign, Options, THESIS, TrainedGains, Units as Unit};
use serde_json::{Value, json};

use super::args::{Damping, GainsArgs, Units};
use super::session::Session;
use crate::commands::folder::{write_json, write_page};
use crate::failure::{Done, Ended, Failure};
use crate::progress::GainMeter;
use crate::{interrupt, output, text};

/// Tunes the gains, writes their folder and prints the results.
pub(super) fn train(args: &GainsArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let options = options(args)?;
    // The scenario is resolved first, so that an error in it comes before the progress bar.
    let target_us = target_us(&options)?;
    let meter = GainMeter::new(options.episodes, session.say);
    let trained = pidnn::train(&options, &session.checkpoints, &mut |run, now, gains| {
        meter.update(run, now, [gains.p, gains.i, gains.d]);
        interrupt::control()
    });
    // The progress bar would overwrite the messages below.
    drop(meter);
    let trained = match trained {
        Err(Error::Stopped(_)) => {
            say!("nothing is written: no run was over");
            return Ok(Done::Interrupted);
        }
        trained => trained?,
    };
    let _kept = kept.written(!interrupt::asked());
    let page = GainsPage {
        trained: &trained,
        target_us,
        command: session.command.clone(),
        facts: facts(&options),
        warnings: warnings(&trained),
    };
    let folder = session.checkpoints.results(&session.folder, session.force)?;
    interrupt::print_place(&session.folder, folder.destination());
    // With the checkpoint, so that the same command resumes.
    if trained.stopped {
        session.checkpoints.carry(&folder)?;
    }
    write_json(&folder, &record(&page))?;
    folder.write(Path::new("gains.toml"), |out| {
        out.write_all(snippet(&trained.gains).as_bytes())
    })?;
    write_page(&folder, &page::gains(&page)?)?;
    folder.commit()?;
    show(session, &page)?;
    Ok(match trained.stopped {
        true => Done::Interrupted,
        false => Done::All,
    })
}

/// Returns the target round-trip time of the run's controller, µs.
fn target_us(options: &Options) -> Result<f64, Failure> {
    let input = options.source.load()?;
    let target = input
        .run
        .schemes
        .iter()
        .find_map(|scheme| match scheme.config.params() {
            AnyParams::LstmPid(params) => Some(params.target),
            _ => None,
        });
    Ok(target.map_or(0.0, |target| target.as_ps() as f64 / 1e6))
}

fn options(args: &GainsArgs) -> Result<Options, Failure> {
    let mut options = Options::default();
    if let Some(scenario) = &args.scenario {
        options.source = Source {
            scenario: scenario.clone(),
            scheme: Some("pidnn".into()),
            settings: args.set.clone(),
            seed: None,
            fidelity: None,
            order: None,
            model: None,
        };
    }
    if let Some(seed) = args.common.seed {
        options.source.seed = Some(seed);
    }
    if let Some(target) = args.target {
        let setting = format!("cc.lstm-pid.target={target}");
        options.source.settings.push(setting);
    }
    if let Some(units) = args.units {
        options.units = match units {
            Units::Seed => Unit::Seed,
            Units::Norm => Unit::Norm,
        };
    }
    if let Some([p, i, d]) = args.start {
        options.start = Gains { p, i, d };
    }
    if let Some(damping) = args.damping {
        options.damping = match damping {
            Damping::Kept => Sign::Kept,
            Damping::Free => Sign::Free,
        };
    }
    if let Some(lag) = args.lag {
        options.lag = lag as usize;
    }
    if let Some(episodes) = args.episodes {
        // The share of final episodes stays that of the default.
        options.settle = options.settle * episodes as usize / options.episodes;
        options.episodes = episodes as usize;
    }
    if let Some(settle) = args.settle {
        options.settle = settle as usize;
    }
    if options.settle > options.episodes {
        return Err(Failure::arguments(format!(
            "--settle: {} of {} runs cannot be the last; fewer, or more --episodes",
            options.settle, options.episodes
        )));
    }
    Ok(options)
}

fn warnings(trained: &TrainedGains) -> Vec<String> {
    let mut found = Vec::new();
    if trained.stopped {
        found.push(format!(
            "The training was interrupted after {} of at most {} runs.",
            trained.episodes.len(),
            trained.options.episodes
        ));
    } else if !trained.has_converged() {
        found.push(format!(
            "The gains have not come to rest: over the last quarter of the updates one was off its end by {}.",
            percent(trained.change)
        ));
    }
    if let Some(last) = trained.episodes.last().filter(|last| last.clipped > 0.5) {
        found.push(format!(
            "{} of the gradients were cut by the clip: mostly their signs moved the gains, not their sizes.",
            percent(last.clipped)
        ));
    }
    found
}

fn facts(options: &Options) -> Vec<(String, String)> {
    let source = &options.source;
    let facts = [
        ("scenario", source.scenario.clone()),
        ("set", source.settings.join(", ")),
        ("units", name(options.units).to_string()),
        ("first gains", shown(&options.start)),
        ("learning rate", options.learning_rate.to_string()),
        ("clip", options.clip.to_string()),
        ("samples until a decision shows", options.lag.to_string()),
        ("first decisions left out", options.warm_up.to_string()),
        (
            "runs",
            format!("{}, the last {} in norm units", options.episodes, options.settle),
        ),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    facts.map(|(name, value)| (name.to_string(), value)).collect()
}

const fn name(units: Unit) -> &'static str {
    match units {
        Unit::Seed => "seed: µs and Gbit/s",
        Unit::Norm => "norm: shares of the target and of the line rate",
    }
}

fn shown(gains: &Gains) -> String {
    format!("{:.4}, {:.4}, {:.4}", gains.p, gains.i, gains.d)
}

fn gains_json(gains: &Gains) -> Value {
    json!({ "k_p": gains.p, "k_i": gains.i, "k_d": gains.d })
}

/// Returns the content of `training.json`.
fn record(page: &GainsPage<'_>) -> Value {
    let trained = page.trained;
    let options = &trained.options;
    let episode = |episode: &pidnn::Episode| {
        json!({
            "updates": episode.updates,
            "gains": gains_json(&episode.gains),
            "mean_rtt_us": episode.mean_rtt_us,
            "mean_loss": episode.mean_loss,
            "clipped": episode.clipped,
        })
    };
    let point = |point: &pidnn::Point| json!([point.update, point.gains.p, point.gains.i, point.gains.d]);
    json!({
        "version": paceline_learn::version(),
        "network": "pidnn",
        "status": if trained.stopped { "partial" } else { "completed" },
        "command": page.command,
        "options": {
            "scenario": options.source.scenario,
            "settings": options.source.settings,
            "target_us": page.target_us,
            "start": gains_json(&options.start),
            "units": options.units,
            "count": options.count,
            "damping": options.damping,
            "lag": options.lag,
            "warm_up": options.warm_up,
            "settle": options.settle,
            "beta": options.beta,
            "clip": options.clip,
            "learning_rate": options.learning_rate,
            "episodes": options.episodes,
        },
        "gains": gains_json(&trained.gains),
        "converged": trained.has_converged(),
        "change": trained.change,
        "episodes": trained.episodes.iter().map(episode).collect::<Vec<_>>(),
        "history": trained.history.iter().map(point).collect::<Vec<_>>(),
        "warnings": page.warnings,
    })
}

/// Returns the scenario snippet that sets the gains.
fn snippet(gains: &Gains) -> String {
    format!(
        "[cc.lstm-pid]\nk-p = {:?}\nk-i = {:?}\nk-d = {:?}\n",
        gains.p, gains.i, gains.d
    )
}

/// Prints the table and suggestions.
fn show(session: &Session, page: &GainsPage<'_>) -> Result<(), Failure> {
    let trained = page.trained;
    if session.say.json {
        output::print_json(&record(page))?;
    } else {
        output::print(&table(trained))?;
    }
    if session.say.quiet {
        return Ok(());
    }
    output::print_warnings(&page.warnings);
    let folder = session.folder.display();
    say!("results in {folder}, with figures to look at: {folder}/report.html");
    let Gains { p, i, d } = trained.gains;
    say!(
        "use them  paceline run incast-20 --scheme pidnn --set cc.lstm-pid.k-p={p:.4} \
         --set cc.lstm-pid.k-i={i:.4} --set cc.lstm-pid.k-d={d:.4}"
    );
    Ok(())
}

fn table(trained: &TrainedGains) -> String {
    let last = trained.episodes.last();
    let moved = page::last_quarter(trained);
    let start = &trained.options.start;
    let row = |name: &str, first: f64, last: f64, published: f64, moved: f64| {
        let gains = [first, last, published].map(|gain| format!("{gain:.4}"));
        [&[name.to_string()][..], &gains, &[percent(moved)]].concat()
    };
    let head = page::MOVED;
    let gains = &trained.gains;
    let rows = [
        head.map(String::from).to_vec(),
        row("K_p", start.p, gains.p, THESIS.p, moved[0]),
        row("K_i", start.i, gains.i, THESIS.i, moved[1]),
        row("K_d", start.d, gains.d, THESIS.d, moved[2]),
    ];
    format!(
        "{} updates in {} runs, mean RTT of the last {:.3} µs\n{}",
        last.map_or(0, |last| last.updates),
        trained.episodes.len(),
        last.map_or(0.0, |last| last.mean_rtt_us),
        text::table(&rows)
    )
}
