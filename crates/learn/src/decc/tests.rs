use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::layers::{Layer, Policy, Units};
use paceline_congestion::learned::{Model, shipped};

use super::*;
use crate::pass::{Adam, backward, forward};

fn number(k: usize) -> f32 {
    ((k * 37 % 101) as f32 - 50.0) / 80.0
}

fn random(layers: &[Layer]) -> Network {
    let size = layers.iter().map(Layer::size).sum::<usize>();
    Network::new(layers, (0..size).map(|k| number(k * 3 + 1)).collect())
}

/// Compares derivatives with respect to all values and inputs with finite differences, for every kind of
/// unit.
#[test]
fn derivatives_are_those_of_differences() {
    let layers = [
        Layer::new(3, 5, Units::Rectified),
        Layer::new(5, 4, Units::Cell),
        Layer::new(4, 2, Units::Tanh),
        Layer::new(2, 1, Units::Linear),
    ];
    let (network, rows) = (random(&layers), 6);
    let input: Vec<f32> = (0..3 * rows).map(|k| number(k + 5)).collect();
    let weight = |row: usize| 0.5 + row as f32 * 0.3;
    let loss = |network: &Network, input: &[f32]| {
        let pass = forward(network, rows, input.to_vec());
        let each = pass.output.iter().enumerate();
        each.map(|(row, y)| f64::from(weight(row) * y)).sum::<f64>()
    };
    let pass = forward(&network, rows, input.clone());
    let mut slope = vec![0.0; network.values().len()];
    let by = (0..rows).map(weight).collect();
    let by_input = backward(&network, &pass, by, Some(&mut slope));
    const H: f32 = 1e-2;
    let mut compared = 0;
    let mut compare = |found: f32, up: f64, here: f64, down: f64| {
        // If a unit crosses zero within the difference, it is no approximation of the slope.
        if ((up - here) - (here - down)).abs() > 2e-2 * (up - down).abs() + 1e-4 {
            return;
        }
        let difference = (up - down) / (2.0 * f64::from(H));
        assert!(
            (f64::from(found) - difference).abs() < 2e-2 * difference.abs() + 2e-3,
            "{found} {difference}"
        );
        compared += 1;
    };
    let here = loss(&network, &input);
    for (index, found) in slope.iter().enumerate() {
        let moved = |by: f32| {
            let mut moved = network.clone();
            moved.values_mut()[index] += by;
            loss(&moved, &input)
        };
        compare(*found, moved(H), here, moved(-H));
    }
    for (index, found) in by_input.iter().enumerate() {
        let moved = |by: f32| {
            let mut moved = input.clone();
            moved[index] += by;
            loss(&network, &moved)
        };
        compare(*found, moved(H), here, moved(-H));
    }
    assert!(compared > (slope.len() + input.len()) * 3 / 4, "{compared}");
}

/// A batch gives the same results as single rows.
#[test]
fn a_pass_is_a_decision() {
    let network = random(&DECC);
    let input: Vec<f32> = (0..3 * INPUTS).map(number).collect();
    let pass = forward(&network, 3, input.clone());
    for (row, output) in input.chunks(INPUTS).zip(pass.output) {
        assert_eq!(network.decide(row), output);
    }
}

/// Two steps of Adam by hand: with a constant slope each equals the step size.
#[test]
fn steps_of_the_optimiser_by_hand() {
    let mut adam = Adam::new(2);
    let mut values = [1.0f32, 2.0];
    adam.step(&mut values, &[0.5, -0.25], 0.1, 10.0);
    assert!(
        (values[0] - 0.9).abs() < 1e-6 && (values[1] - 2.1).abs() < 1e-6,
        "{values:?}"
    );
    adam.step(&mut values, &[0.5, -0.25], 0.1, 10.0);
    assert!(
        (values[0] - 0.8).abs() < 1e-5 && (values[1] - 2.2).abs() < 1e-5,
        "{values:?}"
    );
}

