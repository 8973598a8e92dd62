use super::*;
use paceline_kernel::Time;

/// Generates pairs in which `L` is a non-linear function of the features.
fn data(count: usize) -> Dataset {
    let mut rng = Stream::Draw.rng(4);
    let mut uniform = |width: f64| (width * (2.0 * rng.next_f64() - 1.0)) as f32;
    let pair = |_| {
        let k = [uniform(0.5), uniform(0.5), uniform(0.5)];
        Pair {
            k,
            l: 0.6 * k[2] - 0.3 * k[0] + 0.2 * (3.0 * k[1]).tanh() + uniform(0.02),
            s: 5.0,
            r: 5.0,
            stratum: crate::dataset::stratum(k[2]),
            source: 0,
            flow: 0,
            at: Time::ZERO,
        }
    };
    Dataset {
        pairs: (0..count).map(pair).collect(),
        origins: Vec::new(),
        scenarios: Vec::new(),
        seed: 0,
    }
}

fn tiny(network: Network) -> Options {
    Options {
        hidden: 8,
        rounds: 6,
        train_pairs: 160,
        test_pairs: 40,
        batch: 8,
        learning_rate: 5e-3,
        ..Options::new(network)
    }
}

fn go(data: &Dataset, options: &Options) -> Trained {
    train(data, options, &mut |_| Control::Continue).unwrap()
}

