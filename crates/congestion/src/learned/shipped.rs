//! Built-in models, embedded in the program.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use flate2::read::ZlibDecoder;

use super::error::ModelError;
use super::kind::ModelKind;
use super::model::Model;
use super::reference::{ModelHash, ModelRef};
use super::stack::card::Weights;
use crate::nearest;
use crate::params::{Auto, ParamError};

/// Files of a built-in model.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Name of the model.
    pub name: &'static str,
    /// Bytes of its weights; empty for a forest.
    pub weights: &'static [u8],
    card: Card,
}

/// File of a card.
#[derive(Clone, Copy, Debug)]
enum Card {
    Plain(&'static [u8]),
    /// Compressed by the build script.
    Packed(&'static [u8]),
}

impl Shipped {
    /// Returns the bytes of its card; for a forest, of the whole model.
    ///
    /// # Panics
    /// Never: the build script compressed it.
    pub fn card(&self) -> Cow<'static, [u8]> {
        match self.card {
            Card::Plain(card) => Cow::Borrowed(card),
            Card::Packed(packed) => {
                let mut card = Vec::new();
                let unpacked = ZlibDecoder::new(packed).read_to_end(&mut card);
                unpacked.expect("the build script packed it");
                Cow::Owned(card)
            }
        }
    }
}

macro_rules! shipped {
    (networks: $($name:literal),* ; forests: $($forest:literal),* $(,)?) => {
        /// Built-in models: networks, then forests.
        pub static SHIPPED: &[Shipped] = &[$(Shipped {
            name: $name,
            card: Card::Plain(include_bytes!(concat!("../../models/", $name, ".json"))),
            weights: include_bytes!(concat!("../../models/", $name, ".safetensors")),
        },)* $(Shipped {
            name: $forest,
            card: Card::Packed(include_bytes!(concat!(env!("OUT_DIR"), "/", $forest, ".json"))),
            weights: &[],
        },)*];
    };
}

shipped!(
    networks: "rtt-lstm", "rtt-gru", "rtt-rnn", "rtt-ar3", "adpg", "adpg-2", "adpg-3", "adpg-4", "adpg-5",
        "decc-law", "decc-net", "decc-net-q4", "decc-net-2", "decc-net-2-q4", "decc-net-3", "decc-net-3-q4",
        "decc-paper", "decc-paper-2", "decc-paper-3", "aurora", "spine", "policy-mlp";
    forests: "adpg-tree-100", "adpg-tree-300", "adpg-tree-1000", "decc-tree-100", "decc-tree-300",
        "decc-2-tree-300", "decc-3-tree-300"
);

/// Alternative names of built-in models.
const ALIASES: [(&str, &str); 1] = [("paper", "decc-paper")];

/// Returns the built-in model called `name`, if there is one. Each is parsed once, on first use.
pub fn find(name: &str) -> Option<Arc<Model>> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    static READ: [OnceLock<Arc<Model>>; SHIPPED.len()] = [const { OnceLock::new() }; SHIPPED.len()];
    let index = SHIPPED.iter().position(|shipped| shipped.name == name)?;
    let read = || {
        let shipped = &SHIPPED[index];
        let weights = |_: &str| Ok::<_, ModelError>(Weights::Tensors(shipped.weights.to_vec()));
        let model = Model::read(&shipped.card(), weights);
        Arc::new(model.unwrap_or_else(|error| panic!("{}: {error}", shipped.name)))
    };
    Some(Arc::clone(READ[index].get_or_init(read)))
}

/// Returns the built-in name nearest to `name`, if one is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    nearest::nearest(name, SHIPPED.iter().map(|shipped| shipped.name))
}

/// Returns the error message for a name that is not built in.
pub fn unknown(name: &str) -> String {
    let hint = nearest::hint(nearest(name));
    let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
    format!(
        "there is no model `{name}`{hint}; expected the path of a model file, or a built-in model: {}",
        names.join(", ")
    )
}

/// Returns the model that a scheme's parameter selects, if it is available: the built-in `default`, or one
/// read from a file.
pub(crate) fn model(asked: &Auto<ModelRef>, default: &str) -> Option<Arc<Model>> {
    match asked {
        Auto::Is(reference) => reference.model().cloned(),
        Auto::Auto => find(default),
    }
}

/// Returns the policy that a scheme's parameter selects.
///
/// # Panics
/// If it is missing or of another kind; validate the parameters first.
pub(crate) fn policy(kind: ModelKind, asked: &Auto<ModelRef>, default: &str) -> Arc<Model> {
    let model = model(asked, default).filter(|model| model.fits(kind).is_ok());
    model.expect("parameters were validated with a policy")
}

/// Replaces automatic values by the name and hash of the model that the scheme uses.
pub(crate) fn make_explicit(asked: &mut Auto<ModelRef>, hash: &mut Auto<ModelHash>, default: &str) {
    if *asked == Auto::Auto {
        *asked = Auto::Is(ModelRef::new(default));
    }
    if let (Auto::Auto, Some(model)) = (&hash, model(asked, default)) {
        *hash = Auto::Is(ModelHash::of(&model));
    }
}

/// Returns the parameter `model`, for schemes in which no other parameter names a model.
pub(crate) fn asked(model: &mut Auto<ModelRef>) -> Vec<(&'static str, &mut ModelRef)> {
    match model {
        Auto::Is(model) => vec![("model", model)],
        Auto::Auto => Vec::new(),
    }
}

/// Refuses a policy that is missing, of another kind, or with another hash.
pub(crate) fn check(
    kind: ModelKind,
    asked: &Auto<ModelRef>,
    hash: &Auto<ModelHash>,
    default: &str,
) -> Result<(), ParamError> {
    let name = match asked {
        Auto::Is(reference) => reference.name(),
        Auto::Auto => default,
    };
    let Some(model) = model(asked, default) else {
        return Err(ParamError::new("model", unknown(name)));
    };
    let card = model.card();
    model
        .fits(kind)
        .map_err(|message| ParamError::new("model", message))?;
    let found = ModelHash::of(&model);
    match hash {
        Auto::Is(expected) if *expected != found => Err(ParamError::new(
            "model-hash",
            format!(
                "{expected} is not of the model `{}`, whose weights have {found}",
                card.name
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_read_and_bear_their_names() {
        for shipped in SHIPPED {
            let model = find(shipped.name).unwrap();
            assert_eq!(model.card().name, shipped.name);
        }
        assert!(find("no-such-model").is_none());
    }
}
