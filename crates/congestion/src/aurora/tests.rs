use paceline_kernel::{Bytes, Time};

use super::*;
use crate::api::{AckInfo, Counters};
use crate::testkit::models::{card, file, json, random};
use crate::testkit::{Pair, ack, star_path};

/// Observation at 100 Gbit/s with a base round trip of 4160 ns.
fn report() -> Observation {
    Observation {
        asked: 2,
        since: Time::from_ns(10_000),
        at: Time::from_ns(12_080),
        tally: Counters {
            acks: 4,
            acked: 13_000,
            rtt_sum: Span::from_ns(4 * 8320),
            ..Counters::default()
        },
        rtt_before: Span::from_ns(6240),
        limits: SendLimits {
            rate: BitRate::from_gbps(75),
            window: Bytes::MAX,
        },
        min_rate: BitRate::from_bps(1),
        in_flight: 13_000,
    }
}

#[test]
fn features_by_hand() {
    // 2080 ns more in 2080 ns; two round trips; 13 000 bytes in 2080 ns are 50 Gbit/s, of 75 sent.
    assert_eq!(observe(&report(), &star_path()), [1.0, 2.0, 1.5]);
    // The first interval has no predecessor.
    let first = Observation {
        asked: 1,
        rtt_before: Span::ZERO,
        ..report()
    };
    assert_eq!(observe(&first, &star_path())[0], 0.0);
    // Nothing arrived, then next to nothing: both bounds apply.
    assert_eq!(sent(75.0, 0.0), 1.0);
    assert_eq!((sent(75.0, 1.0), latency(55.0)), (10.0, 10.0));
    assert_eq!((growth(100.0, 0.0, 1.0), growth(0.0, 100.0, 1.0)), (10.0, -10.0));
    assert_eq!(growth(5.0, 0.0, 0.0), 0.0);
}

/// Policy with a constant output: all weights zero, and a bias on the last layer.
fn constant(bias: f32) -> ModelRef {
    let card = card(ModelKind::Aurora, 0);
    let mut tensors = random(&card, 1);
    for (name, _, values) in &mut tensors {
        values.fill(if name == "last.bias" { bias } else { 0.0 });
    }
    let weights = file(&tensors);
    let model = Model::parse(&json(&card, &weights), &weights);
    ModelRef::read_from("test", Arc::new(model.unwrap()))
}

fn pair(bias: f32) -> Pair<Inside<Aurora>> {
    let params = Params {
        model: Auto::Is(constant(bias)),
        initial_rate: Auto::Is(BitRate::from_gbps(20)),
        ..Params::default()
    };
    params.check().unwrap();
    Pair::new(star_path(), |path| Aurora::sender(&params, path))
}

#[test]
fn it_decides_twice_per_round_trip() {
    let mut pair = pair(4.0);
    pair.advance(Span::from_ns(4160));
    pair.ack(&ack(1000, 50_000));
    assert!(pair.deciding(), "the first acknowledgement of all");
    pair.decision();
    assert!((pair.rate().as_gbps_f64() - 22.0).abs() < 1e-6);
    pair.advance(Span::from_ns(2079));
    pair.ack(&ack(2000, 50_000));
    assert!(!pair.deciding(), "half a round trip is 2080 ns");
    pair.advance(Span::from_ns(1));
    pair.ack(&ack(3000, 50_000));
    assert!(pair.deciding());
    pair.decision();
    assert!((pair.rate().as_gbps_f64() - 24.2).abs() < 1e-6);
}

/// Factors are 1 + step a upwards and 1 / (1 - step a) downwards, for at most ten steps.
#[test]
fn actions_by_hand() {
    for (bias, factor) in [(2.0f32, 1.05f64), (-2.0, 1.0 / 1.05), (50.0, 1.25), (-50.0, 0.8)] {
        let mut pair = pair(bias);
        pair.advance(Span::from_ns(4160));
        pair.ack(&ack(1000, 50_000));
        pair.decision();
        let rate = pair.rate().as_gbps_f64();
        assert!((rate - 20.0 * factor).abs() < 1e-6, "{bias}: {rate}");
    }
}

#[test]
fn a_model_of_another_kind_is_refused() {
    for (name, expected) in [
        (
            "adpg",
            "`adpg` is of kind adpg; expected one of kind aurora, or a forest",
        ),
        ("auora", "did you mean `aurora`?"),
    ] {
        let params = Params {
            model: Auto::Is(ModelRef::new(name)),
            ..Params::default()
        };
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The built-in model alone fills most of the line; behind a long and growing queue it slows down.
#[test]
fn the_shipped_policy_goes_the_right_way() {
    let after = |first_ns: u64, growth_ns: u64| {
        let params = Params {
            initial_rate: Auto::Is(BitRate::from_gbps(20)),
            ..Params::default()
        };
        let mut pair = Pair::new(star_path(), |path| Aurora::sender(&params, path));
        for round in 1..=20 {
            pair.advance(Span::from_ns(2080));
            // 5200 bytes in 2080 ns are the initial 20 Gbit/s.
            pair.ack(&AckInfo {
                rtt: Span::from_ns(first_ns + round * growth_ns),
                newly_acked: 5200,
                ..ack(round * 100_000, round * 100_000 + 50_000)
            });
            pair.decision();
        }
        pair.rate().as_gbps_f64()
    };
    let (free, crowded) = (after(4160, 0), after(20_000, 1000));
    assert!(free > 20.0 && crowded < 20.0, "{free} {crowded}");
}
