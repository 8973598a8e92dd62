use proptest::prelude::*;

use super::*;

#[test]
fn medians_by_hand() {
    let medians = |middle: Middle, keep: &[usize]| -> Vec<u64> {
        let mut filter = middle.filter().unwrap();
        let delays = [5, 1, 9, 7, 3, 8];
        delays
            .iter()
            .zip(keep)
            .map(|(&delay, &keep)| filter.push(delay, keep))
            .collect()
    };
    // 5 | 1 5 | 1 5 9 | 1 5 7 9 | 1 3 7 9 | 3 7 8 9
    assert_eq!(medians(Middle::Lower, &[4; 6]), [5, 1, 5, 5, 3, 7]);
    assert_eq!(medians(Middle::Upper, &[4; 6]), [5, 5, 5, 7, 7, 8]);
    // When fewer are kept, the newest remain: 7 and 3 of five, then 7, 3 and 8.
    assert_eq!(medians(Middle::Lower, &[5, 5, 5, 5, 2, 3]), [5, 1, 5, 5, 3, 7]);
    // Zero keeps the delay itself, and so does one.
    assert_eq!(medians(Middle::Upper, &[0, 1, 0, 1, 0, 1]), [5, 1, 9, 7, 3, 8]);
    assert!(Middle::Off.filter().is_none());
}

/// Returns the probability that the median of `of` delays is late, if each is late with probability `q`.
fn wrong(middle: Middle, of: u32, q: f64) -> f64 {
    let mut sum = 0.0;
    for pattern in 0..1u32 << of {
        let mut filter = middle.filter().unwrap();
        let mut median = 0;
        for packet in 0..of {
            median = filter.push(u64::from(pattern >> packet & 1), of as usize);
        }
        let late = pattern.count_ones() as i32;
        sum += median as f64 * q.powi(late) * (1.0 - q).powi(of as i32 - late);
    }
    sum
}

/// P(wrong) = P(Bin(H, q) > H/2) with the lower middle. With the upper one half of an even H suffices.
#[test]
fn a_median_is_wrong_as_often_as_binomials_say() {
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.02, "{value}");
    near(wrong(Middle::Lower, 4, 0.09), 0.0027);
    near(wrong(Middle::Upper, 4, 0.09), 0.043);
    for (of, q) in [(1, 0.09), (5, 0.2), (8, 0.3), (11, 0.09_f64)] {
        let choose = |n: u32, k: u32| (0..k).fold(1.0, |all, i| all * f64::from(n - i) / f64::from(i + 1));
        let tail = |from: u32| -> f64 {
            let term = |k: u32| choose(of, k) * q.powi(k as i32) * (1.0 - q).powi((of - k) as i32);
            (from..=of).map(term).sum()
        };
        assert!((wrong(Middle::Lower, of, q) - tail(of / 2 + 1)).abs() < 1e-12);
        assert!((wrong(Middle::Upper, of, q) - tail(of.div_ceil(2))).abs() < 1e-12);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(256), failure_persistence: None, ..ProptestConfig::default() })]

    /// For any delays and any number kept: the median is that of a plain sort of the newest.
    #[test]
    fn the_median_is_that_of_a_sort(
        story in prop::collection::vec((0..20u64, 0..12usize), 1..200),
        upper in any::<bool>(),
    ) {
        let mut filter = if upper { Middle::Upper } else { Middle::Lower }.filter().unwrap();
        let mut newest: Vec<u64> = Vec::new();
        for (delay, keep) in story {
            newest.push(delay);
            let gone = newest.len() - newest.len().min(keep.max(1));
            newest.drain(..gone);
            let mut sorted = newest.clone();
            sorted.sort_unstable();
            let index = if upper { sorted.len() / 2 } else { (sorted.len() - 1) / 2 };
            prop_assert_eq!(filter.push(delay, keep), sorted[index]);
        }
    }
}
