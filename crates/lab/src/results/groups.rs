//! Flows that belong together: all, those of a scheme, those of a label.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::feedback::BeforeFeedback;
use super::flows::{FlowRow, FlowState};
use super::sizes::Buckets;
use crate::stats::{self, Distribution};

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
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// What had left before its sender heard anything; null of flows whose scheme does not react.
    #[serde(default)]
    pub before_feedback: Option<BeforeFeedback>,
    /// The same for each label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Self>,
}

impl Group {
    pub(super) fn of(rows: &[&FlowRow<'_>]) -> Self {
        let done = || rows.iter().filter(|row| row.status == FlowState::Completed);
        let goodput: Vec<f64> = done().filter_map(|row| row.goodput_gbps()).collect();
        let bytes: u64 = done().map(|row| row.size_bytes).sum();
        let busy_ps: u128 = done().filter_map(|row| row.fct_ps).map(u128::from).sum();
        Self {
            flows: FlowCount {
                total: rows.len() as u64,
                completed: done().count() as u64,
            },
            fct_slowdown: Distribution::of(done().filter_map(|row| row.slowdown).collect()),
            by_size: Buckets::Edges(SIZE_EDGES.to_vec()).of(rows.iter().copied()),
            fct_us: Distribution::of(done().filter_map(|row| Some(row.fct_ps? as f64 / 1e6)).collect()),
            goodput_gbps: stats::mean(&goodput),
            rate_mean_gbps: (busy_ps > 0).then(|| bytes as f64 * 8e3 / busy_ps as f64),
            jain: stats::jain(&goodput),
            retransmitted_bytes: rows.iter().map(|row| row.retransmitted_bytes).sum(),
            before_feedback: None,
            labels: BTreeMap::new(),
        }
    }
}

/// The groups of each scheme and, when there are several, of each label in it.
pub(super) fn by_scheme(rows: &[&FlowRow<'_>]) -> BTreeMap<String, Group> {
    let split = |rows: &[&FlowRow<'_>], key: fn(&FlowRow<'_>) -> String| {
        let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (i, row) in rows.iter().enumerate() {
            parts.entry(key(row)).or_default().push(i);
        }
        parts
    };
    let mut groups = BTreeMap::new();
    for (scheme, members) in split(rows, |row| row.scheme.to_string()) {
        let members: Vec<&FlowRow<'_>> = members.iter().map(|&i| rows[i]).collect();
        let mut group = Group::of(&members);
        for (label, part) in split(&members, |row| row.label.to_string()) {
            let part: Vec<&FlowRow<'_>> = part.iter().map(|&i| members[i]).collect();
            group.labels.insert(label, Group::of(&part));
        }
        groups.insert(scheme, group);
    }
    groups
}
