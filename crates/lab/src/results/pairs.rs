//! Comparison of two schemes on the same traffic, flow by flow.

use paceline_kernel::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use super::rows::{Entry, FlowRows};
use crate::stats::{Interval, bootstrap, percentile};

/// Differences between two schemes flow by flow: completion time under one over that under the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowPairs {
    /// Flows that completed under both.
    pub flows: usize,
    /// Flows that completed under only one scheme, or whose sizes or hosts differ: left out.
    pub unpaired: usize,
    /// Geometric mean of the ratios, with its interval by bootstrap over source hosts; null for fewer than two hosts.
    pub ratio: Option<Interval>,
    /// 5th percentile of the ratios.
    pub p5: f64,
    /// Median of the ratios.
    pub p50: f64,
    /// 95th percentile of the ratios.
    pub p95: f64,
    /// Share of the flows that are faster under the other scheme.
    pub faster: f64,
    /// Share of the flows that are slower under the other scheme.
    pub slower: f64,
}

/// Pairs the flows of `reference` and `other`, one run each in order of flow number; see
/// [`pair_repeats`]. `None` if no flow completed under both.
pub fn pair_flows(reference: &FlowRows, other: &FlowRows, confidence: f64) -> Option<FlowPairs> {
    pair_repeats(&[(reference, other)], confidence)
}

/// Pairs the flows of several repeats: for each repeat, the flows under the reference and under the other scheme, in
/// order of flow number. The units of the bootstrap are the source hosts of each repeat. Returns `None` if no flow
/// completed under both. Percentiles take eight bytes per flow.
pub fn pair_repeats(repeats: &[(&FlowRows, &FlowRows)], confidence: f64) -> Option<FlowPairs> {
    let mut ratios = Vec::new();
    let mut unpaired = 0;
    // Sum of logarithms and count of each (repeat, source).
    let mut hosts: SortedMap<(usize, u32), (f64, f64)> = SortedMap::new();
    for (repeat, (reference, other)) in repeats.iter().enumerate() {
        unpaired += reference.len().abs_diff(other.len());
        for (a, b) in reference.entries().zip(other.entries()) {
            let same = (a.flow, a.src, a.dst, a.size) == (b.flow, b.src, b.dst, b.size);
            let (Some(x), Some(y)) = (fct(&a), fct(&b)) else {
                unpaired += usize::from(a.fct_ps.is_some() != b.fct_ps.is_some());
                continue;
            };
            if !same {
                unpaired += 1;
                continue;
            }
            // Flows of a host share its NIC and are not independent, so hosts are the units that the bootstrap draws.
            let host = hosts.entry((repeat, a.src)).or_default();
            host.0 += libm::log(y / x);
            host.1 += 1.0;
            ratios.push(y / x);
        }
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let hosts: Vec<(f64, f64)> = hosts.into_values().collect();
    let mean_log = |chosen: &[u32]| {
        let add = |(sum, count): (f64, f64), &i: &u32| {
            let (s, c) = hosts[i as usize];
            (sum + s, count + c)
        };
        let (sum, count) = chosen.iter().fold((0.0, 0.0), add);
        (count > 0.0).then(|| sum / count)
    };
    let all: Vec<u32> = (0..hosts.len() as u32).collect();
    let (mean, flows) = (mean_log(&all)?, ratios.len());
    let share = |count: usize| count as f64 / flows as f64;
    Some(FlowPairs {
        flows,
        unpaired,
        ratio: bootstrap(hosts.len(), confidence, mean_log)
            .map(|(lo, hi)| Interval::new(mean, lo, hi, hosts.len()).exp()),
        p5: percentile(&ratios, 0.05)?,
        p50: percentile(&ratios, 0.50)?,
        p95: percentile(&ratios, 0.95)?,
        faster: share(ratios.partition_point(|&ratio| ratio < 1.0)),
        slower: share(flows - ratios.partition_point(|&ratio| ratio <= 1.0)),
    })
}

/// Returns the completion time in ps if it is above zero.
fn fct(flow: &Entry) -> Option<f64> {
    flow.fct_ps.filter(|&ps| ps > 0).map(|ps| ps as f64)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::results::{FlowRow, FlowState};

    fn flow(flow_id: u32, src: u32, fct_ps: Option<u64>) -> FlowRow<'static> {
        FlowRow {
            flow_id,
            label: Cow::Borrowed(""),
            scheme: Cow::Borrowed(""),
            src,
            dst: 9,
            priority: 3,
            size_bytes: 1000,
            start_ps: 0,
            fct_ps,
            ideal_fct_ps: 1,
            slowdown: None,
            retransmitted_bytes: 0,
            sent_bytes: 0,
            unscheduled_bytes: 0,
            ce_packets: 0,
            ue_packets: 0,
            status: FlowState::Completed,
            connection: None,
        }
    }

    #[test]
    fn flows_by_hand() {
        let a = [(0, 1, 100), (1, 1, 100), (2, 2, 100), (3, 2, 100)].map(|(i, s, t)| flow(i, s, Some(t)));
        let b = [
            flow(0, 1, Some(200)),
            flow(1, 1, Some(50)),
            flow(2, 2, None),
            flow(3, 2, Some(100)),
        ];
        let rows = |rows: &[FlowRow<'static>]| FlowRows::from_iter(rows.to_vec());
        let pairs = pair_flows(&rows(&a), &rows(&b), 0.95).unwrap();
        assert_eq!((pairs.flows, pairs.unpaired), (3, 1));
        assert_eq!(
            (pairs.p50, pairs.faster, pairs.slower),
            (1.0, 1.0 / 3.0, 1.0 / 3.0)
        );
        assert!((pairs.ratio.unwrap().mean - 1.0).abs() < 1e-12);
        assert_eq!(pair_flows(&rows(&a), &rows(&[]), 0.95), None);
        // One host: flows but no interval.
        assert_eq!(
            pair_flows(&rows(&a[..2]), &rows(&b[..2]), 0.95).unwrap().ratio,
            None
        );
    }

    #[test]
    fn hosts_are_the_units() {
        // Eight hosts of 100 flows, all flows of a host alike: the interval is that of 8 values.
        let ratio = |host: u32| u64::from(100 + 10 * host);
        let rows = |fct: &dyn Fn(u32) -> u64| -> FlowRows {
            (0..800).map(|i| flow(i, i % 8, Some(fct(i % 8)))).collect()
        };
        let pairs = pair_flows(&rows(&|_| 100), &rows(&ratio), 0.95).unwrap();
        let ratio = pairs.ratio.unwrap();
        assert_eq!(ratio.n, 8);
        assert!(
            ratio
                .ends()
                .is_some_and(|(lo, hi)| (1.10..1.30).contains(&lo) && (1.35..1.55).contains(&hi)),
            "{ratio:?}"
        );
    }
}
