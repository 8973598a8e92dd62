//! Networks: nodes and links, and the built-in generators.

use paceline_fabric::spec::{LinkSpec, NodeId, NodeKind};
use paceline_kernel::{BitRate, Span};

use crate::diagnostics::{Diagnostics, Place, Source};
use crate::schema::Fidelity;

/// Nodes and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Nodes.
    pub nodes: Vec<NodeKind>,
    /// Links.
    pub links: Vec<LinkSpec>,
}

impl Topology {
    /// `hosts` hosts, numbered from 0, and then `switches` switches.
    pub fn new(hosts: u32, switches: u32) -> Self {
        let mut nodes = vec![NodeKind::Host; hosts as usize];
        nodes.resize((hosts + switches) as usize, NodeKind::Switch);
        Self {
            nodes,
            links: Vec::new(),
        }
    }

    /// Reads a topology file of HPCC's ns-3 simulator; `name` is what errors call it.
    ///
    /// # Errors
    /// What is wrong with the text, with its place.
    pub fn parse(name: &str, text: &str, fidelity: Fidelity) -> Result<Self, Diagnostics> {
        let source = Source::new(name, text);
        Ok(crate::ns3::topology::read(&source, fidelity, &mut Vec::new())?.topology)
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

    /// The rate at which each node sends: the sum of its links'.
    pub fn rates(&self) -> Vec<BitRate> {
        let mut rates = vec![BitRate::default(); self.nodes.len()];
        for link in &self.links {
            for end in [link.a, link.b] {
                let rate = &mut rates[end.0 as usize];
                *rate = rate.saturating_add(link.rate);
            }
        }
        rates
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

/// A topology and where its links were written.
#[derive(Default)]
pub(crate) struct Net {
    pub(crate) topology: Topology,
    /// A place per link; empty for a generated topology.
    pub(crate) places: Vec<Place>,
    /// What may explain that a link is missing.
    pub(crate) note: Option<String>,
}

/// One switch, node 0, and `hosts` hosts, nodes 1 to `hosts`.
pub fn star(hosts: u32, rate: BitRate, delay: Span) -> Topology {
    let mut nodes = vec![NodeKind::Switch];
    nodes.resize(1 + hosts as usize, NodeKind::Host);
    let mut star = Topology {
        nodes,
        links: Vec::new(),
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
