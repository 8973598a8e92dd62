//! Rows of `flows.csv` and `flows.parquet`, one per flow.

use std::borrow::Cow;
use std::cmp::Ordering;

use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::RunSpec;
use paceline_scenario::{Fidelity, Formula};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

/// Final state of a flow, in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowState {
    /// Every byte was acknowledged.
    Completed,
    /// Still active when the run ended.
    Unfinished,
    /// Not started: its start lies after the end of the run, or its dependencies were not met.
    NotStarted,
    /// No path existed between its hosts.
    Unreachable,
    /// Given up by its sender after too many consecutive timeouts.
    GivenUp,
}

impl FlowState {
    /// All states, in the order of their numbers.
    pub(crate) const ALL: [Self; 5] = [
        Self::Completed,
        Self::Unfinished,
        Self::NotStarted,
        Self::Unreachable,
        Self::GivenUp,
    ];

    /// Returns the name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Unfinished => "unfinished",
            Self::NotStarted => "not-started",
            Self::Unreachable => "unreachable",
            Self::GivenUp => "given-up",
        }
    }
}

impl From<FlowStatus> for FlowState {
    fn from(status: FlowStatus) -> Self {
        match status {
            FlowStatus::Completed => Self::Completed,
            FlowStatus::Unfinished => Self::Unfinished,
            FlowStatus::NotStarted => Self::NotStarted,
            FlowStatus::Unreachable => Self::Unreachable,
            FlowStatus::GivenUp => Self::GivenUp,
        }
    }
}

/// Row of `flows.csv` or `flows.parquet`; the fields are its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow<'a> {
    /// Index in order of start, from 0.
    pub flow_id: u32,
    /// Label of its workload.
    pub label: Cow<'a, str>,
    /// Name of its congestion-control scheme.
    pub scheme: Cow<'a, str>,
    /// Node number of the sender.
    pub src: u32,
    /// Node number of the receiver.
    pub dst: u32,
    /// Priority class of its data packets.
    pub priority: u8,
    /// Payload of the flow, in bytes.
    pub size_bytes: u64,
    /// Start in ps; for a flow that waits for others and never started, the earliest possible one.
    pub start_ps: u64,
    /// Completion time in ps; `None` unless completed.
    pub fct_ps: Option<u64>,
    /// Completion time alone in the network, in ps; see [`paceline_fabric::outcome::FlowRecord::ideal`].
    pub ideal_fct_ps: u64,
    /// [`IdealFct::slowdown`] of the two times; `None` unless completed.
    pub slowdown: Option<f64>,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// Payload bytes sent at least once.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Part of `sent_bytes` that left before the sender had any feedback on the flow.
    #[serde(default)]
    pub unscheduled_bytes: u64,
    /// Data packets that arrived marked as congested ("congestion experienced").
    #[serde(default)]
    pub ce_packets: u32,
    /// Data packets that arrived marked as undetermined ([`paceline_congestion::detect::tcd`]).
    #[serde(default)]
    pub ue_packets: u32,
    /// Final state of the flow.
    pub status: FlowState,
    /// Persistent connection that carried it; a column only of runs that have connections.
    #[serde(default, skip_serializing)]
    pub connection: Option<u32>,
}

impl FlowRow<'_> {
    /// Returns payload over completion time in Gbit/s; `None` unless completed.
    pub fn goodput_gbps(&self) -> Option<f64> {
        let fct = self.fct_ps.filter(|&ps| ps > 0)?;
        Some(self.size_bytes as f64 * 8e3 / fct as f64)
    }
    /// Converts to a row that owns its strings.
    pub fn into_owned(self) -> FlowRow<'static> {
        FlowRow {
            label: Cow::Owned(self.label.into_owned()),
            scheme: Cow::Owned(self.scheme.into_owned()),
            flow_id: self.flow_id,
            src: self.src,
            dst: self.dst,
            priority: self.priority,
            size_bytes: self.size_bytes,
            start_ps: self.start_ps,
            fct_ps: self.fct_ps,
            ideal_fct_ps: self.ideal_fct_ps,
            slowdown: self.slowdown,
            retransmitted_bytes: self.retransmitted_bytes,
            sent_bytes: self.sent_bytes,
            unscheduled_bytes: self.unscheduled_bytes,
            ce_packets: self.ce_packets,
            ue_packets: self.ue_packets,
            status: self.status,
            connection: self.connection,
        }
    }
    /// Returns the completion instant in ps; `None` unless completed.
    pub fn end_ps(&self) -> Option<u64> {
        self.fct_ps.map(|fct| self.start_ps + fct)
    }
}

