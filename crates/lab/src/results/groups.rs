//! Flows that belong together: all, those of a scheme, those of a label.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::feedback::{BeforeFeedback, Heard};
use super::flows::FlowState;
use super::marks::FlowMarks;
use super::rows::{Entry, FlowRows};
use super::sizes::by_edges;
use crate::stats::{Distribution, Moments};

/// Edges of the buckets of flow sizes, in bytes; the last bucket has no upper edge.
pub const SIZE_EDGES: [u64; 5] = [0, 1_000, 10_000, 100_000, 1_000_000];

/// Number of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCount {
    /// All.
    pub total: u64,
    /// Those of which every byte was acknowledged.
    pub completed: u64,
}

/// Slowdown of the completed flows of `lo <= size < hi` bytes (of the bytes that
/// [`super::Buckets::of`] says).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeBucket {
    /// Smallest size.
    pub lo: u64,
    /// Sizes are below; null for no limit.
    pub hi: Option<u64>,
    /// Completed flows of these sizes.
    pub flows: u64,
    /// Mean slowdown.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Flows that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Number of flows.
    pub flows: FlowCount,
    /// Slowdown of completed flows.
    pub fct_slowdown: Distribution,
    /// The same by size of flow.
    pub by_size: Vec<SizeBucket>,
    /// Completion times of completed flows, in microseconds.
    pub fct_us: Distribution,
    /// Mean over completed flows of payload over completion time.
    pub goodput_gbps: Option<f64>,
    /// Payload of completed flows over the sum of their completion times.
    pub rate_mean_gbps: Option<f64>,
    /// Jain's index over the goodput of completed flows.
    pub jain: Option<f64>,
    /// How many never started: their start lies after the end of the run, or they wait for what did not happen.
    #[serde(default)]
    pub not_started: u64,
    /// Payload of all flows, whether or not it was sent.
    #[serde(default)]
    pub size_bytes: u64,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// Marks of their packets.
    #[serde(default)]
    pub marks: FlowMarks,
    /// What had left before its sender heard anything; null of flows whose scheme does not react.
    #[serde(default)]
    pub before_feedback: Option<BeforeFeedback>,
    /// The same for each label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Self>,
}

/// What is added up over the flows of a group.
#[derive(Default)]
struct Sums {
    flows: FlowCount,
    not_started: u64,
    size: u64,
    bytes: u64,
    busy_ps: u128,
    retransmitted: u64,
    goodput: Moments,
    marks: FlowMarks,
    before_feedback: Heard,
}

impl Sums {
    fn add(&mut self, flow: &Entry, reacts: bool) {
        self.flows.total += 1;
        self.not_started += u64::from(flow.status == FlowState::NotStarted);
        self.size += flow.size;
        self.retransmitted += flow.retransmitted;
        self.marks.add(flow);
        if reacts {
            self.before_feedback.add(flow);
        }
        if flow.status != FlowState::Completed {
            return;
        }
        self.flows.completed += 1;
        self.bytes += flow.size;
        self.busy_ps += u128::from(flow.fct_ps.unwrap_or(0));
        if let Some(goodput) = flow.goodput_gbps() {
            self.goodput.add(goodput);
        }
    }
}

impl Group {
    /// Of these flows, which are gone through several times; `reacts` says of each scheme whether it reacts to
    /// anything. Percentiles take eight bytes per flow, one after another.
    fn of<I: Iterator<Item = Entry>>(flows: impl Fn() -> I, reacts: &[bool]) -> Self {
        let mut sums = Sums::default();
        flows().for_each(|flow| {
            let reacts = reacts.get(flow.scheme as usize);
            sums.add(&flow, reacts.is_some_and(|&reacts| reacts));
        });
        let done = || flows().filter(|flow| flow.status == FlowState::Completed);
        let fct_us = |flow: Entry| Some(flow.fct_ps? as f64 / 1e6);
        Self {
            flows: sums.flows,
            fct_slowdown: Distribution::of(done().filter_map(|flow| flow.slowdown).collect()),
            by_size: by_edges(
                done().filter_map(|flow| Some((flow.size, flow.slowdown?))),
                &SIZE_EDGES,
            ),
            fct_us: Distribution::of(done().filter_map(fct_us).collect()),
            goodput_gbps: sums.goodput.mean(),
            rate_mean_gbps: (sums.busy_ps > 0).then(|| sums.bytes as f64 * 8e3 / sums.busy_ps as f64),
            jain: sums.goodput.jain(),
            not_started: sums.not_started,
            size_bytes: sums.size,
            retransmitted_bytes: sums.retransmitted,
            marks: sums.marks,
            before_feedback: sums.before_feedback.share(),
            labels: BTreeMap::new(),
        }
    }

    /// Of all flows, and the groups of each scheme, and in it of each label.
    pub(super) fn all_and_parts(flows: &FlowRows, reacts: &[bool]) -> (Self, BTreeMap<String, Self>) {
        let all = Self::of(|| flows.entries(), reacts);
        let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut known = BTreeSet::new();
        for flow in flows.entries() {
            if known.insert((flow.scheme, flow.label)) {
                let labels = names.entry(flows.scheme(&flow)).or_default();
                labels.insert(flows.label(&flow));
            }
        }
        // A group of all flows is what is known already.
        let alone = names.len() == 1;
        let mut groups = BTreeMap::new();
        for (scheme, labels) in names {
            let of_scheme = || flows.entries().filter(|flow| flows.scheme(flow) == scheme);
            let group = if alone {
                all.clone()
            } else {
                Self::of(of_scheme, reacts)
            };
            let part = |label: &&str| {
                let of_label = || of_scheme().filter(|flow| flows.label(flow) == *label);
                let part = if labels.len() == 1 {
                    group.clone()
                } else {
                    Self::of(of_label, reacts)
                };
                (label.to_string(), part)
            };
            let labels = labels.iter().map(part).collect();
            groups.insert(scheme.to_string(), Self { labels, ..group });
        }
        (all, groups)
    }
}
