//! What pages of trainings have in common.

use paceline_report::{Axis, Chart, Kind, Line, Width};

/// Everything on the page of a policy, of a training of this type.
#[derive(Debug)]
pub struct PolicyPage<'a, T> {
    /// The training.
    pub trained: &'a T,
    /// The command that makes it again.
    pub command: String,
    /// Names and values of what it was made of.
    pub facts: Vec<(String, String)>,
}

/// Steps of a line of many: more of them nobody sees.
pub(super) const STEPS_MAX: usize = 1200;

pub(super) fn chart(title: &str, note: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Chart {
    Chart {
        title: title.into(),
        note: note.into(),
        x,
        y,
        kind: Kind::Points,
        width: Width::Half,
        lines,
    }
}

/// Every so many-th, so that at most `most` are left.
pub(super) fn thinned<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    all.iter()
        .step_by(all.len().div_ceil(most).max(1))
        .copied()
        .collect()
}
