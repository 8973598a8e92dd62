//! Departure times of the many queue pairs of a NIC: a tree in which each node has the earlier of two times, so that
//! the next queue pair and its time are found, and changed, in as many steps as there are levels.

use crate::host::qp::NEVER;

/// Departure times of a NIC's queue pairs, pauses apart, in the order of its list. Empty if the tree is not in use.
#[derive(Clone, Debug, Default)]
pub(super) struct PacingTree {
    /// One tree per class that the queue pairs have or had: pauses hold back all of a class.
    trees: Vec<Tree>,
    /// Number of queue pairs that the trees have room for, a power of two.
    width: usize,
    count: usize,
}

/// Queue pairs of one class. Those of other classes, and empty entries, never send.
#[derive(Clone, Debug)]
struct Tree {
    class: u8,
    /// Earliest time below each node. Node 1 is the root, the children of node `i` are `2i` and `2i + 1`, and the
    /// leaves, from `width` on, are the queue pairs.
    nodes: Vec<u64>,
}

impl Tree {
    fn new(class: u8, width: usize) -> Self {
        Self {
            class,
            nodes: vec![NEVER; 2 * width],
        }
    }

    /// Returns a copy with room for `width` queue pairs.
    fn widened(&self, width: usize) -> Self {
        let mut wide = Self::new(self.class, width);
        let due = &self.nodes[self.nodes.len() / 2..];
        wide.nodes[width..width + due.len()].copy_from_slice(due);
        wide.settle_all();
        wide
    }

    fn settle_all(&mut self) {
        for node in (1..self.nodes.len() / 2).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    #[inline]
    fn soonest(&self) -> u64 {
        self.nodes[1]
    }

    #[inline]
    fn set(&mut self, index: usize, due: u64) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = due;
        while node > 1 {
            node /= 2;
            let sooner = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            // Nothing further up can change either.
            if std::mem::replace(&mut self.nodes[node], sooner) == sooner {
                return;
            }
        }
    }

    /// Returns the first index from `start` on, wrapping around, whose queue pair may send at `now`.
    #[inline]
    fn next_due(&self, start: usize, now: u64) -> Option<usize> {
        if self.soonest() > now {
            return None;
        }
        self.first_due(start, now).or_else(|| self.first_due(0, now))
    }

    fn first_due(&self, start: usize, now: u64) -> Option<usize> {
        let width = self.nodes.len() / 2;
        if start >= width {
            return None;
        }
        let mut node = width + start;
        while self.nodes[node] > now {
            // Climbs until a subtree lies to the right, and goes there.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < width {
            node = 2 * node + usize::from(self.nodes[2 * node] > now);
        }
        Some(node - width)
    }
}

impl PacingTree {
    /// Builds the trees of queue pairs with these classes and departure times.
    pub(super) fn of(list: &[(u8, u64)]) -> Self {
        let mut pacing_tree = Self {
            trees: Vec::new(),
            width: list.len().next_power_of_two(),
            count: list.len(),
        };
        for (index, &(class, due)) in list.iter().enumerate() {
            let leaf = pacing_tree.width + index;
            pacing_tree.tree(class).nodes[leaf] = due;
        }
        pacing_tree.trees.iter_mut().for_each(Tree::settle_all);
        pacing_tree
    }

    /// Returns the tree of a class; creates it if the NIC had no queue pair of the class.
    #[inline]
    fn tree(&mut self, class: u8) -> &mut Tree {
        let found = self.trees.iter().position(|tree| tree.class == class);
        let index = found.unwrap_or_else(|| {
            self.trees.push(Tree::new(class, self.width));
            self.trees.len() - 1
        });
        &mut self.trees[index]
    }

    /// Returns the trees of classes that are not paused.
    #[inline]
    fn open(&self, paused: u16) -> impl Iterator<Item = &Tree> {
        (self.trees.iter()).filter(move |tree| paused >> tree.class & 1 == 0)
    }

    pub(super) const fn is_known(&self) -> bool {
        self.count > 0
    }

    /// Returns the length of the NIC's list.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Returns the departure time of the queue pair at `index`.
    pub(super) fn due(&self, index: usize) -> u64 {
        let due = self.trees.iter().map(|tree| tree.nodes[self.width + index]);
        due.min().unwrap_or(NEVER)
    }

