//! How a trace is read.

use std::path::PathBuf;

use super::file::GZIP_LIMIT;

/// What becomes of control dependencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlDeps {
    /// Kept if all are there and no cycle arises; otherwise all are dropped, and a caution counts them.
    #[default]
    Auto,
    /// Kept; it is an error if one is not there or a cycle arises.
    Keep,
    /// Dropped.
    Drop,
}

/// What may be mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Data dependencies on nodes that are not there are dropped, with a caution.
    pub drop_missing: bool,
    /// Kernels of one `stream` (`tid`, if there is no such attribute) wait for each other in the order of their ids.
    pub chain_streams: bool,
}

/// How a trace is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Control dependencies.
    pub control_deps: ControlDeps,
    /// What may be mended.
    pub repair: Repair,
    /// A file of groups: `{"1": [0, 1], ...}`.
    pub groups: Option<PathBuf>,
    /// What a packed file may unpack to, in bytes.
    pub gzip_limit: u64,
    /// Whether the trace is the algorithm of a collective: its nodes occupy nothing.
    pub is_algorithm: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            control_deps: ControlDeps::Auto,
            repair: Repair::default(),
            groups: None,
            gzip_limit: GZIP_LIMIT,
            is_algorithm: false,
        }
    }
}
