//! Kinds of models: inputs, outputs and layers of each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decc::law::PolicyOutput;
use crate::learned::features::{
    AURORA_FEATURES, AURORA_INPUTS, LAW_FEATURES, SPINE_FEATURES, SPINE_HIDDEN, SPINE_INPUTS, SPINE_OUTPUTS,
};
use crate::learned::layers::{Layer, Units};
use crate::learned::recurrent::STEPS;

/// Inputs of a predictor, in order.
pub const FEATURES: [&str; STEPS] = ["K[t-2]", "K[t-1]", "K[t]"];

/// Output of a predictor.
pub const OUTPUT: &str = "L[t]";

/// Kind of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Long short-term memory and a linear layer.
    Lstm,
    /// Gated recurrent unit and a linear layer.
    Gru,
    /// Simple recurrent network and a linear layer.
    Rnn,
    /// Linear function of the three features.
    Ar3,
    /// ADPG's policy: see [`crate::learned::mlp`].
    Adpg,
    /// DECC's policy as a network that replaces a rate law: [`DECC`].
    Decc,
    /// DECC's policy as a rate law: [`crate::decc::law`].
    Law,
    /// DECC's policy as a rate law plus a residual network.
    Residual,
    /// Aurora's policy network: [`AURORA`].
    Aurora,
    /// SPINE's watcher and policy generator: [`SPINE`].
    Spine,
    /// User-trained policy with its own card: see [`crate::learned::stack`].
    #[serde(skip)]
    Policy,
    /// Boosted trees: see [`crate::learned::forest`]. Their own file format carries the kind; no card names
    /// it.
    #[serde(skip)]
    Forest,
}

/// Layers of DECC's network; [`DECC_NAMES`] are the names of its tensors.
pub const DECC: [Layer; 3] = [
    Layer::new(crate::decc::features::INPUTS, 32, Units::Rectified),
    Layer::new(32, 32, Units::Rectified),
    Layer::new(32, 1, Units::Tanh),
];

/// Layers of Aurora's network; [`AURORA_NAMES`] are the names of its tensors.
pub const AURORA: [Layer; 3] = [
    Layer::new(AURORA_INPUTS, 32, Units::Tanh),
    Layer::new(32, 16, Units::Tanh),
    Layer::new(16, 1, Units::Linear),
];

/// Layers of SPINE's network, a recurrent trunk and two heads in one layer; [`SPINE_NAMES`] are the names of
/// its tensors.
pub const SPINE: [Layer; 2] = [
    Layer::new(SPINE_INPUTS, SPINE_HIDDEN, Units::Gated),
    Layer::new(SPINE_HIDDEN, SPINE_OUTPUTS, Units::Linear),
];

/// Names of the layers of [`SPINE`] in files.
pub const SPINE_NAMES: [&str; 2] = ["trunk", "heads"];

/// Names of the layers of [`AURORA`] in files.
pub const AURORA_NAMES: [&str; 3] = ["first", "second", "last"];

/// Names of the layers of [`DECC`] in files.
pub const DECC_NAMES: [&str; 3] = ["first", "second", "last"];

impl ModelKind {
    /// Kinds that decide, each for the scheme of its name. A forest may replace any of them except SPINE's
    /// and `policy`'s, which may be recurrent.
    pub const POLICIES: [Self; 5] = [Self::Adpg, Self::Decc, Self::Aurora, Self::Spine, Self::Policy];

    /// Returns the scheme that the policy controls.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Law | Self::Residual => Self::Decc.name(),
            _ => self.name(),
        }
    }

    /// Returns the name in a card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Rnn => "rnn",
            Self::Ar3 => "ar3",
            Self::Adpg => "adpg",
            Self::Decc => "decc",
            Self::Law => "law",
            Self::Residual => "residual",
            Self::Aurora => "aurora",
            Self::Spine => "spine",
            Self::Policy => "policy",
            Self::Forest => "forest",
        }
    }

    /// Returns the inputs, in order; empty for forests and user-trained policies, whose files list them.
    pub const fn features(self) -> &'static [&'static str] {
        match self {
            Self::Adpg => &["a[t-2]", "z[t-1]", "a[t-1]", "z[t]"],
            Self::Decc | Self::Residual => &crate::decc::features::NAMES,
            Self::Law => &LAW_FEATURES,
            Self::Aurora => &AURORA_FEATURES,
            Self::Spine => &SPINE_FEATURES,
            Self::Policy | Self::Forest => &[],
            _ => &FEATURES,
        }
    }

    /// Returns the name of the output.
    pub const fn output(self) -> &'static str {
        match self {
            Self::Adpg | Self::Decc | Self::Residual | Self::Aurora => "a[t]",
            Self::Law => "log(w[t] / w[t-1])",
            Self::Spine => "trigger, alpha, beta, gamma, delta",
            _ => OUTPUT,
        }
    }

    /// Returns the rows of weights per unit of the hidden state.
    pub(super) const fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Rnn => 1,
            Self::Ar3
            | Self::Adpg
            | Self::Decc
            | Self::Law
            | Self::Residual
            | Self::Aurora
            | Self::Spine
            | Self::Policy
            | Self::Forest => 0,
        }
    }

    /// Returns the recurrent units of a policy; 0 if it has none.
    pub const fn hidden(self) -> usize {
        match self {
            Self::Spine => SPINE_HIDDEN,
            _ => 0,
        }
    }

    /// Returns the layers of a policy built from [`crate::learned::layers`], and their names in files.
    pub const fn layers(self) -> Option<(&'static [Layer], &'static [&'static str])> {
        match self {
            Self::Decc | Self::Residual => Some((&DECC, &DECC_NAMES)),
            Self::Aurora => Some((&AURORA, &AURORA_NAMES)),
            Self::Spine => Some((&SPINE, &SPINE_NAMES)),
            _ => None,
        }
    }

    /// Returns true if its files contain the coefficients of a rate law.
    pub const fn has_law(self) -> bool {
        matches!(self, Self::Decc | Self::Law | Self::Residual)
    }

    /// Returns the meaning of an action to a rate law: a residual, or a decision that replaces the law's.
    pub const fn says(self, action: f32) -> PolicyOutput {
        match self {
            Self::Residual => PolicyOutput::Residual(action),
            _ => PolicyOutput::Decision(action),
        }
    }

    /// Returns true if the kind decides; the others predict.
    pub const fn decides(self) -> bool {
        matches!(
            self,
            Self::Adpg
                | Self::Decc
                | Self::Law
                | Self::Residual
                | Self::Aurora
                | Self::Spine
                | Self::Policy
                | Self::Forest
        )
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
