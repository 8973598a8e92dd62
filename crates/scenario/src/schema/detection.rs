//! Values of `[network.detection]`.

use serde::{Deserialize, Serialize};

/// What overrules the marking curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DetectionKind {
    Red,
    NpEcn,
    Tcd,
}

/// Which ternary detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TcdKind {
    Thesis,
    AsCoded,
    Adaptive,
}
