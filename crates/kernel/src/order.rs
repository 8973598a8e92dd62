//! Stable sorts for code that is run seldom.
//!
//! The sort of the standard library is some ten thousand bytes of machine code for each type of items. Here one sort of
//! positions serves all of them; what is left of each is the comparison, and one step for each item that moves.

use std::cmp::Ordering;

/// Sorts like the slice's own methods: what is equal keeps its order.
pub trait Sort<T> {
    /// As `sort`.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(|a, b| a.cmp(b));
    }
    /// As `sort_by`.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    /// As `sort_by_key`.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Sort<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let sorted = sorted(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        if let Some(mut sorted) = sorted {
            arrange(self, &mut sorted);
        }
    }
}

/// The positions of `0..len` in order; `None` if that is the order they are in.
fn sorted(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Option<Vec<usize>> {
    if (1..len).all(|at| compare(at - 1, at).is_le()) {
        return None;
    }
    let mut positions: Vec<usize> = (0..len).collect();
    positions.sort_by(|&a, &b| compare(a, b));
    Some(positions)
}

/// Moves each item to where its position stands, circle by circle; a position that is done stands in its own place.
fn arrange<T>(items: &mut [T], positions: &mut [usize]) {
    for start in 0..positions.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut positions[at], at);
            if from == start || from == at {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests;
