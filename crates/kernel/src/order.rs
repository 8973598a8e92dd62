//! Stable sorts for code that runs rarely.
//!
//! The standard library's sort takes about 10 kB of machine code for each type of item. Here one sort of indices serves
//! all types; only the comparison and the final moves are compiled for each type.

use std::cmp::Ordering;

/// Stable sorts with the results of the slice's own methods.
pub trait Sort<T> {
    /// Sorts in ascending order, like `sort`.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(|a, b| a.cmp(b));
    }
    /// Sorts with a comparison function, like `sort_by`.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    /// Sorts by a key, like `sort_by_key`.
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

/// Returns the indices `0..len` in sorted order; `None` if the items are sorted already.
fn sorted(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Option<Vec<usize>> {
    if (1..len).all(|at| compare(at - 1, at).is_le()) {
        return None;
    }
    let mut positions: Vec<usize> = (0..len).collect();
    positions.sort_by(|&a, &b| compare(a, b));
    Some(positions)
}

/// Permutes `items` so that index `i` gets the item from `positions[i]`, cycle by cycle. Finished indices map to
/// themselves.
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
