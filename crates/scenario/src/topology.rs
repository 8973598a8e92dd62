//! Networks: nodes and links, and the built-in generators.

use paceline_fabric::spec::{LinkSpec, NodeId, NodeKind, RunSpec};
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::{BitRate, Span};

use crate::diagnostics::{Diagnostics, Location, Source};
use crate::groups::Sets;
use crate::infragraph::{self, LinkDefaults};
use crate::schema::Fidelity;
use crate::warning::Warning;
use crate::{htsim, ns3};

/// Nodes and links of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Kind of each node, by number.
    pub nodes: Vec<NodeKind>,
    /// Links, each in both directions.
    pub links: Vec<LinkSpec>,
    /// Named groups of hosts from the generator, in addition to those derived from links: see [`crate::groups`].
    pub groups: Vec<(&'static str, Sets)>,
    /// Switches inside servers, sorted.
    pub inner: Vec<NodeId>,
}

impl Topology {
    /// Creates a network of `hosts` hosts, numbered from 0, followed by `switches` switches, without links.
    pub fn new(hosts: u32, switches: u32) -> Self {
        let mut nodes = vec![NodeKind::Host; hosts as usize];
        nodes.resize((hosts + switches) as usize, NodeKind::Switch);
        Self {
            nodes,
            ..Self::default()
        }
    }

    /// Returns the nodes and links of a run.
    pub fn of(run: &RunSpec) -> Self {
        Self {
            nodes: run.nodes.clone(),
            links: run.links.clone(),
            ..Self::default()
        }
    }

    /// Parses a topology file of an ns-3 program, of htsim or of InfraGraph; errors call it `name`.
    ///
    /// # Errors
    /// All problems of the text, with their positions.
    pub fn parse(name: &str, text: &str, fidelity: Fidelity) -> Result<Self, Diagnostics> {
        let source = Source::new(name, text);
        Ok(read_file(&source, fidelity, LinkDefaults::default(), &mut Vec::new())?.topology)
    }

    /// Adds a link with an error rate of zero.
    pub fn link(&mut self, a: u32, b: u32, rate: BitRate, delay: Span) {
        self.links.push(LinkSpec {
            a: NodeId(a),
            b: NodeId(b),
            rate,
            delay,
            error_rate: 0.0,
        });
    }

    /// Returns the hosts in ascending order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Host)
    }

    /// Returns the switches in ascending order.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Switch)
    }

    fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(move |&(_, &k)| k == kind)
            .map(|(i, _)| NodeId(i as u32))
    }

    /// Returns true if a node is a host; false if there is no such node.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes.get(node.0 as usize) == Some(&NodeKind::Host)
    }

    /// Returns each node's total link rate into the network, without links inside servers.
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

    /// Returns links by their [`ends`]; of parallel links, only the last one.
    pub(crate) fn links_by_ends(&self) -> SortedMap<(NodeId, NodeId), usize> {
        let links = self.links.iter().enumerate();
        links.map(|(i, link)| (ends(link.a, link.b), i)).collect()
    }

    /// Returns the rate of the first link of the first host.
    pub fn first_host_rate(&self) -> Option<BitRate> {
        let host = self.hosts().next()?;
        let mut links = self.links.iter();
        links
            .find(|link| link.a == host || link.b == host)
            .map(|link| link.rate)
    }
}

/// Returns the ends of a link between two nodes in ascending order.
pub(crate) fn ends(a: NodeId, b: NodeId) -> (NodeId, NodeId) {
    (a.min(b), a.max(b))
}

/// Topology with the positions of its links.
#[derive(Default)]
pub struct Net {
    /// Nodes and links of the network.
    pub topology: Topology,
    /// Position of each link; empty for a generated topology.
    pub(crate) locations: Vec<Location>,
    /// Sets of hosts that the scenario names.
    pub(crate) names: Vec<(String, Vec<NodeId>)>,
    /// Possible explanation for a missing link, shown with errors.
    pub(crate) note: Option<String>,
    /// True if parallel links in the file are intentional.
    pub(crate) parallel: bool,
    /// True if `network.rate-factor` changed rates of links.
    pub(crate) has_rate_factors: bool,
}

/// Reads a network in the format of an ns-3 program, of htsim or of InfraGraph.
pub(crate) fn read_file(
    source: &Source,
    fidelity: Fidelity,
    defaults: LinkDefaults,
    warnings: &mut Vec<Warning>,
) -> Result<Net, Diagnostics> {
    if infragraph::is_infrastructure(source) {
        return infragraph::read(source, defaults, warnings);
    }
    match htsim::is_topology(source) {
        true => htsim::topology::read(source, warnings),
        false => ns3::topology::read(source, fidelity, warnings),
    }
}

/// Creates a star: a switch as node 0, and `hosts` hosts as nodes 1 to `hosts`.
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

/// Creates a dumbbell: `left` hosts on one switch and `right` hosts on another, with a link between the switches.
pub fn dumbbell(left: u32, right: u32, host: (BitRate, Span), bottleneck: (BitRate, Span)) -> Topology {
    let hosts = left + right;
    let mut net = Topology::new(hosts, 2);
    for i in 0..hosts {
        net.link(i, if i < left { hosts } else { hosts + 1 }, host.0, host.1);
    }
    net.link(hosts, hosts + 1, bottleneck.0, bottleneck.1);
    net
}

/// Creates a parking lot: `hops + 1` switches in a row with two hosts each; hosts `2i` and `2i + 1` are at switch
/// `i`.
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

/// Creates a leaf-spine network with a link from every leaf to every spine. Hosts are numbered first, then leaves,
/// then spines.
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

/// Parameters of a rail network: servers with several GPUs, each with its own NIC, which is a host of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rails {
    /// Number of servers in all pods.
    pub servers: u32,
    /// GPUs per server, which is also the number of rails.
    pub gpus: u32,
    /// Servers at the same rail switches; divides `servers`.
    pub servers_per_pod: u32,
    /// Number of spines; every rail switch has a link to each.
    pub spines: u32,
    /// Rate and delay of links to hosts.
    pub host: (BitRate, Span),
    /// Rate and delay of links between rail switches and spines.
    pub spine: (BitRate, Span),
    /// Rate and delay of links from GPUs to the switch inside their server, if there is one.
    pub server: Option<(BitRate, Span)>,
}

/// Creates a rail-optimised network: GPU `i` of every server in a pod is at the pod's rail switch `i`. Hosts are
/// numbered first, server by server, then rail switches, pod by pod, then spines, then the switches inside servers.
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
    /// Rate of links from hosts to edge switches.
    pub host: BitRate,
    /// Rate of links from edge to aggregation switches.
    pub aggregation: BitRate,
    /// Rate of links from aggregation to core switches.
    pub core: BitRate,
}

/// Creates the fat tree of `k`-port switches (Al-Fares et al., 2008): `k` pods of `k/2` edge and `k/2` aggregation
/// switches, `(k/2)²` core switches, and `k/2` hosts at each edge switch, times `oversubscription`.
///
/// Hosts are numbered first, then edge, aggregation and core switches, pod by pod. Aggregation switch `j` of each pod
/// is linked to core switches `j k/2` to `(j + 1) k/2 - 1`.
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

/// Creates the network of HPCC's evaluation: 320 hosts (0 to 319), 20 top-of-rack switches with 16 hosts each (320 to
/// 339), 20 aggregation switches (340 to 359) and 16 core switches (360 to 375), in five pods of four by four.
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
