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
    let run = Measured {
        goodput: 0.97,
        p99_us: 8.0,
        p99: 2.0,
        jain: 0.9,
        loss: 0.01,
        loss_all: 0.02,
    };
    // 3 of the line, 5 for one doubling, 2 of unfairness, 1 of loss; and 2 for each of the whole run's.
    assert!((run.cost() - 11.0).abs() < 1e-9);
    assert!((run.counted() - 15.0).abs() < 1e-12);
    let best = Measured {
        goodput: 1.01,
        p99: 1.0,
        jain: 1.0,
        loss: 0.0,
        loss_all: 0.0,
        ..run
    };
    assert_eq!((best.cost(), best.counted()), (0.0, 0.0));
}

/// The oracle fills 0.99 of the line without a queue; flows that each send as fast as the line can lose packets behind a full buffer.
#[test]
fn runs_are_measured() {
    let network = Network::plain(Shape::Star(4));
    let input = network.resolve(7).unwrap();
    let best = Measured::of(&network, &input, oracle(&network)).unwrap();
    assert!((best.goodput - 0.99).abs() < 1e-3 && best.p99 < 1.03, "{best:?}");
    assert!(
        best.jain > 0.9999 && best.loss_all == 0.0 && best.cost() < 1.3,
        "{best:?}"
    );
    let full = fixed::Params {
        rate: BitRate::from_gbps(400),
    };
    let worst = Measured::of(&network, &input, full.into()).unwrap();
    assert!(worst.loss > 0.05 && worst.loss_all > 0.0, "{worst:?}");
    // 1 MB at 400 Gbit/s takes 20 us.
    assert!((worst.p99_us - 24.04).abs() < 0.2, "{worst:?}");
}

/// A network whose scheme is replaced runs as one in which that scheme is written.
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

/// All shapes make scenarios, with as many flows as they say.
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
        assert_eq!(drawn.len(), 6);
        drawn
            .iter()
            .for_each(|network| assert!(network.resolve(1).is_ok(), "{network:?}"));
    }
}
