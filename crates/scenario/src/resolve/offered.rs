//! Average load that random flows, and those of a file, offer to every link, spread evenly over equal paths.

use std::collections::VecDeque;

use paceline_fabric::spec::{ArrivalPattern, NodeId, NodeKind, PacketFormat};
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{BitRate, Time};

use crate::diagnostics::Location;
use crate::topology::Topology;
use crate::warning::WarningKind;

use super::Cx;

/// Largest number of links that one search may visit in all: about a second of work.
const BUDGET: usize = 60_000_000;

/// Payload that hosts send, in bit/s.
pub(super) enum Demand {
    /// Hosts that send to all others with equal shares.
    Alike(Vec<(NodeId, f64)>),
    /// Pairs of sender and receiver.
    Pairs(Vec<(NodeId, NodeId, f64)>),
}

/// Returns the traffic matrix of a pattern; `None` if it has no rate.
pub(super) fn demand(pattern: &ArrivalPattern) -> Option<Demand> {
    let bits_per_ps = |bytes: f64, mean_ps: f64| bytes * 8.0 * 1e12 / mean_ps;
    match pattern {
        ArrivalPattern::Poisson {
            hosts,
            receivers,
            sizes,
        } => {
            let mean = crate::traffic::mean_size(sizes);
            let of_host = |&(host, mean_ps): &(NodeId, f64)| (host, bits_per_ps(mean, mean_ps));
            Some(from_to(hosts.iter().map(of_host).collect(), receivers))
        }
        ArrivalPattern::Incasts {
            hosts,
            receivers,
            mean_ps,
            fan_in,
            size,
        } => {
            let all = bits_per_ps(f64::from(*fan_in) * size.get() as f64, *mean_ps);
            let of_host = |&host: &NodeId| (host, all / hosts.len() as f64);
            Some(from_to(hosts.iter().map(of_host).collect(), receivers))
        }
        ArrivalPattern::Told { .. } => None,
    }
}

/// Returns the traffic of these hosts to each other, or to `receivers` if there are any.
fn from_to(hosts: Vec<(NodeId, f64)>, receivers: &[NodeId]) -> Demand {
    if receivers.is_empty() {
        return Demand::Alike(hosts);
    }
    let of_host = |&(src, rate): &(NodeId, f64)| {
        let others = receivers.iter().filter(move |&&dst| dst != src);
        let share = rate / others.clone().count().max(1) as f64;
        others.map(move |&dst| (src, dst, share))
    };
    Demand::Pairs(hosts.iter().flat_map(of_host).collect())
}

/// Direction of a link.
#[derive(Clone, Copy)]
struct NextHop {
    link: usize,
    /// True if it leads from the link's end `b` to its end `a`.
    back: bool,
    to: u32,
}

/// Hosts at the same switches over equal links.
struct Group {
    hosts: Vec<NodeId>,
    /// Links of each host, in the order of its switches.
    ways: Vec<Vec<NextHop>>,
}

/// Network as traffic sees it: groups of hosts, and switches.
pub(super) struct Offered<'a> {
    topology: &'a Topology,
    /// Links from each switch to neighbouring switches.
    between: Vec<Vec<NextHop>>,
    groups: Vec<Group>,
    of_host: Vec<usize>,
}

/// Load of each link from its end `a` to `b` and back, in bit/s.
pub(super) type Loads = Vec<[f64; 2]>;

