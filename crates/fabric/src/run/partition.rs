//! Which nodes of a network go together when a run is cut.

use paceline_kernel::ids::{Id, List};
use std::collections::BTreeMap;

use crate::core::Core;
use crate::ids::FlowId;
use crate::spec::{Awaited, NodeId, NodeKind};
use crate::world::World;

/// A cut.
#[derive(Debug)]
pub(super) struct Partition {
    /// The part of each node.
    pub(super) of_node: List<NodeId, u8>,
    pub(super) parts: usize,
    /// What a packet from one part to another takes at least, in ps.
    pub(super) lookahead: u64,
}

/// Flows whose ways tell how much the nodes have to do, at most.
const SAMPLES: usize = 20_000;
/// Links that take less time than this, in ps, are not cut: parts would wait for each other more than they run.
const SHORT: u64 = 20_000;

/// Cuts a network into at most `parts`; `None` if it cannot be cut.
///
/// What must be in one part is: a host and its (first) switch, the ends of short links, and hosts whose flows wait for each
/// other. These groups are put in a row in which neighbours are near each other, and the row is cut where
/// each part has as much to do; switches without hosts follow, each to where most of its neighbours are.
pub(super) fn partition(world: &World, core: &Core, parts: usize) -> Option<Partition> {
    let mut groups = Groups::of(world, core);
    let work = work(world, core);
    let nodes = work.len();
    let mut of_group: BTreeMap<usize, (u64, bool)> = BTreeMap::new();
    for (node, &work) in work.iter().enumerate() {
        let (sum, hosts) = of_group.entry(groups.find(node)).or_default();
        *sum += work;
        *hosts |= world.spec.nodes[node] == NodeKind::Host;
    }
    let row: Vec<usize> = (in_row(world, core).into_iter())
        .filter(|&node| groups.find(node) == node && of_group[&node].1)
        .collect();
    let parts = parts.min(row.len()).min(usize::from(u8::MAX));
    if parts < 2 {
        return None;
    }
    let mut part_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut load = vec![0u64; parts];
    let total: u64 = row.iter().map(|group| of_group[group].0).sum();
    let mut before = 0;
    for (place, group) in row.iter().enumerate() {
        let own = of_group[group].0;
        // The middle of what it has to do, in a row of equal parts; every part gets one group at least.
        let by_load = ((before + own / 2) * parts as u64 / total.max(1)) as usize;
        let left = row.len() - place;
        let last = part_of.values().max().map_or(0, |&part| part + 1);
        let part = by_load.min(last).max(parts.saturating_sub(left)).min(parts - 1);
        before += own;
        load[part] += own;
        part_of.insert(*group, part);
    }
    place_the_others(world, core, &mut groups, &of_group, &mut part_of, &mut load);
    let of_node: List<NodeId, u8> = (0..nodes).map(|node| part_of[&groups.find(node)] as u8).collect();
    let crossing = core
        .ports
        .iter()
        .filter(|port| of_node[port.node] != of_node[core.ports[port.peer].node]);
    let lookahead = crossing.map(|port| world.profiles[port.profile].delay).min()?;
    Some(Partition {
        of_node,
        parts,
        lookahead: lookahead.max(1),
    })
}

/// Groups without hosts, the busiest first: each goes where it has most neighbours; of several such parts to
/// the one that has least to do.
fn place_the_others(
    world: &World,
    core: &Core,
    groups: &mut Groups,
    of_group: &BTreeMap<usize, (u64, bool)>,
    part_of: &mut BTreeMap<usize, usize>,
    load: &mut [u64],
) {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for node in 0..world.spec.nodes.len() {
        let group = groups.find(node);
        if !part_of.contains_key(&group) {
            members.entry(group).or_default().push(node);
        }
    }
    let mut others: Vec<usize> = members.keys().copied().collect();
    // Those next to what has its place come before those behind them.
    while !others.is_empty() {
        let mut near: Vec<(usize, Vec<usize>)> = Vec::new();
        for &group in &others {
            let mut neighbours = vec![0; load.len()];
            for &node in &members[&group] {
                for &port in world.routing.ports_of(NodeId::new(node)) {
                    let peer = core.ports[core.ports[port].peer].node;
                    if let Some(&part) = part_of.get(&groups.find(peer.index())) {
                        neighbours[part] += 1;
                    }
                }
            }
            near.push((group, neighbours));
        }
        let most = |neighbours: &[usize]| neighbours.iter().copied().max().unwrap_or(0);
        let reached = near.iter().any(|(_, neighbours)| most(neighbours) > 0);
        near.retain(|(_, neighbours)| !reached || most(neighbours) > 0);
        near.sort_by_key(|(group, _)| (std::cmp::Reverse(of_group[group].0), *group));
        for (group, neighbours) in near {
            let candidates = (0..load.len()).filter(|&part| neighbours[part] == most(&neighbours));
            let part = candidates.min_by_key(|&part| (load[part], part)).unwrap_or(0);
            load[part] += of_group[&group].0;
            part_of.insert(group, part);
            others.retain(|&other| other != group);
        }
    }
}

/// How much each node has to do: packets that flows send through it, of some flows for all; at least 1.
fn work(world: &World, core: &Core) -> Vec<u64> {
    let (flows, mtu) = (&world.spec.flows, world.packet.mtu.get());
    let mut work = vec![1; world.spec.nodes.len()];
    for flow in (0..flows.len()).step_by(flows.len().div_ceil(SAMPLES).max(1)) {
        let packets = flows[flow].size.get().div_ceil(mtu);
        let Some(paths) = world.find_paths(core, FlowId::new(flow)) else {
            continue;
        };
        for &port in paths.forward.iter().chain(&paths.back) {
            work[core.ports[port].node.index()] += packets;
        }
        for host in [flows[flow].src, flows[flow].dst] {
            work[host.index()] += packets;
        }
    }
    work
}

/// All nodes, neighbours near each other: breadth first from the first host of each connected network.
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
                let peer = core.ports[core.ports[port].peer].node.index();
                if !std::mem::replace(&mut seen[peer], true) {
                    row.push(peer);
                }
            }
        }
    }
    row
}

/// Nodes that must be in one part.
struct Groups {
    /// The node before each in its group; itself for the one that stands for the group.
    parent: Vec<usize>,
}

impl Groups {
    fn of(world: &World, core: &Core) -> Self {
        let spec = &world.spec;
        let mut groups = Self {
            parent: (0..spec.nodes.len()).collect(),
        };
        for port in &core.ports {
            let peer = core.ports[port.peer].node;
            let short = world.profiles[port.profile].delay < SHORT;
            if short || port.is_host && port.place == 0 {
                groups.join(port.node, peer);
            }
        }
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
        let (first, second) = (a.min(b), a.max(b));
        self.parent[second] = first;
    }
}
