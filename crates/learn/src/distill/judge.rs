//! What a policy and what was made of it come to where neither learned.

use paceline_lab::stats::{CONFIDENCE, Interval, interval, paired};
use serde::{Deserialize, Serialize};

/// A quantity of a scenario, over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Which.
    pub what: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Of the teacher.
    pub teacher: Interval,
    /// Of the forest.
    pub forest: Interval,
    /// The forest's less the teacher's, seed by seed.
    pub difference: Interval,
}

/// A scenario that judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// What it is called.
    pub scenario: String,
    /// Quantity by quantity.
    pub scores: Vec<Score>,
}

/// The head of the table of what judged.
pub const JUDGED: [&str; 5] = ["scenario", "quantity", "teacher", "forest", "difference"];

impl Judged {
    /// Its rows of that table: means and half of their intervals, which equal values have not.
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

pub(super) fn score((what, unit): (&str, &str), teacher: Vec<f64>, forest: Vec<f64>) -> Option<Score> {
    Some(Score {
        what: what.into(),
        unit: unit.into(),
        teacher: interval(&teacher, CONFIDENCE)?,
        forest: interval(&forest, CONFIDENCE)?,
        difference: paired(&teacher, &forest, CONFIDENCE)?.difference,
    })
}