/// Reference of a run's slowdowns: the method that computes a flow's completion time alone in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdealFct {
    /// Completion time of the flow alone without congestion control; see [`paceline_fabric::ideal`].
    StoreAndForward,
    /// HPCC's formula, in `ns3-hpcc` fidelity: twice the propagation and one payload's time per link, and all bytes
    /// with plain headers on the slowest. Too large for small flows in networks of several hops.
    #[default]
    HpccFormula,
    /// Formula of another fidelity.
    Own(Formula),
}

impl Serialize for IdealFct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for IdealFct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = [Self::StoreAndForward, Self::HpccFormula].into_iter();
        let mut known = known.chain(Fidelity::formula_named(&name).map(Self::Own));
        let unknown = || de::Error::custom(format!("unknown formula `{name}` of completion times"));
        known.find(|one| one.name() == name).ok_or_else(unknown)
    }
}

impl IdealFct {
    /// Returns the reference that a run uses.
    pub fn of(run: &RunSpec) -> Self {
        let model = run.model.as_ref().and_then(|model| Fidelity::named(model.name()));
        match model.and_then(|own| own.formula()) {
            Some(own) => Self::Own(own),
            None if run.quirks.ideal_by_formula => Self::HpccFormula,
            None => Self::StoreAndForward,
        }
    }

    /// Returns the name used in files.
    const fn name(self) -> &'static str {
        match self {
            Self::StoreAndForward => "store-and-forward",
            Self::HpccFormula => "hpcc-formula",
            Self::Own(formula) => formula.name,
        }
    }

    /// Returns the slowdown of a flow with completion time `fct` that takes `ideal` alone, both in ps. A quotient over
    /// a formula is at least 1, as the formulas' authors define it.
    pub fn slowdown(self, fct: u64, ideal: u64) -> f64 {
        let ratio = fct as f64 / ideal.max(1) as f64;
        if self == Self::StoreAndForward {
            ratio
        } else {
            ratio.max(1.0)
        }
    }

    /// Names the author of the formula, for the middle of a sentence; `None` if the reference is simulated.
    pub const fn author(self) -> Option<&'static str> {
        match self {
            Self::StoreAndForward => None,
            Self::HpccFormula => Some("HPCC's formula"),
            Self::Own(formula) => Some(formula.author),
        }
    }
}

impl FlowRow<'_> {
    /// Orders flows for inspection: unfinished ones first, the longest active first, then by descending slowdown.
    pub fn slower_first(&self, other: &Self) -> Ordering {
        let slowdown = |flow: &Self| flow.slowdown.unwrap_or(f64::INFINITY);
        slowdown(other)
            .total_cmp(&slowdown(self))
            .then(self.start_ps.cmp(&other.start_ps))
            .then(self.flow_id.cmp(&other.flow_id))
    }
}

/// Returns the first `count` flows for inspection: unfinished ones, the longest active first, then by descending
/// slowdown. Flows that never ran are left out.
pub fn slowest_of<'a>(flows: impl IntoIterator<Item = FlowRow<'a>>, count: usize) -> Vec<FlowRow<'a>> {
    let ran = |flow: &FlowRow<'_>| !matches!(flow.status, FlowState::NotStarted | FlowState::Unreachable);
    let mut slowest: Vec<FlowRow<'_>> = Vec::new();
    let cut = |slowest: &mut Vec<FlowRow<'a>>| {
        slowest.sort_by(FlowRow::slower_first);
        slowest.truncate(count);
    };
    for flow in flows.into_iter().filter(ran) {
        slowest.push(flow);
        // Now and then, so that each flow costs little.
        if slowest.len() > 2 * count.max(500) {
            cut(&mut slowest);
        }
    }
    cut(&mut slowest);
    slowest
}
