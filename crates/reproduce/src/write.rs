//! The folder of reproductions.

use std::io::{self, Write as _};
use std::path::Path;

use super::need::Done;
use super::outcomes::Outcomes;
use super::{Reproduction, entries, page};
use paceline_lab::files::{Folder, OutputError};
use paceline_report::write_run_into;

/// Writes the page about `chosen`, `reproductions.json`, the numbers behind each, and the folders of the runs, into
/// `destination`: all of it or nothing. Otherwise as [`paceline_report::write_run`].
///
/// # Errors
/// If the folder cannot be written, or has something else in it.
pub fn write(
    destination: &Path,
    chosen: &[&Reproduction],
    done: &Done,
    force: bool,
) -> Result<(), OutputError> {
    let folder = Folder::create(destination, force)?;
    for run in &done.runs {
        if let Some(finished) = &run.finished {
            let sub = Path::new("runs").join(run.need.name());
            write_run_into(&folder, &sub, &run.input, finished)?;
        }
    }
    for one in chosen {
        let path = Path::new("outcomes").join(format!("{}.json", one.id));
        folder.write(&path, |out| {
            serde_json::to_writer(&mut *out, &Outcomes::of(one, done))?;
            writeln!(out)
        })?;
    }
    folder.write(Path::new("reproductions.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, &entries(chosen, done))?;
        writeln!(out)
    })?;
    folder.write(Path::new("index.html"), |out| {
        let page = page::render(chosen, done).map_err(io::Error::other)?;
        out.write_all(page.as_bytes())
    })?;
    folder.commit()
}
