//! One level deeper: what slowed the sender down and from which port that came, who was in the way there, who
//! was behind the pauses, whom the flow waited for before it started.

use std::borrow::Cow;

use paceline_fabric::Outcome;
use paceline_fabric::flow_probe::{Cut, CutTotals, FlowProbe, Limits, Marks, Pauses, Shared};
use paceline_fabric::spec::{Awaited, NodeKind, RunSpec};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;
use serde::{Deserialize, Serialize};

use crate::results::FlowRows;
use crate::text::{bytes, duration_us, number};

mod text;

/// A flow, looked at closely. Times are of the run, in ps; ports are named as series name them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deeper {
    /// The rate that its sender began with, that of its link, and the last, in bit/s.
    pub began_rate_bps: u64,
    /// See `began_rate_bps`.
    pub line_rate_bps: u64,
    /// See `began_rate_bps`.
    pub ended_rate_bps: u64,
    /// What slowed it down, the most frequent cause first.
    pub causes: Vec<CauseRow>,
    /// The deepest cuts of its rate or window, in order of time.
    pub cuts: Vec<CutRow>,
    /// Ports that marked its packets.
    pub marks: Vec<MarkRow>,
    /// Pauses of the ports on its way, and where they came from.
    pub pauses: Vec<PauseRow>,
    /// The ports where its packets waited, and for whom.
    pub shared: Vec<SharedRow>,
    /// For whose packets its sender waited at its own NIC.
    pub nic: Vec<NicRow>,
    /// The flows that it waited for before it started: the last to let it go, what that had waited for, and so on.
    pub waited_for: Vec<WaitRow>,
    /// The hosts of the flows that are named.
    #[serde(skip)]
    ends: Vec<(u32, u32)>,
    #[serde(skip)]
    hosts: Vec<bool>,
}

/// Cuts of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseRow {
    /// `mark`, `cnp`, `report`, `notice`, `telemetry`, `digest`, `delay`, `loss`, `timeout` or `itself`.
    #[serde(alias = "told")]
    pub cause: Cow<'static, str>,
    /// The port that it came from.
    pub port: Option<String>,
    /// How many cuts.
    pub count: u64,
    /// The first and the last.
    pub first_ps: u64,
    /// See `first_ps`.
    pub last_ps: u64,
    /// The lowest rate that they led to, in bit/s.
    pub lowest_rate_bps: u64,
}

/// A cut of a sender's rate or window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutRow {
    /// When.
    pub at_ps: u64,
    /// By what: as in [`CauseRow`].
    #[serde(alias = "told")]
    pub cause: Cow<'static, str>,
    /// From which port.
    pub port: Option<String>,
    /// The rate before and after, in bit/s.
    pub rate_bps: [u64; 2],
    /// The window before and after, in bytes; null for none.
    pub window_bytes: [Option<u64>; 2],
    /// The round-trip time that came with it.
    pub rtt_ps: Option<u64>,
}

/// A port that marked packets of the flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkRow {
    /// The port.
    pub port: String,
    /// How many packets.
    pub packets: u64,
    /// Of these, as undetermined.
    #[serde(default)]
    pub undetermined: u64,
    /// When the first and the last left it.
    pub first_ps: u64,
    /// See `first_ps`.
    pub last_ps: u64,
    /// The most bytes in the queue behind one of them.
    pub queue_max_bytes: u64,
}

/// Pauses of a port on the way, with one root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseRow {
    /// The port that was paused.
    pub port: String,
    /// The ports that lead to the root, the root last; empty if a host asked for them.
    pub way: Vec<String>,
    /// How many.
    pub count: u64,
    /// For how long in all.
    pub time_ps: u64,
    /// When the first began and the last ended.
    pub first_ps: u64,
    /// See `first_ps`.
    pub last_ps: u64,
    /// Flows and bytes in the root's queue when they were asked for, the most first.
    pub flows: Vec<(u32, u64)>,
}

/// A port where the flow's packets waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedRow {
    /// The port.
    pub port: String,
    /// When the first packet came and the last left.
    pub first_ps: u64,
    /// See `first_ps`.
    pub last_ps: u64,
    /// Flows whose packets left while the flow's waited, the most bytes first.
    pub flows: Vec<NeighbourRow>,
    /// For how long its packets waited for pauses, summed over them.
    pub paused_ps: u64,
    /// And for a link that was down.
    pub idle_ps: u64,
}

/// A flow that was in the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeighbourRow {
    /// The flow.
    pub flow_id: u32,
    /// Bytes that left meanwhile.
    pub bytes: u64,
    /// For how long packets waited for it, summed over them.
    pub waited_ps: u64,
}

/// A flow that used the sender's NIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NicRow {
    /// The flow; null for frames of no flow.
    pub flow_id: Option<u32>,
    /// For how long.
    pub waited_ps: u64,
}

/// A flow that waited for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// The flow that waited.
    pub flow_id: u32,
    /// For which.
    pub waited_for: u32,
    /// Until that had `started`, was `received` whole, or `acknowledged`.
    pub until: Cow<'static, str>,
    /// When that was.
    pub at_ps: u64,
    /// How long it then waited on its own.
    pub delay_ps: u64,
    /// When it started.
    pub start_ps: u64,
}

impl Deeper {
    /// Of a run that looked at the flow.
    pub fn of(spec: &RunSpec, outcome: &Outcome, flows: &FlowRows, flow: u32) -> Option<Self> {
        let look = outcome.flow_probes.iter().find(|look| look.flow == flow)?;
        Some(Self {
            waited_for: chain(spec, outcome, flow),
            ends: flows.rows().map(|row| (row.src, row.dst)).collect(),
            hosts: spec.nodes.iter().map(|kind| *kind == NodeKind::Host).collect(),
            ..Self::from(look)
        })
    }
}

