//! Uneven shares of the members in an all-to-all.

use std::cmp::Reverse;
use std::sync::Arc;

/// Shares of the members in an all-to-all: each member's messages with its peers have sizes in these ratios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Weight of each member.
    pub weights: Arc<[u64]>,
    /// True if a message has the share of its sender; otherwise it has that of its receiver.
    pub by_sender: bool,
}

/// Divides bytes in the ratio of weights by largest remainder: the parts add up to the whole. Each part has at least
/// one byte if there are enough.
pub fn apportion(bytes: u64, weights: &[u64]) -> Vec<u64> {
    let count = weights.len() as u64;
    let least = u64::from(bytes >= count);
    let rest = u128::from(bytes - least * count);
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    if total == 0 {
        return match weights.len() {
            0 => Vec::new(),
            count => apportion(bytes, &vec![1; count]),
        };
    }
    let product = |index: usize| rest * u128::from(weights[index]);
    let part = |index| (product(index) / total) as u64 + least;
    let mut parts: Vec<u64> = (0..weights.len()).map(part).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&index| (Reverse(product(index) % total), index));
    let left = bytes - parts.iter().sum::<u64>();
    for &index in order.iter().take(left as usize) {
        parts[index] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::apportion;

    #[test]
    fn the_largest_remainders_get_what_is_left() {
        assert_eq!(apportion(13, &[5, 3, 2]), [6, 4, 3]);
        assert_eq!(apportion(3, &[9, 0, 0]), [1, 1, 1]);
        assert_eq!(apportion(2, &[1, 1, 1]), [1, 1, 0]);
        assert_eq!(apportion(1 << 60, &[0, 0]), [1 << 59, 1 << 59]);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_are_within_a_byte_of_their_share(
            bytes in 0..1_u64 << 40,
            weights in prop::collection::vec(1..1_u64 << 40, 1..70),
        ) {
            let parts = apportion(bytes, &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), bytes);
            let (count, total) = (weights.len() as u64, weights.iter().map(|&w| u128::from(w)).sum::<u128>());
            if bytes >= count {
                for (&part, &weight) in parts.iter().zip(&weights) {
                    let share = (u128::from(bytes - count) * u128::from(weight) / total) as u64 + 1;
                    prop_assert!(part == share || part == share + 1);
                }
            }
        }
    }
}
