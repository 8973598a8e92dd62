use super::*;
use crate::testkit::{Pair, ack, star_path};

/// Returns the rate after each round trip of `rest_us`, for a sender whose first round trip takes `first_us`.
fn rates(params: &Params, first_us: u64, rest_us: &[u64]) -> Vec<u64> {
    let mut pair = Pair::new(star_path(), |path| Timely::new(params, path));
    let mut seq = 1000;
    let mut feed = |rtt_us| {
        pair.advance(Span::from_us(20));
        pair.ack(&AckInfo {
            rtt: Span::from_us(rtt_us),
            ..ack(seq, seq + 500)
        });
        seq += 1000;
        pair.rate().as_bps()
    };
    feed(first_us);
    rest_us.iter().map(|&rtt| feed(rtt)).collect()
}

/// Between the thresholds and rising, the rate falls to 0.72; with `tcd` an undetermined mark keeps it.
#[test]
fn undetermined_marks_hold_the_rate() {
    let after = |tcd, mark, rtt_us| {
        let params = Params {
            tcd,
            ..Params::default()
        };
        let mut pair = Pair::new(star_path(), |path| Timely::new(&params, path));
        for (seq, rtt_us) in [(1000, 60), (2000, rtt_us)] {
            pair.advance(Span::from_us(20));
            pair.ack(&AckInfo {
                rtt: Span::from_us(rtt_us),
                mark,
                ..ack(seq, seq + 500)
            });
        }
        pair.rate().as_bps()
    };
    assert_eq!(after(true, Mark::Undetermined, 68), 100_000_000_000);
    assert_eq!(after(true, Mark::Congested, 68), 72_000_000_000);
    assert_eq!(after(false, Mark::Undetermined, 68), 72_000_000_000);
    assert!(
        after(true, Mark::Undetermined, 600) < 100_000_000_000,
        "above T_high"
    );
}

#[test]
fn each_branch_by_hand() {
    let params = Params::default();
    // diff = 0.875 * 8 us = 7 us; gradient 0.35; factor 1 - 0.8 * 0.35 = 0.72.
    assert_eq!(rates(&params, 60, &[68]), [72_000_000_000]);
    // Above T_high, at any gradient: 1 - 0.8 (1 - 500/1000) = 0.6.
    assert_eq!(rates(&params, 1000, &[1000]), [60_000_000_000]);
    // A steep rise: a negative factor counts as zero, so the rate is the lowest. Then a fall: steps of 0.1
    // Gbit/s, and of 0.5 from the sixth in a row.
    let falls = rates(&params, 60, &[400, 60, 60, 60, 60, 60, 60, 60]);
    let gbps: Vec<f64> = falls.iter().map(|&bps| bps as f64 / 1e9).collect();
    assert_eq!(gbps, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.0, 2.5]);
    // Below T_low the gradient does not count.
    assert_eq!(rates(&params, 10, &[49]), [100_000_000_000]);
}

#[test]
fn patched_by_hand() {
    let params = Params {
        variant: Variant::Patched,
        start_rate: Auto::Is(BitRate::from_gbps(100)),
        segment: Auto::Is(Bytes::new(1000)),
        ..Params::default()
    };
    // Constant at 100 us: w = 1/2, error = 1: 0.05 + 100 (1 - 0.008/2) Gbit/s.
    assert_eq!(rates(&params, 100, &[100]), [99_650_000_000]);
    // Steeply rising (gradient 0.35 >= 1/4): w = 1: 100 (1 - 0.008 * 0.36).
    assert_eq!(rates(&params, 60, &[68]), [99_712_000_000]);
    // Steeply falling: w = 0: one step, capped by the line.
    assert_eq!(rates(&params, 400, &[100]), [100_000_000_000]);
    // Above T_high the patched beta applies too: 1 - 0.008/2; then a step.
    assert_eq!(
        rates(&params, 1000, &[1000, 10]),
        [99_600_000_000, 99_700_000_000]
    );
}

/// Steps, initial rates and lowest rates are the papers' at 10 Gbit/s, scaled with the line.
#[test]
fn defaults_go_with_the_line() {
    let built = |variant, gbps| {
        let params = Params {
            variant,
            ..Params::default()
        };
        let path = PathInfo {
            line_rate: BitRate::from_gbps(gbps),
            ..star_path()
        };
        let sender = Timely::new(&params, &path);
        [sender.rate, sender.rate_ai, sender.rate_hai, sender.bounds.min]
            .map(|rate| rate.as_bps() / 1_000_000)
    };
    assert_eq!(built(Variant::Original, 10), [10_000, 10, 50, 100]);
    assert_eq!(built(Variant::Original, 100), [100_000, 100, 500, 1000]);
    assert_eq!(built(Variant::Patched, 10), [1_000, 10, 50, 100]);
    assert_eq!(built(Variant::Patched, 400), [40_000, 400, 2000, 4000]);
}

/// Patched: one update per 16 KB, but no two within `min-rtt`.
#[test]
fn an_update_per_segment() {
    let params = Params {
        variant: Variant::Patched,
        ..Params::default()
    };
    let mut pair = Pair::new(star_path(), |path| Timely::new(&params, path));
    // Below T_low each update adds 100 Mbit/s to the initial rate of 10 Gbit/s.
    let mut steps = |seq, after_us| {
        pair.advance(Span::from_us(after_us));
        pair.ack(&ack(seq, seq + 50_000));
        (pair.rate().as_bps() - 10_000_000_000) / 100_000_000
    };
    // The first segment ends with byte 17000; the next when its bytes are acknowledged and 20 us have passed.
    assert_eq!([steps(1000, 0), steps(16_000, 30), steps(17_000, 0)], [0, 0, 1]);
    assert_eq!([steps(32_000, 30), steps(33_000, 0)], [1, 2]);
    assert_eq!(
        [steps(49_000, 19), steps(50_000, 1), steps(66_000, 20)],
        [2, 3, 4]
    );
}

#[test]
fn a_flow_starts_as_it_is_told() {
    let params = Params {
        start_rate: Auto::Is(BitRate::from_gbps(5)),
        ..Params::default()
    };
    let pair = Pair::new(star_path(), |path| Timely::new(&params, path));
    assert_eq!(pair.rate(), BitRate::from_gbps(5));
}

#[test]
fn one_update_per_round_trip() {
    let mut pair = Pair::new(star_path(), |path| Timely::new(&Params::default(), path));
    let slow = |seq, snd_nxt| AckInfo {
        rtt: Span::from_us(1000),
        ..ack(seq, snd_nxt)
    };
    pair.ack(&slow(1000, 50_000));
    pair.ack(&slow(50_000, 90_000));
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
    pair.ack(&slow(51_000, 91_000));
    assert_eq!(pair.rate(), BitRate::from_gbps(60));
    pair.ack(&slow(91_000, 95_000));
    assert_eq!(pair.rate(), BitRate::from_gbps(60));
}

#[test]
fn defaults_of_the_variants() {
    let explicit = |variant| {
        Params {
            variant,
            ..Params::default()
        }
        .explicit()
    };
    assert_eq!(explicit(Variant::Original).beta, Some(0.8));
    assert_eq!(explicit(Variant::Patched).beta, Some(0.008));
    assert_eq!(explicit(Variant::Patched).rtt_ref, Some(Span::from_us(50)));
}
