//! Shortest paths, and the hash that spreads flows over equal ones (ECMP).
//!
//! Routes are computed when a flow needs them: one breadth-first search per destination's switch, stored as a distance
//! per node. A flow's path is then looked up once, hop by hop, with the hash that a switch would compute for every
//! packet, and its packets follow the list.

mod extent;
mod flow_key;
mod nics;
mod ranks;
mod source_route;

use crate::ids::{LinkId, PortId, ProfileId};
pub(crate) use extent::{FirstPaths, ScenarioSize, bdp};
pub use flow_key::{FlowKey, address};
use paceline_kernel::ids::{Id, List};
use paceline_run::spec::{EcmpHash, NodeId, NodeKind, Quirks, StaticRoute};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

/// Seed of the hash by which a host with several NICs chooses one (ns-3's default).
const NIC_HASH_SEED: u32 = 0x8BAD_F00D;
const FAR: u16 = u16::MAX;

/// One end of a link, for routing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnd {
    pub(crate) node: NodeId,
    pub(crate) profile: ProfileId,
    /// True if the link is up.
    pub(crate) up: bool,
    /// Index of the node's first port in `adjacency`, and the end's index from there.
    pub(crate) ways: u32,
    pub(crate) index: u16,
}

/// Ports by node, and distances to the destinations needed so far.
#[derive(Clone, Debug)]
pub struct Routing {
    ends: List<PortId, LinkEnd>,
    kinds: List<NodeId, NodeKind>,
    /// Ports of each node: `adjacency[first[n]..first[n + 1]]`, in descending order of the neighbour's id (the order of
    /// the reference's next-hop lists).
    first: List<NodeId, u32>,
    adjacency: Vec<PortId>,
    /// Node at the other end of each port in `adjacency`.
    neighbours: Vec<NodeId>,
    /// Bits of a port's index among those of a switch: see [`source_route`].
    bits: u32,
    /// Distances to a destination, by node; a host with one link shares its switch's.
    distances: List<NodeId, OnceLock<Distances>>,
    /// Seed of the hash, combined with the switch's id.
    seed: u32,
    hash: EcmpHash,
    /// With [`EcmpHash::DModK`]: the number of each host among hosts, and the level of switches above them.
    ranks: List<NodeId, u32>,
    last_parallel_only: bool,
    /// True under the quirk [`paceline_run::spec::Quirks::next_hops_as_found`].
    as_found: bool,
    /// Set once a switch had several next hops to choose from.
    chose: OnceLock<()>,
    /// Static next hops: (node, destination) to neighbour.
    fixed: BTreeMap<(NodeId, NodeId), NodeId>,
    /// Destinations of the switches' static next hops.
    fixed_to: BTreeSet<NodeId>,
}

/// All nodes as a breadth-first search from one of them reaches them.
#[derive(Clone, Debug)]
struct Distances {
    /// Number of hops; [`FAR`] if there is no path.
    hops: List<NodeId, u16>,
    /// Order in which nodes were found; empty if no order depends on it.
    found: List<NodeId, u32>,
}

/// Ports of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    /// Egress ports, the host's first.
    pub(crate) ports: Vec<PortId>,
}

/// Largest number of next hops that are kept from the count to the choice.
const NOTED: usize = 32;

impl Routing {
    pub(crate) fn new(
        kinds: Vec<NodeKind>,
        ends: List<PortId, LinkEnd>,
        (seed, hash): (u32, EcmpHash),
        quirks: &Quirks,
    ) -> Self {
        let mut by_node: List<NodeId, Vec<PortId>> = List::of(kinds.len(), Vec::new());
        for (id, end) in ends.numbered() {
            by_node[end.node].push(id);
        }
        let mut first = List::from(vec![0]);
        let mut adjacency = Vec::with_capacity(ends.len());
        for list in &mut by_node {
            // In descending order, so that parallel links are adjacent: searches by neighbour and a quirk rely on it.
            list.sort_by_key(|&id| (std::cmp::Reverse(ends[id.other()].node), id));
            adjacency.extend_from_slice(list);
            first.push(adjacency.len() as u32);
        }
        let kinds_count = kinds.len();
        let neighbours = adjacency
            .iter()
            .map(|port: &PortId| ends[port.other()].node)
            .collect();
        let mut routing = Self {
            ends,
            kinds: kinds.into(),
            first,
            neighbours,
            adjacency,
            bits: 1,
            distances: (0..kinds_count).map(|_| OnceLock::new()).collect(),
            seed,
            hash,
            ranks: List::new(),
            last_parallel_only: quirks.last_parallel_link_only,
            as_found: quirks.next_hops_as_found,
            chose: OnceLock::new(),
            fixed: BTreeMap::new(),
            fixed_to: BTreeSet::new(),
        };
        routing.number_places();
        if hash == EcmpHash::DModK {
            routing.rank();
        }
        routing
    }

