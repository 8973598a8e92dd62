//! A run's folder.

mod folder;
mod ns3;
mod tables;

pub use folder::{Folder, OutputError, check_destination};

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::run::Finished;
use crate::{Origin, RunInput};

/// Writes everything of a run into `destination`: all of it or nothing.
///
/// An existing folder with something in it is an error unless `force`; then it is replaced if it
/// is the folder of an earlier run, and nothing else.
pub fn write_run(
    destination: &Path,
    input: &RunInput,
    finished: &Finished,
    force: bool,
) -> Result<(), OutputError> {
    let folder = Folder::create(destination, force)?;
    write_run_into(&folder, Path::new(""), input, finished)?;
    folder.commit()
}

/// Writes everything of a run into `sub` of a folder that is being made.
pub fn write_run_into(
    folder: &Folder,
    sub: &Path,
    input: &RunInput,
    finished: &Finished,
) -> Result<(), OutputError> {
    let outcome = &finished.outcome;
    let spec = &input.run;
    let at = |name: &str| -> PathBuf { sub.join(name) };
    folder.write(&at("summary.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, &finished.summary)?;
        writeln!(out)
    })?;
    folder.write(&at("scenario.toml"), |out| out.write_all(input.toml.as_bytes()))?;
    for (name, content) in &input.files {
        folder.write(&at(name), |out| out.write_all(content.as_bytes()))?;
    }
    folder.write(&at("flows.csv"), |out| tables::flows(out, input, outcome))?;
    folder.write(&at("fct.txt"), |out| ns3::fct(out, spec, outcome))?;
    folder.write(&at("pfc.txt"), |out| ns3::pfc(out, outcome))?;
    folder.write(&at("qlen.txt"), |out| ns3::qlen(out, spec, outcome))?;
    if tables::has_series(outcome) {
        folder.write(&at("series.csv"), |out| tables::series(out, spec, outcome))?;
    }
    if spec.record.rtt_samples {
        folder.write(&at("rtt_samples.txt"), |out| ns3::rtt_samples(out, spec, outcome))?;
    }
    if input.origin == Origin::Ns3 && !spec.record.trace_nodes.is_empty() {
        folder.write(&at("trace.tr"), |out| ns3::trace(out, spec, outcome))?;
    }
    Ok(())
}