/// On a transition without a future, critics learn its reward; if high actions are rewarded, the policy's
/// actions rise.
#[test]
fn the_learner_goes_where_the_reward_is() {
    let mut rng = stream(1, 0, 0);
    let mut learner = td3::Learner::new(first(&DECC, &mut rng), &mut rng);
    let mut replay = replay::Replay::new(1, 4000);
    for k in 0..4000 {
        let action = (2.0 * rng.next_f64() - 1.0) as f32;
        let transition = Transition {
            agent: 0,
            tried: action,
            label: 0.0,
            all: [0.1; state::GLOBAL],
            seen: std::array::from_fn(|index| number(index + k)),
            action,
            reward: 0.5 * action,
            discount: 0.0,
            next_all: [0.1; state::GLOBAL],
            next_seen: [0.0; INPUTS],
        };
        replay.push(0, transition);
    }
    let (mut first, mut last) = (0.0, 0.0);
    for step in 0..700 {
        last = learner.step(&replay.draw(64, &mut rng), step > 100, &mut rng);
        first = if step == 0 { last } else { first };
    }
    assert!(last < first / 20.0, "{first} {last}");
    let mean = (0..50).map(|k| {
        learner
            .actor()
            .decide(&std::array::from_fn::<_, INPUTS, _>(|index| number(index + k)))
    });
    let mean = mean.sum::<f32>() / 50.0;
    assert!(mean > 0.5, "{mean}");
}

#[test]
fn a_replay_draws_from_sources_evenly_and_forgets_the_oldest() {
    let one = |reward: f32| Transition {
        agent: 0,
        tried: 0.0,
        label: 0.0,
        all: [0.0; state::GLOBAL],
        seen: [0.0; INPUTS],
        action: 0.0,
        reward,
        discount: 1.0,
        next_all: [0.0; state::GLOBAL],
        next_seen: [0.0; INPUTS],
    };
    let mut replay = replay::Replay::new(2, 20);
    (0..15).for_each(|k| replay.push(0, one(k as f32)));
    replay.push(1, one(100.0));
    let rewards = replay.draw(4000, &mut stream(1, 0, 0)).rewards;
    let rare = rewards.iter().filter(|&&reward| reward == 100.0).count();
    assert!((1800..2200).contains(&rare), "{rare}");
    assert!(
        rewards.iter().all(|&reward| reward >= 5.0),
        "those before were forgotten"
    );
}

#[test]
fn what_critics_see_by_hand() {
    let network = crate::search::Network {
        buffer: 1_000_000,
        ..crate::search::Network::plain(crate::search::Shape::Star(4))
    };
    let sums = state::Sums {
        flows: 4.0,
        share: 0.8,
        rtt: 8.0,
    };
    let facts = state::Facts::of(&network);
    assert_eq!((facts.flows(&sums), facts.load(&sums)), (4.0, 0.8));
    let found = facts.state(&sums, 0.5, 256.0);
    // Twice the fair share; two base round trips on average; two doublings of flows.
    let base = network.base_us();
    let product = 400.0 * 125.0 * base;
    let expected = [
        0.25,
        0.8,
        0.25,
        2.0 / 13.0,
        base / 40.0,
        libm::log2(1e6 / product) / 8.0,
        1.0,
        8.0 / 12.0,
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
    }
}

fn law() -> std::sync::Arc<Model> {
    shipped::find("decc-law").unwrap()
}

fn trained(options: &Options) -> TrainedPolicy {
    train(options, &law(), &Checkpoints::none(), &mut |_, _| {
        Control::Continue
    })
    .unwrap()
}

fn short(by: By, threads: usize) -> Options {
    Options {
        by,
        rounds: 2,
        trial: 1,
        networks: 1,
        flows: 8,
        steps: 30,
        threads,
        ..Options::new(by)
    }
}

const ALL: [By; 5] = [
    By::Gradients,
    By::Proximal,
    By::Printed,
    By::Memoryless,
    By::OwnReward,
];

/// The weights are the same on any number of threads, and the files contain a model with the same decisions.
/// The initial residual does nothing.
#[test]
fn a_short_training_is_the_same_again() {
    for by in ALL {
        let one = trained(&short(by, 1));
        let two = trained(&short(by, 2));
        assert_eq!((&one.values, &one.last), (&two.values, &two.last));
        assert_eq!((one.decisions, &one.updates), (two.decisions, &two.updates));
        let files = files("mine", &one, "paceline train decc").unwrap();
        let model = model_of(&files).unwrap();
        if by.is_printed() {
            // 25 inputs to 128, 64 and 32 units, a recurrent layer of 32 with two lists of biases, then 16
            // and 1.
            assert_eq!(one.values.len(), 22_529);
            let idle = 4 * 32 * 65;
            let expected = if by == By::Memoryless {
                22_529 - idle
            } else {
                22_529 + 128
            };
            assert_eq!(model.parameters(), expected);
            continue;
        }
        assert_eq!(model.layers().unwrap().values(), one.values);
        assert_eq!(model.law(), law().law());
        let beginning = nothing(&mut stream(1, 0, 0));
        assert_eq!(beginning.decide(&[0.3; INPUTS]), 0.0);
    }
}