    /// Returns the earliest departure time of the classes that are not paused.
    #[inline]
    pub(super) fn soonest(&self, paused: u16) -> u64 {
        let soonest = self.open(paused).map(Tree::soonest);
        soonest.min().unwrap_or(NEVER)
    }

    /// Returns the classes that have a queue pair that may send at `now`, pauses apart.
    pub(super) fn ready(&self, now: u64) -> u16 {
        let ready = self.trees.iter().filter(|tree| tree.soonest() <= now);
        ready.fold(0, |classes, tree| classes | 1 << tree.class)
    }

    /// Sets the departure time of the queue pair at `index`.
    #[inline]
    pub(super) fn set(&mut self, index: usize, class: u8, due: u64) {
        self.tree(class).set(index, due);
    }

    /// Returns the first index from `start` on, wrapping around, whose queue pair may send at `now`.
    #[inline]
    pub(super) fn next_due(&self, start: usize, now: u64, paused: u16) -> Option<usize> {
        // Distance from `start`, around the list: each class has its own first, and the nearest of them is next.
        let behind = |&index: &usize| match index.checked_sub(start) {
            Some(behind) => behind,
            None => index + self.count - start,
        };
        let found = self.open(paused).filter_map(|tree| tree.next_due(start, now));
        found.min_by_key(behind)
    }

    /// Appends a queue pair.
    pub(super) fn add(&mut self, class: u8, due: u64) {
        if !self.is_known() {
            return;
        }
        if self.count == self.width {
            self.width *= 2;
            let wide = self.trees.iter().map(|tree| tree.widened(self.width));
            self.trees = wide.collect();
        }
        self.count += 1;
        self.set(self.count - 1, class, due);
    }

    /// Removes the last entry, whose queue pair has left.
    pub(super) fn pop(&mut self) {
        self.count -= 1;
    }

    /// Removes the entry at `index`. Returns true if there is a tree, in which later queue pairs have moved.
    pub(super) fn remove(&mut self, index: usize) -> bool {
        if !self.is_known() {
            return false;
        }
        // Later queue pairs move up by one, as in the NIC's list.
        for tree in &mut self.trees {
            let (first, end) = (self.width + index, self.width + self.count);
            tree.nodes.copy_within(first + 1..end, first);
            tree.nodes[end - 1] = NEVER;
            tree.settle_all();
        }
        self.count -= 1;
        true
    }

    /// Forgets everything, because the NIC's list is another now.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a list that is searched: queue pairs come, leave and change, and the next one is asked for from
    /// every index.
    #[test]
    fn the_tree_is_what_looking_through_would_find() {
        let mut random = 7_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        let mut list: Vec<(u8, u64)> = (0..9).map(|due| (due as u8 % 3, due)).collect();
        let mut pacing_tree = PacingTree::of(&list);
        for step in 0..2000 {
            let index = draw(list.len() as u64) as usize;
            match draw(8) {
                0 => {
                    let new = (draw(3) as u8, step % 50);
                    list.push(new);
                    pacing_tree.add(new.0, new.1);
                }
                1 if list.len() > 2 => {
                    list.remove(index);
                    assert!(pacing_tree.remove(index));
                }
                _ => {
                    let due = if draw(4) == 0 { NEVER } else { draw(50) };
                    list[index].1 = due;
                    pacing_tree.set(index, list[index].0, due);
                }
            }
            assert_eq!(pacing_tree.len(), list.len());
            for (index, &(_, due)) in list.iter().enumerate() {
                assert_eq!(pacing_tree.due(index), due);
            }
            let paused = draw(8) as u16;
            let open = |&&(class, _): &&(u8, u64)| paused >> class & 1 == 0;
            let soonest = list.iter().filter(open).map(|&(_, due)| due).min();
            assert_eq!(pacing_tree.soonest(paused), soonest.unwrap_or(NEVER));
            let (start, now) = (draw(list.len() as u64 + 1) as usize, draw(60));
            let may_go = |index: &usize| open(&&list[*index]) && list[*index].1 <= now;
            let found = (start..list.len()).chain(0..start).find(may_go);
            assert_eq!(pacing_tree.next_due(start, now, paused), found);
            let ready = list.iter().filter(|&&(_, due)| due <= now);
            let ready = ready.fold(0, |classes, &(class, _)| classes | 1 << class);
            assert_eq!(pacing_tree.ready(now), ready);
        }
    }
}
