//! Assignment of a network's nodes to the parts of a cut run.

mod load;
mod refine;

use std::collections::BTreeMap;

use load::Load;
use paceline_kernel::ids::{Id, List};
use refine::{Cut, Graph};

use crate::core::Core;
use crate::world::World;
use paceline_run::spec::{Awaited, NodeId, NodeKind};

/// A partition of the nodes.
#[derive(Debug)]
pub(super) struct Partition {
    /// Part of each node.
    pub(super) of_node: List<NodeId, u8>,
    pub(super) parts: usize,
    /// Least time that a packet takes from one part to another, in ps.
    pub(super) lookahead: u64,
}

/// Shortest delay of a link that may be cut, in ps: with a shorter one, parts would wait for each other more than they
/// run.
const SHORT: u64 = 20_000;

/// Partitions a network into at most `parts` parts; `None` if it cannot be cut.
///
/// These have to be in one part: a host and its (first) switch, the ends of short links, and hosts whose flows wait for
/// each other. Such groups are put in a row in which neighbours are near each other, and the row is cut so that each
/// part has about the same work. Groups of switches without hosts follow, each to the part where most of its neighbours
/// are. Then groups move as long as that improves the balance ([`refine`]).
pub(super) fn partition(world: &World, core: &Core, parts: usize) -> Option<Partition> {
    let mut groups = Groups::of(world, core);
    let load = Load::of(world, core);
    let row = in_row(world, core);
    let (of_node, graph) = graph(world, core, &mut groups, &load, &row);
    let with_hosts: Vec<usize> = (0..graph.work.len())
        .filter(|&group| graph.hosts[group])
        .collect();
    let parts = parts.min(with_hosts.len()).min(usize::from(u8::MAX));
    if parts < 2 {
        return None;
    }
    let mut part_of: Vec<Option<usize>> = vec![None; graph.work.len()];
    let total: u64 = with_hosts.iter().map(|&group| graph.work[group]).sum();
    let (mut before, mut next) = (0, 0);
    for (index, &group) in with_hosts.iter().enumerate() {
        let own = graph.work[group];
        // The middle of the group's work, in a row of equal parts; every part gets at least one group.
        let by_load = ((before + own / 2) * parts as u64 / total.max(1)) as usize;
        let left = with_hosts.len() - index;
        let part = by_load.min(next).max(parts.saturating_sub(left)).min(parts - 1);
        before += own;
        next = part + 1;
        part_of[group] = Some(part);
    }
    place_the_others(&graph, &mut part_of, parts);
    let mut cut = Cut::new(&graph, part_of.into_iter().flatten().collect(), parts);
    cut.refine();
    let of_node: List<NodeId, u8> = of_node.iter().map(|&group| cut.part[group] as u8).collect();
    let crossing = core
        .ports
        .ids()
        .filter(|&port| of_node[core.ports[port].node] != of_node[core.peer_node(port)]);
    // Measured on the final cut, which the refinement may have changed.
    let lookahead = crossing.map(|port| world.least_delay(port)).min()?;
    Some(Partition {
        of_node,
        parts,
        lookahead: lookahead.max(1),
    })
}

/// Returns the group of each node, and the graph of groups. Groups are numbered in the order of `row`.
fn graph(world: &World, core: &Core, groups: &mut Groups, load: &Load, row: &[usize]) -> (Vec<usize>, Graph) {
    let mut number = BTreeMap::new();
    for &node in row {
        let next = number.len();
        number.entry(groups.find(node)).or_insert(next);
    }
    let of_node: Vec<usize> = (0..row.len()).map(|node| number[&groups.find(node)]).collect();
    let mut graph = Graph::new(number.len());
    for (node, &group) in of_node.iter().enumerate() {
        graph.work[group] += load.of_node[node];
        graph.hosts[group] |= world.spec.nodes[node] == NodeKind::Host;
    }
    for port in core.ports.ids() {
        let (here, there) = (core.ports[port].node, core.peer_node(port));
        let (a, b) = (of_node[here.index()], of_node[there.index()]);
        if a != b {
            graph.link(a, b, world.least_delay(port));
        }
    }
    for (&(here, there), &packets) in &load.between {
        let (a, b) = (of_node[here.index()], of_node[there.index()]);
        if a != b {
            graph.pass(a, b, packets);
        }
    }
    (of_node, graph)
}

