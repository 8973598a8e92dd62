//! When the many queue pairs of a NIC may go: a tree over them, in which each node has the sooner of two, so that who may
//! go next and when is found, and changed, in as many steps as it has levels.

use crate::host::qp::NEVER;

/// When the queue pairs of a NIC may go, pauses apart, in the order of its list. Empty where it is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct PacingTree {
    /// One for each class that they have, or had: pauses hold back all of a class.
    trees: Vec<Tree>,
    /// How many queue pairs the trees have room for, a power of two.
    width: usize,
    count: usize,
}

/// The queue pairs of one class; those of other classes, and places without a queue pair, never go.
#[derive(Clone, Debug)]
struct Tree {
    class: u8,
    /// Node 1 is the root, those below node `i` are `2i` and `2i + 1`, and the lowest ones, from `width` on, the queue pairs.
    nodes: Vec<u64>,
}

impl Tree {
    fn new(class: u8, width: usize) -> Self {
        Self {
            class,
            nodes: vec![NEVER; 2 * width],
        }
    }

    /// The same queue pairs in a tree that has room for `width`.
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
    fn set(&mut self, place: usize, due: u64) {
        let mut node = self.nodes.len() / 2 + place;
        self.nodes[node] = due;
        while node > 1 {
            node /= 2;
            let sooner = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if std::mem::replace(&mut self.nodes[node], sooner) == sooner {
                return;
            }
        }
    }

    /// The first place from `start` on, and then from the beginning, whose queue pair may go at `now`.
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
            // To the right, from the first node on the way up that has something there.
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
    /// Of queue pairs with these classes that may go at these instants.
    pub(super) fn of(list: &[(u8, u64)]) -> Self {
        let mut pacing_tree = Self {
            trees: Vec::new(),
            width: list.len().next_power_of_two(),
            count: list.len(),
        };
        for (place, &(class, due)) in list.iter().enumerate() {
            let leaf = pacing_tree.width + place;
            pacing_tree.tree(class).nodes[leaf] = due;
        }
        pacing_tree.trees.iter_mut().for_each(Tree::settle_all);
        pacing_tree
    }

    /// The tree of a class, new if the NIC had no queue pair of it.
    #[inline]
    fn tree(&mut self, class: u8) -> &mut Tree {
        let found = self.trees.iter().position(|tree| tree.class == class);
        let place = found.unwrap_or_else(|| {
            self.trees.push(Tree::new(class, self.width));
            self.trees.len() - 1
        });
        &mut self.trees[place]
    }

    /// The trees of classes that no pause holds back.
    #[inline]
    fn open(&self, paused: u16) -> impl Iterator<Item = &Tree> {
        (self.trees.iter()).filter(move |tree| paused >> tree.class & 1 == 0)
    }

    pub(super) const fn is_known(&self) -> bool {
        self.count > 0
    }

    /// How many places there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// When the queue pair at `place` may go.
    pub(super) fn due(&self, place: usize) -> u64 {
        let due = self.trees.iter().map(|tree| tree.nodes[self.width + place]);
        due.min().unwrap_or(NEVER)
    }

    /// When the first may go that no pause holds back.
    #[inline]
    pub(super) fn soonest(&self, paused: u16) -> u64 {
        let soonest = self.open(paused).map(Tree::soonest);
        soonest.min().unwrap_or(NEVER)
    }

    /// The classes of which one may go at `now`, pauses apart.
    pub(super) fn ready(&self, now: u64) -> u16 {
        let ready = self.trees.iter().filter(|tree| tree.soonest() <= now);
        ready.fold(0, |classes, tree| classes | 1 << tree.class)
    }

    /// The one at `place` may go at `due`.
    #[inline]
    pub(super) fn set(&mut self, place: usize, class: u8, due: u64) {
        self.tree(class).set(place, due);
    }

    /// The first place from `start` on, and then from the beginning, whose queue pair may go at `now`.
    #[inline]
    pub(super) fn next_due(&self, start: usize, now: u64, paused: u16) -> Option<usize> {
        // How far it is from `start`, round the list.
        let behind = |&place: &usize| match place.checked_sub(start) {
            Some(behind) => behind,
            None => place + self.count - start,
        };
        let found = self.open(paused).filter_map(|tree| tree.next_due(start, now));
        found.min_by_key(behind)
    }

    /// The NIC has another queue pair, its last.
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

    /// The place at the end, whose queue pair is gone, is no more.
    pub(super) fn pop(&mut self) {
        self.count -= 1;
    }

    /// The one at `place` is no more; whether those after it have other places now.
    pub(super) fn remove(&mut self, place: usize) -> bool {
        if !self.is_known() {
            return false;
        }
        for tree in &mut self.trees {
            let (first, end) = (self.width + place, self.width + self.count);
            tree.nodes.copy_within(first + 1..end, first);
            tree.nodes[end - 1] = NEVER;
            tree.settle_all();
        }
        self.count -= 1;
        true
    }

    /// The queue pairs of the NIC are others now.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list that is looked through: queue pairs come, go and change, and the next is asked for from every place.
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
            let place = draw(list.len() as u64) as usize;
            match draw(8) {
                0 => {
                    let new = (draw(3) as u8, step % 50);
                    list.push(new);
                    pacing_tree.add(new.0, new.1);
                }
                1 if list.len() > 2 => {
                    list.remove(place);
                    assert!(pacing_tree.remove(place));
                }
                _ => {
                    let due = if draw(4) == 0 { NEVER } else { draw(50) };
                    list[place].1 = due;
                    pacing_tree.set(place, list[place].0, due);
                }
            }
            assert_eq!(pacing_tree.len(), list.len());
            for (place, &(_, due)) in list.iter().enumerate() {
                assert_eq!(pacing_tree.due(place), due);
            }
            let paused = draw(8) as u16;
            let open = |&&(class, _): &&(u8, u64)| paused >> class & 1 == 0;
            let soonest = list.iter().filter(open).map(|&(_, due)| due).min();
            assert_eq!(pacing_tree.soonest(paused), soonest.unwrap_or(NEVER));
            let (start, now) = (draw(list.len() as u64 + 1) as usize, draw(60));
            let may_go = |place: &usize| open(&&list[*place]) && list[*place].1 <= now;
            let found = (start..list.len()).chain(0..start).find(may_go);
            assert_eq!(pacing_tree.next_due(start, now, paused), found);
            let ready = list.iter().filter(|&&(_, due)| due <= now);
            let ready = ready.fold(0, |classes, &(class, _)| classes | 1 << class);
            assert_eq!(pacing_tree.ready(now), ready);
        }
    }
}
