//! Published tables and figures that need training, or the predictor apart from a run; and experiments
//! of our own with learned control. Otherwise as [`paceline_lab::reproduce`], whose registry they join.

use paceline_lab::reproduce::Reproduction;

/// Every reproduction of this crate.
pub const REGISTRY: &[Reproduction] = &[];
