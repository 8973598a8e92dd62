//! The experiments that Paceline ships: folders of `experiments/`, in the order of `experiments/order.txt`.

use std::sync::OnceLock;

use paceline_scenario::diagnostics::Source;

use crate::Reproduction;
use crate::experiment::{Folder, read};
use crate::need::{Embedded, Input};

// `FOLDERS`, and `COMMON`: files next to the folders.
include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// Names of files, with their texts.
type Files = &'static [(&'static str, &'static str)];

/// A built-in folder, and the experiment in it once it was asked for.
pub(crate) struct BuiltIn {
    pub(crate) id: &'static str,
    files: Files,
    read: OnceLock<Reproduction>,
}

impl BuiltIn {
    const fn new(id: &'static str, files: Files) -> Self {
        let read = OnceLock::new();
        Self { id, files, read }
    }

    /// Where a file is: in this folder, or next to it; and its name there.
    fn shared<'a>(&self, path: &'a str) -> (Files, &'a str) {
        match path.strip_prefix("../") {
            Some(name) => (COMMON, name),
            None => (self.files, path),
        }
    }

    /// The experiment.
    pub(crate) fn experiment(&'static self) -> &'static Reproduction {
        self.read.get_or_init(|| {
            let source = self.text("experiment.toml");
            let source = source.unwrap_or_else(|| Source::new(self.id, ""));
            // Tests read all of them.
            read(self.id, &source, self).unwrap_or_else(|error| panic!("{error}"))
        })
    }
}

impl Folder for BuiltIn {
    fn text(&self, path: &str) -> Option<Source> {
        let (files, name) = self.shared(path);
        let (_, text) = files.iter().find(|(known, _)| *known == name)?;
        Some(Source::new(format!("experiments/{}/{path}", self.id), *text))
    }

    fn scenario(&self, path: &str, seed: u64) -> Option<Input> {
        let (files, name) = self.shared(path);
        let (name, text) = files.iter().find(|(known, _)| *known == name)?;
        Some(Input::Embedded(Embedded { name, text, files }, seed))
    }
}

/// All of them.
fn all() -> impl Iterator<Item = &'static BuiltIn> {
    FOLDERS.iter()
}

/// The experiments that ship.
pub fn registry() -> impl Iterator<Item = &'static Reproduction> {
    all().map(BuiltIn::experiment)
}

/// The names of those that ship.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|one| one.id)
}

/// The one of this name; no other is read.
pub fn find(id: &str) -> Option<&'static Reproduction> {
    let found = all().find(|one| one.id == id);
    found.map(BuiltIn::experiment)
}
