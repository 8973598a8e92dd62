//! Details of a flow's time: the causes and ports that slowed its sender, competing flows, origins of pauses, and flows
//! that it waited for before its start.

use std::borrow::Cow;

use paceline_fabric::Outcome;
use paceline_fabric::flow_probe::{Cut, CutTotals, FlowProbe, Limits, Marks, Pauses, Shared};
use paceline_fabric::spec::{Awaited, RunSpec};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;
use paceline_scenario::NodeNames;
use serde::{Deserialize, Serialize};

use crate::results::FlowRows;
use crate::text::{bytes, duration_us, number};

mod text;

/// Close look at a flow. Times are of the run, in ps; ports are named as in series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deeper {
    /// Initial rate of its sender in bit/s.
    pub began_rate_bps: u64,
    /// Rate of the sender's link in bit/s.
    pub line_rate_bps: u64,
    /// Last rate of its sender in bit/s.
    pub ended_rate_bps: u64,
    /// Causes of rate or window cuts, the most frequent first.
    pub causes: Vec<CauseRow>,
    /// Deepest cuts of its rate or window, in order of time.
    pub cuts: Vec<CutRow>,
    /// Ports that marked its packets.
    pub marks: Vec<MarkRow>,
    /// Pauses of the ports on its path, and their roots.
    pub pauses: Vec<PauseRow>,
    /// Ports where its packets waited, and the flows that they waited for.
    pub shared: Vec<SharedRow>,
    /// Flows whose packets went first at the sender's NIC.
    pub nic: Vec<NicRow>,
    /// Chain of dependencies before its start: the last flow that it waited for, the flow that this one waited for, and
    /// so on.
    pub waited_for: Vec<WaitRow>,
    /// Source and destination hosts of all flows, by flow number.
    #[serde(skip)]
    ends: Vec<(u32, u32)>,
    #[serde(skip)]
    names: NodeNames,
}

/// Cuts with one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseRow {
    /// Kind of cause: `mark`, `cnp`, `report`, `notice`, `telemetry`, `digest`, `delay`, `loss`, `timeout` or `itself`.
    pub cause: Cow<'static, str>,
    /// Port that caused the cuts, if known.
    pub port: Option<String>,
    /// Number of cuts with this cause.
    pub count: u64,
    /// Time of the first cut.
    pub first_ps: u64,
    /// Time of the last cut.
    pub last_ps: u64,
    /// Lowest rate after one of these cuts, in bit/s.
    pub lowest_rate_bps: u64,
}

/// Cut of a sender's rate or window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutRow {
    /// Time of the cut.
    pub at_ps: u64,
    /// Kind of cause, as in [`CauseRow`].
    pub cause: Cow<'static, str>,
    /// Port that caused the cut, if known.
    pub port: Option<String>,
    /// Rate before and after, in bit/s.
    pub rate_bps: [u64; 2],
    /// Window before and after, in bytes; null for none.
    pub window_bytes: [Option<u64>; 2],
    /// Round-trip time of the acknowledgement that caused the cut, if one did.
    pub rtt_ps: Option<u64>,
}

/// Port that marked packets of the flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkRow {
    /// Name of the port.
    pub port: String,
    /// Number of marked packets.
    pub packets: u64,
    /// Number of packets marked as undetermined.
    #[serde(default)]
    pub undetermined: u64,
    /// Departure of the first marked packet.
    pub first_ps: u64,
    /// Departure of the last marked packet.
    pub last_ps: u64,
    /// Largest queue behind one of them, in bytes.
    pub queue_max_bytes: u64,
}

/// Pauses of a port on the path, with one root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseRow {
    /// Name of the paused port.
    pub port: String,
    /// Ports from the paused one to the root, the root last; empty if a host requested the pauses.
    pub way: Vec<String>,
    /// Number of pauses with this root.
    pub count: u64,
    /// Sum of their durations.
    pub time_ps: u64,
    /// Start of the first pause.
    pub first_ps: u64,
    /// End of the last pause.
    pub last_ps: u64,
    /// Flows and bytes in the root's queue when the pauses were requested, the most first.
    pub flows: Vec<(u32, u64)>,
}

/// Port where the flow's packets waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedRow {
    /// Name of the port.
    pub port: String,
    /// Arrival of the flow's first packet that waited.
    pub first_ps: u64,
    /// Departure of the flow's last packet that waited.
    pub last_ps: u64,
    /// Flows whose packets left while the flow's packets waited, the most bytes first.
    pub flows: Vec<NeighbourRow>,
    /// Time that its packets waited for pauses, summed over packets.
    pub paused_ps: u64,
    /// Time that its packets waited for a link that was down, summed over packets.
    pub idle_ps: u64,
}

/// Flow whose packets went first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeighbourRow {
    /// Number of the other flow.
    pub flow_id: u32,
    /// Bytes of the other flow that left meanwhile.
    pub bytes: u64,
    /// Time that packets waited for it, summed over packets.
    pub waited_ps: u64,
}

/// Flow that used the sender's NIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NicRow {
    /// Number of the flow; null for frames of no flow.
    pub flow_id: Option<u32>,
    /// Time that the flow waited for it.
    pub waited_ps: u64,
}

/// Flow that waited for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Number of the waiting flow.
    pub flow_id: u32,
    /// Number of the flow that it waited for.
    pub waited_for: u32,
    /// Awaited event: that flow `started`, was `received` whole, or `acknowledged`.
    pub until: Cow<'static, str>,
    /// Time of this event.
    pub at_ps: u64,
    /// Additional delay after this event.
    pub delay_ps: u64,
    /// Start of the waiting flow.
    pub start_ps: u64,
}

impl Deeper {
    /// Collects the details of a flow in a run that recorded it closely; returns `None` if the run did not.
    pub fn of(
        spec: &RunSpec,
        outcome: &Outcome,
        flows: &FlowRows,
        names: &NodeNames,
        flow: u32,
    ) -> Option<Self> {
        let look = outcome.flow_probes.iter().find(|look| look.flow == flow)?;
        Some(Self {
            waited_for: chain(spec, outcome, flow),
            ends: flows.rows().map(|row| (row.src, row.dst)).collect(),
            names: names.clone(),
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
            names: NodeNames::default(),
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

/// Maximum length of the chain of dependencies.
const CHAIN_MAX: usize = 100;

/// Follows dependencies back from a flow: of all that it waited for, the one that was met last; then the same for that
/// flow. The chain ends at a flow that started at its scheduled time.
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
        // Dependencies of flows of programs are in the critical path.
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

/// Returns the awaited event of a flow and its time, if it occurred.
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
