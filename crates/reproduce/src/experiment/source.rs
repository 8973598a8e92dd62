//! Where the files of an experiment are.

use std::path::Path;

use paceline_scenario::diagnostics::Source;

use crate::need::Input;

/// Where the files of an experiment are.
pub(crate) trait Folder {
    /// A file next to `experiment.toml`, by the path that stands there; `None` if there is none.
    fn text(&self, path: &str) -> Option<Source>;

    /// A scenario next to it, with a seed; `None` if there is none.
    fn scenario(&self, path: &str, seed: u64) -> Option<Input>;
}

/// Lines of a file as one: where a text breaks is the file's.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder on a disk.
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
