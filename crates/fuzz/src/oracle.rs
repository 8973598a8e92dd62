//! Property of every run: the resolved text of its scenario results in the same run.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use miette::{GraphicalReportHandler, GraphicalTheme};
use paceline_fabric::Simulation;
use paceline_lab::results::Summary;
use paceline_lab::run::{Control, RunError, RunErrorKind, conclude, execute};
use paceline_lab::table;
use paceline_scenario::{Diagnostics, Overrides, Resolved};

/// Result of a reader: accepted, or the reason for the rejection.
pub(crate) type Verdict = Result<(), String>;

/// Terminal width for printed tables.
pub(crate) const WIDTH: usize = 100;

/// Number of events of each run: enough for its flows to start and queues to build up, and for most small runs to
/// end.
pub(crate) const EVENTS: u64 = 20_000;

/// True if the input passed its readers and was executed.
static REACHED: AtomicBool = AtomicBool::new(false);

/// Records that the input is executed from here on.
pub(crate) fn reached() {
    REACHED.store(true, Ordering::Relaxed);
}

/// Returns true if the last input was executed, and resets the flag for the next one.
pub(crate) fn take_reached() -> bool {
    REACHED.swap(false, Ordering::Relaxed)
}

/// Converts an error to text.
pub(crate) fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Renders diagnostics as on a terminal.
fn shown(diagnostics: &Diagnostics) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    let mut out = String::new();
    for report in diagnostics.reports() {
        handler
            .render_report(&mut out, &report)
            .unwrap_or_else(|_| panic!("a report cannot be shown: {report:?}"));
    }
    out
}

pub(crate) fn tables(summary: &Summary) {
    table::comparison(&[summary], WIDTH);
}

/// Loads an input, checks that its resolved text is the same run, and runs it for some events.
pub(crate) fn load_and_run(path: &Path) -> Verdict {
    load_with(path, &Overrides::default())
}

/// Like [`load_and_run`], with overrides of the command line.
pub(crate) fn load_with(path: &Path, overrides: &Overrides) -> Verdict {
    let input = paceline_lab::load(&path.to_string_lossy(), overrides).map_err(|said| shown(&said))?;
    let again = written(&input);
    if input.decisions.is_some() {
        return match execute(&input, &mut |_| Control::Stop) {
            Ok(_) => Ok(()),
            Err(
                broken @ RunError {
                    kind: RunErrorKind::Broken { .. },
                    ..
                },
            ) => panic!("{broken}"),
            Err(error) => Err(words(error)),
        };
    }
    let digest = run(&input)?;
    if run(&again)? != digest {
        panic!("what is written runs otherwise");
    }
    Ok(())
}

/// Runs an input for some events; returns the digest of the outcome.
fn run(input: &Resolved) -> Result<u64, String> {
    let mut simulation = Simulation::new(input.run.clone()).map_err(words)?;
    reached();
    simulation.advance(EVENTS);
    match conclude(input, simulation) {
        Ok(finished) => {
            tables(&finished.summary);
            Ok(finished.outcome.digest)
        }
        Err(
            broken @ RunError {
                kind: RunErrorKind::Broken { .. },
                ..
            },
        ) => panic!("{broken}"),
        Err(error) => Err(words(error)),
    }
}

/// Loads the content of a run's folder, which has to be the same input.
fn written(input: &Resolved) -> Resolved {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        let parent = path.parent().expect("it is in the folder");
        fs::create_dir_all(parent).expect("there is room for a folder");
        fs::write(path, content).expect("there is room for a file");
    };
    write("scenario.toml", input.toml.as_bytes());
    for (name, content) in &input.files {
        write(name, content);
    }
    let again = match paceline_lab::load(&folder.path().to_string_lossy(), &Overrides::default()) {
        Ok(again) => again,
        Err(said) => {
            // Without the folder's name, which is random: equal faults have to count as one.
            let said = said.to_string();
            panic!(
                "what is written is refused: {}",
                said.rsplit("scenario.toml").next().unwrap_or(&said)
            );
        }
    };
    // Line by line first, since that message shows the key at fault.
    for (line, other) in input.toml.lines().zip(again.toml.lines()) {
        assert!(
            line == other,
            "what is written is written otherwise: `{line}`, then `{other}`"
        );
    }
    assert!(
        input.toml.len() == again.toml.len(),
        "what is written is longer than what is written of it"
    );
    assert!(
        input.files == again.files,
        "the files of what is written are others"
    );
    // Parts before the whole, so that the message names the part.
    let parts = [
        (
            "network",
            input.run.links == again.run.links && input.run.switch == again.run.switch,
        ),
        (
            "flows",
            input.run.flows == again.run.flows && input.run.dependencies == again.run.dependencies,
        ),
        (
            "schemes",
            input.run.schemes == again.run.schemes && input.schemes == again.schemes,
        ),
        ("run", input.run == again.run),
        (
            "jobs",
            input.jobs == again.jobs && input.collectives == again.collectives,
        ),
        ("decisions", input.decisions == again.decisions),
    ];
    for (name, is_same) in parts {
        assert!(is_same, "what is written is another run: its {name}");
    }
    again
}
