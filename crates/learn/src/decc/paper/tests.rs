use paceline_congestion::learned::stack::WIDEST;
use paceline_kernel::rng::Purpose;

use super::practice::{Known, global, reward};
use super::*;
use crate::search::{Shape, model_of};

fn actor(remembers: bool) -> Actor {
    Actor::new(remembers, &mut Rng::stream(3, Purpose::Training, 9))
}

fn rows(count: usize) -> Vec<f32> {
    let number = |k: usize| ((k * 37 % 101) as f32 - 50.0) / 60.0;
    (0..count * SEEN).map(number).collect()
}

fn model(actor: &Actor) -> Arc<Model> {
    model_of(&files("candidate", &actor.values(), actor.remembers, "").unwrap()).unwrap()
}

/// Compares derivatives through recurrent layer, gates and layers with finite differences.
#[test]
fn derivatives_are_those_of_differences() {
    for remembers in [true, false] {
        compares(actor(remembers));
    }
}

fn compares(mut actor: Actor) {
    let seen = rows(5);
    let loss = |actor: &Actor| {
        let passes = actor.forward(5, &seen);
        let each = passes.actions().iter().zip([0.3f32, 0.9, -0.4, 1.1, 0.7]);
        each.map(|(action, weight)| f64::from(action * weight))
            .sum::<f64>()
    };
    let passes = actor.forward(5, &seen);
    let slopes = actor.slopes(&passes, vec![0.3, 0.9, -0.4, 1.1, 0.7]).concat();
    const H: f32 = 1e-2;
    let mut compared = 0;
    for index in (0..slopes.len()).step_by(131) {
        let mut moved = |by: f32| {
            actor.nudge(index, by);
            let loss = loss(&actor);
            actor.nudge(index, -by);
            loss
        };
        let difference = (moved(H) - moved(-H)) / f64::from(2.0 * H);
        let found = f64::from(slopes[index]);
        compared += usize::from((found - difference).abs() < 2e-2 * difference.abs() + 1e-4);
    }
    // If a unit crosses zero within the difference, it is no approximation of the slope.
    assert!(compared > slopes.len() / 131 * 9 / 10, "{compared}");
}

/// The learner's network and the deciding one give the same actions.
#[test]
fn a_pass_is_a_decision() {
    for (remembers, shape) in [(true, "25-128-64-32-lstm 32-16-1"), (false, "25-128-64-32-16-1")] {
        let (actor, seen) = (actor(remembers), rows(3));
        let passes = actor.forward(3, &seen);
        let model = model(&actor);
        let (card, stack) = model.stack().unwrap();
        for (row, action) in seen.chunks_exact(SEEN).zip(passes.actions()) {
            let (mut numbers, mut memory) = ([0.0; WIDEST], row[READ..].to_vec());
            numbers[..READ].copy_from_slice(&row[..READ]);
            memory.truncate(if remembers { MEMORY } else { 0 });
            stack.step(&mut numbers, &mut memory);
            assert!((card.act(&numbers[..1]) - action).abs() < 1e-5, "{action}");
        }
        assert_eq!(stack.shape(), shape);
    }
}

/// Two flows, the first with two decisions: a quarter and half of the line, and a quarter; 1.5 and 1.3 base
/// round trips; one lost a tenth of its deliveries; their rates are a half and a quarter.
fn two() -> [Known; 2] {
    [
        Known {
            shares: [0.25, 0.5, 0.0, 0.0, 0.0],
            decisions: 2,
            latency: 1.5,
            lost: 0.1,
            window: 0.5,
            rate: 0.5,
        },
        Known {
            shares: [0.25, 0.0, 0.0, 0.0, 0.0],
            decisions: 1,
            latency: 1.3,
            lost: 0.0,
            window: 0.125,
            rate: 0.25,
        },
    ]
}

