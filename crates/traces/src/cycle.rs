//! Cycles among operations of a rank.

/// Operations of a rank and which wait for which.
pub(crate) struct Waits {
    starts: Vec<u32>,
    after: Vec<u32>,
    /// How many each waits for.
    left: Vec<u32>,
}

impl Waits {
    /// Of `count` operations and pairs (before, after).
    pub(crate) fn new<'a>(count: usize, pairs: impl Iterator<Item = &'a (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; count + 1];
        let mut left = vec![0_u32; count];
        for &(before, later) in pairs.clone() {
            starts[before as usize + 1] += 1;
            left[later as usize] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut after = vec![0; starts[count] as usize];
        for &(before, later) in pairs {
            after[next[before as usize] as usize] = later;
            next[before as usize] += 1;
        }
        Self { starts, after, left }
    }

    fn after(&self, op: u32) -> &[u32] {
        let (from, to) = (self.starts[op as usize], self.starts[op as usize + 1]);
        &self.after[from as usize..to as usize]
    }

    /// Operations that never become free: those in cycles and behind them.
    pub(crate) fn never_free(&self) -> Vec<u32> {
        let mut left = self.left.clone();
        let all = 0..left.len() as u32;
        let mut free: Vec<u32> = all.clone().filter(|&op| left[op as usize] == 0).collect();
        while let Some(op) = free.pop() {
            for &next in self.after(op) {
                left[next as usize] -= 1;
                if left[next as usize] == 0 {
                    free.push(next);
                }
            }
        }
        all.filter(|&op| left[op as usize] > 0).collect()
    }

    /// The shortest cycle among those that never become free: each waits for the one before it, the first for the last. Of
    /// very many only the first are looked at.
    pub(crate) fn shortest(&self, never_free: &[u32]) -> Vec<u32> {
        const MOST: usize = 3000;
        let mut inside = vec![false; self.left.len()];
        for &op in never_free {
            inside[op as usize] = true;
        }
        let mut best: Vec<u32> = Vec::new();
        let mut from = vec![u32::MAX; inside.len()];
        for &start in never_free.iter().take(MOST) {
            let mut seen = vec![start];
            let mut depth = vec![1_usize];
            let mut at = 0;
            'search: while at < seen.len() {
                let (op, far) = (seen[at], depth[at]);
                at += 1;
                if !best.is_empty() && far >= best.len() {
                    break;
                }
                for &next in self.after(op) {
                    if next == start {
                        let mut cycle = vec![op];
                        while cycle[cycle.len() - 1] != start {
                            cycle.push(from[cycle[cycle.len() - 1] as usize]);
                        }
                        cycle.reverse();
                        best = cycle;
                        break 'search;
                    }
                    if inside[next as usize] && from[next as usize] == u32::MAX {
                        from[next as usize] = op;
                        seen.push(next);
                        depth.push(far + 1);
                    }
                }
            }
            for op in seen {
                from[op as usize] = u32::MAX;
            }
            if best.len() == 1 {
                break;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_cycle_is_found() {
        let pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5), (6, 0)];
        let waits = Waits::new(7, pairs.iter());
        let never = waits.never_free();
        assert_eq!(never, [0, 1, 2, 3, 4, 5]);
        assert_eq!(waits.shortest(&never), [3, 4]);
        let own = Waits::new(2, [(0, 1), (1, 1)].iter());
        assert_eq!(own.shortest(&own.never_free()), [1]);
        let none = Waits::new(3, [(0, 1), (0, 2), (1, 2)].iter());
        assert_eq!(none.never_free(), [] as [u32; 0]);
    }
}
