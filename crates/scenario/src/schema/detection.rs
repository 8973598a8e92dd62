//! Values of `[network.detection]`.

use serde::{Deserialize, Serialize};

/// Detector that overrides the marking curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DetectionKind {
    Red,
    NpEcn,
    Tcd,
}

/// Variant of ternary congestion detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TcdKind {
    Thesis,
    AsCoded,
    Adaptive,
}
