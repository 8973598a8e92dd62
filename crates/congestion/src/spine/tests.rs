use paceline_kernel::Time;

use super::*;
use crate::testkit::models::{card, file, json, random};
use crate::testkit::{Pair, ack, star_path};

/// Executor at 100 Gbit/s and 4160 ns, that is 52 packets of 1000 bytes.
fn executor(window: f64) -> Executor {
    let params = Params {
        initial_window: window,
        ..Params::default()
    };
    Executor::new(&params, &star_path())
}

fn after(rtt_ns: u64) -> AckInfo<'static> {
    AckInfo {
        rtt: Span::from_ns(rtt_ns),
        ..ack(10_000, 20_000)
    }
}

/// Equations (1) to (4) with alpha 50, beta 200, gamma 400 and delta 717, each over 1024; windows in 2^-20 packets.
#[test]
fn a_trace_of_the_executor_by_hand() {
    let (mut executor, path) = (executor(1.0), star_path());
    assert_eq!((executor.window, executor.policy), (1 << 20, FIRST));
    // Without delay: 50 + 200 400 / 1024 = 128, an eighth of a packet.
    executor.on_ack(&after(4160), &path);
    assert_eq!(executor.window, 1_179_648);
    // With one round trip of delay: 50 - 200 624 / 1024 = -71.
    executor.on_ack(&after(8320), &path);
    assert_eq!(executor.window, 1_179_648 - 72_704);
    // With nine: clamped to half a packet.
    executor.on_ack(&after(41_600), &path);
    assert_eq!(executor.window, 582_656);
    // Below one packet the change is in proportion: an eighth of the window.
    executor.on_ack(&after(4160), &path);
    assert_eq!(executor.window, 655_488);
    // A loss leaves 717 / 1024 of the window; others within the same round trip do not count.
    let loss = |seq| AckInfo {
        nack: true,
        ..ack(seq, 20_000)
    };
    executor.on_ack(&loss(10_000), &path);
    executor.on_ack(&loss(19_000), &path);
    assert_eq!(executor.window, 458_969);
    executor.on_ack(&loss(20_000), &path);
    assert_eq!(executor.window, 321_367);
    // 0.3065 packets of 1048 bytes per 4160 ns; one may be in flight.
    let limits = executor.limits(&path);
    assert_eq!(limits.rate.as_bps(), 617_673_976);
    assert_eq!(limits.window, Bytes::new(1000));
}

/// Two packets in one ACK count twice; the window stays between the lowest rate and four bandwidth-delay
/// products.
#[test]
fn the_window_counts_packets_and_stays_in_range() {
    let path = star_path();
    let mut one = executor(10.0);
    let two = AckInfo {
        newly_acked: 2000,
        ..after(4160)
    };
    one.on_ack(&two, &path);
    assert_eq!(one.window(), 10.25);
    let mut none = executor(10.0);
    none.on_ack(
        &AckInfo {
            newly_acked: 0,
            ..two
        },
        &path,
    );
    assert_eq!(none.window(), 10.0);
    for _ in 0..2000 {
        one.on_ack(&two, &path);
    }
    assert_eq!(one.window(), 208.0);
    for _ in 0..2000 {
        one.on_ack(&after(41_600), &path);
    }
    // 1 Mbit/s for 4160 ns are 0.52 bytes of 1048.
    assert_eq!(one.window, 520);
    assert_eq!(one.limits(&path).window, Bytes::new(1000));
}

#[test]
fn parameters_by_hand() {
    // The logistic function at 0 is 1/2, and gamma is doubled.
    let half = SubPolicy::of([0.0; 4]);
    assert_eq!(
        (half.alpha, half.beta, half.gamma, half.delta),
        (512, 512, 1024, 512)
    );
    let ends = SubPolicy::of([-40.0, 40.0, -40.0, f32::NAN]);
    assert_eq!((ends.alpha, ends.beta, ends.gamma, ends.delta), (1, 1024, 2, 1));
    assert_eq!(SubPolicy::of(FIRST.said()), FIRST);
}

#[test]
fn what_is_seen_by_hand() {
    let report = Observation {
        asked: 2,
        since: Time::from_ns(10_000),
        at: Time::from_ns(18_320),
        tally: crate::api::Counters {
            acks: 4,
            acked: 52_000,
            nacks: 1,
            rtt_sum: Span::from_ns(4 * 8320),
            ..Default::default()
        },
        rtt_before: Span::from_ns(4160),
        limits: executor(13.0).limits(&star_path()),
        min_rate: BitRate::from_bps(1),
        in_flight: 0,
    };
    let seen = Interval::of(&report, &executor(13.0), 3, &star_path());
    // Twice the empty round trip, after 4160 ns more in 8320 ns; 52 000 bytes in that time are half the
    // line's rate.
    let expected = Interval {
        growth: 0.5,
        rtt: 2.0,
        delivered: 0.5,
        packets: (13.0, 52.0),
        loss: 0.25,
        elapsed: 2.0,
        policy: FIRST,
        since: 3,
    };
    assert_eq!(seen, expected);
    let numbers = seen.numbers();
    assert_eq!(numbers[0], 0.5);
    assert_eq!([numbers[2], numbers[3]], [-1.0 / 16.0, -2.0 / 16.0]);
    assert_eq!([numbers[6], numbers[11]], [1.0 / 16.0, 2.0 / 16.0]);
    assert_eq!(numbers[10], 717.0 / 1024.0);
}

