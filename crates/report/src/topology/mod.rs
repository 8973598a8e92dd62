//! Topology view of a page: the network of one run over time.

mod flows;
mod layout;
mod pack;
mod tiers;
mod timeline;

use paceline_fabric::spec::NodeKind;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::topology::Topology;
use serde::Serialize;

use paceline_lab::files::RunData;
use paceline_lab::files::ports::WAITING;
use paceline_lab::results::{Cycle, EndlessPause};

/// Input of the page's script.
#[derive(Debug, Serialize)]
pub(super) struct View {
    nodes: Vec<Node>,
    links: Vec<Link>,
    timeline: Option<timeline::Timeline>,
    flows: flows::Listed,
    /// True if ports wait for credits instead of pauses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    credits: bool,
    deadlocks: Vec<Deadlock>,
    /// Tiers with settings in the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<tiers::Tier>,
}

/// Ports whose pauses form a deadlock, as rows.
#[derive(Debug, PartialEq, Serialize)]
struct Deadlock {
    ports: Vec<usize>,
    /// Port that was paused last, which closed the cycle.
    closing: usize,
    /// Time of that pause, in ps.
    at_ps: u64,
}

/// Node; positions are in fractions of the picture's width.
#[derive(Debug, Serialize)]
struct Node {
    host: bool,
    tier: u32,
    x: f64,
    half: f64,
    /// Name of a switch; pages know those of hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Index in `tiers`, if the node's tier is listed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<usize>,
}

/// Link as two ports: that of its first node, then that of its second.
#[derive(Debug, Serialize)]
struct Link {
    nodes: [u32; 2],
    /// Numbers of its interfaces at the nodes.
    interfaces: [u32; 2],
    x: [f64; 2],
    bent: bool,
    bps: u64,
    delay_ps: u64,
}

/// Returns the view of a run; `None` if its folder has no network.
pub(super) fn view(run: &RunData) -> Option<View> {
    let topology = run.topology.as_ref()?;
    let links = links(topology);
    let rows = rows(topology, &links);
    let layout = layout::layout(topology);
    let tiers = tiers::tiers(run, topology);
    let node = |(i, kind): (usize, &NodeKind)| Node {
        host: *kind == NodeKind::Host,
        tier: layout.tier[i],
        x: short(layout.x[i]),
        half: short(layout.half[i]),
        name: run.names.is_switch(i as u32).then(|| run.names.name(i as u32)),
        of: tiers.iter().position(|tier| tier.has(i)),
    };
    Some(View {
        nodes: topology.nodes.iter().enumerate().map(node).collect(),
        links: links
            .into_iter()
            .zip(layout.ends.iter().zip(&layout.bent))
            .map(|(link, (&(a, b), &bent))| Link {
                x: [short(a), short(b)],
                bent,
                ..link
            })
            .collect(),
        timeline: timeline::timeline(&run.series, &rows),
        flows: flows::listed(run, &rows),
        credits: run.series.iter().any(|series| series.metric == WAITING),
        deadlocks: deadlocks(run, &rows),
        tiers,
    })
}

/// Returns the cycles of pauses at the end of a run.
fn deadlocks(run: &RunData, rows: &SortedMap<String, usize>) -> Vec<Deadlock> {
    let Some(found) = &run.summary.deadlock else {
        return Vec::new();
    };
    let deadlock = |cycle: &Cycle| {
        let next = cycle.nodes.iter().cycle().skip(1);
        let pause_of = |(&node, &by): (&u32, &u32)| {
            let is_it =
                |pause: &&EndlessPause| (pause.node, pause.by, pause.priority) == (node, by, cycle.priority);
            found.pauses.iter().find(is_it)
        };
        let pauses: Option<Vec<&EndlessPause>> = cycle.nodes.iter().zip(next).map(pause_of).collect();
        let pauses = pauses?;
        // The latest pause closed the cycle.
        let last = pauses.iter().max_by(|a, b| a.since_s.total_cmp(&b.since_s))?;
        Some(Deadlock {
            ports: pauses
                .iter()
                .filter_map(|pause| rows.get(&pause.port).copied())
                .collect(),
            closing: *rows.get(&last.port)?,
            at_ps: (last.since_s * 1e12).round() as u64,
        })
    };
    found.cycles.iter().filter_map(deadlock).collect()
}

/// Rounds to a hundred-thousandth of the width, which is less than a pixel even when magnified.
fn short(x: f64) -> f64 {
    (x * 1e5).round() / 1e5
}

/// Returns the links, still without positions.
fn links(topology: &Topology) -> Vec<Link> {
    let mut count = vec![0; topology.nodes.len()];
    let mut next = |node: u32| {
        let count = &mut count[node as usize];
        *count += 1;
        *count
    };
    let link = |link: &paceline_fabric::spec::LinkSpec| Link {
        nodes: [link.a.0, link.b.0],
        interfaces: [next(link.a.0), next(link.b.0)],
        x: [0.0; 2],
        bent: false,
        bps: link.rate.as_bps(),
        delay_ps: link.delay.as_ps(),
    };
    topology.links.iter().map(link).collect()
}

/// Returns the rows of the timeline by the names of series: ports by number, switches by node.
fn rows(topology: &Topology, links: &[Link]) -> SortedMap<String, usize> {
    let mut rows: SortedMap<String, usize> = topology
        .switches()
        .map(|node| (format!("switch {}", node.0), node.0 as usize))
        .collect();
    for (i, link) in links.iter().enumerate() {
        for (end, other) in [(0, 1), (1, 0)] {
            let (node, interface, peer) = (link.nodes[end], link.interfaces[end], link.nodes[other]);
            rows.insert(format!("port {node}.{interface}->{peer}"), 2 * i + end);
        }
    }
    rows
}

#[cfg(test)]
mod tests;
