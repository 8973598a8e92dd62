//! Flows and collectives of a run's folder one after the other, for readers that keep only a part of each.
//!
//! Unlike [`super::RunData`], which moves what does not fit in memory to a file, this writes nothing.

use std::path::Path;

use super::data::{content, flow_table, open, repeats_in, table_in};
use super::flows::{csv_rows, parquet_rows};
use super::{Format, ReadError, file_of};
use crate::results::{CollectiveRow, FlowRow};
use paceline_fabric::table::Row as _;
use paceline_kernel::Span;

/// Part of a run's flows, in the order of their numbers.
#[derive(Debug)]
pub enum FlowStep {
    /// A single flow with all its values.
    Flow(FlowRow<'static>),
    /// A sequence of flows that repeat earlier ones at a later time.
    Again {
        /// Number of the first flow of the sequence.
        flow_id: u32,
        /// Length of the sequence, in flows.
        flows: u32,
        /// Flow that the first one repeats; the second repeats the next one, and so on.
        as_flow_id: u32,
        /// Delay of each start, in ps.
        later_ps: u64,
    },
}

/// Calls `visit` for the flows of a run, in the order of their numbers.
///
/// # Errors
/// The folder has no table of flows, or the table is damaged.
pub fn visit_flows(folder: &Path, visit: &mut dyn FnMut(FlowStep)) -> Result<(), ReadError> {
    let (format, name) = flow_table(folder)?;
    let path = folder.join(name);
    let again = match name == format.flows() {
        true => Vec::new(),
        false => repeats_in(folder)?,
    };
    let mut again = again.into_iter().peekable();
    let rows: Box<dyn Iterator<Item = _>> = match format {
        Format::Parquet => Box::new(parquet_rows(&path).map_err(|error| content(&path, error.0))?),
        Format::Csv => Box::new(csv_rows(open(&path)?)),
    };
    let mut repeat = |before: Option<u32>, visit: &mut dyn FnMut(FlowStep)| {
        while let Some(next) = again.next_if(|next| before.is_none_or(|flow| next.flow_id < flow)) {
            visit(FlowStep::Again {
                flow_id: next.flow_id,
                flows: next.flows,
                as_flow_id: next.as_flow_id,
                later_ps: next.later_ps,
            });
        }
    };
    for row in rows {
        let row = row.map_err(|error| content(&path, error.0))?;
        repeat(Some(row.flow_id), visit);
        visit(FlowStep::Flow(row));
    }
    repeat(None, visit);
    Ok(())
}

/// Reads the collectives of jobs from a trace; returns none if the run has no such table.
///
/// # Errors
/// The table is damaged.
pub fn collectives_in(folder: &Path) -> Result<Vec<CollectiveRow>, ReadError> {
    let path = folder.join(file_of(CollectiveRow::DECLARED));
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let table = table_in(&path, CollectiveRow::DECLARED)?;
    Ok(table.rows().unwrap_or_default().to_vec())
}

/// Returns the time in ps after which a pause ends that no frame renews, by the text of a run's `scenario.toml`. `None`
/// if pauses last until a frame ends them.
pub fn pause_expires_after(scenario: &str) -> Option<u64> {
    let table: toml::Table = scenario.parse().ok()?;
    let pfc = table.get("network")?.get("pfc")?;
    let text = |key: &str| pfc.get(key).and_then(toml::Value::as_str);
    let pause: Span = text("pause")?.parse().ok()?;
    (text("mode") == Some("quanta")).then_some(pause.as_ps())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{RunData, Writing};
    use crate::sample;

    #[test]
    fn flows_are_those_of_the_run() {
        let (input, outcome) = sample::incast();
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        for format in [Format::Csv, Format::Parquet] {
            let folder = tmp.path().join(format.flows());
            let how = Writing {
                format,
                ..Writing::default()
            };
            sample::write(&folder, &input, &finished, how);
            let mut visited = Vec::new();
            visit_flows(&folder, &mut |step| match step {
                FlowStep::Flow(row) => visited.push(row),
                FlowStep::Again { .. } => panic!("nothing is repeated"),
            })
            .unwrap();
            let data = RunData::read(&folder).unwrap();
            assert_eq!(visited, data.flows.rows().collect::<Vec<_>>());
        }
        assert!(visit_flows(&tmp.path().join("none"), &mut |_| {}).is_err());
    }

    #[test]
    fn only_quanta_expire() {
        let text = |mode: &str| format!("[network.pfc]\nmode = \"{mode}\"\npause = \"5us\"\n");
        assert_eq!(pause_expires_after(&text("quanta")), Some(5_000_000));
        assert_eq!(pause_expires_after(&text("on-off")), None);
        assert_eq!(pause_expires_after(""), None);
    }
}
