//! The models that ship: their data can be recorded again, and inside a run they say what the training
//! library says.

use paceline_congestion::learned::model::{Card, Model};
use paceline_congestion::learned::shipped::{self, SHIPPED};
use paceline_kernel::Time;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::Control;
use paceline_learn::dataset::{Dataset, Pair, SMOOTHING, Source, THESIS_PAIRS, record, stratum};
use paceline_learn::train::{self, Network, Options, Round, Tensor, Trained, Weights};

fn pair(k: [f32; 3]) -> Pair {
    Pair {
        k,
        l: 0.0,
        s: 5.0,
        r: 5.0,
        stratum: stratum(k[2]),
        source: 0,
        flow: 0,
        at: Time::ZERO,
    }
}

/// Features over all that can occur: K is from -1 to 4.
fn features(count: usize) -> Vec<Pair> {
    let mut rng = Rng::stream(5, Purpose::Training, 99);
    let mut one = |width: f64| (width * (2.0 * rng.next_f64() - 1.0)) as f32;
    let pairs = (0..count).map(|i| match i % 3 {
        0 => pair([one(0.1), one(0.1), one(0.1)]),
        1 => pair([one(1.0), one(1.0), one(1.0)]),
        _ => pair([one(2.5) + 1.5, one(2.5) + 1.5, one(2.5) + 1.5]),
    });
    pairs.collect()
}

fn random_weights(network: Network, hidden: usize, seed: u64) -> Weights {
    let gates = match network {
        Network::Lstm => 4,
        Network::Gru => 3,
        _ => 1,
    };
    let rows = gates * hidden;
    let mut rng = Rng::stream(seed, Purpose::Training, 98);
    let mut tensor = |shape: &[usize]| {
        let count = shape.iter().product();
        let values = (0..count).map(|_| (1.6 * rng.next_f64() - 0.8) as f32);
        Tensor::new(shape, values.collect())
    };
    [
        (format!("{network}.weight_ih_l0"), tensor(&[rows, 1])),
        (format!("{network}.weight_hh_l0"), tensor(&[rows, hidden])),
        (format!("{network}.bias_ih_l0"), tensor(&[rows])),
        (format!("{network}.bias_hh_l0"), tensor(&[rows])),
        ("linear.weight".into(), tensor(&[1, hidden])),
        ("linear.bias".into(), tensor(&[1])),
    ]
    .into()
}

fn as_model(network: Network, hidden: usize, weights: &Weights) -> Model {
    let trained = Trained {
        options: Options {
            hidden,
            ..Options::new(network)
        },
        weights: weights.clone(),
        rounds: Vec::<Round>::new(),
        stopped: false,
    };
    let data = Dataset {
        pairs: Vec::new(),
        origins: Vec::new(),
        scenarios: Vec::new(),
        seed: 0,
    };
    let files = paceline_learn::write("test", &trained, (weights, &[]), &data, "").unwrap();
    Model::parse(&files.card, &files.weights).unwrap()
}

/// Our own inference against the library's, on random weights and on those that ship.
#[test]
fn networks_in_a_run_say_what_the_training_library_says() {
    let pairs = features(400);
    let agree = |what: &str, model: &Model, by_library: &[f32]| {
        for (pair, by_library) in pairs.iter().zip(by_library) {
            let ours = model.predict(&pair.k);
            assert!(
                (ours - by_library).abs() < 1e-5,
                "{what}: {ours} {by_library} for {:?}",
                pair.k
            );
        }
    };
    for network in [Network::Lstm, Network::Gru, Network::Rnn] {
        for (hidden, seed) in [(16, 1), (16, 2), (5, 3)] {
            let weights = random_weights(network, hidden, seed);
            let by_library = train::predict(network, &weights, &pairs).unwrap();
            agree(network.name(), &as_model(network, hidden, &weights), &by_library);
        }
    }
    let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../congestion/models");
    for shipped in SHIPPED {
        let (card, weights) = paceline_learn::read(&models.join(shipped.name)).unwrap();
        let network = card.kind.name().parse().unwrap();
        let by_library = train::predict(network, &weights, &pairs).unwrap();
        agree(shipped.name, &shipped::find(shipped.name).unwrap(), &by_library);
    }
}

/// Records the thesis's runs again: if this fails, the models have to be made again, each by the command
/// that its card names.
#[test]
fn the_data_of_the_models_are_those_that_are_recorded_now() {
    let traces = record(&Source::thesis(), 2, &|_, _| Control::Continue).unwrap();
    let data = Dataset::draw(&traces, THESIS_PAIRS, 1).unwrap();
    assert!(
        data.strata()
            .iter()
            .all(|count| count.abs_diff(THESIS_PAIRS / 4) <= 1)
    );
    for shipped in SHIPPED {
        let card = Card::parse(shipped.card).unwrap();
        assert_eq!(card.data.sha256, data.hash(), "{}", shipped.name);
        assert_eq!(
            (card.data.pairs, card.smoothing),
            (THESIS_PAIRS as u64, SMOOTHING)
        );
        assert_eq!(card.training.command, format!("paceline train {}", card.kind));
        let rounds = &card.metrics.rounds;
        assert_eq!(rounds.len(), 19, "{}", shipped.name);
        assert_eq!(card.metrics.test_mape, rounds[18].test_mape);
    }
    // The linear one is made in no time: bit for bit.
    let ar3 = train::train(&data, &Options::new(Network::Ar3), &mut |_| Control::Continue).unwrap();
    let state = (&ar3.weights, &ar3.rounds[..]);
    let files = paceline_learn::write("rtt-ar3", &ar3, state, &data, "paceline train ar3").unwrap();
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "rtt-ar3").unwrap();
    assert_eq!(
        (&files.card[..], &files.weights[..]),
        (shipped.card, shipped.weights)
    );
}