/// Assigns groups without hosts, the busiest first: each to the part in which it has most neighbours, and of several
/// such parts to the one with the least work.
fn place_the_others(graph: &Graph, part_of: &mut [Option<usize>], parts: usize) {
    let mut load = vec![0; parts];
    for (group, part) in part_of.iter().enumerate() {
        part.iter().for_each(|&part| load[part] += graph.work[group]);
    }
    let mut others: Vec<usize> = (0..part_of.len())
        .filter(|&group| part_of[group].is_none())
        .collect();
    others.sort_by_key(|&group| (std::cmp::Reverse(graph.work[group]), group));
    // Groups next to assigned ones come before those behind them.
    while !others.is_empty() {
        let near: Vec<Vec<u32>> = (others.iter())
            .map(|&group| {
                let mut links = vec![0; parts];
                for (&other, edge) in &graph.edges[group] {
                    part_of[other].iter().for_each(|&part| links[part] += edge.links);
                }
                links
            })
            .collect();
        let most = |links: &[u32]| links.iter().copied().max().unwrap_or(0);
        let reached = near.iter().any(|links| most(links) > 0);
        let mut left = Vec::new();
        for (group, links) in others.into_iter().zip(near) {
            if reached && most(&links) == 0 {
                left.push(group);
                continue;
            }
            let candidates = (0..parts).filter(|&part| links[part] == most(&links));
            let part = candidates.min_by_key(|&part| (load[part], part)).unwrap_or(0);
            load[part] += graph.work[group];
            part_of[group] = Some(part);
        }
        others = left;
    }
}

/// Returns all nodes, neighbours near each other: breadth first from the first host of each connected network.
fn in_row(world: &World, core: &Core) -> Vec<usize> {
    let nodes = world.spec.nodes.len();
    let (mut row, mut seen) = (Vec::with_capacity(nodes), vec![false; nodes]);
    let hosts = (0..nodes).filter(|&node| world.spec.nodes[node] == NodeKind::Host);
    for start in hosts.chain(0..nodes) {
        let mut next = row.len();
        if !std::mem::replace(&mut seen[start], true) {
            row.push(start);
        }
        while let Some(&node) = row.get(next) {
            next += 1;
            for &port in world.routing.ports_of(NodeId::new(node)).iter().rev() {
                let peer = core.peer_node(port).index();
                if !std::mem::replace(&mut seen[peer], true) {
                    row.push(peer);
                }
            }
        }
    }
    row
}

/// Sets of nodes that must be in one part (union-find).
struct Groups {
    /// Parent of each node in its set; the node itself for the set's representative.
    parent: Vec<usize>,
}

impl Groups {
    fn of(world: &World, core: &Core) -> Self {
        let spec = &world.spec;
        let mut groups = Self {
            parent: (0..spec.nodes.len()).collect(),
        };
        for (id, port) in core.ports.numbered() {
            let peer = core.ports[port.peer].node;
            let short = world.least_delay(id) < SHORT;
            if short || port.is_host && port.index == 0 {
                groups.join(port.node, peer);
            }
        }
        // The flow starts at the instant of the other one's progress, which only a host of the same part sees in time.
        for dependency in &spec.dependencies {
            let (before, after) = (
                &spec.flows[dependency.after as usize],
                &spec.flows[dependency.flow as usize],
            );
            let happens = match dependency.awaited {
                Awaited::Started | Awaited::Acknowledged => before.src,
                Awaited::Received => before.dst,
            };
            groups.join(happens, after.src);
        }
        groups
    }

    fn find(&mut self, node: usize) -> usize {
        let mut root = node;
        while self.parent[root] != root {
            root = self.parent[root];
        }
        let mut node = node;
        while self.parent[node] != root {
            node = std::mem::replace(&mut self.parent[node], root);
        }
        root
    }

    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a.index()), self.find(b.index()));
        // The smaller number stands for the set, so that the result does not depend on the order of joins.
        let (first, second) = (a.min(b), a.max(b));
        self.parent[second] = first;
    }
}
