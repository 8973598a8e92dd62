//! Names of nodes and ports, as results show them and as scenarios may use them: `leaf 1`, `leaf 1 -> spine 3`.

use paceline_fabric::spec::{LinkSpec, NodeId};
use paceline_kernel::sorted::SortedMap;

use crate::diagnostics::nearest;
use crate::groups::{self, Sets, named_tiers};
use crate::topology::Topology;

/// Word before the number of a host.
const HOST: &str = "host";

/// Word before the number of a switch that has no tier.
const SWITCH: &str = "switch";

/// Names of the nodes of a network. A host is `host 12` by its number; a switch has the name of its tier and its index
/// there, such as `spine 3`. Rail switches are `rail 2`, or `pod 1 rail 2` if there are several pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeNames {
    /// Number of nodes in the network.
    nodes: u32,
    /// Names of switches.
    switches: SortedMap<u32, String>,
    /// Second and further links between the same nodes: their count by (node, interface), from 2.
    parallel: SortedMap<(u32, u32), u32>,
}

impl NodeNames {
    /// Names the nodes of a network.
    pub fn of(topology: &Topology) -> Self {
        Self::with_tiers(topology, &named_tiers(topology))
    }

    /// Names the nodes of a network whose tiers are known.
    pub(crate) fn with_tiers(topology: &Topology, tiers: &[(String, Vec<NodeId>)]) -> Self {
        let plain = topology.switches();
        let mut switches: SortedMap<u32, String> = plain
            .map(|node| (node.0, format!("{SWITCH} {}", node.0)))
            .collect();
        for (tier, members) in tiers {
            for (index, node) in members.iter().enumerate() {
                switches.insert(node.0, format!("{tier} {index}"));
            }
        }
        if let Some(rails) = rails(topology, tiers) {
            let several = rails.first().is_some_and(|pods| pods.len() > 1);
            for (rail, pods) in rails.iter().enumerate() {
                for (pod, node) in pods.iter().enumerate() {
                    let name = match several {
                        true => format!("pod {pod} rail {rail}"),
                        false => format!("rail {rail}"),
                    };
                    switches.insert(node.0, name);
                }
            }
        }
        Self {
            nodes: topology.nodes.len() as u32,
            switches,
            parallel: parallel(&topology.links),
        }
    }

