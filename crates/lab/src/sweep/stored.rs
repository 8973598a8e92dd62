//! Scenario in a sweep's folder: as it was written, with the files that it names, so that it can be swept again.

use std::path::{Path, PathBuf};

use paceline_kernel::sorted::SortedMap;
use paceline_scenario::{Content, Diagnostics, NamedFile, Overrides, StoredFiles};

use super::SweepError;
use crate::files::{OutputError, write_file};

/// Folder of the scenario in that of the sweep.
pub(super) const FOLDER: &str = "scenario";

/// Scenario as it was written, and the files that its points name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Name of its file.
    name: String,
    text: String,
    named: SortedMap<String, Content>,
}

impl Stored {
    /// Reads the text of an input that names these files.
    ///
    /// # Errors
    /// There is no such input.
    pub fn of(input: &str, overrides: &Overrides, named: Vec<NamedFile>) -> Result<Self, Diagnostics> {
        let (name, text) = paceline_scenario::written(input, overrides)?;
        let mut stored = Self {
            name,
            text,
            named: SortedMap::new(),
        };
        stored.add(named);
        Ok(stored)
    }

    /// Adds the files that a point names.
    pub(super) fn add(&mut self, named: Vec<NamedFile>) {
        let named = named.into_iter().map(|file| (file.written, file.content));
        self.named.extend(named);
    }

    /// Returns the files to write into the folder of the scenario; none for a plan that was read.
    ///
    /// # Errors
    /// A named file cannot be read any more.
    pub fn files(&self, name: &str) -> Result<StoredFiles, OutputError> {
        let named = self.named.iter().map(|(written, content)| NamedFile {
            written: written.clone(),
            content: content.clone(),
        });
        let named: Vec<NamedFile> = named.collect();
        let unread = |(path, source)| OutputError::Io {
            action: "read",
            path,
            source,
        };
        paceline_scenario::stored(name, &self.text, &named).map_err(unread)
    }

    /// Returns the files of the folder `scenario`, below that of the sweep.
    pub(super) fn in_folder(&self) -> Result<StoredFiles, OutputError> {
        if self.name.is_empty() {
            return Ok(Vec::new());
        }
        let files = self.files(&self.name)?.into_iter();
        Ok(files
            .map(|(path, bytes)| (Path::new(FOLDER).join(path), bytes))
            .collect())
    }
}

/// Writes files below a folder, each whole or not at all.
pub(super) fn write(folder: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<(), OutputError> {
    for (path, bytes) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|source| OutputError::Io {
            action: "create",
            path: parent.to_path_buf(),
            source,
        })?;
        write_file(&path, |out| std::io::Write::write_all(out, bytes))?;
    }
    Ok(())
}

/// Returns the scenario in the folder of a sweep, which was that of `original`.
pub(super) fn input_in(folder: &Path, original: &str) -> Result<PathBuf, SweepError> {
    let entries = std::fs::read_dir(folder.join(FOLDER))
        .into_iter()
        .flatten()
        .flatten();
    let is_input = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml" || end == "txt");
    let mut inputs = entries.map(|entry| entry.path()).filter(is_input);
    inputs.next().ok_or_else(|| {
        SweepError::Refused(format!(
            "{} does not hold the scenario of its sweep, as an older version wrote it: sweep `{original}` itself",
            folder.display()
        ))
    })
}
