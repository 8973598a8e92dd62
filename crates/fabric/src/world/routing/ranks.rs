//! Next hops by the destination's number (d mod k), as in the forwarding tables of InfiniBand fat trees.

use super::Routing;
use paceline_kernel::ids::List;
use paceline_run::spec::{NodeId, NodeKind};

impl Routing {
    /// Numbers the hosts, and computes the level of each switch above them.
    pub(super) fn rank(&mut self) {
        let hosts = |node: &NodeId| self.kinds[*node] == NodeKind::Host;
        let mut ranks = List::of(self.kinds.len(), u32::MAX);
        let mut frontier: Vec<NodeId> = self.kinds.ids().filter(hosts).collect();
        (0..).zip(&frontier).for_each(|(rank, &host)| ranks[host] = rank);
        for level in 0.. {
            let above = frontier
                .iter()
                .flat_map(|&node| &self.neighbours[self.places_of(node)]);
            let mut above: Vec<NodeId> = above.copied().filter(|&node| ranks[node] == u32::MAX).collect();
            above.sort_unstable();
            above.dedup();
            if above.is_empty() {
                break;
            }
            above.iter().for_each(|&node| ranks[node] = level);
            frontier = above;
        }
        self.ranks = ranks;
    }

    /// Returns the index of the next hop, of `count`, that a switch takes to host `dst`. At each level of switches
    /// another digit of the host's number decides, so that hosts which share a path up to one level separate at the
    /// next.
    pub(super) fn by_destination(&self, node: NodeId, dst: NodeId, count: u32) -> u32 {
        let passed = count.saturating_pow(self.ranks[node]);
        self.ranks[dst] / passed % count
    }
}
