//! `report.html` of a training: how it went, and what came of it.

mod adpg;
mod aurora;
mod courses;
mod data;
mod forest;
mod gains;
mod law;
mod network;
mod rounds;
mod spine;
#[cfg(test)]
mod tests;

use paceline_lab::text::percent;
use paceline_report::{Axis, Chart, Kind, Line, Width};

pub use adpg::adpg;
pub use aurora::aurora;
pub use courses::{
    Course, CourseErrors, ON_POLICY, by_course, errors_by_course, row as on_policy_row, tested_courses,
    unseen_courses,
};
pub use forest::{Background, Dependence, ForestPage, Weight, dependence, forest, weights};
pub use gains::{GainsPage, MOVED, gains, last_quarter};
pub use law::{clone, refined, residual, search};
pub use network::{COMPARED, Judged, NetworkPage, compared, network, test_pairs};
pub use spine::spine;

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
const STEPS_MAX: usize = 1200;

fn chart(title: &str, note: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Chart {
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
fn thinned<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    all.iter()
        .step_by(all.len().div_ceil(most).max(1))
        .copied()
        .collect()
}
