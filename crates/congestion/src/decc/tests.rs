use paceline_kernel::{Bytes, Time};

use super::features::{HISTORY, INPUTS, ONCE, latency};
use super::window::moved;
use super::*;
use crate::api::Tally;
use crate::testkit::models::{card, file, json, random};
use crate::testkit::{Pair, ack, star_path};

/// 100 Gbit/s and 4160 ns: a bandwidth-delay product of 52 000 bytes.
fn report() -> Report {
    Report {
        asked: 3,
        since: Time::from_ns(10_000),
        at: Time::from_ns(20_000),
        tally: Tally {
            acks: 8,
            acked: 31_250,
            nacks: 2,
            rtt_sum: Span::from_ns(8 * 8320),
            ..Tally::default()
        },
        rtt_before: Span::ZERO,
        limits: SendLimits {
            rate: BitRate::from_bps(6_250_000_000),
            window: Bytes::MAX,
        },
        min_rate: BitRate::from_bps(1),
        in_flight: 13_000,
    }
}

#[test]
fn features_by_hand() {
    // 31 250 bytes in 10 us are 25 Gbit/s, 1/4 of the line; two round trips; 2 of 8; 1/4 of the product; 1/16.
    let seen = observe(&report(), &star_path(), -0.5);
    assert_eq!(seen, [-2.0 / 16.0, 0.5, 0.25, -2.0 / 8.0, -4.0 / 16.0, -0.5]);
    let nothing = Report {
        tally: Tally {
            timeouts: 1,
            rtt_last: Span::from_us(9_000),
            ..Tally::default()
        },
        in_flight: 0,
        ..report()
    };
    let seen = observe(&nothing, &star_path(), 0.0);
    assert_eq!(seen, [-1.0, 2.5, 1.0, -2.0, -4.0 / 16.0, 0.0]);
    assert_eq!((latency(-1.0), latency(8.0)), (0.0, 2.0));
}

#[test]
fn the_first_round_trip_stands_for_those_before() {
    let now: [f32; ONCE] = std::array::from_fn(|k| k as f32);
    let mut seen = Seen::first(now);
    assert!(seen.0.chunks(ONCE).all(|one| one == now));
    seen.push([9.0; ONCE]);
    assert!(seen.0[..INPUTS - ONCE].chunks(ONCE).all(|one| one == now));
    assert_eq!(seen.0[INPUTS - ONCE..], [9.0; ONCE]);
    assert_eq!(seen.0.len(), ONCE * HISTORY);
}

#[test]
fn windows_by_hand() {
    let path = star_path();
    let mut window = 0.0;
    // 1/16 of the product is 3250 bytes; a full action makes 4631.25 of them, sent in 8320 ns.
    let at = (BitRate::from_bps(6_250_000_000), Span::from_ns(8320));
    let limits = moved((1.0, STEP), at, &path, &mut window);
    assert!((window - 4631.25).abs() < 1e-9, "{window}");
    assert_eq!(limits.window, Bytes::new(4631));
    assert_eq!(limits.rate.as_bps(), (4631.25 * 8.0 / 8.32e-6) as u64);
    // Below one packet: one may be in flight, and the rate says when the next goes. It ends at 1/64 of a packet.
    for _ in 0..30 {
        moved((-1.0, STEP), at, &path, &mut window);
    }
    let limits = moved((-1.0, STEP), at, &path, &mut window);
    assert_eq!((window, limits.window), (1000.0 / 64.0, Bytes::new(1000)));
    assert_eq!(limits.rate.as_bps(), (1000.0 / 64.0 * 8.0 / 8.32e-6) as u64);
    for _ in 0..40 {
        moved((1.0, STEP), at, &path, &mut window);
    }
    assert_eq!(window, 78_000.0);
}

/// A policy that always gives the same: all weights zero, and a bias at its end.
fn constant(bias: f32) -> ModelRef {
    let card = card(Kind::Decc, 0);
    let mut tensors = random(&card, 1);
    for (name, _, values) in &mut tensors {
        values.fill(if name == "last.bias" { bias } else { 0.0 });
    }
    let weights = file(&tensors);
    let model = Model::parse(&json(&card, &weights), &weights);
    ModelRef::read_from("test", Arc::new(model.unwrap()))
}

