//! Access to the files of an experiment.

use std::path::Path;

use paceline_scenario::diagnostics::Source;

use crate::need::Input;

/// Folder of an experiment.
pub(crate) trait Folder {
    /// Returns the file with this path next to `experiment.toml`; `None` if there is none.
    fn text(&self, path: &str) -> Option<Source>;

    /// Returns the scenario with this path and a seed; `None` if there is none.
    fn scenario(&self, path: &str, seed: u64) -> Option<Input>;
}

/// Joins the lines of a text, whose line breaks have no meaning.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Experiment's folder on disk.
pub(super) struct OnDisk<'a>(pub(super) &'a Path);

impl Folder for OnDisk<'_> {
    fn text(&self, path: &str) -> Option<Source> {
        let path = self.0.join(path);
        let text = paceline_scenario::read_text(&path).ok()?;
        Some(Source::new(path.display().to_string(), text))
    }

    fn scenario(&self, path: &str, seed: u64) -> Option<Input> {
        let path = self.0.join(path);
        path.exists()
            .then(|| Input::File(path.display().to_string(), seed))
    }
}
