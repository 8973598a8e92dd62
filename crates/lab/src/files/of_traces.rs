//! `collectives.csv`, `critical_path.csv` and `operations.csv`: what jobs by traces leave behind.

use std::io::{self, Write};
use std::path::Path;

use paceline_fabric::Outcome;
use paceline_scenario::{Job, Resolved, TraceOperation, TraceOutcome, cell};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::lines::Lines;

/// The files' names.
pub(crate) const COLLECTIVES: &str = "collectives.csv";
pub(crate) const CRITICAL_PATH: &str = "critical_path.csv";
pub(super) const OPERATIONS: &str = "operations.csv";

/// A row of `operations.csv`; the fields are its columns.
#[derive(Serialize)]
struct OperationRow<'a> {
    #[serde(serialize_with = "cell::serialize")]
    job: &'a str,
    iteration: u32,
    rank: u32,
    #[serde(serialize_with = "cell::serialize")]
    name: &'a str,
    kind: &'static str,
    /// When it waited for nothing any more but its lane or the other members of its collective.
    free_ps: u64,
    start_ps: u64,
    end_ps: u64,
    /// `iteration`: nothing but the start of the iteration. `end` or `start` of the operation in `after`. `lane`: after
    /// that, a lane of its rank, or the other members of its collective.
    began_by: &'static str,
    #[serde(serialize_with = "cell::serialize")]
    after: &'a str,
}

/// Writes rows whose fields are the columns.
pub(super) fn write<T: Serialize>(out: &mut impl Write, rows: &[T]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    for row in rows {
        csv.serialize(row).map_err(io::Error::from)?;
    }
    csv.flush()
}

/// The rows of a file that [`write()`] wrote.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let file = paceline_scenario::open_file(path).map_err(|error| error.to_string())?;
    let mut csv = csv::Reader::from_reader(Lines::of(file));
    let rows = csv
        .deserialize()
        .map(|row| row.map_err(|error| error.to_string()));
    rows.collect()
}

/// Jobs whose operations were recorded.
fn recorded<'a>(
    input: &'a Resolved,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a Job, &'a [TraceOperation])> {
    input.jobs.iter().filter_map(|job| {
        let program = outcome.programs.get(job.trace?.program)?;
        let trace = program.get::<TraceOutcome>()?;
        (!trace.operations.is_empty()).then_some((job, &trace.operations[..]))
    })
}

/// Whether there are operations to write.
pub(super) fn has_operations(input: &Resolved, outcome: &Outcome) -> bool {
    recorded(input, outcome).next().is_some()
}

/// Writes every operation, in the order of their ends.
pub(super) fn write_operations(out: &mut impl Write, input: &Resolved, outcome: &Outcome) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    for (job, operations) in recorded(input, outcome) {
        for one in operations {
            let row = OperationRow {
                job: &job.label,
                iteration: one.iteration,
                rank: one.rank,
                name: &one.name,
                kind: one.kind,
                free_ps: one.free.as_ps(),
                start_ps: one.start.as_ps(),
                end_ps: one.end.as_ps(),
                began_by: if one.free < one.start {
                    "lane"
                } else {
                    one.began_by
                },
                after: &one.after,
            };
            csv.serialize(row).map_err(io::Error::from)?;
        }
    }
    csv.flush()
}
