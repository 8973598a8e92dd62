//! Common parts of training reports.

use paceline_report::{Axis, Chart, ChartKind, Line, Width};

/// Contents of the report on a policy; `T` is the type of its training.
#[derive(Debug)]
pub struct PolicyPage<'a, T> {
    /// Training with its history.
    pub trained: &'a T,
    /// Command that reproduces it.
    pub command: String,
    /// Names and values of its inputs.
    pub facts: Vec<(String, String)>,
}

/// Upper limit of the points of a line; more are not visible.
pub(super) const STEPS_MAX: usize = 1200;

pub(super) fn chart(title: &str, note: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Chart {
    Chart {
        title: title.into(),
        note: note.into(),
        x,
        y,
        kind: ChartKind::Points,
        width: Width::Half,
        lines,
    }
}

/// Returns every n-th element, so that at most `most` are left.
pub(super) fn thinned<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    all.iter()
        .step_by(all.len().div_ceil(most).max(1))
        .copied()
        .collect()
}