impl<'a> Offered<'a> {
    /// Analyses a network's links and groups of hosts.
    pub(super) fn new(topology: &'a Topology) -> Self {
        let nodes = topology.nodes.len();
        let is_switch = |node: NodeId| topology.nodes[node.0 as usize] == NodeKind::Switch;
        let (mut between, mut up) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for (link, spec) in topology.links.iter().enumerate() {
            for (from, to, back) in [(spec.a, spec.b, false), (spec.b, spec.a, true)] {
                let way = NextHop { link, back, to: to.0 };
                match (is_switch(from), is_switch(to)) {
                    (true, true) => between[from.0 as usize].push(way),
                    (false, true) => up[from.0 as usize].push(way),
                    _ => {}
                }
            }
        }
        // Hosts with equal links form a group, so that a single search serves all of them.
        let mut alike: SortedMap<Vec<(u32, BitRate)>, usize> = SortedMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut of_host = vec![usize::MAX; nodes];
        for host in topology.hosts() {
            let mut ways = std::mem::take(&mut up[host.0 as usize]);
            if ways.is_empty() {
                continue;
            }
            // Sorted, so that hosts with the same links have the same key in any order of links.
            ways.sort_by_key(|way| way.to);
            let key = ways.iter().map(|way| (way.to, topology.links[way.link].rate));
            let group = *alike.entry(key.collect()).or_insert(groups.len());
            if group == groups.len() {
                groups.push(Group {
                    hosts: Vec::new(),
                    ways: Vec::new(),
                });
            }
            groups[group].hosts.push(host);
            groups[group].ways.push(ways);
            of_host[host.0 as usize] = group;
        }
        Self {
            topology,
            between,
            groups,
            of_host,
        }
    }

    /// Adds the load of `demand` to each link; returns false if that would take too long.
    pub(super) fn add(&self, demand: &Demand, loads: &mut Loads) -> bool {
        let parts = match demand {
            Demand::Alike(hosts) => hosts.len(),
            Demand::Pairs(pairs) => pairs.len() / self.groups.len().max(1),
        };
        let links = self.topology.links.len() + parts;
        if self.groups.len().saturating_mul(links) > BUDGET {
            return false;
        }
        match demand {
            Demand::Alike(hosts) => self.add_alike(hosts, loads),
            Demand::Pairs(pairs) => self.add_pairs(pairs, loads),
        }
        true
    }

    /// Returns a host's group and its links.
    fn place_of(&self, host: NodeId) -> Option<(usize, &[NextHop])> {
        let of_host = self.of_host[host.0 as usize];
        let group = self.groups.get(of_host)?;
        Some((of_host, &group.ways[group.hosts.binary_search(&host).ok()?]))
    }

    fn add_alike(&self, hosts: &[(NodeId, f64)], loads: &mut Loads) {
        let all: f64 = hosts.iter().map(|(_, rate)| rate).sum();
        let others = hosts.len().saturating_sub(1).max(1) as f64;
        // For each group, the participating hosts: their links and rates.
        let mut parts: Vec<Vec<(&[NextHop], f64)>> = vec![Vec::new(); self.groups.len()];
        for &(host, rate) in hosts {
            if let Some((group, ways)) = self.place_of(host) {
                receive(ways, (all - rate) / others, loads);
                parts[group].push((ways, rate));
            }
        }
        for to in (0..parts.len()).filter(|&to| !parts[to].is_empty()) {
            let senders = parts.iter().enumerate().flat_map(|(from, senders)| {
                // A host does not send to itself.
                let receivers = (parts[to].len() - usize::from(from == to)) as f64;
                senders
                    .iter()
                    .map(move |&(ways, rate)| (ways, rate * receivers / others))
            });
            self.add_to_group(to, senders, loads);
        }
    }

    fn add_pairs(&self, pairs: &[(NodeId, NodeId, f64)], loads: &mut Loads) {
        let mut to_group: SortedMap<usize, Vec<(&[NextHop], f64)>> = SortedMap::new();
        for &(src, dst, rate) in pairs {
            if let (Some((_, from)), Some((group, to))) = (self.place_of(src), self.place_of(dst)) {
                receive(to, rate, loads);
                to_group.entry(group).or_default().push((from, rate));
            }
        }
        for (to, senders) in to_group {
            self.add_to_group(to, senders.into_iter(), loads);
        }
    }