#[test]
fn rewards_by_hand() {
    // 0.3 too long, times half of the line; the means 3/8 and 1/4 are 1/16 off theirs; the first flow varies
    // by a third of its mean.
    let sum = 0.1 * 0.5 - 0.02 * 0.3 * 0.5 - 0.05 - 0.02 / 16.0 - 0.01 / 6.0;
    let expected = 0.1 * libm::tanh(sum / 0.1);
    assert!((reward(&two(), 1.0) - expected).abs() < 1e-9);
    // A full line, short queues and equal, steady shares give the largest reward; the corrected signs ensure
    // this.
    let best = Known {
        shares: [0.5; 5],
        decisions: 9,
        latency: 1.1,
        rate: 0.5,
        ..Known::default()
    };
    let most = reward(&[best, best], 1.0);
    assert!((most - 0.1 * libm::tanh(1.0)).abs() < 1e-12);
    for worse in [
        Known { latency: 1.2, ..best },
        Known { lost: 0.01, ..best },
        Known {
            shares: [0.4, 0.6, 0.5, 0.4, 0.6],
            ..best
        },
        Known {
            shares: [0.4; 5],
            ..best
        },
    ] {
        assert!(reward(&[best, worse], 1.0) < most, "{worse:?}");
    }
    assert!(reward(&[Known { lost: 1.0, ..best }; 2], 1.0) > -0.1);
}

#[test]
fn table_1_by_hand() {
    let network = crate::search::Network {
        buffer: 1_000_000,
        ..crate::search::Network::plain(Shape::Star(2))
    };
    let base = network.base_us();
    let expected = [
        0.5,
        -2.0 / 16.0,
        -2.0 / 16.0,
        libm::log2(1.4) / 4.0,
        -3.0 / 16.0,
        -1.0 / 16.0,
        libm::log2(0.3125) / 16.0,
        0.05,
        1.0 / 13.0,
        base / 40.0,
        libm::log2(1e6 / (50_000.0 * base)) / 8.0,
        1.0,
    ];
    for (found, expected) in global(&two(), &network).into_iter().zip(expected) {
        assert!((f64::from(found) - expected).abs() < 1e-6, "{found} {expected}");
    }
}

/// Without noise a practising flow follows the policy, with either feedback, and a second run is the same.
#[test]
fn flows_practise_as_the_scheme_runs() {
    for (feedback, remembers) in [
        (Feedback::Ack, true),
        (Feedback::SwitchAck, true),
        (Feedback::Ack, false),
    ] {
        let actor = actor(remembers);
        let manner = Manner {
            model: model(&actor),
            feedback,
            noise: 0.0,
            kept: 200,
            own_reward: false,
        };
        let episode = Episode {
            network: crate::search::Network::plain(Shape::Star(4)),
            seed: 3,
            latency: Span::ZERO,
        };
        let met = practise(&episode, &manner).unwrap();
        assert!(met.len() > 100, "{}", met.len());
        for one in &met {
            let said = actor.forward(1, &one.seen).actions()[0];
            assert!((said - one.action).abs() < 1e-5, "{said} {}", one.action);
        }
        assert_eq!(practise(&episode, &manner).unwrap(), met);
    }
}

/// If high actions are rewarded, actions rise.
#[test]
fn it_goes_where_the_reward_is() {
    let mut rng = Rng::stream(1, Purpose::Training, 2);
    let mut learner = Learner::new(true, false, 1, &mut rng);
    for seen in rows(2000).chunks_exact(SEEN) {
        let action = (2.0 * rng.next_f64() - 1.0) as f32;
        let seen = seen.try_into().unwrap();
        learner.replay.push(
            0,
            Transition {
                agent: 0,
                tried: action,
                label: 0.0,
                all: [0.1; ALL],
                seen,
                action,
                reward: 0.1 * action,
                discount: 0.0,
                next_all: [0.1; ALL],
                next_seen: seen,
            },
        );
    }
    learner.learn(400, &mut rng);
    let actions = learner.actor.forward(50, &rows(50));
    let mean = actions.actions().iter().sum::<f32>() / 50.0;
    assert!(mean > 0.5, "{mean}");
}
