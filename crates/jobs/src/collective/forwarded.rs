//! All-to-all that merges messages to another server at the rank on the receiver's rail.

use std::collections::BTreeMap;

use super::graph::{Graph, Part, Wait};
use super::layout::Layout;
use super::steps::Step;

/// Returns the messages of an all-to-all in which every rank sends to all others at once. The ranks of a server pass
/// their data for a rank of another server to the rank on its rail, which sends all of it as one message when it is
/// complete.
pub(super) fn graph(ranks: u32, steps: &[Step], layout: &Layout) -> Graph {
    let mut graph = Graph::new(ranks);
    let part = |from, to, bytes| Part {
        from,
        to,
        bytes,
        channel: 0,
        enters: true,
    };
    // By sending rank and receiver: bytes, and messages that have to arrive first.
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
                    let index = graph.push(part(rank, via, bytes), []);
                    graph.done[rank as usize].push(Wait::acknowledged(index));
                    collect(via, Some(Wait::received(index)));
                }
                None if is_relay && !is_local => collect(rank, None),
                None => {
                    let index = graph.push(part(rank, to, bytes), []);
                    graph.done[to as usize].push(Wait::received(index));
                    graph.done[rank as usize].push(Wait::acknowledged(index));
                }
            }
        }
    }
    for (from, to) in order {
        let (bytes, waits) = &collected[&(from, to)];
        let index = graph.push(part(from, to, *bytes), waits.iter().copied());
        graph.done[to as usize].push(Wait::received(index));
        graph.done[from as usize].push(Wait::acknowledged(index));
    }
    graph
}
