//! Reachability between hosts. Hosts never forward.

use paceline_fabric::spec::NodeId;
use paceline_kernel::sorted::SortedMap;

use crate::groups::root;
use crate::topology::Topology;

/// Connected components of switches, and the components that each host is attached to.
pub(super) struct Reach {
    /// For each host, the components of its switches.
    groups: Vec<Vec<u32>>,
    /// For each host, the hosts that it has a direct link to.
    direct: Vec<Vec<NodeId>>,
}

impl Reach {
    pub(super) fn of(topology: &Topology) -> Self {
        let mut parents: Vec<u32> = (0..topology.nodes.len() as u32).collect();
        for link in &topology.links {
            // Only links between switches join groups, since hosts do not forward.
            if !topology.is_host(link.a) && !topology.is_host(link.b) {
                let (a, b) = (root(&mut parents, link.a.0), root(&mut parents, link.b.0));
                parents[a.max(b) as usize] = a.min(b);
            }
        }
        let mut groups = vec![Vec::new(); topology.nodes.len()];
        let mut direct = vec![Vec::new(); topology.nodes.len()];
        for link in &topology.links {
            for (host, neighbour) in [(link.a, link.b), (link.b, link.a)] {
                match (topology.is_host(host), topology.is_host(neighbour)) {
                    (true, true) => direct[host.0 as usize].push(neighbour),
                    (true, false) => groups[host.0 as usize].push(root(&mut parents, neighbour.0)),
                    (false, _) => {}
                }
            }
        }
        Self { groups, direct }
    }

    pub(super) fn connected(&self, a: NodeId, b: NodeId) -> bool {
        let of = |node: NodeId| &self.groups[node.0 as usize];
        self.direct[a.0 as usize].contains(&b) || of(a).iter().any(|group| of(b).contains(group))
    }

    /// Returns two of these hosts that cannot reach each other, if there are any.
    pub(super) fn apart(&self, hosts: &[NodeId]) -> Option<(NodeId, NodeId)> {
        // Most hosts share their switches with others, so only one host of each kind is compared.
        let mut alike: SortedMap<(&[u32], &[NodeId]), NodeId> = SortedMap::new();
        for &host in hosts {
            let index = host.0 as usize;
            alike
                .entry((&self.groups[index], &self.direct[index]))
                .or_insert(host);
        }
        let all = || alike.values().copied();
        all().find_map(|a| Some((a, all().find(|&b| a != b && !self.connected(a, b))?)))
    }

    /// Returns true if two hosts would be connected if hosts forwarded.
    pub(super) fn connected_through_hosts(topology: &Topology, a: NodeId, b: NodeId) -> bool {
        let mut parents: Vec<u32> = (0..topology.nodes.len() as u32).collect();
        for link in &topology.links {
            let (a, b) = (root(&mut parents, link.a.0), root(&mut parents, link.b.0));
            parents[a.max(b) as usize] = a.min(b);
        }
        root(&mut parents, a.0) == root(&mut parents, b.0)
    }

    pub(super) fn has_link(&self, host: NodeId) -> bool {
        !self.groups[host.0 as usize].is_empty() || !self.direct[host.0 as usize].is_empty()
    }
}
