//! The files of a rate law.

use paceline_congestion::decc::law::COUNT;
use paceline_congestion::learned::model::{Card, Kind, LAW, sha256};

use crate::Error;
use crate::policy::card;
use crate::train::{Tensor, Weights};
use crate::write::{ModelFiles, serialize};

/// The files of a law of these numbers; `told` completes its card.
pub(crate) fn law(name: &str, values: &[f64], told: impl FnOnce(Card) -> Card) -> Result<ModelFiles, Error> {
    let mut weights = Weights::new();
    let values = values.iter().map(|&value| value as f32).collect();
    weights.insert(LAW.to_string(), Tensor::new(&[COUNT], values));
    let weights = serialize(&weights)?;
    let card = Card {
        weights_sha256: sha256(&weights),
        ..told(card(Kind::Law, name))
    };
    let mut text = serde_json::to_vec_pretty(&card)
        .map_err(|error| Error::Options(format!("the card of {name} cannot be written: {error}")))?;
    text.push(b'\n');
    Ok(ModelFiles { weights, card: text })
}
