//! The next round-trip time, by one of several ways.

use super::preprocess::Features;

choice! {
    /// Where the next round-trip time is taken from.
    pub enum Predictor {
        /// From nowhere: the control is by the sample itself.
        None = "none",
        /// As the sample: what is measured without prediction, by another name.
        Persistence = "persistence",
        /// From the network's present state, which no sender knows.
        Oracle = "oracle",
    }
}

impl Predictor {
    /// The round-trip time that the controller acts on, after the sample `rtt`.
    pub(super) fn predict(self, features: &Features, rtt: f64, foresight: f64) -> f64 {
        match self {
            Self::None | Self::Persistence => rtt,
            Self::Oracle if features.window().is_some() && foresight > 0.0 => foresight,
            Self::Oracle => rtt,
        }
    }
}