    /// Adds the traffic to the hosts of one group, up to their switches.
    fn add_to_group<'w>(
        &self,
        to: usize,
        senders: impl Iterator<Item = (&'w [NextHop], f64)>,
        loads: &mut Loads,
    ) {
        // Breadth-first search from the switches of the receiving group, since routes are shortest paths.
        let mut depth = vec![u32::MAX; self.between.len()];
        let mut queue = VecDeque::new();
        for way in &self.groups[to].ways[0] {
            if std::mem::replace(&mut depth[way.to as usize], 0) != 0 {
                queue.push_back(way.to);
            }
        }
        let mut order = Vec::new();
        while let Some(node) = queue.pop_front() {
            order.push(node);
            for way in &self.between[node as usize] {
                if depth[way.to as usize] == u32::MAX {
                    depth[way.to as usize] = depth[node as usize] + 1;
                    queue.push_back(way.to);
                }
            }
        }
        let mut waiting = vec![0.0; self.between.len()];
        for (ways, rate) in senders {
            let nearest = ways.iter().map(|way| depth[way.to as usize]).min();
            let Some(nearest) = nearest.filter(|&depth| depth < u32::MAX) else {
                continue;
            };
            // Only the nearest switches are on shortest paths, which share the traffic equally.
            let near = || ways.iter().filter(|way| depth[way.to as usize] == nearest);
            let share = rate / near().count() as f64;
            for way in near() {
                loads[way.link][usize::from(way.back)] += share;
                waiting[way.to as usize] += share;
            }
        }
        // From the farthest switches on: the load of a switch is complete before it is passed on.
        for &node in order.iter().rev() {
            let load = waiting[node as usize];
            if load == 0.0 || depth[node as usize] == 0 {
                continue;
            }
            let next = |way: &&NextHop| depth[way.to as usize] + 1 == depth[node as usize];
            let ways = || self.between[node as usize].iter().filter(next);
            let share = load / ways().count() as f64;
            for way in ways() {
                loads[way.link][usize::from(way.back)] += share;
                waiting[way.to as usize] += share;
            }
        }
    }

    /// Returns the largest load of a link between switches as a share of its rate.
    pub(super) fn busiest_between_switches(&self, loads: &Loads) -> f64 {
        let ways = self.between.iter().flatten();
        let share = |way: &NextHop| {
            let rate = self.topology.links[way.link].rate.as_bps() as f64;
            loads[way.link][usize::from(way.back)] / rate
        };
        ways.map(share).fold(0.0, f64::max)
    }
}

/// Adds the traffic to a host, spread evenly over its links.
fn receive(ways: &[NextHop], rate: f64, loads: &mut Loads) {
    let share = rate / ways.len() as f64;
    ways.iter()
        .for_each(|way| loads[way.link][usize::from(!way.back)] += share);
}

/// Warns of links that random flows would overload, counting headers and framing as well as payload.
pub(super) fn warn(cx: &mut Cx<'_>, topology: &Topology, packet: &PacketFormat, drawn: &[Drawn]) {
    if drawn.is_empty() {
        return;
    }
    let payload = packet.mtu.get() as f64;
    let overhead = (payload + packet.data_header.get() as f64 + packet.framing.get() as f64) / payload;
    let network = Offered::new(topology);
    let mut worst: Option<(f64, String, &Drawn)> = None;
    // The load changes when a workload starts, so each start is checked.
    for at in drawn {
        let begins = at.window.0;
        let mut loads = vec![[0.0; 2]; topology.links.len()];
        let mut on = drawn
            .iter()
            .filter(|other| other.window.0 <= begins && begins < other.window.1);
        if !on.all(|other| network.add(&other.demand, &mut loads)) {
            let text = "the network is too large to compute what arrivals ask of each link: overloaded links are not told";
            return cx.warn(WarningKind::Workload, &at.location, text);
        }
        let (mut over, mut between, mut most) = (0, 0, (1.0, NodeId(0), NodeId(0)));
        for (link, load) in topology.links.iter().zip(&loads) {
            for (load, from, to) in [(load[0], link.a, link.b), (load[1], link.b, link.a)] {
                let share = load * overhead / link.rate.as_bps() as f64;
                if share > 1.0 {
                    over += 1;
                    between += usize::from(!topology.is_host(from) && !topology.is_host(to));
                    if share > most.0 {
                        most = (share, from, to);
                    }
                }
            }
        }
        let (share, from, to) = most;
        if over == 0 || worst.as_ref().is_some_and(|(known, ..)| *known >= share) {
            continue;
        }
        let others = match over - 1 {
            0 => String::new(),
            1 => " (1 more link is overloaded)".to_string(),
            others => format!(" (and {others} more links are overloaded)"),
        };
        let hint = match (between, &at.demand) {
            (0, _) | (_, Demand::Pairs(_)) => "",
            _ => "; `load` is a share of the hosts' rate unless `load-of = \"uplinks\"`",
        };
        let text = format!(
            "arrivals ask {:.0} % of the link {} -> {}{others}: queues grow for as long as they last, and \
             completion times depend on how long that is{hint}",
            100.0 * share,
            cx.names.numbered(from.0),
            cx.names.numbered(to.0)
        );
        worst = Some((share, text, at));
    }
    if let Some((_, text, at)) = worst {
        let location = at.location.clone();
        cx.warn(WarningKind::Workload, &location, text);
    }
}

