//! What drawn flows ask of every link on average, with what switches hash spread evenly over equal paths.

use std::collections::{BTreeMap, VecDeque};

use paceline_fabric::spec::{ArrivalPattern, NodeId, NodeKind, PacketFormat};
use paceline_kernel::{BitRate, Time};

use crate::diagnostics::Place;
use crate::topology::Topology;
use crate::warning::WarningKind;

use super::Cx;

/// The most links that one search may visit in all: a second of work.
const BUDGET: usize = 60_000_000;

/// Payload that each host sends to all others alike, in bit/s.
pub(super) type Demand = Vec<(NodeId, f64)>;

/// Returns what a pattern asks for; `None` if it has no rate.
pub(super) fn demand(pattern: &ArrivalPattern) -> Option<Demand> {
    let bits_per_ps = |bytes: f64, mean_ps: f64| bytes * 8.0 * 1e12 / mean_ps;
    match pattern {
        ArrivalPattern::Poisson { hosts, sizes } => {
            let mean = crate::traffic::mean_size(sizes);
            let of_host = |&(host, mean_ps): &(NodeId, f64)| (host, bits_per_ps(mean, mean_ps));
            Some(hosts.iter().map(of_host).collect())
        }
        ArrivalPattern::Incasts {
            hosts,
            mean_ps,
            fan_in,
            size,
        } => {
            let all = bits_per_ps(f64::from(*fan_in) * size.get() as f64, *mean_ps);
            Some(
                hosts
                    .iter()
                    .map(|&host| (host, all / hosts.len() as f64))
                    .collect(),
            )
        }
        ArrivalPattern::Told { .. } => None,
    }
}

/// One direction of a link.
#[derive(Clone, Copy)]
struct Way {
    link: usize,
    /// Whether it leads from the link's end `b` to its end `a`.
    back: bool,
    to: u32,
}

/// Hosts that are behind the same switches over equal links.
struct Group {
    hosts: Vec<NodeId>,
    /// Of each host, in the order of its switches.
    ways: Vec<Vec<Way>>,
}

/// A network as traffic sees it.
pub(super) struct Offered<'a> {
    topology: &'a Topology,
    /// From each switch to its neighbours that are switches.
    between: Vec<Vec<Way>>,
    groups: Vec<Group>,
    of_host: Vec<usize>,
}

/// The load of each link from its end `a` to `b` and back, in bit/s.
pub(super) type Loads = Vec<[f64; 2]>;

