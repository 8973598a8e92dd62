//! When the many queue pairs of a NIC may go: a tree over them, in which each node has the sooner of two, so that who may
//! go next and when is found, and changed, in as many steps as it has levels.

/// For what something else than pacing keeps back.
pub(super) const NEVER: u64 = u64::MAX;

/// When the queue pairs of a NIC may go, pauses apart, in the order of its list. Empty where it is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    /// Node 1 is the root, those below node `i` are `2i` and `2i + 1`, and the lowest ones, from `width` on, the queue pairs;
    /// beyond the last of these nobody goes.
    tree: Vec<u64>,
    width: usize,
    count: usize,
    /// A bit for each class that they have, or had.
    pub(super) classes: u16,
}

impl Crowd {
    /// Of queue pairs that may go at these instants.
    pub(super) fn of(due: Vec<u64>, classes: u16) -> Self {
        let width = due.len().next_power_of_two();
        let mut tree = vec![NEVER; 2 * width];
        tree[width..width + due.len()].copy_from_slice(&due);
        let mut crowd = Self {
            tree,
            width,
            count: due.len(),
            classes,
        };
        (1..width).rev().for_each(|node| crowd.settle(node));
        crowd
    }

    pub(super) const fn is_known(&self) -> bool {
        self.count > 0
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// In the order of the list.
    pub(super) fn due(&self) -> &[u64] {
        self.tree
            .get(self.width..self.width + self.count)
            .unwrap_or_default()
    }

    /// When the first of them may go.
    #[inline]
    pub(super) fn soonest(&self) -> u64 {
        self.tree.get(1).copied().unwrap_or(NEVER)
    }

    fn settle(&mut self, node: usize) {
        self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
    }

    /// The one at `place` may go at `due`.
    #[inline]
    pub(super) fn set(&mut self, place: usize, due: u64) {
        let mut node = self.width + place;
        self.tree[node] = due;
        while node > 1 {
            node /= 2;
            let sooner = self.tree[2 * node].min(self.tree[2 * node + 1]);
            if std::mem::replace(&mut self.tree[node], sooner) == sooner {
                return;
            }
        }
    }

    /// The first place from `start` on, and then from the beginning, whose queue pair may go at `now`.
    pub(super) fn next_due(&self, start: usize, now: u64) -> Option<usize> {
        if self.soonest() > now {
            return None;
        }
        self.first_due(start, now).or_else(|| self.first_due(0, now))
    }

    fn first_due(&self, start: usize, now: u64) -> Option<usize> {
        if start >= self.count {
            return None;
        }
        let mut node = self.width + start;
        while self.tree[node] > now {
            // To the right, from the first node on the way up that has something there.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < self.width {
            node = 2 * node + usize::from(self.tree[2 * node] > now);
        }
        Some(node - self.width)
    }

    /// The NIC has another queue pair, its last.
    pub(super) fn add(&mut self, due: u64, class: u8) {
        if !self.is_known() {
            return;
        }
        self.classes |= 1 << class;
        if self.count == self.width {
            let mut all = self.due().to_vec();
            all.push(due);
            *self = Self::of(all, self.classes);
            return;
        }
        self.count += 1;
        self.set(self.count - 1, due);
    }

    /// The one at `place` is no more; whether those after it have other places now.
    pub(super) fn remove(&mut self, place: usize) -> bool {
        if !self.is_known() {
            return false;
        }
        let (first, end) = (self.width + place, self.width + self.count);
        self.tree.copy_within(first + 1..end, first);
        self.tree[end - 1] = NEVER;
        self.count -= 1;
        (1..self.width).rev().for_each(|node| self.settle(node));
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
        let mut list: Vec<u64> = (0..9).collect();
        let mut crowd = Crowd::of(list.clone(), 0);
        for step in 0..2000 {
            let place = draw(list.len() as u64) as usize;
            match draw(8) {
                0 => {
                    list.push(step % 50);
                    crowd.add(step % 50, 0);
                }
                1 if list.len() > 2 => {
                    list.remove(place);
                    assert!(crowd.remove(place));
                }
                _ => {
                    let due = if draw(4) == 0 { NEVER } else { draw(50) };
                    list[place] = due;
                    crowd.set(place, due);
                }
            }
            assert_eq!(crowd.due(), list);
            assert_eq!(crowd.soonest(), list.iter().copied().min().unwrap());
            let (start, now) = (draw(list.len() as u64 + 1) as usize, draw(60));
            let turns = (start..list.len()).chain(0..start);
            let found = turns.into_iter().find(|&place| list[place] <= now);
            assert_eq!(crowd.next_due(start, now), found);
        }
    }
}
