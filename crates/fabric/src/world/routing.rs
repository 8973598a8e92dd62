//! Shortest paths, and the hash that spreads flows over equal ones (ECMP).
//!
//! Routes are computed when a flow needs them: one breadth-first search per destination's switch,
//! kept as a distance per node. A flow's path is then looked up once, hop by hop with the hash
//! that a switch would compute for every packet, and its packets follow the list.

mod flow_key;
mod ranks;
mod source_route;

use crate::ids::{LinkId, PortId, ProfileId};
use crate::world::links::{LinkProfile, Profiles};
pub use flow_key::{FlowKey, address};
use paceline_kernel::ids::{Id, List};
use paceline_kernel::{Bytes, Span};
use paceline_run::spec::{EcmpHash, NodeId, NodeKind, Quirks, StaticRoute};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

/// The seed of the hash by which a host with several NICs chooses one (ns-3's default).
const NIC_HASH_SEED: u32 = 0x8BAD_F00D;
const FAR: u16 = u16::MAX;

/// One end of a link, as routes see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnd {
    pub(crate) node: NodeId,
    pub(crate) profile: ProfileId,
    /// Whether the link is up.
    pub(crate) up: bool,
    /// Where the ports of its node begin in the list of all, and its place among them.
    pub(crate) ways: u32,
    pub(crate) place: u16,
}

/// Ports by node, and distances to the destinations asked for so far.
#[derive(Clone, Debug)]
pub struct Routing {
    ends: List<PortId, LinkEnd>,
    kinds: List<NodeId, NodeKind>,
    /// Ports of each node: `adjacency[first[n]..first[n + 1]]`, in descending order of the
    /// neighbour's id (the order of the reference's next-hop lists).
    first: List<NodeId, u32>,
    adjacency: Vec<PortId>,
    /// The node at the other end of each port in that list.
    neighbours: Vec<NodeId>,
    /// Bits for a port's place among those of a switch: see [`source_route`].
    bits: u32,
    /// Distances to a destination, by node; a host with one link shares its switch's.
    distances: List<NodeId, OnceLock<Distances>>,
    /// Mixed into the hash's seed, a switch's id.
    seed: u32,
    hash: EcmpHash,
    /// With [`EcmpHash::DModK`]: the number of each host among hosts, and how far switches are above them.
    ranks: List<NodeId, u32>,
    last_parallel_only: bool,
    /// [`paceline_run::spec::Quirks::next_hops_as_found`].
    as_found: bool,
    /// Set once a switch had several next hops to choose from.
    chose: OnceLock<()>,
    /// Next hops that are given: (switch, destination) to neighbour.
    fixed: BTreeMap<(NodeId, NodeId), NodeId>,
    /// Their destinations.
    fixed_to: BTreeSet<NodeId>,
}

/// All nodes as a breadth-first search from one of them reaches them.
#[derive(Clone, Debug)]
struct Distances {
    /// By how many hops; [`FAR`] where there is no path.
    hops: List<NodeId, u16>,
    /// In which place; empty where no order depends on it.
    found: List<NodeId, u32>,
}

/// What a path adds up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    /// Egress ports, the host's first.
    pub(crate) ports: Vec<PortId>,
}

