//! Recorded operations of jobs by traces.

use paceline_fabric::{Outcome, recorded};
use paceline_jobs::{TraceOperation, TraceOutcome};
use paceline_scenario::{Job, Resolved};

use super::collectives::traces;

recorded! {
    /// an operation of a job by a trace, in the order of their ends
    pub struct OperationRow = "operations", needs "record.operations" {
        /// the job's label
        job: String,
        /// which iteration, from 0
        iteration: u32,
        /// its rank
        rank: u32,
        /// what the trace calls it
        name: String,
        /// `compute`, `send`, `receive`, `all-reduce` and so on; `none` for what does nothing
        kind: String,
        /// when it waited for nothing any more but its lane or the other members of its collective
        free_ps: u64,
        /// when it started
        start_ps: u64,
        /// when it was done
        end_ps: u64,
        /// what let it start: `iteration` (nothing but the start of the iteration), `end` or `start` of the operation in
        /// `after`; `lane` if it then waited for a lane of its rank, or for the other members of its collective
        began_by: String,
        /// that operation
        after: String,
    }
}

/// Returns the operations that were recorded.
pub(crate) fn operation_rows(input: &Resolved, outcome: &Outcome) -> Vec<OperationRow> {
    let of_job = |(job, trace): (&Job, &TraceOutcome)| {
        let row = |one: &TraceOperation| OperationRow {
            job: job.label.clone(),
            iteration: one.iteration,
            rank: one.rank,
            name: one.name.clone(),
            kind: one.kind.to_string(),
            free_ps: one.free.as_ps(),
            start_ps: one.start.as_ps(),
            end_ps: one.end.as_ps(),
            began_by: match one.free < one.start {
                true => "lane",
                false => one.began_by,
            }
            .to_string(),
            after: one.after.clone(),
        };
        trace.operations.iter().map(row).collect::<Vec<_>>()
    };
    traces(input, outcome).flat_map(of_job).collect()
}