impl<'a> Offered<'a> {
    /// Looks at a network.
    pub(super) fn new(topology: &'a Topology) -> Self {
        let nodes = topology.nodes.len();
        let is_switch = |node: NodeId| topology.nodes[node.0 as usize] == NodeKind::Switch;
        let (mut between, mut up) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for (link, spec) in topology.links.iter().enumerate() {
            for (from, to, back) in [(spec.a, spec.b, false), (spec.b, spec.a, true)] {
                let way = Way { link, back, to: to.0 };
                match (is_switch(from), is_switch(to)) {
                    (true, true) => between[from.0 as usize].push(way),
                    (false, true) => up[from.0 as usize].push(way),
                    _ => {}
                }
            }
        }
        let mut alike: BTreeMap<Vec<(u32, BitRate)>, usize> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut of_host = vec![usize::MAX; nodes];
        for host in topology.hosts() {
            let mut ways = std::mem::take(&mut up[host.0 as usize]);
            if ways.is_empty() {
                continue;
            }
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

    /// Adds what `demand` asks of each link; `false` if that would take too long to tell.
    pub(super) fn add(&self, demand: &Demand, loads: &mut Loads) -> bool {
        let links = self.topology.links.len() + demand.len();
        if self.groups.len().saturating_mul(links) > BUDGET {
            return false;
        }
        let all: f64 = demand.iter().map(|(_, rate)| rate).sum();
        let others = demand.len().saturating_sub(1).max(1) as f64;
        // Of each group the hosts that take part: their links and what they send.
        let mut parts: Vec<Vec<(&[Way], f64)>> = vec![Vec::new(); self.groups.len()];
        for &(host, rate) in demand {
            let of_host = self.of_host[host.0 as usize];
            let Some(group) = self.groups.get(of_host) else {
                continue;
            };
            let ways = &group.ways[group.hosts.binary_search(&host).unwrap_or(0)];
            // What comes to a host comes over all its links alike.
            let share = (all - rate) / others / ways.len() as f64;
            ways.iter()
                .for_each(|way| loads[way.link][usize::from(!way.back)] += share);
            parts[of_host].push((ways, rate));
        }
        for to in (0..parts.len()).filter(|&to| !parts[to].is_empty()) {
            self.add_to_group(to, &parts, others, loads);
        }
        true
    }

    /// Adds what goes to the hosts of one group, up to their switches.
    fn add_to_group(&self, to: usize, parts: &[Vec<(&[Way], f64)>], others: f64, loads: &mut Loads) {
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
        for (from, senders) in parts.iter().enumerate() {
            // Nobody sends to itself.
            let receivers = (parts[to].len() - usize::from(from == to)) as f64;
            for &(ways, rate) in senders {
                let nearest = ways.iter().map(|way| depth[way.to as usize]).min();
                let Some(nearest) = nearest.filter(|&depth| depth < u32::MAX) else {
                    continue;
                };
                let near = || ways.iter().filter(|way| depth[way.to as usize] == nearest);
                let share = rate * receivers / others / near().count() as f64;
                for way in near() {
                    loads[way.link][usize::from(way.back)] += share;
                    waiting[way.to as usize] += share;
                }
            }
        }
        for &node in order.iter().rev() {
            let load = waiting[node as usize];
            if load == 0.0 || depth[node as usize] == 0 {
                continue;
            }
            let next = |way: &&Way| depth[way.to as usize] + 1 == depth[node as usize];
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
        let share = |way: &Way| {
            let rate = self.topology.links[way.link].rate.as_bps() as f64;
            loads[way.link][usize::from(way.back)] / rate
        };
        ways.map(share).fold(0.0, f64::max)
    }
}

/// Warns of links that drawn flows ask more of than they carry, with what packets add to payload.
pub(super) fn warn(cx: &mut Cx<'_>, topology: &Topology, packet: &PacketFormat, drawn: &[Drawn]) {
    if drawn.is_empty() {
        return;
    }
    let payload = packet.mtu.get() as f64;
    let overhead = (payload + packet.data_header.get() as f64 + packet.framing.get() as f64) / payload;
    let network = Offered::new(topology);
    let mut worst: Option<(f64, String, &Drawn)> = None;
    // What is asked changes when a workload begins.
    for at in drawn {
        let begins = at.window.0;
        let mut loads = vec![[0.0; 2]; topology.links.len()];
        let on = drawn
            .iter()
            .filter(|other| other.window.0 <= begins && begins < other.window.1);
        if !on
            .map(|other| network.add(&other.demand, &mut loads))
            .all(|known| known)
        {
            return;
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
        let hint = match between {
            0 => "",
            _ => "; `load` is a share of the hosts' rate unless `load-of = \"uplinks\"`",
        };
        let text = format!(
            "arrivals ask {:.0} % of the link from node {} to node {}{others}: queues grow for as long as they last, and \
             completion times depend on how long that is{hint}",
            100.0 * share,
            from.0,
            to.0
        );
        worst = Some((share, text, at));
    }
    if let Some((_, text, at)) = worst {
        let place = at.place.clone();
        cx.warn(WarningKind::Workload, &place, text);
    }
}

/// A workload whose flows are drawn.
pub(super) struct Drawn {
    /// What it asks for.
    pub(super) demand: Demand,
    /// When it begins and ends.
    pub(super) window: (Time, Time),
    /// Where it is written.
    pub(super) place: Place,
}