/// Next hops among which one is chosen without looking for it again.
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

    /// Takes next hops that are given, instead of those of shortest paths.
    pub(crate) fn fix(&mut self, routes: &[StaticRoute]) {
        self.fixed_to.extend(routes.iter().map(|route| route.to));
        let routes = routes.iter().map(|route| ((route.node, route.to), route.via));
        self.fixed.extend(routes);
    }

    /// Ports of `node`.
    pub(crate) fn ports_of(&self, node: NodeId) -> &[PortId] {
        &self.adjacency[self.places_of(node)]
    }

    /// Where those stand in the list of all.
    fn places_of(&self, node: NodeId) -> Range<usize> {
        self.first[node] as usize..self.first[node.plus(1)] as usize
    }

    /// Forgets everything computed: links went down or came up.
    pub(crate) fn forget(&mut self) {
        self.distances.iter_mut().for_each(|known| drop(known.take()));
    }

    /// One end of a link.
    pub(crate) fn end(&self, port: PortId) -> &LinkEnd {
        &self.ends[port]
    }

    /// A link goes down, or comes up.
    pub(crate) fn set_link(&mut self, link: LinkId, up: bool) {
        for port in link.ends() {
            self.ends[port].up = up;
        }
    }

    /// The node at the other end of a port's link.
    fn peer(&self, port: PortId) -> NodeId {
        self.ends[port.other()].node
    }

    /// Where those of a node's ports stand that lead to `peer`: side by side.
    fn places_to(&self, node: NodeId, peer: NodeId) -> Range<usize> {
        let places = self.places_of(node);
        let neighbours = &self.neighbours[places.clone()];
        let first = neighbours.partition_point(|&other| other > peer);
        let count = neighbours[first..].partition_point(|&other| other == peer);
        places.start + first..places.start + first + count
    }

    /// The node that the distances to host `dst` are counted from: its switch if it has but one
    /// live link, else itself.
    fn root(&self, dst: NodeId) -> NodeId {
        let mut up = self.ports_of(dst).iter().filter(|&&port| self.ends[port].up);
        match (up.next(), up.next()) {
            (Some(&port), None) if self.kinds[self.peer(port)] == NodeKind::Switch => self.peer(port),
            _ => dst,
        }
    }

    /// Distances of all nodes to `root`; hosts never forward.
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
                // In a large network most ports lead to nodes that are known: those are not looked at.
                for place in self.places_of(node) {
                    let peer = self.neighbours[place];
                    if distance[peer] == FAR && self.ends[self.adjacency[place]].up {
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

    /// Those to `root`, found when they are asked for first.
    fn distances(&self, root: NodeId) -> &Distances {
        self.distances[root].get_or_init(|| self.search(root))
    }

    /// The egress port that packets with `key` take from `node` towards host `dst`.
    pub(crate) fn next_hop(&self, node: NodeId, dst: NodeId, key: FlowKey) -> Option<PortId> {
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
        let places = match only {
            Some(peer) => self.places_to(node, peer),
            None => self.places_of(node),
        };
        let (list, neighbours) = (&self.adjacency[places.clone()], &self.neighbours[places]);
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
            // Parallel links stay in their order.
            let mut places: Vec<usize> = (0..list.len()).filter(|&i| keep(i)).collect();
            places.sort_by_key(|&i| found[neighbours[i]]);
            return Some(list[places[choice as usize]]);
        }
        match kept.get(choice as usize) {
            Some(&port) => Some(port),
            None => {
                let mut places = (0..list.len()).filter(|&i| keep(i));
                places.nth(choice as usize).map(|i| list[i])
            }
        }
    }

    /// Whether a switch chose, of another part of the run too.
    pub(crate) fn also_chose(&self, other: &Self) {
        if other.chose.get().is_some() {
            self.chose.get_or_init(|| ());
        }
    }

    /// Whether a switch chose among several next hops by a hash that depends on the run's seed.
    pub(crate) fn chose_by_seed(&self) -> bool {
        self.chose.get().is_some() && self.seed != 0
    }

    /// The next hop that is given from switch `node` to host `dst`.
    pub fn given(&self, node: NodeId, dst: NodeId) -> Option<NodeId> {
        self.fixed.get(&(node, dst)).copied()
    }

    /// Ports of switch `node` by which host `dst` is nearest.
    pub fn ways(&self, node: NodeId, dst: NodeId) -> Vec<PortId> {
        let root = self.root(dst);
        if node == root {
            return self.adjacency[self.places_to(node, dst)].to_vec();
        }
        let mut ways = Vec::new();
        self.next_hops(node, root, &mut ways);
        ways
    }

    /// Whether next hops to host `dst` are given somewhere.
    pub(crate) fn is_fixed(&self, dst: NodeId) -> bool {
        self.fixed_to.contains(&dst)
    }

    /// Appends to `list` the ports of switch `node` that lead nearer to switch `root`.
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
            // Parallel links stand side by side.
            let same = |&last: &PortId| self.peer(last) == peer;
            if self.last_parallel_only && list[first..].last().is_some_and(same) {
                list.pop();
            }
            list.push(port);
        }
    }

    /// The path of packets with `key` from host `src` to host `dst`.
    pub(crate) fn path(&self, src: NodeId, dst: NodeId, key: FlowKey) -> Option<Path> {
        let mut path = Path::default();
        let mut node = src;
        while node != dst {
            let port = self.next_hop(node, dst, key)?;
            path.ports.push(port);
            node = self.peer(port);
            if path.ports.len() > self.kinds.len() {
                return None;
            }
        }
        Some(path)
    }

    /// Round-trip time and slowest rate (bit/s) of a path.
    pub(crate) fn path_rtt(&self, path: &[PortId], profiles: &Profiles, mtu: Bytes) -> (Span, u64) {
        let (mut rtt, mut bps) = (Span::ZERO, u64::MAX);
        for &port in path {
            let profile = &profiles[self.ends[port].profile];
            rtt += link_rtt(profile, mtu);
            bps = bps.min(profile.rate.as_bps());
        }
        (rtt, bps)
    }

    /// How large the network is; round-trip times as the reference defines them: twice the propagation plus one payload's serialisation per link, along
    /// the first shortest path found.
    ///
    /// Hosts behind the same switch over equal links are alike, so one of them stands for all. In
    /// very large networks only some of those are searched from (evenly spread, each to all hosts),
    /// which is still exact in networks whose switches of a tier are alike.
    pub(crate) fn extent(&self, profiles: &Profiles, mtu: Bytes) -> ScenarioSize {
        let mut alike: BTreeMap<(NodeId, ProfileId), NodeId> = BTreeMap::new();
        for host in self.kinds.ids() {
            if self.kinds[host] == NodeKind::Host {
                let key = match self.ports_of(host) {
                    // From a host without links nothing is reached.
                    [] => continue,
                    [only] => (self.peer(*only), self.ends[*only].profile),
                    _ => (host, ProfileId::NONE),
                };
                alike.entry(key).or_insert(host);
            }
        }
        let roots: Vec<NodeId> = alike.into_values().collect();
        let affordable = (SEARCH_BUDGET / self.ends.len().max(1)).max(1);
        let step = roots.len().div_ceil(affordable).max(1);
        let mut extent = ScenarioSize::default();
        for &root in roots.iter().step_by(step) {
            self.extend_from(profiles, mtu, root, &mut extent);
        }
        extent
    }

    /// Takes the pairs with host `root` at one end into account.
    fn extend_from(&self, profiles: &Profiles, mtu: Bytes, root: NodeId, extent: &mut ScenarioSize) {
        for (node, reached) in self.reach_from(profiles, mtu, root).numbered() {
            if let Some((rtt, bps, links)) = *reached
                && node != root
                && self.kinds[node] == NodeKind::Host
            {
                extent.rtt = extent.rtt.max(rtt);
                extent.bdp = extent.bdp.max(bdp(rtt, bps));
                extent.switches = extent.switches.max(links - 1);
            }
        }
    }

    /// Of every node the round-trip time, slowest rate (bit/s) and links of the first shortest path to `root`
    /// that is found, breadth first and by descending numbers.
    pub(crate) fn reach_from(
        &self,
        profiles: &Profiles,
        mtu: Bytes,
        root: NodeId,
    ) -> List<NodeId, Option<Reached>> {
        let mut reached = List::of(self.kinds.len(), None);
        reached[root] = Some((Span::ZERO, u64::MAX, 0));
        let mut order = vec![root];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            let (rtt, bps, links) = reached[node].expect("a node in the order was reached");
            if node != root && self.kinds[node] == NodeKind::Host {
                continue;
            }
            let list = self.ports_of(node);
            for (i, &port) in list.iter().enumerate() {
                let peer = self.peer(port);
                let another = list
                    .get(i + 1)
                    .is_some_and(|&next| self.peer(next) == peer && self.ends[next].up);
                if self.last_parallel_only && another {
                    continue;
                }
                if self.ends[port].up && reached[peer].is_none() {
                    let profile = &profiles[self.ends[port].profile];
                    let bps = bps.min(profile.rate.as_bps());
                    reached[peer] = Some((rtt + link_rtt(profile, mtu), bps, links + 1));
                    order.push(peer);
                }
            }
        }
        reached
    }
}

