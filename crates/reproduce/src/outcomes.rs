//! Stored numbers behind the tables, for recomputing tables and for tests.

use paceline_kernel::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use super::Reproduction;
use super::kept::StoredValues;
use super::need::{Done, DoneRun, Input, RunRequest};
use paceline_lab::results::RunStatus;

/// Outcomes of the runs and steps of a reproduction: `outcomes/ID.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Outcomes of runs by name.
    pub runs: SortedMap<String, StoredValues>,
    /// Outcomes of steps by name.
    pub steps: SortedMap<String, StoredValues>,
}

impl Outcomes {
    /// Stores the outcomes of `reproduction` in `done`, from runs that completed.
    pub fn of(reproduction: &Reproduction, done: &Done) -> Self {
        let run = |need: &RunRequest| {
            let run = done.ended(need)?;
            // The summary is needed only without extracted numbers.
            let summary = run.summary.as_ref().filter(|_| !need.wants_numbers());
            Some((need.name(), StoredValues::of(run.numbers.as_ref(), summary)))
        };
        let step = |step: &super::Step| {
            let numbers = done.step(step.name)?;
            Some((step.name.to_string(), StoredValues::of(Some(numbers), None)))
        };
        Self {
            runs: reproduction.needs().iter().filter_map(run).collect(),
            steps: reproduction.steps.iter().filter_map(step).collect(),
        }
    }

    /// Restores the outcomes of `reproduction`'s stored runs, without inputs and traces.
    ///
    /// # Errors
    /// If a built-in scenario cannot be read, which is a fault of the program.
    pub fn done(&self, reproduction: &Reproduction) -> Result<Done, paceline_scenario::Diagnostics> {
        // Tables only use numbers, so any input will do.
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
            indices: Default::default(),
            runs: reproduction.needs().iter().filter_map(run).collect(),
            steps: reproduction.steps.iter().filter_map(step).collect(),
        })
    }
}
