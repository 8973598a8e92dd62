//! Which networks there are: what each reads, what it gives, and its layers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decc::law::Said;
use crate::learned::features::{
    AURORA_FEATURES, AURORA_INPUTS, LAW_FEATURES, SPINE_FEATURES, SPINE_HIDDEN, SPINE_INPUTS, SPINE_OUTPUTS,
};
use crate::learned::layers::{Layer, Units};
use crate::learned::recurrent::STEPS;

/// The features that a network reads, in their order.
pub const FEATURES: [&str; STEPS] = ["K[t-2]", "K[t-1]", "K[t]"];

/// What a network predicts.
pub const OUTPUT: &str = "L[t]";

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Long short-term memory and a linear layer.
    Lstm,
    /// A gated recurrent unit and a linear layer.
    Gru,
    /// A simple recurrent network and a linear layer.
    Rnn,
    /// Linear in the three features.
    Ar3,
    /// ADPG's policy: see [`crate::learned::mlp`].
    Adpg,
    /// DECC's policy as a network in a rate law's place: [`DECC`].
    Decc,
    /// DECC's policy as a rate law: [`crate::decc::law`].
    Law,
    /// DECC's policy as a rate law and a network alongside it.
    Residual,
    /// Aurora's policy: [`AURORA`].
    Aurora,
    /// SPINE's watcher and policy generator: [`SPINE`].
    Spine,
    /// A policy that somebody trained, with a card of its own: see [`crate::learned::stack`].
    #[serde(skip)]
    Policy,
    /// Boosted trees: see [`crate::learned::forest`]. They have a file of their own, and no card says that it is one.
    #[serde(skip)]
    Forest,
}

/// DECC's network; how its tensors are called in a file is [`DECC_NAMES`].
pub const DECC: [Layer; 3] = [
    Layer::new(crate::decc::features::INPUTS, 32, Units::Rectified),
    Layer::new(32, 32, Units::Rectified),
    Layer::new(32, 1, Units::Tanh),
];

/// Aurora's network; how its tensors are called in a file is [`AURORA_NAMES`].
pub const AURORA: [Layer; 3] = [
    Layer::new(AURORA_INPUTS, 32, Units::Tanh),
    Layer::new(32, 16, Units::Tanh),
    Layer::new(16, 1, Units::Linear),
];

/// SPINE's network, a trunk that remembers and two heads in one layer; how its tensors are called in a file is
/// [`SPINE_NAMES`].
pub const SPINE: [Layer; 2] = [
    Layer::new(SPINE_INPUTS, SPINE_HIDDEN, Units::Gated),
    Layer::new(SPINE_HIDDEN, SPINE_OUTPUTS, Units::Linear),
];

/// The layers of [`SPINE`], as files have them.
pub const SPINE_NAMES: [&str; 2] = ["trunk", "heads"];

/// The layers of [`AURORA`], as files have them.
pub const AURORA_NAMES: [&str; 3] = ["first", "second", "last"];

/// The layers of [`DECC`], as files have them.
pub const DECC_NAMES: [&str; 3] = ["first", "second", "last"];

impl Kind {
    /// Those that decide, each the policy of the scheme of its name; a forest may stand for any of them but SPINE's and
    /// `policy`'s, which may remember.
    pub const POLICIES: [Self; 5] = [Self::Adpg, Self::Decc, Self::Aurora, Self::Spine, Self::Policy];

    /// The scheme whose policy it is, where it decides.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Law | Self::Residual => Self::Decc.name(),
            _ => self.name(),
        }
    }

    /// Its name in a card.
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

    /// What it reads, in order; of a forest its file says that.
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

    /// What it gives.
    pub const fn output(self) -> &'static str {
        match self {
            Self::Adpg | Self::Decc | Self::Residual | Self::Aurora => "a[t]",
            Self::Law => "log(w[t] / w[t-1])",
            Self::Spine => "trigger, alpha, beta, gamma, delta",
            _ => OUTPUT,
        }
    }

    /// Rows of weights per unit of the hidden state.
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

    /// Units that remember, of a policy; 0 without any.
    pub const fn hidden(self) -> usize {
        match self {
            Self::Spine => SPINE_HIDDEN,
            _ => 0,
        }
    }

    /// The layers of a policy that is a network of [`crate::learned::layers`], and how files call them.
    pub const fn layers(self) -> Option<(&'static [Layer], &'static [&'static str])> {
        match self {
            Self::Decc | Self::Residual => Some((&DECC, &DECC_NAMES)),
            Self::Aurora => Some((&AURORA, &AURORA_NAMES)),
            Self::Spine => Some((&SPINE, &SPINE_NAMES)),
            _ => None,
        }
    }

    /// Whether its files have the coefficients of a rate law.
    pub const fn has_law(self) -> bool {
        matches!(self, Self::Decc | Self::Law | Self::Residual)
    }

    /// What an action means to a rate law: a residual, or a decision in the law's place.
    pub const fn says(self, action: f32) -> Said {
        match self {
            Self::Residual => Said::Beside(action),
            _ => Said::Instead(action),
        }
    }

    /// Whether it decides; otherwise it predicts.
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
