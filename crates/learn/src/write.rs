//! Model files: weights, and the card that describes them.

use std::collections::HashMap;
use std::path::Path;

use paceline_congestion::learned::card::{
    Card, Data, DataSource, FORMAT, Metrics, Normalisation, RoundMetrics, Training,
};
use paceline_congestion::learned::kind::{FEATURES, ModelKind, OUTPUT};
use paceline_congestion::learned::model::Model;
use paceline_congestion::learned::sha256;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::Error;
use crate::dataset::{Dataset, Origin, SMOOTHING};
use crate::train::{Network, Round, Tensor, Trained, Weights};

/// The two files of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    /// Contents of the file `NAME.safetensors`.
    pub weights: Vec<u8>,
    /// Contents of the file `NAME.json`.
    pub card: Vec<u8>,
}

/// Weights after some rounds of a training.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Weights after the last of the rounds.
    pub weights: &'a Weights,
    /// Rounds so far, from the first.
    pub rounds: &'a [Round],
}

impl<'a> Snapshot<'a> {
    /// Returns the state at the end of a training.
    pub fn last(trained: &'a Trained) -> Self {
        Self {
            weights: &trained.weights,
            rounds: &trained.rounds,
        }
    }
}

/// Returns the files of the model `name`, with the weights of a training on `data` at its end or after an earlier
/// round.
///
/// # Errors
/// Persistence has no weights.
pub fn write(
    name: &str,
    trained: &Trained,
    snapshot: Snapshot<'_>,
    data: &Dataset,
    command: &str,
) -> Result<ModelFiles, Error> {
    let options = &trained.options;
    let kind = match options.network {
        Network::Lstm => ModelKind::Lstm,
        Network::Gru => ModelKind::Gru,
        Network::Rnn => ModelKind::Rnn,
        Network::Ar3 => ModelKind::Ar3,
        Network::Persistence => {
            return Err(Error::Options(
                "persistence has nothing to put into a model".into(),
            ));
        }
    };
    let rounds = snapshot.rounds;
    let weights = serialize(snapshot.weights)?;
    let recurrent = options.network.is_recurrent();
    let count = |pairs: usize| (pairs * rounds.len()) as u64;
    let card = Card {
        format: FORMAT,
        name: name.into(),
        kind,
        hidden: if recurrent { options.hidden } else { 0 },
        steps: FEATURES.len(),
        features: FEATURES.map(String::from).to_vec(),
        output: OUTPUT.into(),
        smoothing: SMOOTHING,
        normalisation: Normalisation {
            input: "none".into(),
            output: "none".into(),
        },
        weights_sha256: sha256(&weights),
        data: Data {
            sha256: data.hash(),
            pairs: data.pairs.len() as u64,
            train: count(options.train_pairs),
            test: count(options.test_pairs),
            sources: data.origins.iter().map(source).collect(),
        },
        training: Training {
            command: command.into(),
            rounds: rounds.len() as u64,
            batch: options.batch as u64,
            learning_rate: options.learning_rate,
            optimiser: match (recurrent, options.decay) {
                (false, _) => "least squares",
                (true, false) => "Adam",
                (true, true) => "Adam, its rate falling to nothing",
            }
            .into(),
            loss: if recurrent { "L1" } else { "L2" }.into(),
            seed: options.seed,
            library: "none".into(),
        },
        metrics: metrics(rounds),
        quantisation: None,
        version: crate::identity::version().into(),
    };
    let mut text = serde_json::to_vec_pretty(&card)
        .map_err(|error| Error::Options(format!("the card of {name} cannot be written: {error}")))?;
    text.push(b'\n');
    Ok(ModelFiles { weights, card: text })
}

fn source(origin: &Origin) -> DataSource {
    DataSource {
        scenario: origin.scenario.clone(),
        scheme: origin.scheme.clone(),
        settings: origin.settings.clone(),
        seed: origin.seed,
        fidelity: origin.fidelity.name().into(),
        order: origin.order,
        model_sha256: origin.model_sha256.clone(),
        scenario_sha256: origin.scenario_sha256.clone(),
        version: origin.version.clone(),
        sha256: origin.sha256.clone(),
    }
}

fn metrics(rounds: &[Round]) -> Metrics {
    let last = rounds.last();
    let round = |round: &Round| RoundMetrics {
        round: round.number as u64,
        loss: round.loss,
        train_mape: round.train_mape,
        test_mape: round.test_mape,
    };
    Metrics {
        test_mape: last.map_or(0.0, |round| round.test_mape),
        train_mape: last.map_or(0.0, |round| round.train_mape),
        rounds: rounds.iter().map(round).collect(),
    }
}

