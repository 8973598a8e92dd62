//! Groups of hosts: by leaf and pod and, in networks that have them, by rail and server.

use paceline_fabric::spec::NodeId;

use crate::topology::Topology;

/// Sets of hosts, one for each group of a kind.
pub type Sets = Vec<Vec<NodeId>>;

/// Kinds of groups: singular and plural.
pub const KINDS: [(&str, &str); 4] = [
    ("leaf", "leaves"),
    ("pod", "pods"),
    ("rail", "rails"),
    ("server", "servers"),
];

/// Name of the tier of switches inside servers.
pub(crate) const SERVER: &str = "server";

/// Returns the groups of a kind, or `None` if the network has none. A leaf is a switch with hosts; a pod is a
/// component of the network without the uppermost of three tiers.
pub fn sets(topology: &Topology, kind: &str) -> Option<Sets> {
    if let Some((_, sets)) = topology.groups.iter().find(|(known, _)| *known == kind) {
        return Some(sets.clone());
    }
    let found = match kind {
        "leaf" => leaves(topology),
        "pod" => pods(topology),
        _ => Vec::new(),
    };
    (!found.is_empty()).then_some(found)
}

/// Returns each switch's distance from the nearest host: 1 for a leaf. Hosts have 0, and so have switches that no
/// host reaches.
pub fn tiers(topology: &Topology) -> Vec<u32> {
    let mut neighbours = vec![Vec::new(); topology.nodes.len()];
    for link in &topology.links {
        neighbours[link.a.0 as usize].push(link.b);
        neighbours[link.b.0 as usize].push(link.a);
    }
    let mut tiers = vec![0; topology.nodes.len()];
    let mut reached: Vec<NodeId> = topology.hosts().collect();
    for tier in 1.. {
        let above = reached.iter().flat_map(|node| &neighbours[node.0 as usize]);
        let mut next = Vec::new();
        for &node in above {
            if !topology.is_host(node) && tiers[node.0 as usize] == 0 {
                tiers[node.0 as usize] = tier;
                next.push(node);
            }
        }
        if next.is_empty() {
            break;
        }
        reached = next;
    }
    tiers
}

/// Returns the named tiers of switches from the hosts upwards, with their switches.
pub fn named_tiers(topology: &Topology) -> Vec<(String, Vec<NodeId>)> {
    let tier_of = tiers(topology);
    let top = tier_of.iter().copied().max().unwrap_or(0);
    let known: &[&str] = match top {
        1 => &["leaf"],
        2 => &["leaf", "spine"],
        3 => &["edge", "aggregation", "core"],
        _ => &[],
    };
    let name = |tier: u32| match known.get(tier as usize - 1) {
        Some(name) => (*name).to_string(),
        None => format!("tier-{tier}"),
    };
    // Switches inside servers are as near to hosts as leaves, and still a tier of their own.
    let is_inner = |node: &NodeId| topology.inner.binary_search(node).is_ok();
    let of = |tier: u32| {
        let switches = topology.switches().filter(|node| !is_inner(node));
        switches.filter(|node| tier_of[node.0 as usize] == tier).collect()
    };
    let mut named: Vec<_> = (1..=top).map(|tier| (name(tier), of(tier))).collect();
    if !topology.inner.is_empty() {
        named.push((SERVER.to_string(), topology.inner.clone()));
    }
    named
}

/// Returns the hosts at each switch that has any.
fn leaves(topology: &Topology) -> Sets {
    let mut at = vec![Vec::new(); topology.nodes.len()];
    for link in &topology.links {
        for (host, switch) in [(link.a, link.b), (link.b, link.a)] {
            if topology.is_host(host) && !topology.is_host(switch) {
                at[switch.0 as usize].push(host);
            }
        }
    }
    ordered(at)
}

/// Returns the sets of hosts connected below the uppermost of three tiers; empty in networks of fewer tiers.
fn pods(topology: &Topology) -> Sets {
    let tiers = tiers(topology);
    let top = tiers.iter().copied().max().unwrap_or(0);
    if top < 3 {
        return Vec::new();
    }
    let mut parents: Vec<u32> = (0..topology.nodes.len() as u32).collect();
    for link in &topology.links {
        if tiers[link.a.0 as usize] < top && tiers[link.b.0 as usize] < top {
            let (a, b) = (root(&mut parents, link.a.0), root(&mut parents, link.b.0));
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    let mut at = vec![Vec::new(); topology.nodes.len()];
    for host in topology.hosts() {
        at[root(&mut parents, host.0) as usize].push(host);
    }
    ordered(at)
}

/// Sorts each set by host number, without duplicates, and removes empty ones.
fn ordered(mut sets: Sets) -> Sets {
    for set in &mut sets {
        set.sort_unstable();
        set.dedup();
    }
    sets.retain(|set| !set.is_empty());
    sets
}

/// Returns the representative of `node` in the union-find forest `parents`.
pub(crate) fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}
