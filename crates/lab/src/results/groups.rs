//! Flows that belong together: all, those of a scheme, those of a label.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::feedback::{BeforeFeedback, Heard};
use super::flows::FlowState;
use super::marks::FlowMarks;
use super::rows::{Entry, FlowRows};
use super::sizes::between_edges;
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
    /// Of these flows; `reacts` says of each scheme whether it reacts to anything.
    fn of(flows: &FlowRows, reacts: &[bool]) -> Self {
        let mut all = Self::parts(flows, 1, |_| 0, reacts);
        all.pop().unwrap_or_default()
    }

    /// Of each of `count` parts of these flows, of which `part` says to which a flow belongs. They are gone through
    /// several times, however many parts there are. Percentiles take eight bytes per flow, one after another.
    fn parts(flows: &FlowRows, count: usize, part: impl Fn(&Entry) -> usize, reacts: &[bool]) -> Vec<Self> {
        let mut sums: Vec<Sums> = std::iter::repeat_with(Sums::default).take(count).collect();
        for flow in flows.entries() {
            let reacts = reacts.get(flow.scheme as usize);
            sums[part(&flow)].add(&flow, reacts.is_some_and(|&reacts| reacts));
        }
        let slowdowns = Self::values(flows, count, &part, |flow| flow.slowdown);
        let mut slowdowns = slowdowns.into_iter().map(Distribution::of);
        let buckets = SIZE_EDGES.len();
        let by_size = |flow: &Entry| {
            // The first edge is zero: every size has a bucket.
            let bucket = SIZE_EDGES.partition_point(|&edge| edge <= flow.size) - 1;
            part(flow) * buckets + bucket
        };
        let mut sizes = Self::values(flows, count * buckets, by_size, |flow| flow.slowdown).into_iter();
        let times = Self::values(flows, count, &part, |flow| Some(flow.fct_ps? as f64 / 1e6));
        let mut times = times.into_iter().map(Distribution::of);
        let group = |sums: Sums| Self {
            flows: sums.flows,
            fct_slowdown: slowdowns.next().unwrap_or_default(),
            by_size: between_edges(sizes.by_ref().take(buckets), &SIZE_EDGES),
            fct_us: times.next().unwrap_or_default(),
            goodput_gbps: sums.goodput.mean(),
            rate_mean_gbps: (sums.busy_ps > 0).then(|| sums.bytes as f64 * 8e3 / sums.busy_ps as f64),
            jain: sums.goodput.jain(),
            not_started: sums.not_started,
            size_bytes: sums.size,
            retransmitted_bytes: sums.retransmitted,
            marks: sums.marks,
            before_feedback: sums.before_feedback.share(),
            labels: BTreeMap::new(),
        };
        sums.into_iter().map(group).collect()
    }

    /// A value of each completed flow, by part.
    fn values<T>(
        flows: &FlowRows,
        count: usize,
        part: impl Fn(&Entry) -> usize,
        value: impl Fn(&Entry) -> Option<T>,
    ) -> Vec<Vec<T>> {
        let mut values: Vec<Vec<T>> = std::iter::repeat_with(Vec::new).take(count).collect();
        for flow in flows.entries().filter(|flow| flow.status == FlowState::Completed) {
            values[part(&flow)].extend(value(&flow));
        }
        values
    }

    /// Of all flows, and the groups of each scheme, and in it of each label.
    pub(super) fn all_and_parts(flows: &FlowRows, reacts: &[bool]) -> (Self, BTreeMap<String, Self>) {
        let all = Self::of(flows, reacts);
        // Parts by name, and those of a flow by its numbers.
        let mut schemes: BTreeMap<&str, usize> = BTreeMap::new();
        let mut labels: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut known = BTreeMap::new();
        for flow in flows.entries() {
            known.entry((flow.scheme, flow.label)).or_insert_with(|| {
                let (next_scheme, next_label) = (schemes.len(), labels.len());
                let scheme = flows.scheme(&flow);
                let label = (scheme, flows.label(&flow));
                (
                    *schemes.entry(scheme).or_insert(next_scheme),
                    *labels.entry(label).or_insert(next_label),
                )
            });
        }
        // A group of all flows is what is known already.
        let of_schemes = match schemes.len() {
            1 => vec![all.clone()],
            count => Self::parts(flows, count, |flow| known[&(flow.scheme, flow.label)].0, reacts),
        };
        let of_labels = match labels.len() == schemes.len() {
            true => Vec::new(),
            false => Self::parts(
                flows,
                labels.len(),
                |flow| known[&(flow.scheme, flow.label)].1,
                reacts,
            ),
        };
        let mut groups: BTreeMap<String, Self> = (schemes.iter())
            .map(|(name, &scheme)| (name.to_string(), of_schemes[scheme].clone()))
            .collect();
        for ((scheme, label), place) in labels {
            let part = of_labels
                .get(place)
                .unwrap_or(&of_schemes[schemes[scheme]])
                .clone();
            let group = groups.entry(scheme.to_string()).or_default();
            group.labels.insert(label.to_string(), part);
        }
        (all, groups)
    }
}