    /// Adds static next hops, which replace those of shortest paths.
    pub(crate) fn fix(&mut self, routes: &[StaticRoute]) {
        let of_switches = routes
            .iter()
            .filter(|route| self.kinds[route.node] == NodeKind::Switch);
        self.fixed_to.extend(of_switches.map(|route| route.to));
        let routes = routes.iter().map(|route| ((route.node, route.to), route.via));
        self.fixed.extend(routes);
    }

    /// Returns the ports of `node`.
    pub(crate) fn ports_of(&self, node: NodeId) -> &[PortId] {
        &self.adjacency[self.places_of(node)]
    }

    /// Returns the ends of the paths between two hosts in a plane: the port of the first host, and the one by which
    /// packets leave the network for the second.
    pub(crate) fn ends_in_plane(&self, src: NodeId, dst: NodeId, plane: usize) -> [PortId; 2] {
        let in_plane = |host: NodeId| {
            let mut ports = self.ports_of(host).to_vec();
            ports.sort_unstable();
            ports[plane]
        };
        [in_plane(src), in_plane(dst).other()]
    }

    /// Returns the range of the node's ports in `adjacency`.
    fn places_of(&self, node: NodeId) -> Range<usize> {
        self.first[node] as usize..self.first[node.plus(1)] as usize
    }

    /// Forgets all distances after links failed or came back.
    pub(crate) fn forget(&mut self) {
        self.distances.iter_mut().for_each(|known| drop(known.take()));
    }

    /// Returns one end of a link.
    pub(crate) fn end(&self, port: PortId) -> &LinkEnd {
        &self.ends[port]
    }

    /// Notes that a link fails or comes back.
    pub(crate) fn set_link(&mut self, link: LinkId, up: bool) {
        for port in link.ends() {
            self.ends[port].up = up;
        }
    }

    /// Returns the node at the other end of a port's link.
    fn peer(&self, port: PortId) -> NodeId {
        self.ends[port.other()].node
    }

    /// Returns the range in `adjacency` of the node's ports that lead to `peer`, which are adjacent.
    fn places_to(&self, node: NodeId, peer: NodeId) -> Range<usize> {
        let indices = self.places_of(node);
        let neighbours = &self.neighbours[indices.clone()];
        let first = neighbours.partition_point(|&other| other > peer);
        let count = neighbours[first..].partition_point(|&other| other == peer);
        indices.start + first..indices.start + first + count
    }

    /// Returns the node that distances to host `dst` are counted from: its switch if the host has only one live link,
    /// else the host.
    fn root(&self, dst: NodeId) -> NodeId {
        let mut up = self.ports_of(dst).iter().filter(|&&port| self.ends[port].up);
        match (up.next(), up.next()) {
            (Some(&port), None) if self.kinds[self.peer(port)] == NodeKind::Switch => self.peer(port),
            _ => dst,
        }
    }

