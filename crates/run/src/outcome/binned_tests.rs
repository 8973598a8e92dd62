use proptest::prelude::*;

use super::*;

const PERIOD: Span = Span::from_ns(200);

fn series(samples: &[u64]) -> Binned {
    Binned::of_samples(Time::from_ns(7000), PERIOD, samples.iter().copied())
}

/// Statistics of each bin of `width` samples, computed directly: smallest, largest, last, mean.
fn oracle(samples: &[u64], width: usize) -> Vec<(u64, u64, u64, f64)> {
    let bin = |part: &[u64]| {
        let (min, max) = (part.iter().min().unwrap(), part.iter().max().unwrap());
        let sum: u128 = part.iter().map(|&value| u128::from(value)).sum();
        (*min, *max, part[part.len() - 1], sum as f64 / part.len() as f64)
    };
    samples.chunks(width).map(bin).collect()
}

/// Statistics of every bin as the series reports them, including bins that follow from others.
fn counted(series: &Binned, count: usize) -> Vec<(u64, u64, u64, f64)> {
    let width = series.width().as_ps();
    let number = |at: Time| ((at.as_ps() - 7_000_000) / width) as usize;
    let bins = count.div_ceil((width / PERIOD.as_ps()) as usize);
    let mut all = vec![(0, 0, 0, 0.0); bins];
    let found: Vec<Bin> = series.bins().collect();
    for (i, bin) in found.iter().enumerate() {
        assert!((bin.at.as_ps() - 7_000_000).is_multiple_of(width));
        let next = found.get(i + 1).map_or(bins, |next| number(next.at));
        assert!(
            bin.min == bin.max || next == number(bin.at) + 1,
            "what differs tells of itself"
        );
        all[number(bin.at)..next].fill((bin.min, bin.max, bin.last, bin.mean));
    }
    if let Some(last) = found.last() {
        assert_eq!(number(last.at), bins - 1, "the last bin is there");
    }
    all
}

/// Random samples: constant stretches, bursts, returns to zero.
fn samples() -> impl Strategy<Value = Vec<u64>> {
    let stretch = prop_oneof![
        3 => (0u64..5_000_000, 1usize..400).prop_map(|(value, count)| vec![value; count]),
        3 => (1usize..300).prop_map(|count| vec![0; count]),
        4 => prop::collection::vec(0u64..60_000, 1..60),
        1 => prop::collection::vec(any::<u32>().prop_map(u64::from), 1..20),
    ];
    prop::collection::vec(stretch, 1..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_bin_tells_what_its_samples_were(samples in samples(), level in 0u32..9) {
        let mut series = series(&samples);
        (0..level).for_each(|_| series.widen());
        prop_assert_eq!(counted(&series, samples.len()), oracle(&samples, 1 << level));
    }

    #[test]
    fn widened_on_the_way_it_tells_the_same(
        samples in samples(), when in prop::collection::vec(0usize..3000, 0..6), first in 0u64..20,
    ) {
        let mut series = Binned::new(7_000_000, PERIOD.as_ps(), 0, 7_000_000);
        // Values before the first sample are 0, as if sampled.
        let samples: Vec<u64> = std::iter::repeat_n(0, first as usize).chain(samples).collect();
        for (number, &value) in samples.iter().enumerate() {
            when.iter().filter(|&&at| at == number).for_each(|_| series.widen());
            series.sample(number as u64, value, Binned::BINS_MAX);
        }
        series.finish(samples.len() as u64);
        let width = (series.width().as_ps() / PERIOD.as_ps()) as usize;
        prop_assert_eq!(counted(&series, samples.len()), oracle(&samples, width));
    }

    #[test]
    fn what_begins_late_has_no_samples_before(samples in samples(), first in 1u64..5000, level in 0u32..9) {
        let at = first * PERIOD.as_ps() + 13;
        let mut series = Binned::new(0, PERIOD.as_ps(), first, at);
        for (number, &value) in (first..).zip(&samples) {
            series.sample(number, value + 1, Binned::BINS_MAX);
        }
        (0..level).for_each(|_| series.widen());
        series.finish(first + samples.len() as u64);
        let own = ((((first >> level) + 1) << level) - first).min(samples.len() as u64) as usize;
        let bin = series.bins().next().unwrap();
        let expected = oracle(&samples[..own], own)[0];
        prop_assert_eq!(bin.at, Time::from_ps(at));
        prop_assert_eq!((bin.min - 1, bin.max - 1, bin.last - 1), (expected.0, expected.1, expected.2));
        prop_assert!((bin.mean - 1.0 - expected.3).abs() <= 1e-9 * bin.mean);
    }
}

#[test]
fn a_port_that_empties_is_empty() {
    // Bursts of three samples, then a long time of zeros.
    let burst = [9, 20, 4].into_iter().chain(std::iter::repeat_n(0, 4997));
    let samples: Vec<u64> = burst.cycle().take(500_000).collect();
    let mut series = series(&samples);
    (0..5).for_each(|_| series.widen());
    let bins: Vec<Bin> = series.bins().collect();
    let first = [(9, 0, 20, 0), (0, 0, 0, 0)];
    let found = |k: usize| (if k == 0 { 9 } else { 0 }, bins[k].min, bins[k].max, bins[k].last);
    assert_eq!([found(0), found(1)], first);
    assert_eq!(bins[0].mean, 33.0 / 32.0);
    // One bin per burst (a few are cut in two), one after each, and the last.
    assert!((200..=320).contains(&bins.len()), "{}", bins.len());
}

#[test]
fn bins_are_bounded_whatever_comes() {
    let noise = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let all: Vec<u64> = (0..300_000).map(noise).collect();
    let series = series(&all);
    assert!(series.bins().count() <= Binned::BINS_MAX);
    assert_eq!(series.width(), Span::from_ps(PERIOD.as_ps() * 8));
    assert_eq!(counted(&series, all.len()), oracle(&all, 8));
}
