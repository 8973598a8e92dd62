//! Trace files, which list the nodes to trace.

use crate::diagnostics::{Problem, Source};
use crate::warning::{Warning, WarningKind};

use super::Tokens;

/// Reads the list of nodes; nodes that the network does not have are skipped, as in the reference.
pub(crate) fn read(source: &Source, nodes: usize, warnings: &mut Vec<Warning>) -> Result<Vec<u32>, Problem> {
    let mut tokens = Tokens::new(source);
    let count: u64 = tokens.value("the number of nodes to trace")?;
    let mut list = Vec::new();
    let mut unknown = None;
    for i in 0..count {
        let token = tokens.word(&format!("node {} of {count}", i + 1))?;
        let id: u32 = tokens.read(&token, "a node")?;
        if (id as usize) < nodes {
            list.push(id);
        } else {
            unknown.get_or_insert((id, tokens.place(&token)));
        }
    }
    if let Some((id, location)) = unknown {
        let missing = count - list.len() as u64;
        let text = format!("{missing} nodes to trace do not exist, such as {id}: there are {nodes} nodes");
        warnings.push(Warning::new(WarningKind::LeftOut, text).at(&location));
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}