/// Policies move in a smoke test, however few rounds it has.
#[test]
fn a_quick_training_moves_the_policy() {
    for by in ALL.into_iter().take(3) {
        let quick = Options {
            networks: 1,
            flows: 8,
            ..Options::new(by).quick()
        };
        let trained = trained(&quick);
        let moved: Vec<bool> = trained.updates.iter().map(|update| update.moved > 0.0).collect();
        let expected: Vec<bool> = (0..4).map(|round| round >= quick.critics()).collect();
        assert_eq!(moved, expected, "{by:?}");
        let begun = Learner::new(by, &mut stream(1, 0, 0)).values();
        assert!(apart(&trained.last, &begun) > 1e-4, "{by:?}");
        for rounds in 1..100 {
            let critics = Options {
                rounds,
                ..quick.clone()
            }
            .critics();
            assert!(critics < rounds, "{by:?} {rounds}");
        }
    }
    assert_eq!(Options::new(By::Gradients).critics(), 6);
}

/// Stopped after every round and resumed each time, it gives the same result, with each algorithm.
#[test]
fn one_that_goes_on_comes_to_the_same() {
    for by in ALL {
        let options = short(by, 2);
        let whole = trained(&options);
        let tmp = tempfile::tempdir().unwrap();
        let often = std::time::Duration::ZERO;
        let mut times = 0;
        let last = loop {
            let checkpoints = Checkpoints::open(tmp.path(), "train decc", often, false, |_| ()).unwrap();
            let mut watch = |_: &(f64, f64), update: Option<&Update>| match update {
                Some(_) => Control::Stop,
                None => Control::Continue,
            };
            let now = train(&options, &law(), &checkpoints, &mut watch).unwrap();
            times += 1;
            if now.updates.len() == options.rounds {
                break now;
            }
            assert!(times < 20, "it does not get on");
        };
        assert!(times > 1, "it was stopped");
        assert_eq!((last.values, last.last), (whole.values, whole.last));
        assert_eq!(last.updates, whole.updates);
    }
}

/// A short clone approaches the law round by round, is the same on any number of threads, and can be
/// compressed.
#[test]
fn a_short_clone_is_near_the_law_and_the_same_again() {
    let of = |threads| {
        let options = Cloning {
            networks: 1,
            flows: 64,
            threads,
            ..Cloning::default().quick()
        };
        clone(&options, &law(), &Checkpoints::none(), &mut |_, _| {
            Control::Continue
        })
        .unwrap()
    };
    let (one, two) = (of(1), of(2));
    assert_eq!((&one.policy, &one.rounds), (&two.policy, &two.rounds));
    assert!(one.rounds.iter().all(|round| round.off < 0.1), "{:?}", one.rounds);
    let files = files_of_clone("mine", &one, "paceline train decc").unwrap();
    let model = Model::parse(&files.card, &files.weights).unwrap();
    let LawClone { law, network } = clone_of(&model).unwrap();
    assert_eq!(network, one.policy);
    let tuning = Tuning {
        networks: 1,
        flows: 8,
        observations: 1000,
        ..Tuning::default().quick()
    };
    let tuned = tuned(&law, &network, &tuning, &Checkpoints::none(), &mut |_, _| {
        Control::Continue
    })
    .unwrap();
    assert!(
        tuned.tuned.difference < tuned.rounded.difference,
        "{:?} {:?}",
        tuned.tuned,
        tuned.rounded
    );
    let files = files_of_compressed("small", &tuned, 1, "paceline train decc").unwrap();
    let model = Model::parse(&files.card, &files.weights).unwrap();
    assert!(
        clone_of(&model)
            .unwrap_err()
            .to_string()
            .contains("compressed already")
    );
}