/// Round-trip time, slowest rate (bit/s) and links of a path.
type Reached = (Span, u64, usize);

/// What the reference knows of pairs of hosts ([`paceline_run::spec::Quirks::first_path_found`]), by destination and
/// node; empty without that.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstPaths {
    /// As it was before the run.
    pub(crate) before: BTreeMap<NodeId, List<NodeId, Option<Reached>>>,
    /// After the last failure.
    pub(crate) now: BTreeMap<NodeId, List<NodeId, Option<Reached>>>,
}

impl FirstPaths {
    /// Round-trip time and slowest rate from one host to another.
    pub(crate) fn round_trip(&self, (src, dst): (NodeId, NodeId)) -> Option<(Span, u64)> {
        let (rtt, bps, _) = self.before.get(&dst)?[src]?;
        Some((rtt, bps))
    }

    /// The slowest rate in the present network, if a link has failed.
    pub(crate) fn rate_now(&self, (src, dst): (NodeId, NodeId)) -> Option<u64> {
        Some(self.now.get(&dst)?[src]?.1)
    }
}

/// How large a network is, over all pairs of hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScenarioSize {
    /// Largest round-trip time.
    pub(crate) rtt: Span,
    /// Largest bandwidth-delay product, in bytes.
    pub(crate) bdp: u64,
    /// Switches on the longest path.
    pub(crate) switches: usize,
}

/// Ports looked at in the search for the largest round-trip time.
const SEARCH_BUDGET: usize = 50_000_000;

/// A link's share of a round-trip time: both ways' propagation, one payload's serialisation.
fn link_rtt(profile: &LinkProfile, mtu: Bytes) -> Span {
    let payload = profile.rate.time_to_send(mtu);
    Span::from_ps(2 * profile.delay)
        + if profile.truncate_to_ns {
            payload.floor_ns()
        } else {
            payload
        }
}

/// Bandwidth-delay product in bytes, rounded down.
pub(crate) fn bdp(rtt: Span, bps: u64) -> u64 {
    (u128::from(rtt.as_ps()) * u128::from(bps) / 8_000_000_000_000) as u64
}
