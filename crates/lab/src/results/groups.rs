//! Groups of flows: all, those of a scheme, those of a label.

use paceline_fabric::RunSpec;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use super::feedback::{Heard, Unscheduled, reacting};
use super::flows::FlowState;
use super::marks::FlowMarks;
use super::rows::{Entry, FlowRows};
use super::sizes::between_edges;
use crate::stats::{Distribution, Moments, Samples};
use crate::text::natural_order;

/// Edges of the buckets of flow sizes, in bytes; the last bucket has no upper edge.
pub const SIZE_EDGES: [u64; 5] = [0, 1_000, 10_000, 100_000, 1_000_000];

/// Maximum number of labels per scheme in a summary: those with most payload.
pub const LABELS_MAX: usize = 64;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Flows of a group, and those that completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCount {
    /// All flows of the group, completed or not.
    pub total: u64,
    /// Flows of which every byte was acknowledged.
    pub completed: u64,
}

/// Slowdown of the completed flows of `lo <= size < hi` bytes (bytes as [`super::Buckets::of`] defines).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeBucket {
    /// Smallest size of the bucket, in bytes.
    pub lo: u64,
    /// Exclusive upper limit of sizes in bytes; null for no limit.
    pub hi: Option<u64>,
    /// Completed flows of these sizes.
    pub flows: u64,
    /// Mean slowdown; null without completed flows.
    pub mean: Option<f64>,
    /// Median slowdown of these flows.
    pub p50: Option<f64>,
    /// 95th percentile of slowdown.
    pub p95: Option<f64>,
    /// 99th percentile of slowdown.
    pub p99: Option<f64>,
}

/// Statistics of a group of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Flows in total, and completed.
    pub flows: FlowCount,
    /// Slowdown of completed flows.
    pub fct_slowdown: Distribution,
    /// Slowdown of completed flows by flow size.
    pub by_size: Vec<SizeBucket>,
    /// Completion times of completed flows, in microseconds.
    pub fct_us: Distribution,
    /// Payload of completed flows over the sum of their completion times: the average rate of an active flow.
    pub rate_while_active_gbps: Option<f64>,
    /// Jain's index over the goodput of the flows. Rates of flows of several sizes are not comparable, and those of
    /// completed flows omit the slowest flows: null unless all are of one size and completed.
    pub jain: Option<f64>,
    /// Flows that never started: their start lies after the end of the run, or their dependencies were not met.
    #[serde(default)]
    pub not_started: u64,
    /// Payload of all flows in bytes, sent or not.
    #[serde(default)]
    pub size_bytes: u64,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// Congestion marks of their packets.
    #[serde(default)]
    pub marks: FlowMarks,
    /// Bytes that left before their sender had any feedback; null for flows whose scheme does not react.
    #[serde(default)]
    pub unscheduled: Option<Unscheduled>,
    /// Groups by label; at most the [`LABELS_MAX`] labels with most payload.
    #[serde(default, skip_serializing_if = "SortedMap::is_empty")]
    pub labels: SortedMap<String, Self>,
    /// Number of further labels; `labels.csv` has all.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more_labels: u64,
}

/// Sums over the flows of a group.
#[derive(Default)]
struct Sums {
    flows: FlowCount,
    not_started: u64,
    size: u64,
    bytes: u64,
    busy_ps: u128,
    retransmitted: u64,
    goodput: Moments,
    one_size: Option<u64>,
    several_sizes: bool,
    marks: FlowMarks,
    unscheduled: Heard,
}

impl Sums {
    /// Adds `times` equal flows; `is_adaptive` holds for each scheme whether it reacts to feedback.
    fn add(&mut self, flow: &Entry, times: u32, is_adaptive: &[bool]) {
        let all = u64::from(times);
        self.flows.total += all;
        self.not_started += all * u64::from(flow.status == FlowState::NotStarted);
        self.size += all * flow.size;
        self.several_sizes |= *self.one_size.get_or_insert(flow.size) != flow.size;
        self.retransmitted += all * flow.retransmitted;
        self.marks.add(flow, all);
        if is_adaptive.get(flow.scheme as usize) == Some(&true) {
            self.unscheduled.add(flow, all);
        }
        if flow.status != FlowState::Completed {
            return;
        }
        self.flows.completed += all;
        self.bytes += all * flow.size;
        self.busy_ps += u128::from(all) * u128::from(flow.fct_ps.unwrap_or(0));
        if let Some(goodput) = flow.goodput_gbps() {
            self.goodput.add(goodput, times);
        }
    }

    fn jain(&self) -> Option<f64> {
        let alike = !self.several_sizes && self.flows.completed == self.flows.total;
        self.goodput.jain().filter(|_| alike)
    }

    /// Builds the group without the statistics that require sorted flows.
    fn group(&self) -> Group {
        Group {
            flows: self.flows,
            rate_while_active_gbps: (self.busy_ps > 0).then(|| self.bytes as f64 * 8e3 / self.busy_ps as f64),
            jain: self.jain(),
            not_started: self.not_started,
            size_bytes: self.size,
            retransmitted_bytes: self.retransmitted,
            marks: self.marks,
            unscheduled: self.unscheduled.share(),
            ..Group::default()
        }
    }
}

impl Group {
    /// Builds the group of these flows; `is_adaptive` holds for each scheme whether it reacts to feedback.
    fn of(flows: &FlowRows, is_adaptive: &[bool]) -> Self {
        let mut all = Self::parts(flows, 1, |_| 0, is_adaptive);
        all.pop().unwrap_or_default()
    }

