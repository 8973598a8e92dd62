//! The experiments that Paceline ships: folders of `experiments/`, in the order of `experiments/order.txt`.

use std::sync::OnceLock;

use paceline_scenario::diagnostics::Source;

use crate::Reproduction;
use crate::experiment::{Experiment, Folder};

// `FOLDERS`: name, and its files with their texts; `COMMON`: files next to the folders.
include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// A built-in folder.
struct BuiltIn(&'static str, &'static [(&'static str, &'static str)]);

impl Folder for BuiltIn {
    fn text(&self, path: &str) -> Option<Source> {
        let Self(id, files) = self;
        let (files, name) = match path.strip_prefix("../") {
            Some(name) => (COMMON, name),
            None => (*files, path),
        };
        let (_, text) = files.iter().find(|(known, _)| *known == name)?;
        Some(Source::new(format!("experiments/{id}/{path}"), *text))
    }

    fn scenario(&self, _: &str) -> Option<String> {
        None
    }
}

/// All of them, read once.
pub(crate) fn experiments() -> &'static [Reproduction] {
    static ALL: OnceLock<Vec<Reproduction>> = OnceLock::new();
    ALL.get_or_init(|| {
        let read = |(id, files): &(&'static str, &'static [(&'static str, &'static str)])| {
            let folder = BuiltIn(id, files);
            let source = folder
                .text("experiment.toml")
                .unwrap_or_else(|| Source::new(*id, ""));
            // Tests read all of them.
            Experiment::read(id, &source, &folder).unwrap_or_else(|error| panic!("{error}"))
        };
        FOLDERS.iter().map(read).collect()
    })
}
