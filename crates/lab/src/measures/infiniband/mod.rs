//! Networks under credits: InfiniBand, and the model of RRCC's author.

mod messages;
mod ports;
mod rates;
mod row;

pub(super) use messages::{ALL_TO_ALL, MESSAGE, MPI, VICTIMS};
pub(super) use ports::POINTS;
pub(super) use rates::{ON_OFF, RECEIVED, SHARES};
pub(super) use row::ROW;

use super::Metrics;

/// Names with their numbers, those that are numbers at all.
fn finite<const N: usize>(values: [(&'static str, Option<f64>); N]) -> Metrics {
    let known = values.into_iter();
    Metrics::of(known.map(|(name, value)| (name, value.filter(|value| value.is_finite()))))
}