    /// Builds the groups of `count` parts of these flows; `part` maps a flow to its part. The flows are read several
    /// times, independently of the number of parts, because percentiles take eight bytes per flow and are computed one
    /// after another.
    fn parts(
        flows: &FlowRows,
        count: usize,
        part: impl Fn(&Entry) -> usize,
        is_adaptive: &[bool],
    ) -> Vec<Self> {
        let mut sums: Vec<Sums> = std::iter::repeat_with(Sums::default).take(count).collect();
        for (flow, times) in flows.distinct_entries() {
            sums[part(&flow)].add(&flow, times.times, is_adaptive);
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
        let times = Self::values(flows, count, &part, Entry::fct_us);
        let mut times = times.into_iter().map(Distribution::of);
        let group = |sums: Sums| Self {
            fct_slowdown: slowdowns.next().unwrap_or_default(),
            by_size: between_edges(sizes.by_ref().take(buckets), &SIZE_EDGES),
            fct_us: times.next().unwrap_or_default(),
            ..sums.group()
        };
        sums.into_iter().map(group).collect()
    }

    /// Collects a value of each completed flow, by part.
    fn values(
        flows: &FlowRows,
        count: usize,
        part: impl Fn(&Entry) -> usize,
        value: impl Fn(&Entry) -> Option<f64>,
    ) -> Vec<Samples> {
        let mut values = vec![Samples::default(); count];
        for (flow, times) in flows.distinct_entries() {
            if flow.status == FlowState::Completed {
                values[part(&flow)].extend(value(&flow).map(|value| (value, times.times)));
            }
        }
        values
    }

    /// Returns the group of all flows, and the groups of each scheme with those of its labels with most payload.
    pub(super) fn all_and_parts(flows: &FlowRows, is_adaptive: &[bool]) -> (Self, SortedMap<String, Self>) {
        let (all, mut groups) = Self::all_and_all_parts(flows, is_adaptive);
        for group in groups.values_mut() {
            (group.labels, group.more_labels) = largest(std::mem::take(&mut group.labels));
        }
        (all, groups)
    }

    /// Returns the group of all flows, and the groups of each scheme with those of all its labels.
    fn all_and_all_parts(flows: &FlowRows, is_adaptive: &[bool]) -> (Self, SortedMap<String, Self>) {
        let all = Self::of(flows, is_adaptive);
        // Parts by name, and those of a flow by its numbers.
        let mut schemes: SortedMap<&str, usize> = SortedMap::new();
        let mut labels: SortedMap<(&str, &str), usize> = SortedMap::new();
        let mut known = SortedMap::new();
        for (flow, _) in flows.distinct_entries() {
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
        // A group of all flows has been computed already.
        let of_schemes = match schemes.len() {
            1 => vec![all.clone()],
            count => Self::parts(
                flows,
                count,
                |flow| known[&(flow.scheme, flow.label)].0,
                is_adaptive,
            ),
        };
        let of_labels = match labels.len() == schemes.len() {
            true => Vec::new(),
            false => Self::parts(
                flows,
                labels.len(),
                |flow| known[&(flow.scheme, flow.label)].1,
                is_adaptive,
            ),
        };
        let mut groups: SortedMap<String, Self> = (schemes.iter())
            .map(|(name, &scheme)| (name.to_string(), of_schemes[scheme].clone()))
            .collect();
        for ((scheme, label), index) in labels {
            let part = of_labels
                .get(index)
                .unwrap_or(&of_schemes[schemes[scheme]])
                .clone();
            let group = groups.entry(scheme.to_string()).or_default();
            group.labels.insert(label.to_string(), part);
        }
        (all, groups)
    }
}

/// Returns the groups of every label of every scheme of a run.
pub(crate) fn labels_of(spec: &RunSpec, flows: &FlowRows) -> SortedMap<String, SortedMap<String, Group>> {
    let (_, groups) = Group::all_and_all_parts(flows, &reacting(spec));
    groups
        .into_iter()
        .map(|(scheme, group)| (scheme, group.labels))
        .collect()
}

/// Returns the labels with most payload, and the number of the others.
fn largest(mut labels: SortedMap<String, Group>) -> (SortedMap<String, Group>, u64) {
    let more = labels.len().saturating_sub(LABELS_MAX);
    if more > 0 {
        let mut sizes: Vec<(u64, String)> = labels
            .iter()
            .map(|(name, group)| (group.size_bytes, name.clone()))
            .collect();
        sizes.order_by(|a, b| b.0.cmp(&a.0).then_with(|| natural_order(&a.1, &b.1)));
        for (_, name) in &sizes[LABELS_MAX..] {
            labels.remove(name);
        }
    }
    (labels, more as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Flows of several sizes have no fairness index, nor have completed flows if others did not complete; equal flows
    /// have one.
    #[test]
    fn only_like_flows_are_compared() {
        let (input, outcome) = sample::incast();
        let rows = sample::rows(&input, &outcome);
        let jain = |change: &dyn Fn(&mut super::super::flows::FlowRow<'_>)| {
            let rows = rows.changed(|flows| flows.iter_mut().for_each(change));
            Group::all_and_parts(&rows, &reacting(&input.run)).0.jain
        };
        assert_eq!(jain(&|_| {}), None);
        let complete = |flow: &mut super::super::flows::FlowRow<'_>| {
            flow.status = FlowState::Completed;
            flow.fct_ps = Some(1_000_000 * u64::from(1 + flow.flow_id % 2));
        };
        assert_eq!(jain(&complete), None);
        // Rates of 2, 1 and 2.
        let like = jain(&|flow| {
            complete(flow);
            flow.size_bytes = 1_000;
        });
        assert!((like.unwrap() - 25.0 / 27.0).abs() < 1e-12, "{like:?}");
    }
}