/// Agent with constant outputs: all weights zero, and these biases on the last layer.
fn constant(biases: [f32; OUTPUTS]) -> ModelRef {
    let card = card(ModelKind::Spine, HIDDEN);
    let mut tensors = random(&card, 1);
    for (name, _, values) in &mut tensors {
        match name.as_str() {
            "heads.bias" => values.copy_from_slice(&biases),
            _ => values.fill(0.0),
        }
    }
    let weights = file(&tensors);
    let model = Model::parse(&json(&card, &weights), &weights);
    ModelRef::read_from("test", Arc::new(model.unwrap()))
}

fn pair(biases: [f32; OUTPUTS]) -> Pair<Inside<Spine<Trained>>> {
    let params = Params {
        model: Auto::Is(constant(biases)),
        initial_window: 8.0,
        ..Params::default()
    };
    params.check().unwrap();
    let agent = Trained(shipped::policy(ModelKind::Spine, &params.model, BUILT_IN));
    Pair::new(star_path(), |path| Spine::sender(&params, path, agent))
}

/// The rule moves the rate with each acknowledgement; the agent decides once per round trip, and generates
/// the first policy, regardless of its watcher's outputs.
#[test]
fn it_watches_once_per_round_trip() {
    let mut pair = pair([-0.1, 40.0, -40.0, 0.0, 0.0]);
    let gbps = |packets: f64| packets * 1048.0 * 8.0 / 4160.0;
    let mut after = |ns: u64, seq: u64| {
        pair.advance(Span::from_ns(ns));
        pair.ack(&ack(seq, 50_000));
        let deciding = pair.deciding();
        if deciding {
            pair.decision();
        }
        (deciding, pair.rate().as_gbps_f64())
    };
    // An eighth of a packet by the initial rule, one packet by the generated one.
    for (ns, seq, expected) in [
        (4160, 1000, (true, 8.125)),
        (4159, 2000, (false, 9.125)),
        (1, 3000, (true, 10.125)),
    ] {
        let (deciding, rate) = after(ns, seq);
        assert_eq!(deciding, expected.0, "{seq}");
        assert!((rate - gbps(expected.1)).abs() < 1e-6, "{seq}: {rate}");
    }
}

#[test]
fn the_watcher_triggers_from_a_half_on_and_at_first() {
    let model = Auto::Is(constant([0.0; OUTPUTS]));
    let mut agent = Trained(shipped::policy(ModelKind::Spine, &model, BUILT_IN));
    let path = star_path();
    let report = Observation::new(executor(1.0).limits(&path), BitRate::from_bps(1));
    let mut choose = |first, trigger| {
        let moment = Moment {
            first,
            seen: &[0.0; INPUTS],
            report: &report,
            path: &path,
        };
        agent.choose(&moment, &[trigger, 1.0, 2.0, 3.0, 4.0])
    };
    assert_eq!(choose(false, -0.001), None);
    assert_eq!(choose(false, 0.0), Some([1.0, 2.0, 3.0, 4.0]));
    assert_eq!(choose(true, -9.0), Some([1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn a_model_of_another_kind_is_refused() {
    for (name, expected) in [
        ("adpg", "`adpg` is of kind adpg; expected one of kind spine"),
        (
            "adpg-tree-100",
            "`adpg-tree-100` is a forest; expected one of kind spine",
        ),
        ("spin", "did you mean `spine`?"),
    ] {
        let params = Params {
            model: Auto::Is(ModelRef::new(name)),
            ..Params::default()
        };
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The built-in model grows its window without a queue, and shrinks it behind a long one.
#[test]
fn the_shipped_agent_goes_the_right_way() {
    let after = |rtt_ns: u64| {
        let params = Params {
            initial_window: 10.0,
            ..Params::default()
        };
        let agent = Trained(shipped::policy(ModelKind::Spine, &params.model, BUILT_IN));
        let mut pair = Pair::new(star_path(), |path| Spine::sender(&params, path, agent));
        for round in 1..=10 {
            pair.advance(Span::from_ns(rtt_ns));
            for packet in 0..10 {
                pair.ack(&AckInfo {
                    rtt: Span::from_ns(rtt_ns),
                    ..ack(round * 100_000 + packet * 1000, round * 100_000 + 50_000)
                });
                if pair.deciding() {
                    pair.decision();
                }
            }
        }
        pair.rate().as_gbps_f64()
    };
    let first = 10.0 * 1048.0 * 8.0 / 4160.0;
    let (free, crowded) = (after(4160), after(20_000));
    assert!(free > 1.2 * first && crowded < 0.8 * first, "{free} {crowded}");
}
