//! Why operations can never be done: the shortest cycle of those that wait for each other.

use std::collections::VecDeque;

use crate::frontier::NumberMap;
use crate::program::{OperationId, Program, Rank, Work};
use crate::walk::{At, Walked};

/// More operations than this are not searched for a cycle.
const MOST: u64 = 4 << 20;
/// Steps of a search in all; the shortest cycle found by then is told.
const STEPS: u64 = 200_000_000;

/// What has to happen: a start (even) or an end (odd), and for what it is waited for.
#[derive(Debug, Default)]
struct Graph {
    /// The operation of every second node.
    operations: Vec<At>,
    places: NumberMap<At, u32>,
    /// From what is waited for to what waits.
    edges: Vec<(u32, u32)>,
}

/// A cycle: each operation waits for the next, the last for the first.
#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) operations: Vec<At>,
    /// No cycle is shorter, as far as was searched.
    pub(super) shortest: bool,
}

/// The shortest cycle among the operations that cannot be done. Sends of more than `eager` bytes wait for their receives.
pub(super) fn find(program: &dyn Program, walked: &Walked, eager: u64) -> Option<Cycle> {
    if walked.remaining > MOST {
        return None;
    }
    let mut graph = Graph::default();
    for rank in 0..program.ranks() {
        for number in 0..program.operations(rank) {
            if !walked.done.has((rank, number)) {
                graph.places.insert((rank, number), graph.operations.len() as u32);
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
        // Messages by sender, receiver and tag: the n-th send and the n-th receive, where neither takes any.
        let mut sends: NumberMap<(Rank, Rank, u32), VecDeque<(u32, u64)>> = NumberMap::default();
        let mut receives = Vec::new();
        for (place, at) in (0u32..).zip(self.operations.clone()) {
            let (start, end) = (2 * place, 2 * place + 1);
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
                        .push_back((place, bytes));
                }
                Work::Receive {
                    from: Some(from),
                    tag: Some(tag),
                    ..
                } => receives.push((place, (from, at.0, tag))),
                _ => {}
            }
        }
        for (receive, key) in receives {
            let Some((send, bytes)) = sends.get_mut(&key).and_then(VecDeque::pop_front) else {
                continue;
            };
            let started = |place: u32| walked.started.has(self.operations[place as usize]);
            let (send_started, receive_started) = (started(send), started(receive));
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
            if let Some(place) = self.places.get(&(rank, *number))
                && !walked.started.has((rank, *number))
            {
                self.edges.push((source, 2 * place));
            }
        }
    }

    /// Searches from each node that is on a cycle or between two, breadth first, no deeper than the best cycle so far.
    fn shortest(&self) -> Option<Cycle> {
        let nodes = self.operations.len() * 2;
        let forward = Lists::new(nodes, self.edges.iter().copied());
        let backward = Lists::new(nodes, self.edges.iter().map(|e| (e.1, e.0)));
        let mut alive = vec![true; nodes];
        trim(&mut alive, &forward, &backward);
        trim(&mut alive, &backward, &forward);

        let mut best: Option<Vec<u32>> = None;
        let mut steps = 0;
        // The node before each, and when it was reached, counted over all searches.
        let mut before = vec![(0u32, 0u32); nodes];
        let mut queue = VecDeque::new();
        for root in (0..nodes as u32).filter(|n| alive[*n as usize]) {
            let deepest = best.as_ref().map_or(usize::MAX, |b| b.len() - 1);
            if deepest < 2 || steps > STEPS {
                break;
            }
            queue.clear();
            queue.push_back((root, 1usize));
            'search: while let Some((node, depth)) = queue.pop_front() {
                if depth > deepest {
                    break;
                }
                for next in backward.of(node) {
                    steps += 1;
                    if *next == root {
                        let mut cycle = vec![node];
                        while cycle[cycle.len() - 1] != root {
                            cycle.push(before[cycle[cycle.len() - 1] as usize].0);
                        }
                        cycle.reverse();
                        if best.as_ref().is_none_or(|b| cycle.len() < b.len()) {
                            best = Some(cycle);
                        }
                        break 'search;
                    }
                    let seen = &mut before[*next as usize];
                    if alive[*next as usize] && seen.1 != root + 1 {
                        *seen = (node, root + 1);
                        queue.push_back((*next, depth + 1));
                    }
                }
            }
        }
        let mut operations: Vec<At> = best?
            .into_iter()
            .map(|node| self.operations[node as usize / 2])
            .collect();
        operations.dedup();
        if operations.len() > 1 && operations.first() == operations.last() {
            operations.pop();
        }
        // It begins with the lowest rank and number.
        let lowest = (0..operations.len()).min_by_key(|i| operations[*i]).unwrap_or(0);
        operations.rotate_left(lowest);
        Some(Cycle {
            operations,
            shortest: steps <= STEPS,
        })
    }
}

/// Successors of all nodes.
struct Lists {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Lists {
    fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; nodes + 1];
        for edge in edges.clone() {
            starts[edge.0 as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes] as usize];
        for edge in edges {
            targets[next[edge.0 as usize] as usize] = edge.1;
            next[edge.0 as usize] += 1;
        }
        Self { starts, targets }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// Takes away, one after another, what has nothing left in front of it.
fn trim(alive: &mut [bool], forward: &Lists, backward: &Lists) {
    let count =
        |node: u32, alive: &[bool]| backward.of(node).iter().filter(|n| alive[**n as usize]).count() as u32;
    let mut left: Vec<u32> = (0..alive.len() as u32).map(|node| count(node, alive)).collect();
    let mut free: Vec<u32> = (0..alive.len() as u32)
        .filter(|n| alive[*n as usize] && left[*n as usize] == 0)
        .collect();
    while let Some(node) = free.pop() {
        alive[node as usize] = false;
        for next in forward.of(node) {
            left[*next as usize] = left[*next as usize].saturating_sub(1);
            if left[*next as usize] == 0 && alive[*next as usize] {
                free.push(*next);
            }
        }
    }
}
