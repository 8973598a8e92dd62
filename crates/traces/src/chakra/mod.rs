//! Chakra execution traces, schema 1.0.0 (mlcommons/chakra@21585d8), with the meaning that ASTRA-sim gives them
//! (astra-sim/astra-sim@518bd51).
//!
//! A trace is a file for each rank: nodes with data and control parents. A rank has three lanes, for a CPU node, a GPU kernel
//! and a communication; whenever a node is done the free ones are tried in ascending id.

mod brief;
mod build;
mod file;
mod groups;
mod node;
mod rank;
mod soundness;
mod system;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use file::{GZIP_LIMIT, decode, files, load, unpack};
pub use node::{Attribute, Io, Metadata, Node, Scalar, Values};
pub use system::{System, read_system};

use crate::executor::{PointRules, Rules};
use crate::graph::Graph;
use crate::program::Program;
use crate::trouble::{Caution, Trouble};

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

/// Reads the files of a prefix: `PREFIX.0.et`, `PREFIX.1.et`, ...
///
/// # Errors
///
/// With the file and the byte or node.
pub fn read(prefix: &Path, options: &Options) -> Result<(Graph, Vec<Caution>), Trouble> {
    let files = files(prefix)?;
    let sources = files.iter().map(|path| {
        let bytes = load(path, options.gzip_limit)?;
        Ok((path.display().to_string(), bytes))
    });
    let groups = match &options.groups {
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|e| Trouble::at(&name, format!("cannot be read: {e}")))?;
            Some((name, text))
        }
        None => None,
    };
    build::graph(files.len(), sources, groups, options)
}

/// Reads the bytes of files, by rank, each with its name.
///
/// # Errors
///
/// As [`read`].
pub fn read_bytes(
    sources: Vec<(String, Vec<u8>)>,
    options: &Options,
) -> Result<(Graph, Vec<Caution>), Trouble> {
    let limit = options.gzip_limit;
    let count = sources.len();
    let unpacked = sources.into_iter().map(|(name, bytes)| {
        let bytes = unpack(&name, bytes, limit)?;
        Ok((name, bytes))
    });
    build::graph(count, unpacked, None, options)
}

/// Rules for Chakra traces: ASTRA-sim's matching of messages; broadcasts and memory nodes count as communication.
pub fn rules() -> Rules {
    Rules {
        point: PointRules::CHAKRA,
        communication_lane: Some(brief::COMMUNICATION),
        ..Rules::default()
    }
}

/// A graph as what the executor takes.
pub fn shared(graph: Graph) -> Arc<dyn Program> {
    Arc::new(graph)
}
