use paceline_kernel::{BitRate, Span};
use proptest::prelude::*;

use super::*;
use crate::learned::ModelKind;
use crate::testkit::models::random_model;
use crate::testkit::{Pair, ack, star_path};

const THESIS: Gains = Gains {
    p: -0.358,
    i: -0.060,
    d: 0.040,
};
const CLAMP: Clamp = Clamp { hi: 0.5, lo: 0.6 };

fn params() -> Params {
    Params {
        predictor: Predictor::None,
        ..Params::default()
    }
}

fn sender(params: &Params) -> Pair<LstmPid> {
    Pair::new(star_path(), |path| LstmPid::new(params, path))
}

/// Feeds round-trip times, one per completion window.
fn feed(pair: &mut Pair<LstmPid>, rtts_us: &[f64]) {
    for &rtt in rtts_us {
        let seq = 1000 * (pair.cc.samples() + 1);
        pair.ack(&sample(seq, rtt));
    }
}

/// Returns an acknowledgement that ends a completion window.
fn sample(seq: u64, rtt_us: f64) -> AckInfo<'static> {
    AckInfo {
        rtt: Span::from_ps((rtt_us * 1e6) as u64),
        ..ack(seq, seq)
    }
}

/// Parameters of a predictor with a model of random weights.
fn with_model(predictor: Predictor) -> Params {
    let mut params = Params {
        predictor,
        ..params()
    };
    if let Some(kind) = predictor.kind() {
        params.model = Auto::Is(ModelRef::read_from("test", random_model(kind, 3)));
    }
    params
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

#[test]
fn one_sample_per_completion_window() {
    let mut collector = Collector::default();
    let taken: Vec<bool> = [
        (1000, 5000), // the first
        (2000, 6000), // sent before that
        (5000, 9000), // the last that had been sent by then
        (6000, 10_000),
        (10_000, 14_000),
        (11_000, 15_000),
    ]
    .iter()
    .map(|&(seq, snd_nxt)| collector.takes(&ack(seq, snd_nxt)))
    .collect();
    assert_eq!(taken, [true, false, false, true, false, true]);
    collector.restart();
    assert!(collector.takes(&ack(1000, 2000)));
}

#[test]
fn equations_1_to_3_by_hand() {
    let mut features = Features::new(0.2);
    close(features.push(5.0), 0.0);
    close(features.smoothed(), 5.0);
    close(features.label(6.0), 0.2);
    close(features.push(6.0), 0.8 / 5.2);
    close(features.smoothed(), 5.2);
    assert_eq!(features.window(), None);
    close(features.push(4.0), -0.96 / 4.96);
    close(features.smoothed(), 4.96);
    // Label L of the third sample, and its inverse.
    let label = features.label(10.0);
    close(label, 5.04 / 4.96);
    close(features.rtt_of(label), 10.0);
    let k = [0.0, 0.8 / 5.2, -0.96 / 4.96];
    assert_eq!(features.window(), Some(&k.map(|k: f64| k as f32)));
    // The window slides.
    close(features.push(10.0), 4.032 / 5.968);
    let k = [k[1], k[2], 4.032 / 5.968];
    assert_eq!(features.window(), Some(&k.map(|k: f64| k as f32)));
}

#[test]
fn equations_5_and_6_by_hand() {
    let mut pid = Pid::new(THESIS, CLAMP);
    let mut step = |error| {
        let terms = pid.terms(error);
        (terms, pid.action(&terms))
    };
    assert_eq!(step(0.0), (Terms::default(), 0.0));
    let (terms, action) = step(0.2);
    assert_eq!((terms.p, terms.i, terms.d), (0.2, 0.1, 0.2));
    close(action, -0.0716 - 0.006 + 0.008);
    let (terms, action) = step(-0.2);
    assert_eq!((terms.p, terms.i, terms.d), (-0.2, 0.0, -0.4));
    close(action, 0.0716 - 0.016);
    let (terms, action) = step(1.0);
    assert_eq!((terms.p, terms.i, terms.d), (1.0, 0.25, 1.2));
    close(action, -0.358 - 0.015 + 0.048);
    // -1.074 - 0.048 + 0.08 exceeds the bound of one step.
    assert_eq!(step(3.0).1, -0.6);
}

#[test]
fn the_first_error_has_no_change() {
    let mut pid = Pid::new(THESIS, CLAMP);
    let terms = pid.terms(0.4);
    assert_eq!((terms.p, terms.i, terms.d), (0.4, 0.4, 0.0));
}

#[test]
fn a_step_up_is_bounded_apart_from_a_step_down() {
    let steep = Gains { p: -2.0, ..THESIS };
    let mut pid = Pid::new(steep, CLAMP);
    let terms = pid.terms(-0.8);
    assert_eq!(pid.action(&terms), 0.5);
    let mut pid = Pid::new(steep, Clamp { hi: 0.6, lo: 0.6 });
    let terms = pid.terms(-0.8);
    assert_eq!(pid.action(&terms), 0.6);
}

#[test]
fn the_rate_by_hand() {
    let mut pair = sender(&params());
    assert_eq!(pair.rate(), BitRate::from_gbps(10));
    feed(&mut pair, &[5.0, 6.0]);
    assert_eq!(pair.rate().as_bps(), 9_304_000_000);
    let decision = pair.cc.last_decision().unwrap();
    assert_eq!(
        (decision.rtt, decision.prediction, decision.target),
        (6.0, 6.0, 5.0)
    );
    assert_eq!(decision.rate_before, BitRate::from_gbps(10));
    assert_eq!(decision.rate_after, pair.rate());
    // 9.304 Gbit/s (1 + 0.0556).
    feed(&mut pair, &[4.0]);
    assert!(pair.rate().as_bps().abs_diff(9_821_302_400) <= 1);
    // Acknowledgements within the window change nothing.
    let before = pair.rate();
    pair.ack(&ack(3000, 9000));
    assert_eq!((pair.rate(), pair.cc.samples()), (before, 3));
    // Far above the target a step keeps at least 0.4 of the rate, and the rate stays at or above the lowest.
    feed(&mut pair, &[60.0]);
    assert_eq!(pair.rate(), before.scale(0.4));
    feed(&mut pair, &[60.0; 5]);
    assert_eq!(pair.rate(), BitRate::from_gbps(1));
    // After a long time below the target: line rate.
    feed(&mut pair, &[1.0; 200]);
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
}

#[test]
fn another_message_of_the_flow_is_sampled_from_its_start() {
    let mut pair = sender(&params());
    feed(&mut pair, &[5.0, 5.0, 5.0]);
    let mut path_ack = |seq, idle: bool| {
        let mut timers = crate::TimerBank::default();
        let mut rng = paceline_kernel::rng::Rng::stream(1, paceline_kernel::rng::Purpose::Congestion, 0);
        let path = star_path();
        let mut cx = Ctx {
            now: pair.now(),
            path: &path,
            timers: &mut timers,
            rng: &mut rng,
        };
        if idle {
            pair.cc.on_idle(&mut cx, &ack(seq, seq));
        } else {
            pair.cc.on_ack(&mut cx, &ack(seq, seq));
        }
        pair.cc.samples()
    };
    assert_eq!(path_ack(4000, true), 4);
    assert_eq!(path_ack(1000, false), 5);
}

/// Returns the target after each sample.
fn targets(target: &mut Target, rtts: &[f64]) -> Vec<f64> {
    rtts.iter()
        .map(|&rtt| {
            target.observe(rtt);
            target.get()
        })
        .collect()
}

fn moving(shift: Shift, printed_counter: bool) -> Target {
    let change = Change {
        after: 6,
        shift,
        max: 40.0,
        printed_counter,
    };
    Target::adaptive(5.0, change)
}

#[test]
fn rttch_by_hand() {
    // One sample 1 us below and seven 3 us above the target move it by (7 * 3 - 1) / 8 = 2.5 us.
    let mut target = moving(Shift::Deviations, false);
    assert_eq!(
        targets(&mut target, &[4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]),
        [5.0; 7]
    );
    assert_eq!(targets(&mut target, &[8.0]), [7.5]);
    // Seven more samples, 0.5 us above the new target. The old deviations count again: (20 + 3.5) / 15 more.
    assert_eq!(targets(&mut target, &[8.0; 6]), [7.5; 6]);
    close(targets(&mut target, &[8.0])[0], 7.5 + 23.5 / 15.0);
    // The target has passed the measured 8 us and still rises: -1.0667 us seven times, yet (23.5 - 7.4667) /
    // 22 more.
    let past = target.get() - 8.0;
    let expected = target.get() + (23.5 - 7.0 * past) / 22.0;
    targets(&mut target, &[8.0; 7]);
    close(target.get(), expected);
    // The target stays between its configured value and its bound.
    targets(&mut target, &[1.0; 300]);
    assert_eq!(target.get(), 5.0);
    targets(&mut target, &[10_000.0; 50]);
    assert_eq!(target.get(), 40.0);
}

#[test]
fn rttch_to_the_mean_by_hand() {
    // Six samples above the target do not suffice; the seventh moves it to the mean of all.
    let mut target = moving(Shift::Mean, false);
    assert_eq!(
        targets(&mut target, &[4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]),
        [5.0; 7]
    );
    assert_eq!(targets(&mut target, &[8.0]), [60.0 / 8.0]);
    // The count restarts against the new target: 8 is above 7.5, six more times.
    assert_eq!(targets(&mut target, &[8.0; 6]), [7.5; 6]);
    close(targets(&mut target, &[8.0])[0], 116.0 / 15.0);
    // A sample on the other side restarts it too.
    let before = target.get();
    assert_eq!(
        targets(&mut target, &[9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 9.0]),
        [before; 8]
    );
    // Seven samples below the target lower it to the mean.
    let mut target = moving(Shift::Mean, false);
    targets(&mut target, &[12.0; 7]);
    assert_eq!(target.get(), 12.0);
    targets(&mut target, &[6.0; 7]);
    assert_eq!(target.get(), 9.0);
    // The target stays between its configured value and its bound.
    targets(&mut target, &[1.0; 70]);
    assert_eq!(target.get(), 5.0);
    targets(&mut target, &[1000.0; 50]);
    assert_eq!(target.get(), 40.0);
    let mut fixed = Target::fixed(5.0);
    assert_eq!(targets(&mut fixed, &[9.0; 20]), [5.0; 20]);
}

#[test]
fn rttch_as_printed_counts_only_upwards() {
    // Below the target the count goes 1, 0, 1, 0, so the target stays.
    let mut printed = moving(Shift::Mean, true);
    targets(&mut printed, &[12.0; 7]);
    assert_eq!(printed.get(), 12.0);
    targets(&mut printed, &[6.0; 70]);
    assert_eq!(printed.get(), 12.0);
    // After a start at zero, one sample below counts as one of the seven: six above then suffice.
    let mut printed = moving(Shift::Mean, true);
    targets(&mut printed, &[5.0, 11.0, 11.0, 11.0, 11.0, 11.0]);
    assert_eq!(printed.get(), 5.0);
    targets(&mut printed, &[11.0]);
    assert_eq!(printed.get(), 71.0 / 7.0);
}

#[test]
fn the_highest_target_follows_the_path() {
    let adapting = Params {
        rtt_change: true,
        ..params()
    };
    let mut pair = sender(&adapting);
    feed(&mut pair, &[1000.0; 7]);
    close(pair.cc.target_us(), 41.6); // ten times 4160 ns
    let bounded = Params {
        rtt_change_max: Auto::Is(Span::from_us(20)),
        ..adapting
    };
    let mut pair = sender(&bounded);
    feed(&mut pair, &[1000.0; 7]);
    close(pair.cc.target_us(), 20.0);
    let mut wrong = params();
    wrong.rtt_change_max = Auto::Is(Span::from_us(4));
    assert_eq!(
        wrong.check().unwrap_err().to_string(),
        "parameter `rtt-change-max`: 4us is below target, 5us"
    );
}

#[test]
fn a_target_in_round_trips_follows_the_path() {
    let params = Params {
        target_rtts: 1.25,
        ..params()
    };
    let pair = sender(&params);
    close(pair.cc.target_us(), 5.2); // 1.25 times 4160 ns
    assert_eq!(params.delay_limit(2), None);
    assert_eq!(params.check(), Ok(()));
    // A target of less than one round trip is refused.
    let less = Params {
        target_rtts: 0.9,
        ..params
    };
    assert_eq!(less.check().unwrap_err().param, "target-rtts");
}

#[test]
fn a_model_predicts_from_the_third_sample_on() {
    for predictor in [Predictor::Lstm, Predictor::Gru, Predictor::Rnn, Predictor::Ar3] {
        let params = with_model(predictor);
        assert_eq!(params.explicit().check(), Ok(()), "{predictor:?}");
        let mut pair = sender(&params);
        feed(&mut pair, &[5.0, 6.0]);
        assert_eq!(pair.cc.last_decision().unwrap().prediction, 6.0);
        feed(&mut pair, &[4.0]);
        // Equations (2) and (3) around the model.
        let k = [0.0, 0.8 / 5.2, -0.96 / 4.96].map(|k: f64| k as f32);
        let model = random_model(predictor.kind().unwrap(), 3);
        let output = f64::from(model.predict(&k));
        assert!(output != 0.0);
        let decision = *pair.cc.last_decision().unwrap();
        close(decision.prediction, (1.0 + output) * 4.96);
        // (4) and (5): e was 0 and 0.2 before.
        let error = (decision.prediction - 5.0) / 5.0;
        close(decision.terms.p, error);
        close(decision.terms.i, (0.2 + error) / 3.0);
        close(decision.terms.d, error - 0.2);
    }
}

#[test]
fn a_model_has_to_fit() {
    let check = |params: &Params| params.explicit().check().unwrap_err().to_string();
    let mut params = with_model(Predictor::Lstm);
    params.model = Auto::Is(ModelRef::read_from("x", random_model(ModelKind::Gru, 3)));
    assert_eq!(
        check(&params),
        "parameter `model`: `test` is of kind gru; the predictor is lstm"
    );
    let mut params = with_model(Predictor::Gru);
    params.smoothing = 0.3;
    assert_eq!(
        check(&params),
        "parameter `smoothing`: 0.3 does not fit the model `test`, whose features were made with 0.2"
    );
    let mut params = with_model(Predictor::Ar3);
    let known = params.explicit().model_hash;
    assert_eq!(known, Auto::Is(ModelHash::of(&random_model(ModelKind::Ar3, 3))));
    params.model_hash = known;
    assert_eq!(params.check(), Ok(()));
    params.model = Auto::Is(ModelRef::read_from("x", random_model(ModelKind::Ar3, 4)));
    assert!(check(&params).contains("is not of the model `test`, whose weights have"));
    params.model = Auto::Is(ModelRef::new("rtt-ar"));
    assert!(check(&params).starts_with("parameter `model`: there is no model `rtt-ar`"));
    let error = "12ab".parse::<ModelHash>().unwrap_err();
    assert_eq!(error, "`12ab` is not a SHA-256: expected 64 hexadecimal digits");
}

#[test]
fn the_oracle_counts_from_the_third_sample_on() {
    let mut pair = sender(&Params {
        predictor: Predictor::Oracle,
        ..params()
    });
    pair.foresight(Span::from_us(9));
    feed(&mut pair, &[5.0, 5.0]);
    assert_eq!(pair.cc.last_decision().unwrap().prediction, 5.0);
    feed(&mut pair, &[5.0]);
    assert_eq!(pair.cc.last_decision().unwrap().prediction, 9.0);
}

#[test]
fn decisions_on_their_way_are_of_the_samples_before() {
    let mut pair = sender(&Params {
        decision_latency: Span::from_us(3),
        ..params()
    });
    feed(&mut pair, &[6.0]);
    assert!(pair.deciding());
    assert_eq!(pair.rate(), BitRate::from_gbps(10));
    // These samples enter the history only.
    feed(&mut pair, &[20.0, 20.0]);
    pair.decision();
    // e = I = 0.2, D = 0: 1 - 0.0836.
    assert_eq!(pair.rate().as_bps(), 9_164_000_000);
    assert_eq!((pair.cc.decisions(), pair.cc.samples()), (1, 3));
    let mut history = Features::new(0.2);
    let [_, _, k] = [6.0, 20.0, 20.0].map(|rtt| history.push(rtt));
    assert_eq!(pair.cc.features().window().unwrap()[2], k as f32);
    // The next sample starts a decision: e = 0, I = 0.1, D = -0.2.
    feed(&mut pair, &[5.0]);
    pair.decision();
    assert_eq!(pair.cc.last_decision().unwrap().terms.d, -0.2);
    let needs = |params: &Params| params.needs().decisions;
    assert_eq!(needs(&params()), None);
    let slow = Params {
        decision_latency: Span::from_us(3),
        decisions_in_service: 2,
        ..params()
    };
    assert_eq!(
        needs(&slow),
        Some(Decisions {
            latency: Span::from_us(3),
            in_service: 2,
            outside: false
        })
    );
}

#[test]
fn aliases_are_the_variants_of_the_thesis() {
    use crate::registry::SchemeParams;
    for (name, rttch, window) in [
        ("pidnn", "false", WindowMode::Off),
        ("pidnn-rttch", "true", WindowMode::Off),
        ("pidnn-rttch-win", "true", WindowMode::Variable),
        ("lstm-pid-rttch", "true", WindowMode::Off),
        ("lstm-pid-rttch-win", "true", WindowMode::Variable),
    ] {
        let config = SchemeParams::default().configure(name).unwrap();
        let values = config.values();
        let of = |key: &str| &values.iter().find(|(name, _)| name == key).unwrap().1;
        assert_eq!(of("rtt-change"), rttch, "{name}");
        assert_eq!(config.default_window(), window, "{name}");
        let predictor = if name.starts_with("pidnn") { "none" } else { "lstm" };
        assert_eq!(of("predictor"), predictor, "{name}");
    }
}

proptest! {
    #[test]
    fn the_rate_stays_between_its_bounds(
        rtts in prop::collection::vec(1e-6..1e6f64, 1..200),
        gains in prop::array::uniform3(-3.0..3.0f64),
        predictor in prop::sample::select(vec![
            Predictor::Lstm,
            Predictor::Gru,
            Predictor::Rnn,
            Predictor::Ar3,
            Predictor::Persistence,
            Predictor::Oracle,
        ]),
        rtt_change in any::<bool>(),
        printed_counter in any::<bool>(),
        by_mean in any::<bool>(),
        latency in 0..3u64,
    ) {
        let params = Params {
            rtt_change,
            printed_counter,
            rtt_change_by: if by_mean { Shift::Mean } else { Shift::Deviations },
            k_p: gains[0],
            k_i: gains[1],
            k_d: gains[2],
            decision_latency: Span::from_us(latency),
            ..with_model(predictor)
        };
        let mut pair = sender(&params);
        for (i, rtt) in rtts.iter().enumerate() {
            // `Pair` checks that the rate is above zero and at most the line's.
            pair.foresight(Span::from_ps((rtts[rtts.len() - 1 - i] * 1e6) as u64));
            feed(&mut pair, &[*rtt]);
            if pair.deciding() && (i as u64).is_multiple_of(latency.max(1)) {
                pair.decision();
            }
            prop_assert!(pair.rate() >= BitRate::from_gbps(1));
            prop_assert!(pair.cc.target_us() >= 5.0 && pair.cc.target_us() <= 41.6 + 1e-9);
        }
    }
}
