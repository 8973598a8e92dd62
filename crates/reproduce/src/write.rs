//! Folder of finished reproductions.

use std::io::{self, Write as _};
use std::path::Path;

use super::need::Done;
use super::outcomes::Outcomes;
use super::resume;
use super::{Reproduction, entries, page};
use paceline_lab::files::{Folder, OutputError};
use paceline_report::figure::Style;

/// Figure that was drawn from a recipe.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Id of its experiment.
    pub of: String,
    /// Name of its file in the folder `figures`.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Image for the page.
    pub svg: String,
}

/// Writes the page about `chosen`, its charts and those that are `drawn` as figures, `reproductions.json` and the underlying numbers into `destination`, which has the
/// stored runs ([`resume::Unfinished`]): all of it or nothing. Unless it is `whole`, finished runs stay for a
/// resumption.
///
/// # Errors
/// If the folder has other content, or cannot be written.
pub fn write(
    destination: &Path,
    chosen: &[&Reproduction],
    done: &Done,
    drawn: &[Drawn],
    whole: bool,
) -> Result<(), OutputError> {
    let folder = Folder::create(destination, true)?;
    // Stored runs are no longer in memory, so their folders are carried over.
    for run in done.runs.iter().filter(|run| run.need.folder) {
        let name = run.need.name();
        folder.carry(&resume::run_folder(&name), &Path::new("runs").join(&name))?;
    }
    if !whole {
        folder.carry(resume::kept(), resume::kept())?;
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
    for (name, figure) in page::figures(chosen, done) {
        let path = Path::new("figures").join(format!("{name}.pdf"));
        folder.write(&path, |out| out.write_all(&figure.pdf(&Style::default())))?;
    }
    for one in drawn {
        let path = Path::new("figures").join(&one.name);
        folder.write(&path, |out| out.write_all(&one.bytes))?;
    }
    folder.write(Path::new("index.html"), |out| {
        let page = page::render(chosen, done, drawn).map_err(io::Error::other)?;
        out.write_all(page.as_bytes())
    })?;
    folder.commit()
}
