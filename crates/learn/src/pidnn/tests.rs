use paceline_congestion::lstm_pid::{Clamp, Decision, Pid, Terms};
use paceline_kernel::BitRate;

use super::learner::{History, Shared, gradient};
use super::*;

const TARGET: f64 = 5.0;
const LINE: BitRate = BitRate::from_gbps(100);

/// Returns the decision of a controller with these gains for these terms, starting from this rate.
fn decision(gains: Gains, terms: Terms, rate: BitRate) -> Decision {
    let pid = Pid::new(gains, Clamp { hi: 0.5, lo: 0.6 });
    let action = pid.action(&terms);
    Decision {
        rtt: 6.0,
        prediction: 6.0,
        target: TARGET,
        terms,
        action,
        rate_before: rate,
        rate_after: rate.scale(1.0 + action),
    }
}

/// If the round-trip time is `constant + beta * rate`, (1) equals the finite differences of `J`.
#[test]
fn the_gradient_is_that_of_finite_differences() {
    let options = Options {
        beta: 0.8,
        ..Options::default()
    };
    let terms = Terms {
        p: 0.2,
        i: -0.1,
        d: 0.05,
    };
    let rate = BitRate::from_gbps(10);
    let rtt = |gains: Gains| {
        let action = decision(gains, terms, rate).action;
        2.0 + options.beta * 10.0 * (1.0 + action)
    };
    let loss = |gains: Gains| (rtt(gains) - TARGET).powi(2) / 2.0;
    let found = gradient(&options, &decision(START, terms, rate), rtt(START), LINE);
    let h = 1e-6;
    let moved: [fn(Gains, f64) -> Gains; 3] = [
        |gains, h| Gains {
            p: gains.p + h,
            ..gains
        },
        |gains, h| Gains {
            i: gains.i + h,
            ..gains
        },
        |gains, h| Gains {
            d: gains.d + h,
            ..gains
        },
    ];
    for (k, moved) in moved.iter().enumerate() {
        let by_difference = (loss(moved(START, h)) - loss(moved(START, -h))) / (2.0 * h);
        assert!(
            (found[k] - by_difference).abs() < 1e-5,
            "{k}: {} {by_difference}",
            found[k]
        );
    }
    // In relative units it is smaller by a factor of 5 µs times 100 Gbit/s.
    let norm = Options {
        units: Units::Norm,
        ..options.clone()
    };
    let shares = gradient(&norm, &decision(START, terms, rate), rtt(START), LINE);
    for (share, found) in shares.iter().zip(found) {
        assert!((share - found / 500.0).abs() < 1e-12);
    }
}

/// Two updates by hand: an error of 1 µs at 10 Gbit/s far exceeds the clip in P, but not in I.
#[test]
fn updates_are_those_of_the_formulas() {
    let options = Options::default();
    let mut shared = Shared::new(&options);
    let terms = Terms {
        p: 0.2,
        i: 0.004,
        d: -0.05,
    };
    let before = decision(START, terms, BitRate::from_gbps(10));
    shared.update(&before, 6.0, LINE, 0);
    let close = |found: Gains, p: f64, i: f64, d: f64| {
        let off = [(found.p, p), (found.i, i), (found.d, d)];
        assert!(off.iter().all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    };
    close(shared.gains, -0.2 - 0.001, -0.05 - 0.01 * 0.04, 0.1 + 0.001);
    shared.update(&before, 5.0, LINE, 1);
    close(shared.gains, -0.201, -0.0504, 0.101);
    shared.update(&before, 4.0, LINE, 2);
    let rate = 0.01 / 3.0_f64.sqrt();
    close(
        shared.gains,
        -0.201 + rate * 0.1,
        -0.0504 + rate * 0.04,
        0.101 - rate * 0.1,
    );
    let episode = shared.episode();
    assert_eq!((episode.updates, episode.mean_rtt_us), (3, 5.0));
    assert!((episode.mean_loss - 1.0 / 3.0).abs() < 1e-12 && (episode.clipped - 4.0 / 9.0).abs() < 1e-12);
}

#[test]
fn the_derivative_gain_keeps_its_sign_unless_it_is_free() {
    let gains_after = |damping| {
        let start = Gains { d: 0.0005, ..START };
        let mut shared = Shared::new(&Options {
            damping,
            start,
            ..Options::default()
        });
        let before = decision(
            START,
            Terms {
                p: 0.2,
                i: 0.0,
                d: 0.05,
            },
            BitRate::from_gbps(10),
        );
        shared.update(&before, 6.0, LINE, 0);
        shared.gains.d
    };
    assert_eq!(gains_after(Damping::Kept), 0.0);
    assert!((gains_after(Damping::Free) + 0.0005).abs() < 1e-12);
}

#[test]
fn a_history_is_thinned_evenly_and_says_how_much_changed() {
    let mut history = History::default();
    for update in 0..100_000_u64 {
        history.add(
            update,
            Gains {
                p: -1.0 - update as f64 / 1e5,
                i: -0.1,
                d: 0.0,
            },
        );
    }
    let steps: Vec<u64> = history
        .points
        .windows(2)
        .map(|two| two[1].update - two[0].update)
        .collect();
    assert!(history.points.len() > 2000 && history.points.len() <= 4096);
    assert!(steps.iter().all(|&step| step == steps[0]), "{steps:?}");
    assert!(
        (history.change() - 0.25 / 2.0).abs() < 1e-3,
        "{}",
        history.change()
    );
}

/// Returns options for a small incast in which gains move deterministically towards a lower loss.
fn small() -> Options {
    Options {
        source: Source::incast("pidnn", &["duration=300us"]),
        episodes: 3,
        settle: 1,
        warm_up: 5,
        ..Options::default()
    }
}

#[test]
fn a_training_moves_the_gains_and_repeats() {
    let mut calls = 0;
    let one = train(&small(), &Checkpoints::none(), &mut |_, _, _| {
        calls += 1;
        Control::Continue
    })
    .unwrap();
    assert!(calls >= 3 && one.episodes.len() == 3 && !one.stopped);
    assert!(one.gains.p < START.p, "{:?}", one.gains);
    let updates: Vec<u64> = one.episodes.iter().map(|episode| episode.updates).collect();
    assert!(updates[0] > 100 && updates.is_sorted(), "{updates:?}");
    assert_eq!(one.history[0].gains, START);
    assert_eq!(
        one,
        train(&small(), &Checkpoints::none(), &mut |_, _, _| Control::Continue).unwrap()
    );
}

#[test]
fn other_schemes_cannot_be_trained() {
    let options = Options {
        source: Source {
            scheme: Some("dctcp".into()),
            ..small().source
        },
        ..small()
    };
    let message = train(&options, &Checkpoints::none(), &mut |_, _, _| Control::Continue)
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "the gains of `dctcp` cannot be trained: the scheme has to be `lstm-pid` or `pidnn`"
    );
}
