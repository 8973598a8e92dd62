//! Close looks at flows, kept in the folder of their run so that a second question about a flow needs no second run.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_fabric::Outcome;
use paceline_fabric::table::{Row, Table};
use paceline_scenario::{NodeNames, Resolved};
use serde::{Deserialize, Serialize};

use super::{Deeper, Why};
use crate::files::{FlowTime, OutputError, flow_times, read_table, write_file, write_table};
use crate::results::{FlowRow, FlowRows, IdealFct, Summary};

/// Records of one flow from a run that recorded it closely.
#[derive(Clone, Debug, PartialEq)]
pub struct CloseLook {
    times: Vec<FlowTime>,
    deeper: Option<Deeper>,
    lines: Vec<(String, String)>,
}

/// Content of `why/FLOW.json` in the run's folder. `why/FLOW.csv` next to it has the rows of `flow_time.csv`.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    /// Version of the program; with the digest of the run it detects a file of another run.
    version: String,
    digest: String,
    deeper: Option<Deeper>,
    /// Details as lines of a name and a text.
    lines: Vec<(String, String)>,
}

impl CloseLook {
    /// Collects the records of a flow from a run that recorded it closely.
    pub fn of(input: &Resolved, outcome: &Outcome, flows: &FlowRows, flow: &FlowRow<'_>) -> Self {
        let (spec, names) = (&*input.run, &input.names);
        let deeper = Deeper::of(spec, outcome, flows, names, flow.flow_id);
        let lines = deeper
            .as_ref()
            .map(|deeper| deeper.lines(flow.flow_id, flow.start_ps));
        let times = flow_times(spec, outcome).into_iter();
        Self {
            times: times.filter(|row| row.flow_id == flow.flow_id).collect(),
            lines: lines.unwrap_or_default(),
            deeper,
        }
    }

    /// Returns the path at which a flow's records are kept.
    pub fn file(run: &Path, flow: u32) -> PathBuf {
        run.join("why").join(format!("{flow}.json"))
    }

    /// Reads the records kept in a run's folder; returns `None` if there are none, or if they are damaged or of another
    /// run.
    pub fn read(run: &Path, summary: &Summary, flow: u32) -> Option<Self> {
        let path = Self::file(run, flow);
        let file: File = serde_json::from_str(&paceline_scenario::read_text(&path).ok()?).ok()?;
        let is_of_run = file.version == crate::identity::version() && file.digest == summary.digest;
        let times = read_table(&path.with_extension("csv"), FlowTime::DECLARED).ok()?;
        is_of_run.then_some(Self {
            times: times.rows()?.to_vec(),
            deeper: file.deeper,
            lines: file.lines,
        })
    }

    /// Keeps the records in a run's folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, run: &Path, summary: &Summary, flow: u32) -> Result<(), OutputError> {
        let path = Self::file(run, flow);
        let folder = run.join("why");
        fs::create_dir_all(&folder).map_err(|source| OutputError::Io {
            action: "create",
            path: folder,
            source,
        })?;
        let file = File {
            version: crate::identity::version().to_string(),
            digest: summary.digest.clone(),
            deeper: self.deeper.clone(),
            lines: self.lines.clone(),
        };
        // The one that is read first comes last.
        write_file(&path.with_extension("csv"), |out| {
            write_table(out, &Table::new(self.times.clone()))
        })?;
        write_file(&path, |out| Ok(serde_json::to_writer_pretty(out, &file)?))
    }
}

impl<'a> Why<'a> {
    /// Breaks down a flow's time by its records; returns `None` if it took no time.
    pub fn close(
        flow: &'a FlowRow<'a>,
        look: &'a CloseLook,
        names: &'a NodeNames,
        ideal: IdealFct,
    ) -> Option<Self> {
        let mut why = Self::new(flow, &look.times, names, ideal)?;
        why.deeper.clone_from(&look.deeper);
        why.lines.clone_from(&look.lines);
        Some(why)
    }

    /// Describes a flow in a fidelity that accounts for no times: only its total time is known.
    pub fn unaccounted(
        flow: &'a FlowRow<'a>,
        end_ps: u64,
        fidelity: &str,
        names: &'a NodeNames,
        ideal: IdealFct,
    ) -> Self {
        let mut why = Self {
            flow,
            total_ps: flow
                .fct_ps
                .unwrap_or_else(|| end_ps.saturating_sub(flow.start_ps)),
            parts: Vec::new(),
            story: String::new(),
            deeper: None,
            incidents: Vec::new(),
            lines: Vec::new(),
            names,
        };
        why.story = format!(
            "{} Fidelity {fidelity} has different ports and hosts, and records no breakdown of completion times: use \
             `fidelity = \"exact\"` for a breakdown without that simulator's quirks.",
            why.describe_time(ideal)
        );
        why
    }
}
