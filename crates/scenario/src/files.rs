//! Lookup and reading of input files.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Files of a stored input, by the paths that it has for them ([`NAMED_FILES`]); they come first.
    stored: SortedMap<String, PathBuf>,
    /// Files that were found, by the paths that name them; copies of this value share it.
    named: Arc<Mutex<SortedMap<String, Content>>>,
}

/// File next to a stored input: where the files are that it names.
const NAMED_FILES: &str = "named-files.json";

/// File that an input names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Path as the input has it.
    pub written: String,
    /// Content of the file.
    pub content: Content,
}

/// Content of a file that an input names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// File that a resolved scenario has a copy of.
    Copied(PathBuf),
    /// File that a resolved scenario names by its path: a large trace, or one that names others.
    Referenced(PathBuf),
    /// Content of a file in memory.
    Bytes(Vec<u8>),
}

/// Files by their paths in a folder, with their contents.
pub type StoredFiles = Vec<(PathBuf, Vec<u8>)>;

/// Returns the files that store an input with the files that it names: paths relative to its folder, and contents.
///
/// # Errors
/// A named file that cannot be read any more, with its path.
pub fn stored(name: &str, text: &str, named: &[NamedFile]) -> Result<StoredFiles, (PathBuf, io::Error)> {
    let mut files = vec![(PathBuf::from(name), text.as_bytes().to_vec())];
    let mut places: SortedMap<&str, String> = SortedMap::new();
    for NamedFile { written, content } in named {
        let bytes = match content {
            Content::Referenced(path) => {
                places.insert(written, one_path(path).display().to_string());
                continue;
            }
            Content::Copied(path) => crate::read_bytes(path).map_err(|error| (path.clone(), error))?,
            Content::Bytes(bytes) => bytes.clone(),
        };
        let place = stored_path(written);
        places.insert(written, place.display().to_string());
        files.push((place, bytes));
    }
    if !places.is_empty() {
        let text = serde_json::to_string_pretty(&places).unwrap_or_default();
        files.push((PathBuf::from(NAMED_FILES), format!("{text}\n").into_bytes()));
    }
    Ok(files)
}

/// Returns where a file with this path is stored. Files that differ in their last extension remain neighbours.
fn stored_path(written: &str) -> PathBuf {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("_up_".into()),
        Component::RootDir => Some("_root_".into()),
        Component::CurDir | Component::Prefix(_) => None,
    };
    let parts = Path::new(written).components().filter_map(part);
    std::iter::once("files".into()).chain(parts).collect()
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
            stored: SortedMap::new(),
            named: Arc::default(),
        }
    }

    /// Adds the files of an input that is stored in `folder`, if it is a stored one.
    pub(crate) fn and_stored(mut self, folder: &Path) -> Result<Self, Problem> {
        let file = folder.join(NAMED_FILES);
        if file.is_file() {
            let wrong = |error: &dyn std::fmt::Display| Problem::new(format!("{}: {error}", file.display()));
            let text = crate::read_text(&file).map_err(|error| wrong(&error))?;
            let places: SortedMap<String, String> =
                serde_json::from_str(&text).map_err(|error| wrong(&error))?;
            let places = places.into_iter();
            self.stored = places
                .map(|(written, place)| (written, folder.join(place)))
                .collect();
        }
        Ok(self)
    }

    /// Returns the files that were found so far, in alphabetical order of the paths that name them.
    pub(crate) fn named(&self) -> Vec<NamedFile> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let named = named.iter();
        let file = |(written, content): (&String, &Content)| NamedFile {
            written: written.clone(),
            content: content.clone(),
        };
        named.map(file).collect()
    }

    /// Notes a file; the first content under a path counts, except that a copy replaces a reference.
    fn note(&self, written: &str, content: Content) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let is_better = match named.get(written) {
            None | Some(Content::Referenced(_)) => true,
            Some(Content::Copied(_) | Content::Bytes(_)) => false,
        };
        if is_better {
            named.insert(written.to_string(), content);
        }
    }

    /// Notes that a resolved scenario has copies of files, all of which are at paths that end like those that name
    /// them: `(path that names it, path)`.
    pub(crate) fn note_copies<'a>(&self, files: impl IntoIterator<Item = (String, &'a Path)>) {
        for (written, path) in files {
            self.note(&written, Content::Copied(path.to_path_buf()));
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
        // They belong to another text than files that were found before.
        self.named = Arc::default();
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
            self.note(path, Content::Bytes(bytes.clone()));
            return text(path, bytes.clone());
        }
        let found = match self.find(path, what, location) {
            Ok(found) => found,
            // A built-in scenario may have been copied without the files that belong to it.
            Err(missing) => return shipped(path).ok_or(missing),
        };
        self.note(path, Content::Copied(found.clone()));
        read(&found).map_err(|problem| problem.see(location, format!("{what} is named here")))
    }

    /// Returns the file that is named at `location` as one on disk.
    pub(crate) fn on_disk(&self, path: &str, what: &str, location: &Location) -> Result<OnDisk, Problem> {
        let Some(name) = self.memory.contains_key(path).then(|| Path::new(path)) else {
            let path = self.find(path, what, location)?;
            return Ok(OnDisk { path, _folder: None });
        };
        for (path, bytes) in &self.memory {
            self.note(path, Content::Bytes(bytes.clone()));
        }
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
            self.note(path, Content::Bytes(bytes.clone()));
            return Ok((PathBuf::from(path), bytes.clone()));
        }
        let found = self.find(path, what, location)?;
        self.note(path, Content::Copied(found.clone()));
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
        self.note(path, Content::Copied(found.clone()));
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
            self.note(path, Content::Referenced(found.clone()));
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
        if let Some(stored) = self.stored.get(path).filter(|file| file.is_file()) {
            return Some(stored.clone());
        }
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
            let is_known = self.memory.contains_key(end) || self.stored.contains_key(end);
            if !end.is_empty() && (is_known || self.folders.iter().any(is_here)) {
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
