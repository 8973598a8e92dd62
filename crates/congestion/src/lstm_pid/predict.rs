//! Predictors of the next round-trip time.

use std::sync::Arc;

use super::preprocess::Features;
use crate::learned::{Model, ModelKind};

choice! {
    /// Source of the next round-trip time.
    pub enum Predictor {
        /// Long short-term memory, the thesis's network.
        Lstm = "lstm",
        /// Gated recurrent unit over three features.
        Gru = "gru",
        /// Simple recurrent network over three features.
        Rnn = "rnn",
        /// Linear function of the last three features.
        Ar3 = "ar3",
        /// Last sample, without prediction.
        Persistence = "persistence",
        /// Present state of the network, which no real sender knows.
        Oracle = "oracle",
        /// Last sample, under the name of the thesis's ablation.
        None = "none",
    }
}

impl Predictor {
    /// Returns the kind of model that the predictor needs.
    pub const fn kind(self) -> Option<ModelKind> {
        match self {
            Self::Lstm => Some(ModelKind::Lstm),
            Self::Gru => Some(ModelKind::Gru),
            Self::Rnn => Some(ModelKind::Rnn),
            Self::Ar3 => Some(ModelKind::Ar3),
            Self::Persistence | Self::Oracle | Self::None => None,
        }
    }

    /// Returns the name of the built-in model of that kind.
    pub const fn shipped(self) -> Option<&'static str> {
        match self {
            Self::Lstm => Some("rtt-lstm"),
            Self::Gru => Some("rtt-gru"),
            Self::Rnn => Some("rtt-rnn"),
            Self::Ar3 => Some("rtt-ar3"),
            Self::Persistence | Self::Oracle | Self::None => None,
        }
    }
}

/// Predictor of one flow.
#[derive(Clone, Debug)]
pub(super) enum Forecast {
    /// Returns the last sample.
    Last,
    /// Returns the oracle's value.
    Oracle,
    /// Runs a trained model.
    Model(Arc<Model>),
}

impl Forecast {
    /// Creates a predictor with the model that it needs.
    pub(super) fn new(predictor: Predictor, model: Option<Arc<Model>>) -> Self {
        match (predictor, model) {
            (Predictor::Oracle, _) => Self::Oracle,
            (Predictor::None | Predictor::Persistence, _) => Self::Last,
            (_, Some(model)) => Self::Model(model),
            (_, None) => panic!("a predictor that needs a model was validated with one"),
        }
    }

    /// Returns the round-trip time on which the controller acts after the sample `rtt`; before the third
    /// sample that is `rtt` itself.
    pub(super) fn predict(&self, features: &Features, rtt: f64, foresight: f64) -> f64 {
        let (Some(window), false) = (features.window(), matches!(self, Self::Last)) else {
            return rtt;
        };
        match self {
            Self::Model(model) => features.rtt_of(f64::from(model.predict(window))),
            Self::Oracle if foresight > 0.0 => foresight,
            _ => rtt,
        }
    }
}
