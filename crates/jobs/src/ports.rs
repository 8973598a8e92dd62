//! Source ports of messages between two hosts, one after another.

use std::collections::BTreeMap;

use paceline_run::spec::NodeId;
use paceline_run::stream::source_port;

/// Source ports that the messages of a program have used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports(BTreeMap<(NodeId, NodeId), u16>);

impl Ports {
    /// Returns the source port of the next message between two hosts.
    pub(crate) fn next(&mut self, src: NodeId, dst: NodeId) -> u16 {
        let count = self.0.entry((src, dst)).or_default();
        let port = source_port(u64::from(*count));
        *count = count.wrapping_add(1);
        port
    }
}
