//! Layout of a network: hosts at the bottom, switches in tiers by their distance from hosts.
//!
//! The layered method for drawing graphs (Sugiyama, Tagawa and Toda, 1981): tiers, then an order within each tier
//! with few crossings (barycentres), then positions.

use paceline_fabric::spec::NodeKind;
use paceline_kernel::order::Sort as _;
use paceline_scenario::topology::Topology;

/// Rounds of reordering; regular networks need none.
const SWEEPS: usize = 8;
/// Largest half width of a switch.
const HALF_MAX: f64 = 0.16;
/// Space between neighbouring groups of hosts, in widths of a host.
const GAP: f64 = 0.8;
/// Smallest width of a group, in widths of a host.
const GROUP_MIN: f64 = 1.5;

/// Positions in fractions of the picture's width.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// Tier of each node, 0 for hosts.
    pub tier: Vec<u32>,
    /// Centre of each node.
    pub x: Vec<f64>,
    /// Half of each node's width.
    pub half: Vec<f64>,
    /// Positions at which each link touches its two nodes.
    pub ends: Vec<(f64, f64)>,
    /// True for each link that must go around other nodes: its nodes are in one tier, and not neighbours.
    pub bent: Vec<bool>,
}

/// Lays out a network.
pub(super) fn layout(topology: &Topology) -> Layout {
    let nodes = topology.nodes.len();
    let mut neighbours = vec![Vec::new(); nodes];
    for link in &topology.links {
        let (a, b) = (link.a.0 as usize, link.b.0 as usize);
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let tier = tiers(topology, &neighbours);
    let order = ordered(&tier, &neighbours);
    let (mut x, mut half) = (vec![0.0; nodes], vec![0.0; nodes]);
    // From the hosts upwards, since a tier is placed by the positions of the tier below.
    place_hosts(&order, &tier, &neighbours, &mut x, &mut half);
    for row in order.iter().skip(2) {
        place_row(row, &tier, &neighbours, &mut x, &mut half);
    }
    let rank = ranks(&order, nodes);
    let bent = topology.links.iter().map(|link| {
        let (a, b) = (link.a.0 as usize, link.b.0 as usize);
        // A straight link would pass through the nodes between its ends.
        tier[a] == tier[b] && rank[a].abs_diff(rank[b]) != 1
    });
    let bent = bent.collect();
    Layout {
        ends: ends(topology, &tier, &x, &half),
        bent,
        tier,
        x,
        half,
    }
}

/// Returns the tier of each node: 0 for hosts, the shortest distance to a host for switches, 1 for switches that
/// reach none.
fn tiers(topology: &Topology, neighbours: &[Vec<usize>]) -> Vec<u32> {
    let is_host = |&node: &usize| topology.nodes[node] == NodeKind::Host;
    let mut tier = vec![None; topology.nodes.len()];
    let mut reached: Vec<usize> = (0..topology.nodes.len()).filter(is_host).collect();
    let mut distance = 0;
    while !reached.is_empty() {
        let mut next = Vec::new();
        for node in reached {
            if tier[node].is_none() {
                tier[node] = Some(distance);
                next.extend(neighbours[node].iter().copied().filter(|node| !is_host(node)));
            }
        }
        reached = next;
        distance += 1;
    }
    tier.into_iter().map(|tier| tier.unwrap_or(1)).collect()
}

/// Returns the nodes of each tier from left to right; hosts are in the order of their numbers.
fn ordered(tier: &[u32], neighbours: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let tiers = tier.iter().max().map_or(0, |&top| top as usize + 1);
    let mut order = vec![Vec::new(); tiers];
    for (node, &tier) in tier.iter().enumerate() {
        order[tier as usize].push(node);
    }
    let mut best = order.clone();
    let mut least = tangle(&best, tier, neighbours);
    for sweep in 0..SWEEPS {
        if least == 0 {
            break;
        }
        // Upwards by the tier below, then downwards by the tier above.
        let upwards = sweep % 2 == 0;
        let rows: Vec<usize> = if upwards {
            (2..tiers).collect()
        } else {
            (1..tiers.saturating_sub(1)).rev().collect()
        };
        // Barycentre method: each node moves to the mean position of its neighbours in the next tier.
        for row in rows {
            let beside = if upwards { row - 1 } else { row + 1 };
            let rank = ranks(&order, tier.len());
            let mean = |&node: &usize| -> f64 {
                let ranks = neighbours[node].iter().filter(|&&n| tier[n] as usize == beside);
                let ranks: Vec<usize> = ranks.map(|&n| rank[n]).collect();
                match ranks.len() {
                    0 => rank[node] as f64,
                    n => ranks.iter().sum::<usize>() as f64 / n as f64,
                }
            };
            order[row].order_by(|a, b| mean(a).total_cmp(&mean(b)));
        }
        // A sweep may also add crossings, so the best order so far is kept.
        let now = tangle(&order, tier, neighbours);
        if now < least {
            least = now;
            best = order.clone();
        }
    }
    best
}

/// Returns the index of each node in its tier.
fn ranks(order: &[Vec<usize>], nodes: usize) -> Vec<usize> {
    let mut rank = vec![0; nodes];
    for row in order {
        for (index, &node) in row.iter().enumerate() {
            rank[node] = index;
        }
    }
    rank
}

/// Counts crossings between neighbouring tiers of switches, and nodes passed by links within a tier.
fn tangle(order: &[Vec<usize>], tier: &[u32], neighbours: &[Vec<usize>]) -> u64 {
    let rank = ranks(order, tier.len());
    let mut sum = 0;
    for (row, nodes) in order.iter().enumerate().skip(1) {
        let mut links: Vec<(usize, usize)> = Vec::new();
        for &node in nodes {
            for &other in &neighbours[node] {
                match tier[other] as usize {
                    above if above == row + 1 => links.push((rank[node], rank[other])),
                    same if same == row => sum += (rank[node].abs_diff(rank[other]) as u64).saturating_sub(1),
                    _ => {}
                }
            }
        }
        // With links in the order of their lower ends, crossings are inversions of the upper ends.
        links.sort_unstable();
        let above: Vec<usize> = links.into_iter().map(|(_, above)| above).collect();
        sum += inversions(above, order.get(row + 1).map_or(0, Vec::len));
    }
    sum
}

/// Counts pairs that are in the wrong order. `values` are below `limit`.
fn inversions(values: Vec<usize>, limit: usize) -> u64 {
    // Fenwick tree of the number of occurrences of each value.
    let mut tree = vec![0u64; limit + 1];
    let mut sum = 0;
    for (seen, value) in values.into_iter().enumerate() {
        let mut not_larger = 0;
        let mut at = value + 1;
        while at > 0 {
            not_larger += tree[at];
            at &= at - 1;
        }
        sum += seen as u64 - not_larger;
        at = value + 1;
        while at < tree.len() {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    sum
}

/// Places hosts in groups below the switch of their first link, and those switches above them.
fn place_hosts(
    order: &[Vec<usize>],
    tier: &[u32],
    neighbours: &[Vec<usize>],
    x: &mut [f64],
    half: &mut [f64],
) {
    let mut groups: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    let mut group_of = vec![None; tier.len()];
    for &switch in order.get(1).into_iter().flatten() {
        group_of[switch] = Some(groups.len());
        groups.push((Some(switch), Vec::new()));
    }
    let mut alone = Vec::new();
    for &host in order.first().into_iter().flatten() {
        match neighbours[host].iter().find_map(|&node| group_of[node]) {
            Some(group) => groups[group].1.push(host),
            None => alone.push(host),
        }
    }
    if !alone.is_empty() {
        groups.push((None, alone));
    }
    // A switch needs room of its own even if it has few hosts.
    let width = |group: &[usize]| (group.len() as f64).max(GROUP_MIN);
    let total: f64 = groups.iter().map(|(_, hosts)| width(hosts) + GAP).sum();
    let mut left = 0.0;
    for (switch, hosts) in &groups {
        let (size, own) = (width(hosts), hosts.len() as f64);
        let middle = left + (size + GAP) / 2.0;
        for (i, &host) in hosts.iter().enumerate() {
            x[host] = (middle + i as f64 + 0.5 - own / 2.0) / total;
            half[host] = 0.3 / total;
        }
        if let Some(switch) = *switch {
            x[switch] = middle / total;
            half[switch] = (size / 2.0 / total).min(HALF_MAX);
        }
        left += size + GAP;
    }
}

/// Places a tier of switches in order, with a minimum distance, each close to the centre of its neighbours below.
fn place_row(row: &[usize], tier: &[u32], neighbours: &[Vec<usize>], x: &mut [f64], half: &mut [f64]) {
    let apart = 0.84 / row.len() as f64;
    let wish = |node: usize| {
        let below = neighbours[node].iter().filter(|&&n| tier[n] < tier[node]);
        let below: Vec<f64> = below.map(|&n| x[n]).collect();
        match below.len() {
            0 => 0.5,
            n => below.iter().sum::<f64>() / n as f64,
        }
    };
    // After subtracting the minimum distances, positions only have to be non-decreasing: the nearest such positions
    // are means of blocks (isotonic regression by pooling adjacent violators).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (i, &node) in row.iter().enumerate() {
        let mut block = (wish(node) - i as f64 * apart, 1);
        while let Some(&(mean, count)) = blocks.last().filter(|last| last.0 >= block.0) {
            blocks.pop();
            let all = (count + block.1) as f64;
            block = (
                (mean * count as f64 + block.0 * block.1 as f64) / all,
                count + block.1,
            );
        }
        blocks.push(block);
    }
    let (lowest, highest) = (apart / 2.0, 1.0 - apart / 2.0 - (row.len() - 1) as f64 * apart);
    let indices = blocks
        .iter()
        .flat_map(|&(at, count)| std::iter::repeat_n(at, count));
    for ((i, &node), at) in row.iter().enumerate().zip(indices) {
        x[node] = at.clamp(lowest, highest.max(lowest)) + i as f64 * apart;
        half[node] = (apart * 0.42).min(0.05);
    }
}

/// Spreads links over the sides of nodes, in the order of their other ends.
fn ends(topology: &Topology, tier: &[u32], x: &[f64], half: &[f64]) -> Vec<(f64, f64)> {
    // For each node: (above or not, position of the other end, link, which end).
    let mut touching = vec![Vec::new(); topology.nodes.len()];
    for (i, link) in topology.links.iter().enumerate() {
        let (a, b) = (link.a.0 as usize, link.b.0 as usize);
        for (node, other, end) in [(a, b, 0), (b, a, 1)] {
            touching[node].push((tier[other] >= tier[node], x[other], i, end));
        }
    }
    let mut ends = vec![(0.0, 0.0); topology.links.len()];
    for (node, mut all) in touching.into_iter().enumerate() {
        all.order_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        for side in all.chunk_by(|a, b| a.0 == b.0) {
            let share = 2.0 * half[node] / side.len() as f64;
            for (i, &(_, _, link, end)) in side.iter().enumerate() {
                let at = x[node] - half[node] + (i as f64 + 0.5) * share;
                match end {
                    0 => ends[link].0 = at,
                    _ => ends[link].1 = at,
                }
            }
        }
    }
    // Links between neighbours of a tier leave at the sides that face each other.
    for (link, end) in topology.links.iter().zip(&mut ends) {
        let (a, b) = (link.a.0 as usize, link.b.0 as usize);
        if tier[a] == tier[b] {
            let toward = |from: usize, to: usize| x[from] + half[from] * (x[to] - x[from]).signum();
            *end = (toward(a, b), toward(b, a));
        }
    }
    ends
}

#[cfg(test)]
mod tests;
