//! What compares runs with those of the packet-level model of RRCC's author, which are deterministic: step by step, message by
//! message.

mod demo;
mod fat_tree;
mod reference;
mod steps;

use paceline_lab::measures::{MeasureSet, Metrics};

pub use steps::step;

/// Sets of measures that compare with runs of the model.
pub(super) const SETS: &[MeasureSet] = &[demo::SET, fat_tree::SET];

/// Names with their numbers, those that are numbers at all.
fn numbers<const N: usize>(values: [(&'static str, Option<f64>); N]) -> Metrics {
    let known = values.into_iter();
    Metrics::of(known.map(|(name, value)| (name, value.filter(|value| value.is_finite()))))
}
