//! One row per flow, as in `flows.csv` and `flows.parquet`.

use std::borrow::Cow;
use std::cmp::Ordering;

use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::RunSpec;
use paceline_scenario::{Fidelity, Formula};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

/// How a flow ended, in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowState {
    /// Every byte was acknowledged.
    Completed,
    /// Still under way when the run ended.
    Unfinished,
    /// Its start lies after the end of the run, or what it waits for did not happen.
    NotStarted,
    /// There was no path between its hosts.
    Unreachable,
    /// Its sender gave up after too many timeouts in a row.
    GivenUp,
}

impl FlowState {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 5] = [
        Self::Completed,
        Self::Unfinished,
        Self::NotStarted,
        Self::Unreachable,
        Self::GivenUp,
    ];

    /// As files say it.
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

/// A row of `flows.csv` or `flows.parquet`; the fields are its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow<'a> {
    /// Its place in order of start, from 0.
    pub flow_id: u32,
    /// The label of its workload.
    pub label: Cow<'a, str>,
    /// Its scheme.
    pub scheme: Cow<'a, str>,
    /// Sending node.
    pub src: u32,
    /// Receiving node.
    pub dst: u32,
    /// Priority class.
    pub priority: u8,
    /// Payload.
    pub size_bytes: u64,
    /// Start, in ps; of a flow that waits for others and never started, the earliest possible one.
    pub start_ps: u64,
    /// Completion time, in ps; `None` unless completed.
    pub fct_ps: Option<u64>,
    /// Completion time alone in the network, in ps: see [`paceline_fabric::outcome::FlowRecord::ideal`].
    pub ideal_fct_ps: u64,
    /// [`IdealFct::slowdown`] of the two; `None` unless completed.
    pub slowdown: Option<f64>,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// Payload bytes sent at least once.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Of these, the bytes that left before the sender had any feedback on the flow.
    #[serde(default, alias = "before_feedback_bytes")]
    pub unscheduled_bytes: u64,
    /// Data packets that came to the receiver marked as congested ("congestion experienced").
    #[serde(default)]
    pub ce_packets: u32,
    /// And as undetermined ([`paceline_congestion::detect::tcd`]).
    #[serde(default)]
    pub ue_packets: u32,
    /// How it ended.
    pub status: FlowState,
    /// The persistent connection that carried it; a column of runs that have them.
    #[serde(default, skip_serializing)]
    pub connection: Option<u32>,
}

impl FlowRow<'_> {
    /// Payload over completion time in Gbit/s; `None` unless completed.
    pub fn goodput_gbps(&self) -> Option<f64> {
        let fct = self.fct_ps.filter(|&ps| ps > 0)?;
        Some(self.size_bytes as f64 * 8e3 / fct as f64)
    }
    /// The same row, with strings of its own.
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
    /// When it completed, in ps.
    pub fn end_ps(&self) -> Option<u64> {
        self.fct_ps.map(|fct| self.start_ps + fct)
    }
}

/// What a run's slowdowns are over: how the completion time of a flow alone is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IdealFct {
    /// What a run of the flow alone under no scheme takes: see [`paceline_fabric::ideal`].
    StoreAndForward,
    /// HPCC's formula, in `ns3-hpcc` fidelity: twice the propagation and one payload's time per link, and all
    /// bytes with plain headers at the slowest. Too large for small flows in networks of several hops.
    #[default]
    HpccFormula,
    /// A formula of a fidelity's own.
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
    /// Of such a run.
    pub fn of(run: &RunSpec) -> Self {
        let model = run.model.as_ref().and_then(|model| Fidelity::named(model.name()));
        match model.and_then(|own| own.formula()) {
            Some(own) => Self::Own(own),
            None if run.quirks.ideal_by_formula => Self::HpccFormula,
            None => Self::StoreAndForward,
        }
    }

    /// As files say it.
    const fn name(self) -> &'static str {
        match self {
            Self::StoreAndForward => "store-and-forward",
            Self::HpccFormula => "hpcc-formula",
            Self::Own(formula) => formula.name,
        }
    }

    /// The slowdown of a flow with completion time `fct` that alone takes `ideal`, both in ps: the quotient.
    /// Over a formula it is at least 1, as the formulas' authors have it.
    pub fn slowdown(self, fct: u64, ideal: u64) -> f64 {
        let ratio = fct as f64 / ideal.max(1) as f64;
        if self == Self::StoreAndForward {
            ratio
        } else {
            ratio.max(1.0)
        }
    }

    /// Who says what a flow alone takes, in the middle of a sentence; nothing if it does take that.
    pub const fn author(self) -> Option<&'static str> {
        match self {
            Self::StoreAndForward => None,
            Self::HpccFormula => Some("HPCC's formula"),
            Self::Own(formula) => Some(formula.author),
        }
    }
}

impl FlowRow<'_> {
    /// The order in which flows are looked at: those that did not finish, longest under way first, then by
    /// falling slowdown.
    pub fn slower_first(&self, other: &Self) -> Ordering {
        let slowdown = |flow: &Self| flow.slowdown.unwrap_or(f64::INFINITY);
        slowdown(other)
            .total_cmp(&slowdown(self))
            .then(self.start_ps.cmp(&other.start_ps))
            .then(self.flow_id.cmp(&other.flow_id))
    }
}

/// The first of some flows in the order in which they are looked at: those that did not finish, longest under way
/// first, then by falling slowdown. Flows that never ran are left out.
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
