//! Built-in experiments: folders of `experiments/`, in the order of `experiments/order.txt`.

use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use paceline_scenario::Diagnostics;
use paceline_scenario::diagnostics::Source;
use paceline_scenario::guest::is_incomplete;

use crate::Reproduction;
use crate::experiment::{Folder, read};
use crate::need::{Embedded, Input};

// Defines `FOLDERS`, and `COMMON`: files next to the folders.
include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// Names of files, with their texts.
type Files = &'static [(&'static str, &'static str)];

/// Files that the build script compressed together, with their texts once one was requested.
struct Packed {
    /// Names of the files, and their sizes in bytes.
    sizes: &'static [(&'static str, usize)],
    bytes: &'static [u8],
    files: OnceLock<Vec<(&'static str, &'static str)>>,
}

impl Packed {
    const fn new(sizes: &'static [(&'static str, usize)], bytes: &'static [u8]) -> Self {
        let files = OnceLock::new();
        Self { sizes, bytes, files }
    }

    fn files(&'static self) -> Files {
        self.files.get_or_init(|| {
            let mut text = String::new();
            let unpacked = ZlibDecoder::new(self.bytes).read_to_string(&mut text);
            unpacked.expect("the build script packed texts");
            // Leaked once at most: the cell around this runs only once.
            let mut rest: &'static str = text.leak();
            let file = |&(name, size): &(&'static str, usize)| {
                let (text, behind) = rest.split_at(size);
                rest = behind;
                (name, text)
            };
            self.sizes.iter().map(file).collect()
        })
    }
}

/// Built-in folder, with its experiment once it was requested.
pub(crate) struct BuiltIn {
    pub(crate) id: &'static str,
    files: Packed,
    read: OnceLock<Result<Reproduction, Diagnostics>>,
}

impl BuiltIn {
    const fn new(id: &'static str, files: Packed) -> Self {
        let read = OnceLock::new();
        Self { id, files, read }
    }

    /// Returns the files that hold `path`, those of this folder or those next to it, and the name there.
    fn shared<'a>(&'static self, path: &'a str) -> (Files, &'a str) {
        match path.strip_prefix("../") {
            Some(name) => (COMMON.files(), name),
            None => (self.files.files(), path),
        }
    }

    /// Returns the experiment, parsed on first use, or an error about what the program was built without.
    fn experiment(&'static self) -> Result<&'static Reproduction, &'static Diagnostics> {
        let read = self.read.get_or_init(|| {
            let source = self.text("experiment.toml");
            let source = source.unwrap_or_else(|| Source::new(self.id, ""));
            let read = read(self.id, &source, &self);
            // Tests parse all of them, so any other error is a fault of the program.
            assert!(read.is_ok() || is_incomplete(), "{read:?}");
            read
        });
        read.as_ref()
    }
}

impl Folder for &'static BuiltIn {
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

/// Returns all built-in folders.
fn all() -> impl Iterator<Item = &'static BuiltIn> {
    FOLDERS.iter()
}

/// Returns the built-in experiments that this program can run.
pub fn registry() -> impl Iterator<Item = &'static Reproduction> {
    all().filter_map(|one| one.experiment().ok())
}

/// Returns the name of every built-in experiment, and the experiment or an error about what the program was built without.
pub fn shipped() -> impl Iterator<Item = (&'static str, Result<&'static Reproduction, &'static Diagnostics>)>
{
    all().map(|one| (one.id, one.experiment()))
}

/// Returns the names of the built-in experiments.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|one| one.id)
}

/// Returns the experiment with this name, if this program can run it; no other is parsed.
pub fn find(id: &str) -> Option<&'static Reproduction> {
    let found = all().find(|one| one.id == id);
    found.and_then(|one| one.experiment().ok())
}
