//! `report.html` of a training: course and results.

mod adpg;
mod aurora;
mod chart;
mod continual;
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

pub use adpg::adpg;
pub use aurora::aurora;
pub use chart::PolicyPage;
use chart::{STEPS_MAX, chart, thinned};
pub use continual::{continual, head as continual_head, row as continual_row};
pub use courses::{
    Course, CourseErrors, ON_POLICY, by_course, errors_by_course, row as on_policy_row, tested_courses,
    unseen_courses,
};
pub use forest::{Background, Dependence, ForestPage, Weight, dependence, forest, weights};
pub use gains::{GainsPage, MOVED, gains, last_quarter};
pub use law::{clone, refined, residual, search};
pub use network::{COMPARED, Judged, NetworkPage, compared, network, test_pairs};
pub use spine::spine;