    /// Returns these names with those of a list of (node, name) instead, as a run's folder holds it.
    #[must_use]
    pub fn renamed<'a>(mut self, list: impl IntoIterator<Item = (u32, &'a str)>) -> Self {
        for (node, name) in list {
            if let Some(known) = self.switches.get_mut(&node) {
                *known = name.to_string();
            }
        }
        self
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> u32 {
        self.nodes
    }

    /// Returns true if the network is unknown or has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Returns true if a node is a switch.
    pub fn is_switch(&self, node: u32) -> bool {
        self.switches.contains_key(&node)
    }

    /// Returns a node's name; `node 7` if the network has no such node.
    pub fn name(&self, node: u32) -> String {
        match self.switches.get(&node) {
            Some(name) => name.clone(),
            None if node < self.nodes => format!("{HOST} {node}"),
            None => format!("node {node}"),
        }
    }

    /// Returns a node's name, with its number in brackets unless the name has it: `leaf 1 (17)`.
    pub fn numbered(&self, node: u32) -> String {
        let name = self.name(node);
        match self.switches.get(&node) {
            Some(name) if *name != format!("{SWITCH} {node}") => format!("{name} ({node})"),
            _ => name,
        }
    }

    /// Returns the name of the port at an interface of a node: `leaf 1 -> spine 3`; of parallel links the second one
    /// ends in `#2`.
    pub fn port(&self, node: u32, interface: u32, peer: u32) -> String {
        let count = self.parallel.get(&(node, interface));
        let count = count.map_or_else(String::new, |count| format!(" #{count}"));
        format!("{} -> {}{count}", self.name(node), self.name(peer))
    }

    /// Returns the name of a link: `leaf 1 - spine 3`.
    pub fn link(&self, a: u32, b: u32) -> String {
        format!("{} - {}", self.name(a), self.name(b))
    }

    /// Returns the name of an entity of time series, such as `port 20.3->17` or `switch 20`; others stay as they are.
    pub fn entity(&self, text: &str) -> String {
        let named = || match text.strip_prefix("port ") {
            Some(port) => {
                let (from, peer) = port.split_once("->")?;
                let (node, interface) = from.split_once('.')?;
                Some(self.port(node.parse().ok()?, interface.parse().ok()?, peer.parse().ok()?))
            }
            None => {
                let node = text.strip_prefix("switch ")?.parse().ok()?;
                self.is_switch(node).then(|| self.name(node))
            }
        };
        match self.is_empty() {
            true => text.to_string(),
            false => named().unwrap_or_else(|| text.to_string()),
        }
    }

    /// Returns the node with this name or number: `spine 3`, `host 12`, `12`, or `switch 17` for any switch.
    pub fn node(&self, text: &str) -> Option<NodeId> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        if let Some((node, _)) = self.switches.iter().find(|(_, name)| **name == text) {
            return Some(NodeId(*node));
        }
        let number = |text: &str| text.parse().ok().filter(|&node: &u32| node < self.nodes);
        match words[..] {
            [node] => number(node).map(NodeId),
            [HOST, node] => number(node).filter(|&node| !self.is_switch(node)).map(NodeId),
            [SWITCH, node] => number(node).filter(|&node| self.is_switch(node)).map(NodeId),
            _ => None,
        }
    }

    /// Returns the name that is most like `text`, if any is near.
    pub fn nearest(&self, text: &str) -> Option<String> {
        let mut hosts = (0..self.nodes).filter(|node| !self.is_switch(*node));
        let ends = [hosts.clone().next(), hosts.next_back()].into_iter().flatten();
        let names: Vec<String> = (self.switches.values().cloned())
            .chain(ends.map(|node| self.name(node)))
            .collect();
        nearest(text, names.iter().map(String::as_str)).map(str::to_string)
    }
}

/// Counts the links between the same two nodes, at both of their interfaces.
fn parallel(links: &[LinkSpec]) -> SortedMap<(u32, u32), u32> {
    let mut interfaces: SortedMap<u32, u32> = SortedMap::new();
    let mut counts: SortedMap<(u32, u32), u32> = SortedMap::new();
    let mut found = SortedMap::new();
    for link in links {
        let (a, b) = (link.a.0, link.b.0);
        let count = counts.entry((a.min(b), a.max(b))).or_insert(0);
        *count += 1;
        for node in [a, b] {
            let interface = interfaces.entry(node).or_insert(0);
            *interface += 1;
            if *count > 1 {
                found.insert((node, *interface), *count);
            }
        }
    }
    found
}

/// Returns the switches of each rail, one per pod; `None` unless the network has rails.
fn rails(topology: &Topology, tiers: &[(String, Vec<NodeId>)]) -> Option<Sets> {
    let count = |kind: &str| {
        let found = topology.groups.iter().find(|(known, _)| *known == kind);
        found.map(|(_, sets)| sets.len())
    };
    let (rails, pods) = (count("rail")?, count("pod")?);
    let (_, switches) = tiers
        .first()
        .filter(|(_, switches)| switches.len() == rails * pods)?;
    // Rail switches are numbered pod by pod.
    let of_rail = |rail: usize| (0..pods).map(|pod| switches[pod * rails + rail]).collect();
    Some((0..rails).map(of_rail).collect())
}

/// Returns the sets of switches that a word means where a scenario takes switches: a tier has one set per switch, and
/// `rail` one per rail.
pub(crate) fn switch_sets(topology: &Topology, word: &str) -> Option<Sets> {
    let tiers = named_tiers(topology);
    if word == "rail" {
        return rails(topology, &tiers);
    }
    let word = groups::KINDS
        .iter()
        .find(|(_, several)| *several == word)
        .map_or(word, |(one, _)| one);
    let (_, switches) = tiers.into_iter().find(|(tier, _)| tier == word)?;
    Some(switches.into_iter().map(|switch| vec![switch]).collect())
}
