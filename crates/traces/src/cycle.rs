//! Cycles among nodes that wait for each other.

use std::collections::VecDeque;

/// Limit of search steps in total; the shortest cycle found by then is returned.
const STEPS: u64 = 200_000_000;

/// Directed graph, with the edges that leave each node.
#[derive(Debug)]
pub(crate) struct Edges {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Edges {
    pub(crate) fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        // Two passes, for counts and for targets, need no list per node.
        let mut starts = vec![0_u32; nodes + 1];
        for (from, _) in edges.clone() {
            starts[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes] as usize];
        for (from, to) in edges {
            targets[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Self { starts, targets }
    }

    fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    fn reversed(&self) -> Self {
        let pairs = (0..self.nodes()).flat_map(|from| self.of(from).iter().map(move |to| (*to, from)));
        Self::new(self.nodes() as usize, pairs)
    }

    /// Returns a flag for each node that is true if it is on a cycle or reachable from one, among the nodes that are
    /// `alive`.
    fn behind_cycles(&self, alive: &[bool]) -> Vec<bool> {
        let living = |node: &u32| alive[*node as usize];
        let mut before = vec![0_u32; alive.len()];
        for node in (0..self.nodes()).filter(living) {
            for next in self.of(node) {
                before[*next as usize] += 1;
            }
        }
        let mut behind = alive.to_vec();
        let mut free: Vec<u32> = (0..self.nodes())
            .filter(living)
            .filter(|node| before[*node as usize] == 0)
            .collect();
        // No topological order reaches a node on a cycle or behind one, so these keep their flag.
        while let Some(node) = free.pop() {
            behind[node as usize] = false;
            for next in self.of(node).iter().filter(|next| living(next)) {
                before[*next as usize] -= 1;
                if before[*next as usize] == 0 {
                    free.push(*next);
                }
            }
        }
        behind
    }

    /// Returns the number of nodes on cycles or behind them: these never become free if each waits for all of its
    /// predecessors.
    pub(crate) fn never_free(&self) -> usize {
        let behind = self.behind_cycles(&vec![true; self.nodes() as usize]);
        behind.into_iter().filter(|behind| *behind).count()
    }

    /// Returns the shortest cycle in the order of its edges, starting with its lowest node, and true if the search
    /// was complete. It searches breadth-first from each node on a cycle or between two, no deeper than the best
    /// cycle so far.
    pub(crate) fn shortest_cycle(&self) -> Option<(Vec<u32>, bool)> {
        let behind = self.behind_cycles(&vec![true; self.nodes() as usize]);
        if !behind.contains(&true) {
            return None;
        }
        // Of the nodes behind cycles, the reversed search keeps those that also lead to one.
        let alive = self.reversed().behind_cycles(&behind);
        let mut best: Option<Vec<u32>> = None;
        let mut steps = 0;
        // Predecessor of each node, and the root of the search that reached it, plus one.
        let mut before = vec![(0_u32, 0_u32); alive.len()];
        let mut queue = VecDeque::new();
        for root in (0..self.nodes()).filter(|node| alive[*node as usize]) {
            // Only a shorter cycle than the best is of use, which ends most searches early.
            let deepest = best.as_ref().map_or(usize::MAX, |best| best.len() - 1);
            if deepest < 1 || steps > STEPS {
                break;
            }
            queue.clear();
            queue.push_back((root, 1_usize));
            'search: while let Some((node, depth)) = queue.pop_front() {
                if depth > deepest {
                    break;
                }
                for next in self.of(node) {
                    steps += 1;
                    if *next == root {
                        let mut cycle = vec![node];
                        while cycle[cycle.len() - 1] != root {
                            cycle.push(before[cycle[cycle.len() - 1] as usize].0);
                        }
                        cycle.reverse();
                        best = Some(cycle);
                        break 'search;
                    }
                    // `root + 1` marks the nodes of this search, so that nothing is cleared between searches.
                    let seen = &mut before[*next as usize];
                    if alive[*next as usize] && seen.1 != root + 1 {
                        *seen = (node, root + 1);
                        queue.push_back((*next, depth + 1));
                    }
                }
            }
        }
        Some((best?, steps <= STEPS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_cycle_is_found() {
        let edges = |nodes, pairs: &[(u32, u32)]| Edges::new(nodes, pairs.iter().copied());
        let two = edges(
            7,
            &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5), (6, 0)],
        );
        assert_eq!(two.never_free(), 6);
        assert_eq!(two.shortest_cycle(), Some((vec![3, 4], true)));
        let own = edges(2, &[(0, 1), (1, 1)]);
        assert_eq!(own.shortest_cycle(), Some((vec![1], true)));
        let none = edges(3, &[(0, 1), (0, 2), (1, 2)]);
        assert_eq!((none.never_free(), none.shortest_cycle()), (0, None));
    }
}
