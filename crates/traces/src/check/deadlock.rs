//! Explanation of a deadlock: the shortest cycle of operations that wait for each other.

use std::collections::VecDeque;

use crate::cycle::Edges;
use crate::frontier::NumberMap;
use crate::program::{OperationId, Program, Rank, Work};
use crate::walk::{At, Walked};

/// Largest number of operations that are searched for a cycle.
const MOST: u64 = 4 << 20;

/// Dependency graph of starts (even nodes) and ends (odd nodes) of operations.
#[derive(Debug, Default)]
struct Graph {
    /// Operation of every second node.
    operations: Vec<At>,
    indices: NumberMap<At, u32>,
    /// Edges from an event to the events that wait for it.
    edges: Vec<(u32, u32)>,
}

/// Cycle in which each operation waits for the next, and the last for the first.
#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) operations: Vec<At>,
    /// True if no cycle is shorter, as far as the search went.
    pub(super) shortest: bool,
}

/// Finds the shortest cycle among operations that cannot complete. Sends of more than `eager` bytes wait for their
/// receives.
pub(super) fn find(program: &dyn Program, walked: &Walked, eager: u64) -> Option<Cycle> {
    // The graph holds all remaining operations at once, unlike the walk.
    if walked.remaining > MOST {
        return None;
    }
    let mut graph = Graph::default();
    for rank in 0..program.ranks() {
        for number in 0..program.operations(rank) {
            if !walked.done.has((rank, number)) {
                graph
                    .indices
                    .insert((rank, number), graph.operations.len() as u32);
                graph.operations.push((rank, number));
            }
        }
    }
    graph.fill(program, walked, eager);
    graph.shortest()
}

impl Graph {
    fn fill(&mut self, program: &dyn Program, walked: &Walked, eager: u64) {
        let mut list = Vec::new();
        // Messages match by sender, receiver and tag: the n-th send with the n-th receive, unless a receive accepts
        // any.
        let mut sends: NumberMap<(Rank, Rank, u32), VecDeque<(u32, u64)>> = NumberMap::default();
        let mut receives = Vec::new();
        for (index, at) in (0u32..).zip(self.operations.clone()) {
            // Two events per operation: its start may free others while its end still waits.
            let (start, end) = (2 * index, 2 * index + 1);
            if !walked.started.has(at) {
                self.edges.push((start, end));
                list.clear();
                program.after_start(at.0, at.1, &mut list);
                self.wait(at.0, start, &list, walked);
            }
            list.clear();
            program.after_end(at.0, at.1, &mut list);
            self.wait(at.0, end, &list, walked);
            match program.operation(at.0, at.1).work {
                Work::Send { to, bytes, tag } if !walked.started.has(at) || bytes > eager => {
                    sends
                        .entry((at.0, to, tag))
                        .or_default()
                        .push_back((index, bytes));
                }
                Work::Receive {
                    from: Some(from),
                    tag: Some(tag),
                    ..
                } => receives.push((index, (from, at.0, tag))),
                // Receives of any rank or tag are left out: more than one send may complete them.
                _ => {}
            }
        }
        for (receive, key) in receives {
            let Some((send, bytes)) = sends.get_mut(&key).and_then(VecDeque::pop_front) else {
                continue;
            };
            let started = |index: u32| walked.started.has(self.operations[index as usize]);
            let (send_started, receive_started) = (started(send), started(receive));
            // Each end waits for the start on the other side, unless that has happened.
            if !send_started {
                self.edges.push((2 * send, 2 * receive + 1));
            }
            if bytes > eager && !receive_started {
                self.edges.push((2 * receive, 2 * send + 1));
            }
        }
    }

    fn wait(&mut self, rank: Rank, source: u32, list: &[OperationId], walked: &Walked) {
        for number in list {
            if let Some(index) = self.indices.get(&(rank, *number))
                && !walked.started.has((rank, *number))
            {
                self.edges.push((source, 2 * index));
            }
        }
    }

    /// Returns the operations of the shortest cycle.
    fn shortest(&self) -> Option<Cycle> {
        // Reversed edges: from an event to those that it waits for.
        let edges = Edges::new(
            self.operations.len() * 2,
            self.edges.iter().map(|edge| (edge.1, edge.0)),
        );
        let (nodes, shortest) = edges.shortest_cycle()?;
        let mut operations: Vec<At> = nodes
            .into_iter()
            .map(|node| self.operations[node as usize / 2])
            .collect();
        operations.dedup();
        if operations.len() > 1 && operations.first() == operations.last() {
            operations.pop();
        }
        // The cycle starts with the lowest rank and number, so that the message is deterministic.
        let lowest = (0..operations.len()).min_by_key(|i| operations[*i]).unwrap_or(0);
        operations.rotate_left(lowest);
        Some(Cycle { operations, shortest })
    }
}
