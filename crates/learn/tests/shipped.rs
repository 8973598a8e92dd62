//! Built-in models: their data can be recorded again, and inference inside a run agrees with training.

use paceline_congestion::learned::card::Card;
use paceline_congestion::learned::model::Model;
use paceline_congestion::learned::shipped::{self, SHIPPED, Shipped};
use paceline_kernel::Time;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::Control;
use paceline_learn::Snapshot;
use paceline_learn::dataset::{Dataset, Pair, SMOOTHING, Source, record, record_runs, stratum};
use paceline_learn::on_policy::{self, OnPolicy};
use paceline_learn::train::{self, Network, Options, Round, Tensor, Trained, Weights};

/// On-policy rounds of the built-in models.
const ROUNDS: usize = 2;

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

/// Generates features over their full range: K is from -1 to 4.
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
    let files = paceline_learn::write("test", &trained, Snapshot::last(&trained), &data, "").unwrap();
    Model::parse(&files.card, &files.weights).unwrap()
}

/// Compares inference in runs with the forward pass of training, on random weights and on built-in models.
#[test]
fn networks_in_a_run_say_what_training_says() {
    let pairs = features(400);
    let agree = |what: &str, model: &Model, by_training: &[f32]| {
        for (pair, by_training) in pairs.iter().zip(by_training) {
            let ours = model.predict(&pair.k);
            assert!(
                (ours - by_training).abs() < 1e-5,
                "{what}: {ours} {by_training} for {:?}",
                pair.k
            );
        }
    };
    for network in [Network::Lstm, Network::Gru, Network::Rnn] {
        for (hidden, seed) in [(16, 1), (16, 2), (5, 3)] {
            let weights = random_weights(network, hidden, seed);
            let by_training = train::predict(network, &weights, &pairs).unwrap();
            agree(network.name(), &as_model(network, hidden, &weights), &by_training);
        }
    }
    let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../congestion/models");
    for shipped in predictors() {
        let (card, weights) = paceline_learn::read(&models.join(shipped.name)).unwrap();
        let network = card.kind.name().parse().unwrap();
        let by_training = train::predict(network, &weights, &pairs).unwrap();
        agree(shipped.name, &shipped::find(shipped.name).unwrap(), &by_training);
    }
}

/// Iterates over the built-in predictors of round-trip times.
fn predictors() -> impl Iterator<Item = &'static Shipped> {
    let predicts = |shipped: &&Shipped| {
        // Cards of forests are of another kind.
        Card::parse(&shipped.card()).is_ok_and(|card| card.kind.name().parse::<Network>().is_ok())
    };
    SHIPPED.iter().filter(predicts)
}

/// Reads the weights of a built-in model after an earlier round.
fn earlier(name: &str, round: usize) -> (Card, Weights) {
    let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rounds");
    paceline_learn::read(&models.join(format!("{name}-{round}.json"))).unwrap()
}

/// Records the runs of the built-in models again, round by round. If this fails, the models must be made
/// again, each by the command in its card, and `tests/rounds` from their checkpoints.
#[test]
fn the_data_of_the_models_are_those_that_are_recorded_now() {
    let go = |_: usize, _: &paceline_fabric::Progress| Control::Continue;
    let first = record(&Source::thesis(), 2, &go).unwrap();
    for shipped in predictors() {
        let card = Card::parse(&shipped.card()).unwrap();
        let network: Network = card.kind.name().parse().unwrap();
        let mut state = OnPolicy::new(on_policy::Options::new(ROUNDS, 1), first.clone());
        while !state.is_done() {
            let round = state.laps().len();
            let sources = state.sources().unwrap();
            let data = state.draw(record_runs(&sources, 2, &go).unwrap()).unwrap();
            let options = on_policy::options(Options::new(network), round, data.pairs.len());
            let (said, weights) = match round {
                ROUNDS => (card.clone(), Weights::new()),
                _ => earlier(shipped.name, round),
            };
            assert_eq!(said.data.sha256, data.hash(), "{} in round {round}", shipped.name);
            assert_eq!(said.data.pairs, data.pairs.len() as u64);
            assert_eq!((said.training.rounds, said.training.seed), (19, 1));
            assert_eq!(said.training.batch, options.batch as u64);
            assert_eq!(
                said.training.command,
                format!("paceline train {network} --on-policy={ROUNDS}")
            );
            // The linear model is trained quickly, so all rounds are compared bit for bit.
            let trained = match network {
                Network::Ar3 => train::train(&data, &options, &mut |_| Control::Continue).unwrap(),
                _ => Trained {
                    options,
                    weights,
                    rounds: Vec::new(),
                    stopped: false,
                },
            };
            state.finish(data, trained);
        }
        assert_eq!(card.smoothing, SMOOTHING);
        assert_eq!(card.metrics.test_mape, card.metrics.rounds[18].test_mape);
        let loops = card
            .data
            .sources
            .iter()
            .all(|source| source.scheme == "lstm-pid" && source.order > Some(100));
        assert!(loops, "{} learned from its own loop", shipped.name);
        if network == Network::Ar3 {
            let lap = state.laps().last().unwrap();
            let last = Snapshot::last(&lap.trained);
            let command = &card.training.command;
            let files = paceline_learn::write("rtt-ar3", &lap.trained, last, &lap.dataset, command).unwrap();
            // All except the digests of resolved scenarios, which change with each new default key although
            // the runs do not.
            let made = Card::parse(&files.card).unwrap();
            assert_eq!(&files.weights[..], shipped.weights);
            assert_eq!((&made.metrics, &made.training), (&card.metrics, &card.training));
        }
    }
}
