//! Networks: nodes and links, and the built-in generators.

use paceline_fabric::spec::{LinkSpec, NodeId, NodeKind, RunSpec};
use paceline_kernel::{BitRate, Span};
use std::collections::BTreeMap;

use crate::diagnostics::{Diagnostics, Place, Source};
use crate::groups::Sets;
use crate::schema::Fidelity;
use crate::warning::Warning;
use crate::{htsim, ns3};

/// Nodes and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Nodes.
    pub nodes: Vec<NodeKind>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// What the generator calls hosts that belong together, alongside what is seen from the links: see
    /// [`crate::groups`].
    pub groups: Vec<(&'static str, Sets)>,
    /// Switches inside servers, which link what is in one of them.
    pub inner: Vec<NodeId>,
}

impl Topology {
    /// `hosts` hosts, numbered from 0, and then `switches` switches.
    pub fn new(hosts: u32, switches: u32) -> Self {
        let mut nodes = vec![NodeKind::Host; hosts as usize];
        nodes.resize((hosts + switches) as usize, NodeKind::Switch);
        Self {
            nodes,
            ..Self::default()
        }
    }

    /// The nodes and links of a run.
    pub fn of(run: &RunSpec) -> Self {
        Self {
            nodes: run.nodes.clone(),
            links: run.links.clone(),
            ..Self::default()
        }
    }

    /// Reads a topology file of an ns-3 program or of htsim; `name` is what errors call it.
    ///
    /// # Errors
    /// What is wrong with the text, with its place.
    pub fn parse(name: &str, text: &str, fidelity: Fidelity) -> Result<Self, Diagnostics> {
        let source = Source::new(name, text);
        Ok(read_file(&source, fidelity, &mut Vec::new())?.topology)
    }

    /// Adds a link without errors.
    pub fn link(&mut self, a: u32, b: u32, rate: BitRate, delay: Span) {
        self.links.push(LinkSpec {
            a: NodeId(a),
            b: NodeId(b),
            rate,
            delay,
            error_rate: 0.0,
        });
    }

    /// Hosts, in the order of their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Host)
    }

    /// Switches, in the order of their numbers.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Switch)
    }

    fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(move |&(_, &k)| k == kind)
            .map(|(i, _)| NodeId(i as u32))
    }

    /// Whether a node is a host; `false` for a node that there is not.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes.get(node.0 as usize) == Some(&NodeKind::Host)
    }

    /// The rate at which each node sends into the network: the sum of its links', but for those that stay in
    /// a server.
    pub fn rates(&self) -> Vec<BitRate> {
        let mut rates = vec![BitRate::default(); self.nodes.len()];
        let inner = |node| self.inner.binary_search(node).is_ok();
        for link in self
            .links
            .iter()
            .filter(|link| !inner(&link.a) && !inner(&link.b))
        {
            for end in [link.a, link.b] {
                let rate = &mut rates[end.0 as usize];
                *rate = rate.saturating_add(link.rate);
            }
        }
        rates
    }

    /// Links by their [`ends`]; of several between two nodes the last.
    pub(crate) fn links_by_ends(&self) -> BTreeMap<(NodeId, NodeId), usize> {
        let links = self.links.iter().enumerate();
        links.map(|(i, link)| (ends(link.a, link.b), i)).collect()
    }

    /// The rate of the first link of the first host.
    pub fn first_host_rate(&self) -> Option<BitRate> {
        let host = self.hosts().next()?;
        let mut links = self.links.iter();
        links
            .find(|link| link.a == host || link.b == host)
            .map(|link| link.rate)
    }
}

/// The ends of a link between two nodes, in the order of their numbers.
pub(crate) fn ends(a: NodeId, b: NodeId) -> (NodeId, NodeId) {
    (a.min(b), a.max(b))
}