/// Workload with random flows, or with flows from a file.
pub(super) struct Drawn {
    /// Traffic matrix of the workload.
    pub(super) demand: Demand,
    /// Start and end of its arrivals.
    pub(super) window: (Time, Time),
    /// Position of its table.
    pub(super) location: Location,
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::Span;
    use proptest::prelude::*;

    proptest! {
        /// Hosts that send to all others with equal shares load links as their pairs do one by one. Each host's link
        /// carries what the host sends and receives, and nothing is lost in between.
        #[test]
        fn pairs_add_up(
            (leaves, spines, hosts, twice) in (1u32..5, 1u32..4, 1u32..5, any::<bool>()),
            rates in prop::collection::vec(0.0f64..9e9, 16),
        ) {
            let (count, fast) = (leaves * hosts, BitRate::from_gbps(100));
            let mut topology = Topology::new(count, leaves + spines);
            for host in 0..count {
                topology.link(host, count + host % leaves, fast, Span::from_us(1));
                if twice {
                    topology.link(host, count + (host + 1) % leaves, fast, Span::from_us(1));
                }
            }
            for (leaf, spine) in (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine))) {
                topology.link(count + leaf, count + leaves + spine, fast, Span::from_us(1));
            }
            let network = Offered::new(&topology);
            let alike: Vec<_> = (0..count).map(|host| (NodeId(host), rates[host as usize])).collect();
            let others = f64::from(count.max(2) - 1);
            let pairs = alike.iter().flat_map(|&(src, rate)| {
                let to = alike.iter().filter(move |&&(dst, _)| dst != src);
                to.map(move |&(dst, _)| (src, dst, rate / others))
            });
            let [mut as_hosts, mut as_pairs] = [(); 2].map(|()| vec![[0.0; 2]; topology.links.len()]);
            prop_assert!(network.add(&Demand::Pairs(pairs.collect()), &mut as_pairs));
            prop_assert!(network.add(&Demand::Alike(alike.clone()), &mut as_hosts));
            for (a, b) in as_hosts.iter().flatten().zip(as_pairs.iter().flatten()) {
                prop_assert!((a - b).abs() < 1.0, "{a} {b}");
            }
            if count == 1 {
                return Ok(());
            }
            let all: f64 = alike.iter().map(|(_, rate)| rate).sum();
            for &(host, rate) in &alike {
                let own = topology.links.iter().zip(&as_hosts).filter(|(link, _)| link.a == host);
                let (up, down) = own.fold((0.0, 0.0), |sum, (_, load)| (sum.0 + load[0], sum.1 + load[1]));
                prop_assert!((up - rate).abs() < 1.0 && (down - (all - rate) / others).abs() < 1.0);
            }
        }
    }
}
