//! Merging of sorted lists.

/// Sorts `items`, which consist of sorted runs, stably by `key`. `ends` holds the runs' ends in ascending order, the
/// last of which is the number of items; it is empty on return. `spare` is memory for a copy.
///
/// # Panics
/// If an end is beyond the items.
pub fn merge_runs<T: Copy>(
    items: &mut Vec<T>,
    ends: &mut Vec<usize>,
    spare: &mut Vec<T>,
    key: impl Fn(&T) -> u64,
) {
    // The library's sort ignores sorted runs of fewer than 64 items and would sort them again.
    while ends.len() > 1 {
        spare.clear();
        spare.extend_from_slice(items);
        let (mut begin, mut merged) = (0, 0);
        for pair in 0..ends.len().div_ceil(2) {
            let middle = ends[2 * pair];
            let end = *ends.get(2 * pair + 1).unwrap_or(&middle);
            merge(
                &items[begin..middle],
                &items[middle..end],
                &mut spare[begin..end],
                &key,
            );
            ends[merged] = end;
            (begin, merged) = (end, merged + 1);
        }
        ends.truncate(merged);
        std::mem::swap(items, spare);
    }
    ends.clear();
}

/// Merges two runs into `to`, whose length is the sum of theirs; equal keys of `left` come first.
#[inline]
fn merge<T: Copy>(left: &[T], right: &[T], to: &mut [T], key: impl Fn(&T) -> u64) {
    let (mut i, mut j) = (0, 0);
    for slot in to.iter_mut() {
        let (Some(first), Some(second)) = (left.get(i), right.get(j)) else {
            break;
        };
        // No branch depends on the order of the two, because it could not be predicted.
        let is_second = key(second) < key(first);
        *slot = if is_second { *second } else { *first };
        i += usize::from(!is_second);
        j += usize::from(is_second);
    }
    let rest = if i < left.len() { &left[i..] } else { &right[j..] };
    to[i + j..].copy_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::merge_runs;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_merged_as_a_stable_sort_does(lists in prop::collection::vec(
            prop::collection::vec(0_u64..50, 0..40), 0..20,
        )) {
            let (mut items, mut ends, mut spare) = (Vec::new(), Vec::new(), Vec::new());
            for (list, mut times) in lists.into_iter().enumerate() {
                times.sort_unstable();
                items.extend(times.into_iter().enumerate().map(|(at, time)| (time, (list, at))));
                ends.push(items.len());
            }
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            merge_runs(&mut items, &mut ends, &mut spare, |item| item.0);
            prop_assert_eq!(items, expected);
            prop_assert!(ends.is_empty());
        }
    }
}