/// A topology and where its links were written.
#[derive(Default)]
pub struct Net {
    /// Its nodes and links.
    pub topology: Topology,
    /// A place per link; empty for a generated topology.
    pub(crate) places: Vec<Place>,
    /// Sets of hosts that the scenario has names for.
    pub(crate) names: Vec<(String, Vec<NodeId>)>,
    /// What may explain that a link is missing.
    pub(crate) note: Option<String>,
    /// Whether the file means to have several links between two nodes.
    pub(crate) parallel: bool,
    /// Whether `network.rate-factor` has multiplied rates of links.
    pub(crate) has_rate_factors: bool,
}

/// Reads a file of a network: of an ns-3 program, or of htsim.
pub(crate) fn read_file(
    source: &Source,
    fidelity: Fidelity,
    warnings: &mut Vec<Warning>,
) -> Result<Net, Diagnostics> {
    match htsim::is_topology(source) {
        true => htsim::topology::read(source, warnings),
        false => ns3::topology::read(source, fidelity, warnings),
    }
}

/// One switch, node 0, and `hosts` hosts, nodes 1 to `hosts`.
pub fn star(hosts: u32, rate: BitRate, delay: Span) -> Topology {
    let mut nodes = vec![NodeKind::Switch];
    nodes.resize(1 + hosts as usize, NodeKind::Host);
    let mut star = Topology {
        nodes,
        ..Topology::default()
    };
    for host in 1..=hosts {
        star.link(0, host, rate, delay);
    }
    star
}

/// `left` hosts on one switch and `right` on another, and a link between the switches.
pub fn dumbbell(left: u32, right: u32, host: (BitRate, Span), bottleneck: (BitRate, Span)) -> Topology {
    let hosts = left + right;
    let mut net = Topology::new(hosts, 2);
    for i in 0..hosts {
        net.link(i, if i < left { hosts } else { hosts + 1 }, host.0, host.1);
    }
    net.link(hosts, hosts + 1, bottleneck.0, bottleneck.1);
    net
}

/// `hops + 1` switches in a row with two hosts each: hosts `2i` and `2i + 1` are at the i-th.
pub fn parking_lot(hops: u32, rate: BitRate, delay: Span) -> Topology {
    let hosts = 2 * (hops + 1);
    let mut net = Topology::new(hosts, hops + 1);
    for i in 0..hosts {
        net.link(i, hosts + i / 2, rate, delay);
    }
    for i in 0..hops {
        net.link(hosts + i, hosts + i + 1, rate, delay);
    }
    net
}

/// Leaves with hosts, each leaf linked to every spine. Hosts come first, then leaves, then spines.
pub fn leaf_spine(
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    host: (BitRate, Span),
    spine: (BitRate, Span),
) -> Topology {
    let hosts = leaves * hosts_per_leaf;
    let mut net = Topology::new(hosts, leaves + spines);
    for i in 0..hosts {
        net.link(i, hosts + i / hosts_per_leaf, host.0, host.1);
    }
    for leaf in 0..leaves {
        for s in 0..spines {
            net.link(hosts + leaf, hosts + leaves + s, spine.0, spine.1);
        }
    }
    net
}

/// Servers with several GPUs, each with a NIC of its own: a host of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rails {
    /// Servers.
    pub servers: u32,
    /// GPUs of each, which is how many rails there are.
    pub gpus: u32,
    /// Servers at the same rail switches; divides `servers`.
    pub servers_per_pod: u32,
    /// Spines, to each of which every rail switch is linked.
    pub spines: u32,
    /// Links of hosts.
    pub host: (BitRate, Span),
    /// Links between rail switches and spines.
    pub spine: (BitRate, Span),
    /// Links of GPUs to the switch inside their server, if they have any.
    pub server: Option<(BitRate, Span)>,
}