    /// Returns the distances of all nodes to `root`; hosts never forward.
    fn search(&self, root: NodeId) -> Distances {
        let mut distance = List::of(self.kinds.len(), FAR);
        distance[root] = 0;
        let mut found = match self.as_found {
            true => List::of(self.kinds.len(), 0),
            false => List::new(),
        };
        let mut count = 0;
        let mut frontier = vec![root];
        let mut next = Vec::new();
        let mut hops = 0;
        while !frontier.is_empty() {
            hops += 1;
            for &node in &frontier {
                if node != root && self.kinds[node] == NodeKind::Host {
                    continue;
                }
                // In a large network most ports lead to nodes that are known: those are skipped before their link is
                // read.
                for index in self.places_of(node) {
                    let peer = self.neighbours[index];
                    if distance[peer] == FAR && self.ends[self.adjacency[index]].up {
                        distance[peer] = hops;
                        next.push(peer);
                        if self.as_found {
                            count += 1;
                            found[peer] = count;
                        }
                    }
                }
            }
            frontier.clear();
            std::mem::swap(&mut frontier, &mut next);
        }
        Distances {
            hops: distance,
            found,
        }
    }

    /// Returns the distances to `root`, computed on first use.
    fn distances(&self, root: NodeId) -> &Distances {
        self.distances[root].get_or_init(|| self.search(root))
    }

    /// Returns the egress port that packets with `key` take from `node` towards host `dst`.
    pub(crate) fn next_hop(&self, node: NodeId, dst: NodeId, key: FlowKey) -> Option<PortId> {
        self.hop(node, dst, key).map(|(port, _)| port)
    }

    /// Returns the egress port, and the number of next hops that it was chosen from.
    fn hop(&self, node: NodeId, dst: NodeId, key: FlowKey) -> Option<(PortId, u32)> {
        let named = self.hop_by_nic(node, dst, key);
        named.or_else(|| self.hop_by_hash(node, dst, key))
    }