/// Serialises weights as a `.safetensors` file, tensors in the order of their names, so that the same weights
/// give the same bytes.
pub(crate) fn serialize(weights: &Weights) -> Result<Vec<u8>, Error> {
    let bytes: Vec<(&String, &Tensor, Vec<u8>)> = weights
        .iter()
        .map(|(name, tensor)| {
            // The format is little-endian on every machine.
            let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes());
            (name, tensor, bytes.collect())
        })
        .collect();
    let failed = |error| Error::Options(format!("the weights cannot be written: {error}"));
    let views: Vec<(&String, TensorView<'_>)> = bytes
        .iter()
        .map(|(name, tensor, bytes)| Ok((*name, TensorView::new(Dtype::F32, tensor.shape.clone(), bytes)?)))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let no_metadata: Option<HashMap<String, String>> = None;
    safetensors::serialize(views, no_metadata).map_err(failed)
}

/// Reads the card and the weights of a model; both files are in the same folder.
///
/// # Errors
/// A file cannot be read, or they are not a valid model.
pub fn read(path: &Path) -> Result<(Card, Weights), Error> {
    let weights = load(&path.with_extension("safetensors"))?;
    let card = parsed(path, &weights)?.card().clone();
    let file = SafeTensors::deserialize(&weights).map_err(|error| no_model(path, &error.to_string()))?;
    let tensors = file.iter().map(|(name, view)| {
        let values = view.data().as_chunks::<4>().0.iter();
        let values = values.map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (name.to_string(), Tensor::new(view.shape(), values))
    });
    Ok((card, tensors.collect()))
}

fn load(path: &Path) -> Result<Vec<u8>, Error> {
    paceline_scenario::read_bytes(path).map_err(|error| Error::io("read", path, error))
}

fn parsed(path: &Path, weights: &[u8]) -> Result<Model, Error> {
    let model = Model::parse(&load(&path.with_extension("json"))?, weights);
    model.map_err(|error| no_model(path, &error.to_string()))
}

fn no_model(path: &Path, message: &str) -> Error {
    Error::Content {
        path: path.to_path_buf(),
        expected: "a model",
        message: message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::train::Options;

    fn trained() -> (Trained, Dataset) {
        let weights = Weights::from([
            (
                "linear.weight".to_string(),
                Tensor::new(&[1, 3], vec![0.25, -0.5, 1.5]),
            ),
            ("linear.bias".to_string(), Tensor::new(&[1], vec![0.125])),
        ]);
        let round = Round {
            number: 1,
            train_mape: 0.1,
            test_mape: 0.2,
            loss: 0.05,
            losses: vec![0.05],
        };
        let trained = Trained {
            options: Options::new(Network::Ar3),
            weights,
            rounds: vec![round],
            stopped: false,
        };
        let data = Dataset {
            pairs: Vec::new(),
            origins: Vec::new(),
            scenarios: Vec::new(),
            seed: 1,
        };
        (trained, data)
    }

    #[test]
    fn what_is_written_is_a_model() {
        let (trained, data) = trained();
        let of = |trained: &Trained| {
            write(
                "mine",
                trained,
                Snapshot::last(trained),
                &data,
                "paceline train ar3",
            )
        };
        let files = of(&trained).unwrap();
        assert_eq!(of(&trained).unwrap(), files);
        let model = Model::parse(&files.card, &files.weights).unwrap();
        assert_eq!(model.predict(&[0.5, 0.25, -0.5]), 0.125 + 0.125 - 0.125 - 0.75);
        assert_eq!(model.card().parameters(), 4);
        assert_eq!(model.card().metrics.test_mape, 0.2);
        assert_eq!((model.card().data.train, model.card().data.test), (800, 200));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.safetensors");
        fs::write(&path, &files.weights).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("mine.json"));
        fs::write(path.with_extension("json"), &files.card).unwrap();
        let (card, weights) = read(&path).unwrap();
        assert_eq!((card.name.as_str(), weights), ("mine", trained.weights.clone()));
        fs::write(&path, [&files.weights[..], b"x"].concat()).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("SHA-256"));
    }

    #[test]
    fn persistence_is_no_model() {
        let (mut trained, data) = trained();
        trained.options.network = Network::Persistence;
        let state = Snapshot::last(&trained);
        assert!(write("none", &trained, state, &data, "").is_err());
    }
}
