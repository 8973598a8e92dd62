//! Binary heap and sort with the tie order of libstdc++.
//!
//! `atlahs` processes elements of equal time in the order in which this heap returns them, and `loggopsim` processes
//! more than sixteen operations that are freed together in the order in which this sort leaves them. Both affect the
//! results of these programs.

/// Moves the hole down to a leaf, along children that are not before their siblings, and then `value` up from there.
///
/// `before(a, b)` means that a belongs below b. Of equal siblings, the right one moves up.
fn sift<T: Copy>(heap: &mut [T], mut hole: usize, value: T, before: &impl Fn(&T, &T) -> bool) {
    let top = hole;
    loop {
        let mut child = 2 * hole + 2;
        if child > heap.len() {
            break;
        }
        if child == heap.len() || before(&heap[child], &heap[child - 1]) {
            child -= 1;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    rise(heap, hole, top, value, before);
}

/// Moves `value` up from the hole as long as its parent belongs below it.
fn rise<T: Copy>(heap: &mut [T], mut hole: usize, top: usize, value: T, before: &impl Fn(&T, &T) -> bool) {
    while hole > top {
        let parent = (hole - 1) / 2;
        if !before(&heap[parent], &value) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = value;
}

/// Element of the queue, with the time at which it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// Due time in ns.
    pub(super) time: u64,
    /// Tie breaker: smaller numbers first; always 0 if the heap itself decides.
    pub(super) number: u64,
    /// Index of the element in the model.
    pub(super) slot: u32,
}

/// Heap of elements, earliest first.
#[derive(Debug, Default)]
pub(super) struct Heap {
    elements: Vec<Due>,
}

fn later(a: &Due, b: &Due) -> bool {
    (a.time, a.number) > (b.time, b.number)
}

impl Heap {
    pub(super) fn push(&mut self, due: Due) {
        self.elements.push(due);
        let hole = self.elements.len() - 1;
        rise(&mut self.elements, hole, 0, due, &later);
    }

    pub(super) fn pop(&mut self) -> Option<Due> {
        let last = self.elements.pop()?;
        let Some(first) = self.elements.first().copied() else {
            return Some(last);
        };
        sift(&mut self.elements, 0, last, &later);
        Some(first)
    }
}

/// Sorts by a key like `std::sort` of libstdc++: an introsort, which is stable up to 16 elements and not above.
pub(super) fn sort<T: Copy>(items: &mut [T], key: impl Fn(&T) -> u8) {
    let before = |a: &T, b: &T| key(a) < key(b);
    if items.len() > SMALL {
        let depth = 2 * items.len().ilog2();
        introsort(items, depth, &before);
        let (head, tail) = items.split_at_mut(SMALL);
        insertion_sort(head, &before);
        let sorted = head.len();
        let count = tail.len();
        for end in sorted..sorted + count {
            insert_unguarded(items, end, &before);
        }
    } else {
        insertion_sort(items, &before);
    }
}

/// Largest range that is left to the insertion sort.
const SMALL: usize = 16;

fn introsort<T: Copy>(mut items: &mut [T], mut depth: u32, before: &impl Fn(&T, &T) -> bool) {
    while items.len() > SMALL {
        if depth == 0 {
            heap_sort(items, before);
            return;
        }
        depth -= 1;
        let last = items.len() - 1;
        median_to_front(items, 1, items.len() / 2, last, before);
        let cut = partition(items, before);
        let (left, right) = items.split_at_mut(cut);
        // Recursion to the right first, as in libstdc++: the order of equal elements depends on it.
        introsort(right, depth, before);
        items = left;
    }
}

fn median_to_front<T: Copy>(items: &mut [T], a: usize, b: usize, c: usize, before: &impl Fn(&T, &T) -> bool) {
    let less = |x: usize, y: usize| before(&items[x], &items[y]);
    let median = if less(a, b) {
        if less(b, c) {
            b
        } else if less(a, c) {
            c
        } else {
            a
        }
    } else if less(a, c) {
        a
    } else if less(b, c) {
        c
    } else {
        b
    };
    items.swap(0, median);
}

/// Partitions all but the first element by the first. The median of three at its front bounds both scans.
fn partition<T: Copy>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) -> usize {
    let (mut first, mut last) = (1, items.len());
    loop {
        while before(&items[first], &items[0]) {
            first += 1;
        }
        last -= 1;
        while before(&items[0], &items[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

fn insertion_sort<T: Copy>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        if before(&items[end], &items[0]) {
            items[..=end].rotate_right(1);
        } else {
            insert_unguarded(items, end, before);
        }
    }
}

fn insert_unguarded<T: Copy>(items: &mut [T], end: usize, before: &impl Fn(&T, &T) -> bool) {
    let value = items[end];
    let mut hole = end;
    while hole > 0 && before(&value, &items[hole - 1]) {
        items[hole] = items[hole - 1];
        hole -= 1;
    }
    items[hole] = value;
}

/// Sorts by heap, the introsort's fallback for bad pivots.
fn heap_sort<T: Copy>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    for parent in (0..items.len() / 2).rev() {
        let value = items[parent];
        sift(items, parent, value, before);
    }
    for end in (1..items.len()).rev() {
        let value = items[end];
        items[end] = items[0];
        sift(&mut items[..end], 0, value, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sizes_are_sorted_and_small_ones_stay_stable() {
        let mut seed = 1u64;
        for length in 0..400usize {
            let mut items: Vec<(u8, usize)> = (0..length)
                .map(|n| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (((seed >> 60) % 3) as u8, n)
                })
                .collect();
            let mut stable = items.clone();
            stable.sort_by_key(|i| i.0);
            let mut heaped = items.clone();
            heap_sort(&mut heaped, &|a: &(u8, usize), b: &(u8, usize)| a.0 < b.0);
            sort(&mut items, |i| i.0);
            assert!(
                items.is_sorted_by_key(|i| i.0) && heaped.is_sorted_by_key(|i| i.0),
                "{length}"
            );
            if length <= SMALL {
                assert_eq!(items, stable);
            }
            items.sort_unstable();
            stable.sort_unstable();
            assert_eq!(items, stable);
        }
    }

    /// As printed by a program that sorts with `std::sort` of libstdc++ 12.
    #[test]
    fn equal_elements_come_out_as_libstdcxx_leaves_them() {
        let mut items: Vec<(u8, usize)> = (0..20).map(|n| (7, n)).collect();
        sort(&mut items, |i| i.0);
        let order: Vec<usize> = items.into_iter().map(|i| i.1).collect();
        assert_eq!(
            order,
            [
                10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1
            ]
        );

        let mut items: Vec<(u8, usize)> = (0..41).map(|n| (((n * n * 5 + n) % 3) as u8, n)).collect();
        sort(&mut items, |i| i.0);
        let order: Vec<usize> = items.into_iter().map(|i| i.1).collect();
        let theirs = [
            30, 18, 19, 21, 22, 24, 25, 27, 28, 1, 31, 33, 34, 36, 37, 39, 40, 16, 0, 3, 4, 6, 7, 9, 10, 12,
            13, 15, 11, 26, 23, 29, 8, 32, 14, 5, 35, 20, 38, 2, 17,
        ];
        assert_eq!(order, theirs);
    }

    /// As printed by a program with `std::priority_queue` of libstdc++ 12.
    #[test]
    fn elements_of_equal_time_come_out_as_the_heap_leaves_them() {
        let mut heap = Heap::default();
        for slot in 0..6 {
            heap.push(Due {
                time: 5,
                number: 0,
                slot,
            });
        }
        let order: Vec<u32> = std::iter::from_fn(|| heap.pop().map(|d| d.slot)).collect();
        assert_eq!(order, [0, 2, 5, 4, 1, 3]);
        for slot in 0..30 {
            let time = u64::from(slot * 7 % 4);
            heap.push(Due {
                time,
                number: 0,
                slot,
            });
        }
        let order: Vec<u32> = std::iter::from_fn(|| heap.pop().map(|d| d.slot)).collect();
        let theirs = [
            0, 12, 28, 24, 4, 20, 8, 16, 27, 11, 23, 3, 19, 7, 15, 14, 6, 2, 22, 10, 26, 18, 13, 5, 1, 21,
            25, 29, 9, 17,
        ];
        assert_eq!(order, theirs);
    }
}
