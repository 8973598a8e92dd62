//! Names of a run's nodes, as a table that other tables can be joined with.

use paceline_fabric::recorded;
use paceline_scenario::Resolved;

recorded! {
    /// a node of the network, with the name that tables and pages give it
    pub struct NodeRow = "nodes", needs "" {
        /// its number, as in other tables
        node: u32,
        /// its name: `host 12`, `leaf 1`, `spine 3`
        name: String,
        /// `host` or `switch`
        kind: String,
    }
}

/// Returns the names of all nodes.
pub(crate) fn node_rows(input: &Resolved) -> Vec<NodeRow> {
    let row = |node: u32| NodeRow {
        node,
        name: input.names.name(node),
        kind: match input.names.is_switch(node) {
            true => "switch",
            false => "host",
        }
        .to_string(),
    };
    (0..input.names.len()).map(row).collect()
}
