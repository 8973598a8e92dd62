//! The next round-trip time, by one of several ways.

use std::sync::Arc;

use super::preprocess::Features;
use crate::learned::{Kind, Model};

choice! {
    /// Where the next round-trip time is taken from.
    pub enum Predictor {
        /// The thesis's network: long short-term memory.
        Lstm = "lstm",
        /// A gated recurrent unit.
        Gru = "gru",
        /// A simple recurrent network.
        Rnn = "rnn",
        /// A linear function of the last three features.
        Ar3 = "ar3",
        /// From nowhere: the last sample itself.
        Persistence = "persistence",
        /// From the network's present state, which no sender knows.
        Oracle = "oracle",
        /// From nowhere: the last sample itself, by the name that it has as the thesis's own module test.
        None = "none",
    }
}

impl Predictor {
    /// The kind of model that it needs.
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::Lstm => Some(Kind::Lstm),
            Self::Gru => Some(Kind::Gru),
            Self::Rnn => Some(Kind::Rnn),
            Self::Ar3 => Some(Kind::Ar3),
            Self::Persistence | Self::Oracle | Self::None => None,
        }
    }

    /// The model of that kind that ships.
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

/// A predictor at work.
#[derive(Clone, Debug)]
pub(super) enum Forecast {
    /// The last sample.
    Last,
    /// What the network's state says.
    Oracle,
    /// A model.
    Model(Arc<Model>),
}

impl Forecast {
    /// Of a predictor and the model that it needs.
    pub(super) fn new(predictor: Predictor, model: Option<Arc<Model>>) -> Self {
        match (predictor, model) {
            (Predictor::Oracle, _) => Self::Oracle,
            (Predictor::None | Predictor::Persistence, _) => Self::Last,
            (_, Some(model)) => Self::Model(model),
            (_, None) => panic!("a predictor that needs a model was validated with one"),
        }
    }

    /// The round-trip time that the controller acts on, after the sample `rtt`: before there are three
    /// samples that sample itself.
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