impl From<&FlowProbe> for Deeper {
    fn from(look: &FlowProbe) -> Self {
        let nic = |&(flow, waited): &(u32, paceline_kernel::Span)| NicRow {
            flow_id: (flow != u32::MAX).then_some(flow),
            waited_ps: waited.as_ps(),
        };
        let mut nic: Vec<NicRow> = look.nic.iter().map(nic).collect();
        nic.order_by_key(|row| std::cmp::Reverse(row.waited_ps));
        Self {
            began_rate_bps: look.began.rate.as_bps(),
            line_rate_bps: look.line.as_bps(),
            ended_rate_bps: look.ended.rate.as_bps(),
            causes: look.causes.iter().map(cause).collect(),
            cuts: look.cuts.iter().map(cut).collect(),
            marks: look.marks.iter().map(mark).collect(),
            pauses: look.pauses.iter().map(pause).collect(),
            shared: look.shared.iter().map(shared).collect(),
            nic,
            waited_for: Vec::new(),
            ends: Vec::new(),
            hosts: Vec::new(),
        }
    }
}

fn cause(of: &CutTotals) -> CauseRow {
    CauseRow {
        cause: of.cause.name().into(),
        port: of.port.as_ref().map(ToString::to_string),
        count: of.count,
        first_ps: of.first.as_ps(),
        last_ps: of.last.as_ps(),
        lowest_rate_bps: of.lowest.as_bps(),
    }
}

fn cut(of: &Cut) -> CutRow {
    let window = |limits: &Limits| Some(limits.window.get()).filter(|&bytes| bytes != u64::MAX);
    CutRow {
        at_ps: of.at.as_ps(),
        cause: of.cause.name().into(),
        port: of.port.as_ref().map(ToString::to_string),
        rate_bps: [of.before.rate.as_bps(), of.after.rate.as_bps()],
        window_bytes: [window(&of.before), window(&of.after)],
        rtt_ps: of.rtt.map(|rtt| rtt.as_ps()),
    }
}

fn mark(of: &Marks) -> MarkRow {
    MarkRow {
        port: of.port.to_string(),
        packets: of.count,
        undetermined: of.undetermined,
        first_ps: of.first.as_ps(),
        last_ps: of.last.as_ps(),
        queue_max_bytes: of.queue_max.get(),
    }
}

fn pause(of: &Pauses) -> PauseRow {
    PauseRow {
        port: of.port.to_string(),
        way: of.way.iter().map(ToString::to_string).collect(),
        count: of.count,
        time_ps: of.time.as_ps(),
        first_ps: of.first.as_ps(),
        last_ps: of.last.as_ps(),
        flows: of.flows.clone(),
    }
}

fn shared(of: &Shared) -> SharedRow {
    let row = |of: &paceline_fabric::flow_probe::Neighbour| NeighbourRow {
        flow_id: of.flow,
        bytes: of.bytes,
        waited_ps: of.waited.as_ps(),
    };
    SharedRow {
        port: of.port.to_string(),
        first_ps: of.first.as_ps(),
        last_ps: of.last.as_ps(),
        flows: of.flows.iter().map(row).collect(),
        paused_ps: of.paused.as_ps(),
        idle_ps: of.idle.as_ps(),
    }
}

/// Links of the chain that are told.
const CHAIN_MAX: usize = 100;

/// Whom a flow waited for before it started: of all that it waited for, what happened last; then the same of
/// that flow. It ends at a flow that started when its own time had come.
fn chain(spec: &RunSpec, outcome: &Outcome, flow: u32) -> Vec<WaitRow> {
    let mut found: Vec<WaitRow> = Vec::new();
    let mut at = flow;
    while found.len() < CHAIN_MAX {
        let waits = spec
            .dependencies
            .iter()
            .filter(|dependency| dependency.flow == at);
        let met = waits.filter_map(|dependency| {
            let (until, when) = happened(outcome, dependency.after, dependency.awaited)?;
            Some((when.as_ps() + dependency.delay.as_ps(), dependency, until, when))
        });
        // What flows of programs wait for is in their critical path.
        let Some(start) = outcome.flows.get(at as usize).map(|flow| flow.start) else {
            break;
        };
        let Some((ready, dependency, until, when)) =
            met.max_by_key(|&(ready, dependency, ..)| (ready, dependency.after))
        else {
            break;
        };
        // Otherwise it was its own start time that it waited for.
        if ready < start.as_ps() {
            break;
        }
        found.push(WaitRow {
            flow_id: at,
            waited_for: dependency.after,
            until: until.into(),
            at_ps: when.as_ps(),
            delay_ps: dependency.delay.as_ps(),
            start_ps: start.as_ps(),
        });
        at = dependency.after;
    }
    found
}

/// When what is awaited of a flow happened.
fn happened(outcome: &Outcome, flow: u32, awaited: Awaited) -> Option<(&'static str, Time)> {
    let flow = outcome.flows.get(flow as usize)?;
    use paceline_fabric::outcome::FlowStatus;
    match awaited {
        Awaited::Started => (flow.status != FlowStatus::NotStarted).then_some(("started", flow.start)),
        Awaited::Received => flow.received.map(|at| ("received", at)),
        Awaited::Acknowledged => {
            (flow.status == FlowStatus::Completed).then(|| ("acknowledged", flow.start + flow.fct))
        }
    }
}

fn us(ps: u64) -> String {
    duration_us(Some(ps as f64 / 1e6))
}

fn gbps(bps: u64) -> String {
    format!("{} Gbit/s", number(Some(bps as f64 / 1e9)))
}

fn size(value: u64) -> String {
    bytes(value)
}