/// A rail-optimised network: the i-th GPU of every server of a pod is at the pod's i-th rail switch. Hosts come
/// first, server by server, then rail switches, pod by pod, then spines, then the switches inside servers.
pub fn rail(rails: &Rails) -> Topology {
    let Rails { servers, gpus, .. } = *rails;
    let (hosts, pods) = (servers * gpus, servers / rails.servers_per_pod);
    let (first_rail, first_spine) = (hosts, hosts + pods * gpus);
    let first_server = first_spine + rails.spines;
    let inside = rails.server.map_or(0, |_| servers);
    let mut net = Topology::new(hosts, pods * gpus + rails.spines + inside);
    let at = |host: u32| host / gpus / rails.servers_per_pod * gpus + host % gpus;
    for host in 0..hosts {
        net.link(host, first_rail + at(host), rails.host.0, rails.host.1);
    }
    for rail in first_rail..first_spine {
        for spine in first_spine..first_server {
            net.link(rail, spine, rails.spine.0, rails.spine.1);
        }
    }
    if let Some((rate, delay)) = rails.server {
        for host in 0..hosts {
            net.link(host, first_server + host / gpus, rate, delay);
        }
        net.inner = (first_server..first_server + servers).map(NodeId).collect();
    }
    let by = |count: u32, key: &dyn Fn(u32) -> u32| {
        let mut sets = vec![Vec::new(); count as usize];
        for host in 0..hosts {
            sets[key(host) as usize].push(NodeId(host));
        }
        sets
    };
    net.groups = vec![
        ("server", by(servers, &|host| host / gpus)),
        ("rail", by(gpus, &|host| host % gpus)),
        ("leaf", by(pods * gpus, &at)),
        ("pod", by(pods, &|host| host / gpus / rails.servers_per_pod)),
    ];
    net
}

/// Rates of a fat tree's tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTreeRates {
    /// Hosts to edge switches.
    pub host: BitRate,
    /// Edge to aggregation switches.
    pub aggregation: BitRate,
    /// Aggregation to core switches.
    pub core: BitRate,
}

/// The fat tree of `k`-port switches (Al-Fares et al., 2008): `k` pods of `k/2` edge and `k/2`
/// aggregation switches, `(k/2)²` core switches, `k/2` hosts at each edge switch, times
/// `oversubscription`.
///
/// Hosts come first, then edge, aggregation and core switches, pod by pod. The j-th aggregation
/// switch of each pod has core switches `j k/2` to `(j + 1) k/2 - 1`.
pub fn fat_tree(k: u32, oversubscription: u32, rates: FatTreeRates, delay: Span) -> Topology {
    let half = k / 2;
    let at_edge = half * oversubscription;
    let (edges, hosts) = (k * half, k * half * at_edge);
    let (edge, aggregation, core) = (hosts, hosts + edges, hosts + 2 * edges);
    let mut net = Topology::new(hosts, 2 * edges + half * half);
    for i in 0..hosts {
        net.link(i, edge + i / at_edge, rates.host, delay);
    }
    for e in 0..edges {
        for j in 0..half {
            net.link(
                edge + e,
                aggregation + e / half * half + j,
                rates.aggregation,
                delay,
            );
        }
    }
    for a in 0..edges {
        for j in 0..half {
            net.link(aggregation + a, core + a % half * half + j, rates.core, delay);
        }
    }
    net
}

/// The network of HPCC's evaluation: 320 hosts (0 to 319), 20 top-of-rack switches with 16 hosts
/// each (320 to 339), 20 aggregation switches (340 to 359), 16 core switches (360 to 375), in five
/// pods of four by four.
pub fn hpcc_fat(host: BitRate, fabric: BitRate, delay: Span) -> Topology {
    let mut net = Topology::new(320, 56);
    for i in 0..320 {
        net.link(i, 320 + i / 16, host, delay);
    }
    for tor in 0..20 {
        for j in 0..4 {
            net.link(320 + tor, 340 + tor / 4 * 4 + j, fabric, delay);
        }
    }
    for aggregation in 0..20 {
        for j in 0..4 {
            net.link(340 + aggregation, 360 + aggregation % 4 * 4 + j, fabric, delay);
        }
    }
    net
}
