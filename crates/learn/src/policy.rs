//! Model files of policies that are networks of layers.

use paceline_congestion::learned::card::{
    Card, Data, DataSource, FORMAT, LAW, Metrics, Normalisation, Training,
};
use paceline_congestion::learned::dense::transposed;
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::sha256;

use crate::Error;
use crate::train::{Tensor, Weights};
use crate::write::{ModelFiles, serialize};

/// Returns a card with the fields that are fixed by its kind.
pub(crate) fn card(kind: ModelKind, name: &str) -> Card {
    let features = kind.features();
    Card {
        format: FORMAT,
        name: name.into(),
        kind,
        hidden: kind.hidden(),
        steps: features.len(),
        features: features.iter().map(|name| (*name).into()).collect(),
        output: kind.output().into(),
        smoothing: 1.0,
        normalisation: Normalisation {
            input: "none".into(),
            output: "none".into(),
        },
        weights_sha256: String::new(),
        data: Data::default(),
        training: Training::default(),
        metrics: Metrics::default(),
        quantisation: None,
        version: crate::identity::version().into(),
    }
}

/// Returns the training section of a card without the fields that depend on the algorithm.
pub(crate) fn training(command: &str, batch: usize, seed: u64) -> Training {
    Training {
        command: command.into(),
        batch: batch as u64,
        optimiser: "Adam".into(),
        seed,
        library: "none".into(),
        ..Training::default()
    }
}

/// Returns the data section of a card for training in randomly drawn networks.
pub(crate) fn data(decisions: u64, scenarios: &[&str], seed: u64) -> Data {
    const DRAWN: &str =
        "rate, delay, buffer, packets, flows, first rates and latency of decisions drawn for each episode";
    let source = |scenario: &&str| DataSource {
        scenario: (*scenario).into(),
        scheme: "external".into(),
        settings: vec![DRAWN.into()],
        seed,
        fidelity: "exact".into(),
        version: crate::identity::version().into(),
        ..DataSource::default()
    };
    Data {
        pairs: decisions,
        train: decisions,
        sources: scenarios.iter().map(source).collect(),
        ..Data::default()
    }
}

/// Writes the files of a law's coefficients, a network or both. The hash of the weights is added to the card.
///
/// # Errors
/// The card or the weights cannot be serialised.
pub(crate) fn files(card: Card, law: Option<&[f32]>, policy: Option<&Network>) -> Result<ModelFiles, Error> {
    let mut tensors = policy.map_or_else(Weights::new, |policy| tensors(card.kind, policy));
    if let Some(law) = law {
        tensors.insert(LAW.to_string(), Tensor::new(&[law.len()], law.to_vec()));
    }
    let weights = serialize(&tensors)?;
    let card = Card {
        weights_sha256: sha256(&weights),
        ..card
    };
    let mut text = serde_json::to_vec_pretty(&card)
        .map_err(|error| Error::Options(format!("the card of {} cannot be written: {error}", card.name)))?;
    text.push(b'\n');
    Ok(ModelFiles { weights, card: text })
}

/// Returns the network's tensors in PyTorch's layout: one row of weights per output.
fn tensors(kind: ModelKind, policy: &Network) -> Weights {
    let mut weights = Weights::new();
    let names = kind.layers().map_or(&[][..], |(_, names)| names);
    for ((layer, bias, own), name) in policy.parts().zip(names) {
        let columns = layer.columns();
        let rows = transposed(layer.inputs, columns, own);
        weights.insert(
            format!("{name}.weight"),
            Tensor::new(&[columns, layer.inputs], rows),
        );
        weights.insert(format!("{name}.bias"), Tensor::new(&[columns], bias.to_vec()));
    }
    weights
}
