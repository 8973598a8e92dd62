//! Comparison of a policy and its distilled forest in scenarios not used for learning.

use paceline_lab::stats::{CONFIDENCE, Interval, interval, paired};
use serde::{Deserialize, Serialize};

/// Quantity in a scenario, over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Name of the quantity.
    pub what: String,
    /// Unit; empty for a plain number.
    pub unit: String,
    /// Values of the teacher.
    pub teacher: Interval,
    /// Values of the forest.
    pub forest: Interval,
    /// Differences, forest minus teacher, by seed.
    pub difference: Interval,
}

/// Scenario used for judging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the scenario.
    pub scenario: String,
    /// Scores of each quantity.
    pub scores: Vec<Score>,
}

/// Column titles of the table of scores.
pub const JUDGED: [&str; 5] = ["scenario", "quantity", "teacher", "forest", "difference"];

impl Judged {
    /// Returns the rows of that table: means, and half-widths of the intervals unless all values are equal.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let estimate = |one: &Interval| match one.half_width() {
            Some(half) => format!("{:.4} ± {half:.4}", one.mean),
            None => format!("{:.4}", one.mean),
        };
        let row = |score: &Score| {
            let what = match &*score.unit {
                "" => score.what.clone(),
                unit => format!("{}, {unit}", score.what),
            };
            let [teacher, forest, difference] =
                [&score.teacher, &score.forest, &score.difference].map(estimate);
            vec![self.scenario.clone(), what, teacher, forest, difference]
        };
        self.scores.iter().map(row).collect()
    }
}

pub(super) fn score(measure: &str, unit: &str, teacher: Vec<f64>, forest: Vec<f64>) -> Option<Score> {
    Some(Score {
        what: measure.into(),
        unit: unit.into(),
        teacher: interval(&teacher, CONFIDENCE)?,
        forest: interval(&forest, CONFIDENCE)?,
        difference: paired(&teacher, &forest, CONFIDENCE)?.difference,
    })
}
