//! Chakra execution traces, schema 1.0.0 (mlcommons/chakra@21585d8), interpreted as in ASTRA-sim
//! (astra-sim/astra-sim@518bd51).
//!
//! A trace is a file for each rank: nodes with data and control parents. A rank has three lanes, for a CPU node, a
//! GPU kernel and a communication; whenever a node completes, free nodes are tried in ascending order of ids.

mod brief;
mod build;
mod file;
mod groups;
mod json;
mod node;
mod options;
mod rank;
mod sizes;
mod system;
mod tally;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use file::{EXTENSIONS, GZIP_LIMIT, decode, files, load, unpack};
pub use node::{Attribute, Io, Metadata, Node, Scalar, Values};
pub use options::{ControlDeps, Kernels, Options, Repair, Roofline};
pub use system::{System, read_system};
pub use write::{check_writable, write_groups, write_rank};

use crate::executor::{PointRules, Rules};
use crate::graph::Graph;
use crate::program::Program;
use crate::trouble::{Caution, Trouble};

/// Reads the files of a prefix: `PREFIX.0.et`, `PREFIX.1.et`, ..., in protobuf or JSON.
///
/// # Errors
/// If a file is invalid, with the byte or node.
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

/// Reads the contents of files, by rank, each with its name.
///
/// # Errors
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

/// Returns the rules for Chakra traces: messages match as in ASTRA-sim, and memory nodes count as communication.
pub fn rules() -> Rules {
    Rules {
        point: PointRules::CHAKRA,
        communication_lane: Some(brief::COMMUNICATION),
        ..Rules::default()
    }
}

/// Wraps a graph for the executor.
pub fn shared(graph: Graph) -> Arc<dyn Program> {
    Arc::new(graph)
}