    /// Returns the egress port towards any link of `dst`, and the number of next hops that it was chosen from.
    fn hop_by_hash(&self, node: NodeId, dst: NodeId, key: FlowKey) -> Option<(PortId, u32)> {
        let root = self.root(dst);
        let Distances {
            hops: distance,
            found,
        } = self.distances(root);
        let here = distance[node];
        let given = self.fixed.get(&(node, dst));
        let closer = |peer: NodeId| {
            if let Some(&given) = given {
                return peer == given;
            }
            // At the root (the destination's switch) only the host itself is closer.
            if node == root {
                peer == dst
            } else {
                distance[peer] != FAR && distance[peer] + 1 == here
            }
        };
        let is_host = |node: NodeId| self.kinds[node] == NodeKind::Host;
        // Of a switch's many ports perhaps only those to one neighbour count.
        let only = given.copied().or((node == root).then_some(dst));
        let indices = match only {
            Some(peer) => self.places_to(node, peer),
            None => self.places_of(node),
        };
        let (list, neighbours) = (&self.adjacency[indices.clone()], &self.neighbours[indices]);
        let usable = |i: usize| {
            let peer = neighbours[i];
            closer(peer) && (peer == dst || !is_host(peer)) && self.ends[list[i]].up
        };
        let keep = |i: usize| {
            usable(i)
                && !(self.last_parallel_only
                    && neighbours.get(i + 1).is_some_and(|&next| next == neighbours[i])
                    && usable(i + 1))
        };
        let (mut kept, mut count) = ([PortId::NONE; NOTED], 0);
        for i in (0..list.len()).filter(|&i| keep(i)) {
            if let Some(noted) = kept.get_mut(count as usize) {
                *noted = list[i];
            }
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let choice = match count {
            1 => 0,
            _ if is_host(node) => key.hash(NIC_HASH_SEED) % count,
            // Recorded, because the choice depends on the seed: another seed gives another run.
            _ if self.hash == EcmpHash::DModK => self.by_destination(node, dst, count),
            _ => {
                self.chose.get_or_init(|| ());
                let own = match self.hash {
                    EcmpHash::PerSwitch => node.0,
                    EcmpHash::Shared | EcmpHash::DModK => 0,
                };
                key.hash(own ^ self.seed) % count
            }
        };

        if self.as_found && count > 1 {
            // The sort is stable, so parallel links keep their order.
            let mut indices: Vec<usize> = (0..list.len()).filter(|&i| keep(i)).collect();
            indices.sort_by_key(|&i| found[neighbours[i]]);
            return Some((list[indices[choice as usize]], count));
        }
        let port = match kept.get(choice as usize) {
            Some(&port) => Some(port),
            None => {
                let mut indices = (0..list.len()).filter(|&i| keep(i));
                indices.nth(choice as usize).map(|i| list[i])
            }
        };
        port.map(|port| (port, count))
    }

    /// Returns true if a switch chose among several next hops by a hash that depends on the run's seed.
    pub(crate) fn chose_by_seed(&self) -> bool {
        self.has_chosen() && self.seed != 0
    }

    /// Returns true if a switch chose among several next hops by a hash.
    pub(crate) fn has_chosen(&self) -> bool {
        self.chose.get().is_some()
    }

    /// Forgets that a switch has chosen.
    pub(crate) fn forget_choices(&mut self) {
        self.chose.take();
    }

    /// Returns the static next hop from switch `node` to host `dst`, if there is one.
    pub fn given(&self, node: NodeId, dst: NodeId) -> Option<NodeId> {
        self.fixed.get(&(node, dst)).copied()
    }

    /// Returns the ports of switch `node` on shortest paths to host `dst`.
    pub fn ways(&self, node: NodeId, dst: NodeId) -> Vec<PortId> {
        let root = self.root(dst);
        if node == root {
            return self.adjacency[self.places_to(node, dst)].to_vec();
        }
        let mut ways = Vec::new();
        self.next_hops(node, root, &mut ways);
        ways
    }

    /// Returns true if a switch has a static next hop to host `dst`.
    pub(crate) fn is_fixed(&self, dst: NodeId) -> bool {
        self.fixed_to.contains(&dst)
    }

    /// Appends the ports of switch `node` that lead nearer to switch `root` to `list`.
    pub(crate) fn next_hops(&self, node: NodeId, root: NodeId, list: &mut Vec<PortId>) {
        let distance = &self.distances(root).hops;
        let here = distance[node];
        let first = list.len();
        for &port in self.ports_of(node) {
            let peer = self.peer(port);
            let nearer = distance[peer] != FAR && distance[peer] + 1 == here;
            if !nearer || !self.ends[port].up || self.kinds[peer] == NodeKind::Host {
                continue;
            }
            // Parallel links are adjacent.
            let same = |&last: &PortId| self.peer(last) == peer;
            if self.last_parallel_only && list[first..].last().is_some_and(same) {
                list.pop();
            }
            list.push(port);
        }
    }

    /// Returns true if there is only one path from host `src` to host `dst`.
    pub(crate) fn has_one_path(&self, src: NodeId, dst: NodeId) -> bool {
        let (mut node, any) = (src, FlowKey::new(src.0, dst.0, 0, 0));
        for _ in 0..self.kinds.len() {
            let Some((port, 1)) = self.hop(node, dst, any) else {
                return false;
            };
            node = self.peer(port);
            if node == dst {
                return true;
            }
        }
        false
    }

    /// Returns the path of packets with `key` from host `src` to host `dst`.
    pub(crate) fn path(&self, src: NodeId, dst: NodeId, key: FlowKey) -> Option<Path> {
        let mut path = Path::default();
        self.extend(&mut path, src, dst, key).then_some(path)
    }

    /// Returns the path of packets that leave their host by `first`, and the network by `last`.
    pub(crate) fn path_between(&self, [first, last]: [PortId; 2], key: FlowKey) -> Option<Path> {
        let mut path = Path { ports: vec![first] };
        if first != last {
            let to = self.ends[last].node;
            if !self.ends[last].up || !self.extend(&mut path, self.peer(first), to, key) {
                return None;
            }
            path.ports.push(last);
        }
        Some(path)
    }

    /// Extends a path from `node` to `dst`. Returns false if there is none.
    fn extend(&self, path: &mut Path, mut node: NodeId, dst: NodeId, key: FlowKey) -> bool {
        while node != dst {
            let Some(port) = self.next_hop(node, dst, key) else {
                return false;
            };
            path.ports.push(port);
            node = self.peer(port);
            // Static next hops may form a loop.
            if path.ports.len() > self.kinds.len() {
                return false;
            }
        }
        true
    }
}