#[test]
fn every_network_learns() {
    let data = data(1_200);
    for network in [Network::Lstm, Network::Gru, Network::Rnn] {
        let trained = go(&data, &tiny(network));
        let (first, last) = (&trained.rounds[0], trained.last());
        assert_eq!(
            (trained.rounds.len(), first.losses.len(), last.number),
            (6, 20, 6)
        );
        assert!(
            last.loss < 0.5 * first.loss,
            "{network}: {} {}",
            first.loss,
            last.loss
        );
        assert!(last.test_mape < 0.5 * first.losses[0] as f64, "{network}");
        // The errors in the rounds are those of the weights.
        let test = &data.pairs[1_160..];
        let again = mape(test, &predict(network, &trained.weights, test).unwrap());
        assert_eq!(again, last.test_mape);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let data = data(1_200);
    for network in Network::ALL {
        let one = go(&data, &tiny(network));
        assert_eq!(one, go(&data, &tiny(network)), "{network}");
        if network.is_recurrent() {
            let other = Options {
                seed: 2,
                ..tiny(network)
            };
            assert_ne!(one.weights, go(&data, &other).weights, "{network}");
        }
    }
}

/// FNV-1a over the bits of all weights detects a difference of one rounding between machines.
#[test]
fn the_bits_are_the_same_everywhere() {
    let hash = |network| {
        let trained = go(&data(1_200), &tiny(network));
        let bytes = flat(&trained.weights).flat_map(|value| value.to_bits().to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    assert_eq!(
        [Network::Lstm, Network::Gru, Network::Rnn].map(hash),
        [
            10_217_933_168_090_670_442,
            6_007_900_032_664_926_960,
            16_947_810_087_105_519_378
        ]
    );
}

/// Compares derivatives of the loss with finite differences, weight by weight.
#[test]
fn gradients_are_those_of_finite_differences() {
    let mut pairs = data(12).pairs;
    for network in [Network::Lstm, Network::Gru, Network::Rnn] {
        let hidden = 5;
        let weights = net::initial(network, hidden, &mut Stream::Weights.rng(3));
        let net = Net::new(network, hidden, &weights).unwrap();
        // The loss has a kink where an output equals its label, so labels are far from the outputs.
        let outputs = net.predict(&pairs);
        for (i, (pair, out)) in pairs.iter_mut().zip(outputs).enumerate() {
            pair.l = if i % 3 == 0 { out - 0.2 } else { out + 0.2 };
        }
        let pairs = &pairs;
        let slopes = net.learn(pairs).2;
        // Outputs in double precision, because the loss of floats is too coarse for differences.
        let loss = |weights: &Weights| -> f64 {
            let net = Net::new(network, hidden, weights).unwrap();
            let out = net.predict(pairs);
            let errors = out
                .iter()
                .zip(pairs)
                .map(|(&out, pair)| (f64::from(out) - f64::from(pair.l)).abs());
            errors.sum::<f64>() / pairs.len() as f64
        };
        let mut largest = 0.0_f64;
        for (slopes, (name, _)) in slopes.iter().zip(net::shapes(network, hidden)) {
            for (i, &slope) in slopes.iter().enumerate() {
                let step = 4e-3_f32;
                let mut moved = weights.clone();
                let at = |moved: &mut Weights, by: f32| {
                    moved.get_mut(&name).unwrap().values[i] = weights[&name].values[i] + by;
                    loss(moved)
                };
                let by_difference = (at(&mut moved, step) - at(&mut moved, -step)) / (2.0 * f64::from(step));
                let error = (by_difference - f64::from(slope)).abs();
                assert!(
                    error < 2e-3 * (1.0 + slope.abs() as f64),
                    "{network} {name}[{i}]: {slope} {by_difference}"
                );
                largest = largest.max(f64::from(slope).abs());
            }
        }
        assert!(largest > 0.05, "{network}: nothing was tested");
    }
}

/// Outputs, the loss of fifteen steps of eight pairs and the final weights, from candle 0.11 with the same
/// initial weights.
#[test]
fn training_goes_as_with_a_library() {
    #[derive(serde::Deserialize)]
    struct Course {
        outputs: Vec<f32>,
        losses: Vec<f32>,
        weights: std::collections::BTreeMap<String, Vec<f32>>,
    }
    let by_library: std::collections::HashMap<Network, Course> =
        serde_json::from_str(include_str!("candle.json")).unwrap();
    let close = |what: &str, ours: &[f32], theirs: &[f32]| {
        assert_eq!(ours.len(), theirs.len(), "{what}");
        let off = |(a, b): (&f32, &f32)| (a - b).abs();
        let worst = ours.iter().zip(theirs).map(off).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{what}: {worst}");
    };
    let data = data(120);
    for network in [Network::Lstm, Network::Gru, Network::Rnn] {
        let course = &by_library[&network];
        let weights = net::initial(network, 4, &mut Stream::Weights.rng(3));
        let mut net = Net::new(network, 4, &weights).unwrap();
        let mut adam = Adam::new(&net.values);
        close("outputs", &net.predict(&data.pairs[..8]), &course.outputs);
        let losses = data.pairs.chunks(8).map(|batch| {
            let (_, loss, slopes) = net.learn(batch);
            adam.step(&mut net.values, &slopes, 5e-3);
            loss
        });
        close("losses", &losses.collect::<Vec<f32>>(), &course.losses);
        for (name, tensor) in net.weights() {
            close(&name, &tensor.values, &course.weights[&name]);
        }
    }
}

/// Examples of `L = 0.5 K[t] - 0.25 K[t-1] + 0.125` without noise, so least squares finds the coefficients.
#[test]
fn least_squares_finds_a_line() {
    let mut data = data(600);
    for pair in &mut data.pairs {
        pair.l = 0.5 * pair.k[2] - 0.25 * pair.k[1] + 0.125;
    }
    let options = Options {
        rounds: 2,
        ..tiny(Network::Ar3)
    };
    let trained = go(&data, &options);
    let weights = [
        &trained.weights["linear.weight"].values[..],
        &trained.weights["linear.bias"].values,
    ]
    .concat();
    for (found, by_hand) in weights.iter().zip([0.0, -0.25, 0.5, 0.125]) {
        assert!((found - by_hand).abs() < 1e-6, "{weights:?}");
    }
    assert!(trained.last().test_mape < 1e-6);
    // With constant features only the constant term is left.
    for pair in &mut data.pairs {
        (pair.k, pair.l) = ([0.0; 3], 0.25);
    }
    assert_eq!(go(&data, &options).weights["linear.bias"].values, [0.25]);
}

#[test]
fn persistence_predicts_the_last_round_trip() {
    let data = data(400);
    let trained = go(
        &data,
        &Options {
            rounds: 2,
            ..tiny(Network::Persistence)
        },
    );
    let pairs = &data.pairs[360..];
    let by_hand = pairs
        .iter()
        .map(|p| f64::from((p.k[2] - p.l).abs()) / (1.0 + f64::from(p.l)));
    assert!((trained.last().test_mape - by_hand.sum::<f64>() / 40.0).abs() < 1e-12);
    assert!(trained.weights.is_empty());
}

#[test]
fn a_stopped_training_keeps_its_last_round() {
    let data = data(1_200);
    let whole = go(&data, &tiny(Network::Gru));
    let mut kept = Vec::new();
    let stopped = train(&data, &tiny(Network::Gru), &mut |progress| match progress {
        Progress::Step {
            round: 3, step: 7, ..
        } => Control::Stop,
        Progress::Round(_, weights) => {
            kept.push(weights.clone());
            Control::Continue
        }
        Progress::Step { .. } => Control::Continue,
    });
    let stopped = stopped.unwrap();
    assert!(stopped.stopped && !whole.stopped);
    assert_eq!(stopped.rounds, whole.rounds[..2]);
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1], stopped.weights);
    let none = train(&data, &tiny(Network::Gru), &mut |_| Control::Stop);
    assert!(none.unwrap_err().to_string().contains("before the first round"));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let data = data(100);
    let message = |options: Options| {
        let refused = train(&data, &options, &mut |_| Control::Continue);
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        message(Options::new(Network::Lstm)),
        "19 rounds of 800 pairs to learn from and 200 to test on need 19000 pairs, the dataset has 100"
    );
    assert!(
        message(Options {
            rounds: 0,
            ..Options::new(Network::Lstm)
        })
        .contains("without rounds")
    );
    assert!(
        message(Options {
            batch: 0,
            ..Options::new(Network::Lstm)
        })
        .contains("in a batch")
    );
    assert!(
        message(Options {
            learning_rate: -1.0,
            ..Options::new(Network::Lstm)
        })
        .contains("-1")
    );
    assert!(
        "lstn"
            .parse::<Network>()
            .unwrap_err()
            .contains("unknown network `lstn`")
    );
}

fn resume(data: &Dataset, options: &Options, start: &Weights) -> Result<Trained, Error> {
    let none = Checkpoints::none();
    train_from(data, options, Some(start), none.slot(""), &mut |_| {
        Control::Continue
    })
}

#[test]
fn a_training_goes_on_from_weights() {
    let data = data(1_200);
    let first = go(&data, &tiny(Network::Lstm));
    let on = resume(&data, &tiny(Network::Lstm), &first.weights).unwrap();
    assert!(on.rounds[0].loss < 0.7 * first.rounds[0].loss);
    let other = resume(&data, &tiny(Network::Gru), &first.weights);
    assert!(other.unwrap_err().to_string().contains("gru.weight_ih_l0"));
    let solved = resume(&data, &tiny(Network::Ar3), &first.weights);
    assert!(solved.unwrap_err().to_string().contains("AR(3) has no steps"));
}
