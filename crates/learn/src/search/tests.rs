use paceline_congestion::fixed;
use paceline_kernel::BitRate;
use paceline_scenario::{Overrides, load_text};

use super::*;

fn small() -> Options {
    Options {
        generations: 1,
        candidates: 4,
        networks: 1,
        ..Options::new(Subject::Law)
    }
}

fn found(options: &Options) -> Found {
    search(options, &Checkpoints::none(), &mut |_, _| Control::Continue).unwrap()
}

#[test]
fn the_same_values_on_any_number_of_threads() {
    for subject in [Subject::Law, Subject::Swift] {
        let one = found(&Options {
            subject,
            threads: 1,
            ..small()
        });
        let three = found(&Options {
            threads: 3,
            ..one.options
        });
        assert_eq!((&one.values, &one.updates), (&three.values, &three.updates));
        assert_ne!(one.updates[0].best, one.updates[0].median, "candidates differ");
    }
}

#[test]
fn costs_by_hand() {
    let settled = Quality {
        goodput: 0.97,
        p99: 2.0,
        jain: 0.9,
        loss: 0.01,
    };
    // 3 for goodput, 5 for one doubling of latency, 2 for unfairness, 1 for loss.
    assert!((settled.cost() - 11.0).abs() < 1e-9);
    let run = Measured {
        settled,
        whole: Quality {
            goodput: 0.95,
            loss: 0.02,
            ..settled
        },
        p99_us: 8.0,
        messages: None,
    };
    let endless = Network::plain(Shape::Star(4));
    // 14 for the complete run. The sum is the mean of both, 1 for its unfairness, and 1.5 for each of its 2
    // points of loss. The reference counts the second half only.
    assert!((run.counted(&endless) - 16.5).abs() < 1e-9);
    assert!((run.settled.cost() - 11.0).abs() < 1e-9);
    let best = Quality {
        goodput: 1.01,
        p99: 1.0,
        jain: 1.0,
        loss: 0.0,
    };
    assert_eq!(best.cost(), 0.0);
    // One doubling in the mean and two at the 99th percentile; three for all messages together; in addition
    // the cost of long flows.
    let took = Measured {
        messages: Some(Slowdowns {
            mean: 2.0,
            p99: 4.0,
            together: 8.0,
        }),
        ..run
    };
    let counts = |messages| {
        let network = Network {
            messages: Some(messages),
            ..endless.clone()
        };
        took.counted(&network)
    };
    assert_eq!(counts(Messages::Alone), 30.0);
    assert_eq!(counts(Messages::AtOnce(1000)), 50.0);
    assert!((counts(Messages::Beside(0.1)) - 41.0).abs() < 1e-9);
    // With the leeway of 3 the ratios are 2 and 1; the result is their root mean square.
    assert!((over_best([(5.0, 1.0), (2.0, 2.0)].into_iter()) - libm::sqrt(2.5)).abs() < 1e-9);
}

/// The oracle fills 0.99 of the line without a queue. Flows that each send at line rate can lose packets at a
/// full buffer.
#[test]
fn runs_are_measured() {
    let network = Network::plain(Shape::Star(4));
    let input = network.resolve(7).unwrap();
    let best = Measured::of(&network, &input, oracle(&network)).unwrap();
    let settled = best.settled;
    assert!(
        (settled.goodput - 0.99).abs() < 1e-3 && settled.p99 < 1.03,
        "{best:?}"
    );
    assert!(
        settled.jain > 0.9999 && best.whole.loss == 0.0 && settled.cost() < 1.3,
        "{best:?}"
    );
    // Flows join one by one at their final share, so part of the line stays unused.
    assert!(
        best.whole.goodput < 0.95 && (0.98..0.9999).contains(&best.whole.jain),
        "{best:?}"
    );
    let full = fixed::Params {
        rate: BitRate::from_gbps(400),
    };
    let worst = Measured::of(&network, &input, full.into()).unwrap();
    assert!(worst.settled.loss > 0.05 && worst.whole.loss > 0.0, "{worst:?}");
    // 1 MB at 400 Gbit/s takes 20 us.
    assert!((worst.p99_us - 24.04).abs() < 0.2, "{worst:?}");
}

/// A network with a replaced scheme runs as if the scheme had been written in the scenario.
#[test]
fn a_scheme_that_replaces_another_runs_as_if_it_was_written() {
    let network = Network::plain(Shape::Star(8));
    let config = Subject::Swift.config(&SWIFT_BY_HAND, &network).unwrap();
    let input = network.resolve(3).unwrap();
    let replaced = Measured::of(&network, &input, config.clone()).unwrap();
    let text = network
        .scenario()
        .replace("scheme = \"none\"", "scheme = \"swift\"");
    let overrides = Overrides {
        seed: Some(3),
        ..Overrides::default()
    };
    let written = load_text("drawn", &text, &overrides).unwrap();
    assert_eq!(Measured::of(&network, &written, config).unwrap(), replaced);
}

/// Messages are finite flows: separate ones complete as fast as possible under a scheme that starts at line
/// rate.
#[test]
fn messages_are_timed() {
    let rule = || paceline_congestion::bolt::Params::default().into();
    for (flows, messages, count) in [
        (16, Messages::Alone, 8),
        (2, Messages::Beside(0.1), 15),
        (5, Messages::AtOnce(20_000), 5),
    ] {
        let network = Network {
            messages: Some(messages),
            ..Network::plain(Shape::Star(flows))
        };
        let input = network.resolve(5).unwrap();
        let ends = input.run.flows.iter().filter(|flow| flow.size.get() < 1 << 40);
        assert!(ends.clone().count() >= count, "{messages:?}");
        let run = Measured::of(&network, &input, rule()).unwrap();
        let took = run.messages.unwrap();
        assert!(
            took.mean >= 0.999 && took.mean <= took.p99,
            "{messages:?}: {took:?}"
        );
        match messages {
            Messages::Alone => assert!(took.p99 < 1.02, "{took:?}"),
            // 100 KB take 2.1 us after a latency of 4 us: the last message waits for four others.
            Messages::AtOnce(_) => assert!(took.p99 < 1.4 && took.together < 1.1, "{took:?}"),
            Messages::Beside(_) => assert!(took.p99 < 4.0, "{took:?}"),
        }
    }
}

/// All shapes give valid scenarios with the right number of flows.
#[test]
fn networks_are_scenarios() {
    let shapes = [
        Shape::Star(2),
        Shape::Star(300),
        Shape::LeafSpine(70),
        Shape::AllToAll(3, 5),
        Shape::Broadcast(1),
    ];
    for shape in shapes {
        for late in [0.0, 0.5] {
            let network = Network {
                late,
                ..Network::plain(shape)
            };
            let flows = network.resolve(1).unwrap().run.flows.len();
            let asked = (network.flows() * network.receivers()) as usize;
            assert!(
                flows >= asked && flows < asked + 32,
                "{shape:?}: {flows}, {asked}"
            );
        }
    }
    let mut rng = Rng::stream(1, Purpose::Training, 0);
    for _ in 0..10 {
        let drawn = network::draw(&mut rng);
        assert_eq!(drawn.len(), 11);
        drawn
            .iter()
            .for_each(|network| assert!(network.resolve(1).is_ok(), "{network:?}"));
    }
}