#[test]
fn a_flow_asks_once_per_round_trip_and_goes_where_the_policy_says() {
    let params = Params {
        model: Auto::Is(constant(50.0)),
        ..Params::default()
    };
    params.check().unwrap();
    let mut pair = Pair::new(star_path(), |path| Decc::sender(&params, path));
    assert_eq!(pair.rate(), BitRate::from_bps(100_000_000_000 / 64));
    pair.advance(Span::from_us(5));
    pair.ack(&ack(1000, 3000));
    assert!(pair.deciding(), "the first acknowledgement");
    pair.ack(&ack(2000, 4000));
    pair.decision();
    let first = pair.rate().as_gbps_f64();
    assert!((first - 100.0 / 64.0 * 1.425).abs() < 1e-3, "{first}");
    pair.ack(&ack(3000, 5000));
    assert!(!pair.deciding(), "that packet was sent before");
    pair.advance(Span::from_us(5));
    pair.ack(&ack(3500, 5000));
    assert!(pair.deciding());
    pair.decision();
    let second = pair.rate().as_gbps_f64();
    assert!((second - first * 1.425).abs() < 1e-3, "{second}");
    pair.timeout();
    assert!(pair.deciding(), "a timeout is news");
}

/// Through a whole run: a policy that always slows down goes far below one packet per round trip, and stops there.
#[test]
fn windows_go_far_below_one_packet() {
    let params = Params {
        model: Auto::Is(constant(-50.0)),
        ..Params::default()
    };
    let mut pair = Pair::new(star_path(), |path| Decc::sender(&params, path));
    for round in 1..60u64 {
        pair.advance(Span::from_us(5));
        pair.ack(&ack(round * 1000, round * 1000 + 500));
        pair.decision();
    }
    let packets = pair.rate().as_gbps_f64() * 4160.0 / 8.0 / 1000.0;
    assert!((packets - 1.0 / 64.0).abs() < 1e-4, "{packets}");
    assert_eq!(pair.cc.limits().window, Bytes::new(1000));
}

#[test]
fn a_model_of_another_kind_is_refused() {
    for (name, expected) in [
        (
            "adpg",
            "`adpg` is of kind adpg; expected one of kind decc, a rate law, or a forest",
        ),
        ("deccc-clone", "did you mean `decc-clone`?"),
    ] {
        let params = Params {
            model: Auto::Is(ModelRef::new(name)),
            ..Params::default()
        };
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A law moves a flow as its own file says, from its own first rate; a network's step does nothing there, which is told.
#[test]
fn a_law_decides() {
    let params = Params::default();
    params.check().unwrap();
    let mut pair = Pair::new(star_path(), |path| Decc::sender(&params, path));
    let model = crate::learned::shipped::find("decc-law").unwrap();
    let law = model.law().unwrap();
    let mut state = law.start(&star_path());
    assert_eq!(pair.rate(), law.limits(state.w, 1.0, &star_path()).rate);
    for round in 1..5u64 {
        pair.advance(Span::from_us(5));
        pair.ack(&ack(round * 1000, round * 1000 + 500));
        assert!(pair.deciding());
        let rtt = ack(0, 0).rtt.as_us_f64() / star_path().base_rtt.as_us_f64();
        // The first packet left a round trip before its acknowledgement came.
        let elapsed = if round == 1 {
            rtt
        } else {
            5.0 / star_path().base_rtt.as_us_f64()
        };
        let seen = law::Seen {
            mean: Some(rtt),
            newest: rtt,
            elapsed,
            nacks: 0.0,
        };
        pair.decision();
        let limits = law.decide(&mut state, &seen, 0.0, &star_path());
        assert_eq!(pair.cc.limits(), limits, "round {round}");
    }
    let given = Params {
        initial_rate: Auto::Is(BitRate::from_gbps(10)),
        ..Params::default()
    };
    let pair = Pair::new(star_path(), |path| Decc::sender(&given, path));
    assert_eq!(pair.rate(), BitRate::from_gbps(10));
    let step = Params { step: 0.3, ..params };
    let error = step.check().unwrap_err().to_string();
    assert!(error.contains("0.3 has no effect with a rate law"), "{error}");
}

/// Another machine that rounded once otherwise would differ.
#[test]
fn the_bits_of_a_decision_are_the_same_everywhere() {
    let card = card(Kind::Decc, 0);
    let weights = file(&random(&card, 7));
    let model = Model::parse(&json(&card, &weights), &weights).unwrap();
    let policy = model.decides().unwrap();
    let bits = [0.1f32, -0.3, 0.7].map(|x| {
        let features: [f32; INPUTS] = std::array::from_fn(|k| x * (k % 7) as f32 - 0.2);
        policy.decide(&features).to_bits()
    });
    assert_eq!(bits, [3_194_726_135, 3_194_632_052, 1_011_912_054]);
}
