//! The numbers that tables were computed from, kept in a file: for others to compute them again, and for tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Reproduction;
use super::kept::Kept;
use super::need::{Done, DoneRun, Input, RunRequest};
use paceline_lab::results::RunStatus;

/// What came of the runs and steps of a reproduction: `outcomes/ID.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// By the runs' names.
    pub runs: BTreeMap<String, Kept>,
    /// By the steps' names.
    pub steps: BTreeMap<String, Kept>,
}

impl Outcomes {
    /// What `reproduction` has of `done`: runs that ended by themselves.
    pub fn of(reproduction: &Reproduction, done: &Done) -> Self {
        let run = |need: &RunRequest| {
            let run = done.ended(need)?;
            // A summary is wanted where no numbers are.
            let summary = run.summary.as_ref().filter(|_| !need.wants_numbers());
            Some((need.name(), Kept::of(run.numbers.as_ref(), summary)))
        };
        let step = |step: &super::Step| {
            let numbers = done.step(step.name)?;
            Some((step.name.to_string(), Kept::of(Some(numbers), None)))
        };
        Self {
            runs: reproduction.needs().iter().filter_map(run).collect(),
            steps: reproduction.steps.iter().filter_map(step).collect(),
        }
    }

    /// The same as if it had been run now, without inputs and traces: those of `reproduction`'s runs that are here.
    ///
    /// # Errors
    /// A scenario that ships cannot be read: a fault of the program.
    pub fn done(&self, reproduction: &Reproduction) -> Result<Done, paceline_scenario::Diagnostics> {
        // Tables are of numbers: any input will do.
        let input = RunRequest::of(Input::Shipped("incast-16", 1), "hpcc").load()?;
        let run = |need: &RunRequest| {
            let kept = self.runs.get(&need.name())?;
            Some(DoneRun {
                input: input.clone(),
                finished: None,
                numbers: need.wants_numbers().then(|| kept.numbers()),
                summary: kept.summary(),
                status: Some(RunStatus::Completed),
                need: need.clone(),
            })
        };
        let step = |step: &super::Step| Some((step.name, self.steps.get(step.name)?.numbers()));
        Ok(Done {
            places: Default::default(),
            runs: reproduction.needs().iter().filter_map(run).collect(),
            steps: reproduction.steps.iter().filter_map(step).collect(),
        })
    }
}
