//! Models with random weights for tests and benchmarks.

use std::sync::Arc;

use paceline_kernel::rng::{Purpose, Rng};
use safetensors::tensor::{Dtype, TensorView};

use crate::decc::law::COEFFICIENTS;
use crate::learned::card::{Card, Data, FORMAT, LAW, Metrics, Normalisation, Training};
use crate::learned::kind::ModelKind;
use crate::learned::model::Model;
use crate::learned::sha256;

/// Tensors by name, with shapes and values.
pub type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;

/// Returns a card without notes on its model's origin, and without the hash of the weights.
pub fn card(kind: ModelKind, hidden: usize) -> Card {
    Card {
        format: FORMAT,
        name: "test".into(),
        kind,
        hidden,
        steps: kind.features().len(),
        features: kind.features().iter().map(|name| (*name).into()).collect(),
        output: kind.output().into(),
        smoothing: 0.2,
        normalisation: Normalisation {
            input: "none".into(),
            output: "none".into(),
        },
        weights_sha256: String::new(),
        data: Data::default(),
        training: Training::default(),
        metrics: Metrics::default(),
        quantisation: None,
        version: "test".into(),
    }
}

/// Returns random weights from -1/2 to 1/2.
pub fn random(card: &Card, seed: u32) -> Tensors {
    let mut rng = Rng::stream(u64::from(seed), Purpose::Congestion, 0);
    let tensors = card.tensors().into_iter();
    tensors
        .map(|(name, shape)| {
            let values = match name.as_str() {
                // A law's coefficients have ranges, which random numbers would miss.
                LAW => COEFFICIENTS.iter().map(|one| one.start as f32).collect(),
                _ => (0..shape.iter().product::<usize>())
                    .map(|_| (rng.next_u64() >> 40) as f32 / 16_777_216.0 - 0.5)
                    .collect(),
            };
            (name, shape, values)
        })
        .collect()
}

/// Returns the bytes of a weights file.
pub fn file(tensors: &Tensors) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect())
        .collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (name.as_str(), view.expect("values fill the shape"))
    });
    safetensors::serialize(views, None).expect("tensors can be written")
}

/// Returns the card's JSON, with the hash of the weights.
pub fn json(card: &Card, weights: &[u8]) -> Vec<u8> {
    let card = Card {
        weights_sha256: sha256(weights),
        ..card.clone()
    };
    serde_json::to_vec_pretty(&card).expect("a card can be written")
}

/// Returns a model of the size of the built-in ones, with random weights.
pub fn random_model(kind: ModelKind, seed: u32) -> Arc<Model> {
    let recurrent = matches!(kind, ModelKind::Lstm | ModelKind::Gru | ModelKind::Rnn);
    let card = card(kind, if recurrent { 16 } else { 0 });
    let weights = file(&random(&card, seed));
    let model = Model::parse(&json(&card, &weights), &weights);
    Arc::new(model.expect("card and weights fit together"))
}
