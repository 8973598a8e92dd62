//! What holds of every run: what is written of its scenario is the same run.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use miette::{GraphicalReportHandler, GraphicalTheme};
use paceline_fabric::Simulation;
use paceline_lab::results::Summary;
use paceline_lab::run::{Control, RunError, conclude, execute};
use paceline_lab::table;
use paceline_scenario::{Diagnostics, Overrides, Resolved};

/// What a reader says of an input: nothing, or why it refuses it.
pub(crate) type Said = Result<(), String>;

/// Columns of a terminal.
pub(crate) const WIDTH: usize = 100;

/// So many events of each run: its flows start, queues build up, and most of the small ones end.
pub(crate) const EVENTS: u64 = 20_000;

/// Whether the input got past its readers, to what carries it out.
static REACHED: AtomicBool = AtomicBool::new(false);

/// From here on the input is carried out.
pub(crate) fn reached() {
    REACHED.store(true, Ordering::Relaxed);
}

/// Whether the last input was carried out; of the next nothing is known yet.
pub(crate) fn take_reached() -> bool {
    REACHED.swap(false, Ordering::Relaxed)
}

/// A refusal in words.
pub(crate) fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Diagnostics as a terminal shows them.
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

/// Reads an input, writes its scenario and reads that, and runs it for some events.
pub(crate) fn load_and_run(path: &Path) -> Said {
    load_with(path, &Overrides::default())
}

/// The same with what the command line changes.
pub(crate) fn load_with(path: &Path, overrides: &Overrides) -> Said {
    let input = paceline_lab::load(&path.to_string_lossy(), overrides).map_err(|said| shown(&said))?;
    let again = written(&input);
    if input.decisions.is_some() {
        return match execute(&input, &mut |_| Control::Stop) {
            Ok(_) => Ok(()),
            Err(broken @ RunError::Broken { .. }) => panic!("{broken}"),
            Err(error) => Err(words(error)),
        };
    }
    let digest = run(&input)?;
    if run(&again)? != digest {
        panic!("what is written runs otherwise");
    }
    Ok(())
}

/// Runs an input for some events; gives the digest of what happened.
fn run(input: &Resolved) -> Result<u64, String> {
    let mut simulation = Simulation::new(input.run.clone()).map_err(words)?;
    reached();
    simulation.advance(EVENTS);
    match conclude(input, simulation) {
        Ok(finished) => {
            tables(&finished.summary);
            Ok(finished.outcome.digest)
        }
        Err(broken @ RunError::Broken { .. }) => panic!("{broken}"),
        Err(error) => Err(words(error)),
    }
}

/// The input that a run's folder is, which has to be the same.
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
            let said = said.to_string();
            panic!(
                "what is written is refused: {}",
                said.rsplit("scenario.toml").next().unwrap_or(&said)
            );
        }
    };
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
