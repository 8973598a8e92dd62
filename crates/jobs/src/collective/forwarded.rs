//! All-to-all whose messages to another server are collected at the rank on the receiver's rail.

use std::collections::BTreeMap;

use paceline_run::spec::Awaited;

use super::graph::{Graph, Wait};
use super::layout::Layout;
use super::steps::Step;

/// Every rank sends to all others at once. The ranks of a server hand their messages for a rank of another server to the one
/// on its rail, which sends all of them as one message when it has them.
pub(super) fn graph(ranks: u32, steps: &[Step], layout: &Layout) -> Graph {
    let mut graph = Graph::new(ranks);
    // By the rank that sends them and the receiver: bytes, and what has to arrive.
    let mut collected: BTreeMap<(u32, u32), (u64, Vec<Wait>)> = BTreeMap::new();
    let mut order = Vec::new();
    for step in steps {
        for rank in 0..ranks {
            let (to, bytes) = (step.to[rank as usize], step.bytes[rank as usize]);
            let is_local = layout.neighbours(rank).contains(&to);
            let relay = layout.relay(rank, to);
            let is_relay = layout
                .neighbours(rank)
                .iter()
                .any(|&other| other != rank && layout.relay(other, to) == Some(rank));
            let mut collect = |at: u32, wait: Option<Wait>| {
                let entry = collected.entry((at, to));
                let (sum, waits) = entry.or_insert_with(|| {
                    order.push((at, to));
                    (0, Vec::new())
                });
                *sum += bytes;
                waits.extend(wait);
            };
            match relay {
                Some(via) => {
                    let part = graph.push((rank, via), (bytes, 0), true, []);
                    graph.done[rank as usize].push((part, Awaited::Acknowledged));
                    collect(via, Some((part, Awaited::Received)));
                }
                None if is_relay && !is_local => collect(rank, None),
                None => {
                    let part = graph.push((rank, to), (bytes, 0), true, []);
                    graph.done[to as usize].push((part, Awaited::Received));
                    graph.done[rank as usize].push((part, Awaited::Acknowledged));
                }
            }
        }
    }
    for (from, to) in order {
        let (bytes, waits) = &collected[&(from, to)];
        let part = graph.push((from, to), (*bytes, 0), true, waits.iter().copied());
        graph.done[to as usize].push((part, Awaited::Received));
        graph.done[from as usize].push((part, Awaited::Acknowledged));
    }
    graph
}
