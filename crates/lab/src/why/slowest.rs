//! Slowest flows of a run, with the largest part of their time: `paceline why RUN`.

use paceline_scenario::NodeNames;
use serde::Serialize;

use super::Why;
use crate::files::FlowTime;
use crate::results::{FlowRow, IdealFct, slowest_of};
use crate::table::{Column, render};
use crate::text::{duration_us, number, short_bytes};

/// Slow flow with the largest part of its time.
#[derive(Clone, Debug, Serialize)]
pub struct Slow<'a> {
    /// Row of the flow in `flows.csv`.
    pub flow: FlowRow<'a>,
    /// Largest part of its time; null if the run did not account for the flow.
    pub main: Option<Main>,
    /// Command that explains the flow in detail.
    pub command: String,
}

/// Largest part of a flow's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Main {
    /// Stage of the part: `sender`, `data`, `host` or `ack`.
    pub stage: crate::files::Stage,
    /// Name of the part, as in `flow_time.csv`.
    pub part: String,
    /// Time of the part in ps.
    pub time_ps: u64,
    /// Share of the flow's total time, 0 to 1.
    pub share: f64,
    /// Port where its packets waited longest on average, if they waited.
    pub port: Option<String>,
    /// Name of that port for readers, such as `leaf 1 -> host 3`; empty without a port.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub at: String,
}

impl Slow<'_> {
    /// Converts to a value that owns its strings.
    pub fn into_owned(self) -> Slow<'static> {
        Slow {
            flow: self.flow.into_owned(),
            main: self.main,
            command: self.command,
        }
    }
}

/// Returns the `count` slowest flows; `run` is the name of the run in commands, `names` are those of its nodes.
pub fn slowest<'a>(
    flows: impl IntoIterator<Item = FlowRow<'a>>,
    times: &[FlowTime],
    count: usize,
    run: &str,
    names: &NodeNames,
) -> Vec<Slow<'a>> {
    let slow = |flow: FlowRow<'a>| Slow {
        main: Why::new(&flow, times, names, IdealFct::StoreAndForward).and_then(|why| why.main()),
        command: format!("paceline why {run} {}", flow.flow_id),
        flow,
    };
    slowest_of(flows, count).into_iter().map(slow).collect()
}

/// Formats flows as a table.
pub fn table(slow: &[Slow<'_>]) -> String {
    let cells = |text: &dyn Fn(&Slow<'_>) -> String| slow.iter().map(text).collect::<Vec<String>>();
    let main = |one: &Slow<'_>| match &one.main {
        Some(main) => format!("{:.0} % {}", 100.0 * main.share, main.words()),
        None => "not accounted for".to_string(),
    };
    let port = |one: &Slow<'_>| one.main.as_ref().map_or_else(String::new, |main| main.at.clone());
    let took = |one: &Slow<'_>| match one.flow.fct_ps {
        Some(ps) => duration_us(Some(ps as f64 / 1e6)),
        None => "unfinished".to_string(),
    };
    render(&[
        Column::right("", "flow", cells(&|one| one.flow.flow_id.to_string())),
        Column::left(
            "",
            "from → to",
            cells(&|one| format!("{} → {}", one.flow.src, one.flow.dst)),
        ),
        Column::right("", "size", cells(&|one| short_bytes(one.flow.size_bytes))),
        Column::right("", "took", cells(&took)),
        Column::right("", "slowdown", cells(&|one| number(one.flow.slowdown))),
        Column::left("", "most of its time", cells(&main)),
        Column::left("", "its packets waited at", cells(&port)),
    ])
}

impl Main {
    /// Describes the part in a few words.
    pub fn words(&self) -> String {
        use crate::files::Stage;
        match (self.stage, self.part.as_str()) {
            (Stage::Sender, "sending") => "sending".into(),
            (Stage::Sender, "resending") => "sending again".into(),
            (Stage::Sender, "window") => "waiting for its window".into(),
            (Stage::Sender, "pacing") => "waiting for its pacing rate".into(),
            (Stage::Sender, "grants") => "waiting for its receiver's grants".into(),
            (Stage::Sender, "paused") => "held back by PFC".into(),
            (Stage::Sender, "credit") => "waiting for credit".into(),
            (Stage::Sender, "nic") => "waiting for its NIC".into(),
            (Stage::Sender, "recovery") => "waiting for missing ACKs".into(),
            (Stage::Sender, _) => "without a path".into(),
            (Stage::Data, "queueing") => "its last packet in queues".into(),
            (Stage::Data, "paused") => "its last packet held back by PFC".into(),
            (Stage::Data, "credit") => "its last packet waiting for credit".into(),
            (Stage::Data, "retried") => "its last packet waiting for links to send frames again".into(),
            (Stage::Data, _) => "its last packet on wires".into(),
            (Stage::Host, _) => "in the receiver's host".into(),
            (Stage::Ack, _) => "the last ACK's way".into(),
        }
    }
}
