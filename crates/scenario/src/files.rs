//! Lookup and reading of input files.

use std::path::{Path, PathBuf};

use paceline_congestion::learned::ModelRef;
use paceline_kernel::sorted::SortedMap;

use crate::diagnostics::{Location, Problem, Source};

/// Function that returns the content of a Parquet file as CSV text, or the reason why it cannot.
pub type ParquetReader = fn(&Path) -> Result<String, String>;

/// Folders and memory in which relative paths are looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Folders in order; the first one that has the file wins.
    folders: Vec<PathBuf>,
    /// Ancestors of the input's folder, to which the paths of a configuration may be relative.
    above: Vec<PathBuf>,
    /// Files in memory by path, which take precedence over the disk.
    memory: SortedMap<String, Vec<u8>>,
    /// Models in memory, which take precedence over files.
    models: Vec<ModelRef>,
    parquet: Option<ParquetReader>,
}

/// Returns the canonical path of a folder; the empty path is the working directory.
fn resolved(folder: &Path) -> PathBuf {
    let named = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    named.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// Returns the canonical path of a file, or of the common prefix of several file names.
pub(crate) fn one_path(path: &Path) -> PathBuf {
    let folder = resolved(path.parent().unwrap_or(Path::new("")));
    path.file_name()
        .map_or_else(|| folder.clone(), |name| folder.join(name))
}

/// File on disk; one from memory is in a temporary folder that lives as long as this value.
pub(crate) struct OnDisk {
    pub(crate) path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

impl Files {
    /// Creates a lookup in `folders`, in that order; an empty path is the working directory.
    pub(crate) fn within(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut list: Vec<PathBuf> = Vec::new();
        for folder in folders {
            if !list.contains(&folder) {
                list.push(folder);
            }
        }
        Self {
            folders: list,
            above: Vec::new(),
            memory: SortedMap::new(),
            models: Vec::new(),
            parquet: None,
        }
    }

    /// Adds the ancestors of `folder` to the lookup: paths in a configuration are relative to where its simulator
    /// ran.
    pub(crate) fn and_above(mut self, folder: &Path) -> Self {
        let absolute = resolved(folder);
        self.above = absolute.ancestors().skip(1).map(Path::to_path_buf).collect();
        self
    }

    /// Sets the function that reads Parquet files.
    pub(crate) fn with_parquet(mut self, reader: Option<ParquetReader>) -> Self {
        self.parquet = reader;
        self
    }

    /// Adds files in memory, which are looked up first.
    pub(crate) fn with_memory(mut self, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        self.memory.extend(files);
        self
    }

    /// Adds models that need not be read from disk.
    pub(crate) fn with_models(mut self, models: &[ModelRef]) -> Self {
        self.models.extend_from_slice(models);
        self
    }

    /// Returns the model in memory with this path.
    pub(crate) fn model(&self, path: &str) -> Option<&ModelRef> {
        self.models.iter().find(|model| model.name() == path)
    }

    /// Reads the text file that is named at `location`.
    pub(crate) fn read(&self, path: &str, what: &str, location: &Location) -> Result<Source, Problem> {
        if let Some(bytes) = self.memory.get(path) {
            return text(path, bytes.clone());
        }
        let found = match self.find(path, what, location) {
            Ok(found) => found,
            // A built-in scenario may have been copied without the files that belong to it.
            Err(missing) => return shipped(path).ok_or(missing),
        };
        read(&found).map_err(|problem| problem.see(location, format!("{what} is named here")))
    }

    /// Returns the file that is named at `location` as one on disk.
    pub(crate) fn on_disk(&self, path: &str, what: &str, location: &Location) -> Result<OnDisk, Problem> {
        let Some(name) = self.memory.contains_key(path).then(|| Path::new(path)) else {
            let path = self.find(path, what, location)?;
            return Ok(OnDisk { path, _folder: None });
        };
        // The whole folder is written, since a file may depend on others next to it.
        let failed = |error| Problem::new(format!("cannot keep {what} in a file: {error}")).at(location);
        let folder = tempfile::tempdir().map_err(failed)?;
        for (path, bytes) in &self.memory {
            let to = folder.path().join(path);
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent).map_err(failed)?;
            }
            std::fs::write(to, bytes).map_err(failed)?;
        }
        Ok(OnDisk {
            path: folder.path().join(name),
            _folder: Some(folder),
        })
    }

    /// Reads the file that is named at `location` as bytes; also returns its path.
    pub(crate) fn read_bytes(
        &self,
        path: &str,
        what: &str,
        location: &Location,
    ) -> Result<(PathBuf, Vec<u8>), Problem> {
        if let Some(bytes) = self.memory.get(path) {
            return Ok((PathBuf::from(path), bytes.clone()));
        }
        let found = self.find(path, what, location)?;
        let bytes = crate::read_bytes(&found).map_err(|error| {
            Problem::new(format!("cannot read `{}`: {error}", found.display())).at(location)
        })?;
        Ok((found, bytes))
    }

    /// Reads a table, from CSV directly or from Parquet converted to CSV.
    pub(crate) fn read_table(&self, path: &str, what: &str, location: &Location) -> Result<Source, Problem> {
        let is_parquet = Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "parquet");
        if !is_parquet {
            return self.read(path, what, location);
        }
        let found = self.find(path, what, location)?;
        let text = match self.parquet {
            Some(reader) => reader(&found),
            None => Err("this program does not read Parquet files".to_string()),
        };
        let name = found.display();
        match text {
            Ok(text) => Ok(Source::new(name.to_string(), text)),
            Err(why) => Err(Problem::new(format!("cannot read `{name}`: {why}")).at(location)),
        }
    }

    /// Returns the path of the file that is named at `location`, or an error that lists the paths tried.
    pub(crate) fn find(&self, path: &str, what: &str, location: &Location) -> Result<PathBuf, Problem> {
        if let Some(found) = self.found(path) {
            return Ok(found);
        }
        let candidates: Vec<_> = self.folders.iter().map(|folder| folder.join(path)).collect();
        let mut looked: Vec<_> = candidates.iter().map(|c| format!("`{}`", c.display())).collect();
        looked.dedup();
        let mut looked = looked.join(" and ");
        if !self.above.is_empty() && Path::new(path).is_relative() {
            looked.push_str(" and from the folders above");
        }
        let rest = match self.above.is_empty() {
            true => "",
            false => {
                ", and for a file of that name next to the configuration; put it there, or write where it is"
            }
        };
        Err(Problem::new(format!("{what} `{path}` does not exist"))
            .at(location)
            .label("no such file")
            .help(format!("looked for {looked}{rest}")))
    }

    /// Returns the first existing file with this path.
    fn found(&self, path: &str) -> Option<PathBuf> {
        let folders = self.folders.iter().chain(&self.above);
        folders
            .map(|folder| folder.join(path))
            .find(|file| file.is_file())
    }

    /// Returns the longest suffix of a missing `path` that is a file next to the configuration. Such paths come from
    /// a container or from the folder in which a program ran.
    pub(crate) fn beside(&self, path: &str) -> Option<String> {
        if self.memory.contains_key(path) || self.found(path).is_some() {
            return None;
        }
        let mut rest = path;
        while let Some((_, end)) = rest.split_once('/') {
            let is_here = |folder: &PathBuf| folder.join(end).is_file();
            if !end.is_empty() && (self.memory.contains_key(end) || self.folders.iter().any(is_here)) {
                return Some(end.to_string());
            }
            rest = end;
        }
        None
    }
}

/// Returns a file that belongs to a built-in scenario, such as `flows/util60.csv`.
fn shipped(path: &str) -> Option<Source> {
    let mut files = crate::builtin::scenarios()
        .iter()
        .flat_map(|shipped| shipped.files);
    let (_, text) = files.find(|(known, _)| *known == path)?;
    Some(Source::new(path, *text))
}

/// Reads a text file, whose path becomes the name of the source.
pub(crate) fn read(path: &Path) -> Result<Source, Problem> {
    let name = path.display().to_string();
    let bytes =
        crate::read_bytes(path).map_err(|error| Problem::new(format!("cannot read `{name}`: {error}")))?;
    text(&name, bytes)
}

fn text(name: &str, bytes: Vec<u8>) -> Result<Source, Problem> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes());
            let source = Source::new(name, text);
            Err(Problem::new("the file is not text: this is not UTF-8")
                .at(&source.at(valid..valid + '\u{fffd}'.len_utf8())))
        }
    }
}
