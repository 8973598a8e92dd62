//! `summary.json`.

use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{Counters, QueueRecord};
use serde::{Deserialize, Serialize};

use super::checks;
use super::collectives::{CollectiveTime, collective_times};
use super::flows::{FlowRow, FlowState, flow_rows};
use super::groups::{FlowCount, Group, SizeBucket, by_scheme};
use crate::stats::{self, Distribution, RttSummary};
use paceline_scenario::Resolved;

/// Whether a run ended by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Nothing was left to happen, or the stop time was reached.
    Completed,
    /// It was interrupted.
    Partial,
}

/// What a run cost. All that may differ between two runs of the same input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    /// Elapsed time, in seconds.
    pub wall_s: f64,
    /// Processor time of the thread that ran it, in seconds; 0 where unknown.
    pub cpu_s: f64,
    /// Largest resident memory of the process so far, in bytes; 0 where unknown.
    pub peak_rss_bytes: u64,
}

/// A run in numbers: the content of `summary.json`, in its order. Times are in seconds unless
/// their names say otherwise; what no flow gave is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The program's version.
    pub version: String,
    /// The scenario's name.
    pub scenario: String,
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Whether the run ended by itself.
    pub status: RunStatus,
    /// The instant at which the run ended.
    pub simulated_s: f64,
    /// See [`Machine::wall_s`].
    pub wall_s: f64,
    /// See [`Machine::cpu_s`].
    pub cpu_s: f64,
    /// Events executed.
    pub events: u64,
    /// Transmissions of packets of any kind over links.
    pub packet_hops: u64,
    /// Packet-hops per second of processor time (of elapsed time where that is unknown).
    pub packet_hops_per_s: f64,
    /// See [`Machine::peak_rss_bytes`].
    pub peak_rss_bytes: u64,
    /// Number of flows.
    pub flows: FlowCount,
    /// `max(1, fct / ideal)` of completed flows.
    pub fct_slowdown: Distribution,
    /// The same by size of flow.
    pub by_size: Vec<SizeBucket>,
    /// Round-trip times, one sample per flow and round trip.
    pub rtt_us: RttSummary,
    /// Round-trip times, one sample per acknowledgement.
    pub rtt_all_us: RttSummary,
    /// Goodput.
    pub goodput_gbps: Goodput,
    /// Jain's index over the goodput of completed flows.
    pub jain: Option<f64>,
    /// Queues of switch ports.
    pub queue_bytes: QueueBytes,
    /// Priority flow control.
    pub pfc: Pfc,
    /// Credit-based flow control.
    pub credits: Credits,
    /// Marked packets.
    pub ecn: Ecn,
    /// Congestion notifications that reached senders.
    pub cnps: u64,
    /// Packets lost, in switches and on links.
    pub drops: u64,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// Bytes on links that are not data packets.
    pub control_overhead_bytes: u64,
    /// The flows of each scheme, and in it of each label.
    pub schemes: BTreeMap<String, Group>,
    /// Completion times of completed flows, in microseconds.
    pub fct_us: Distribution,
    /// From the first start to the last completion, in microseconds.
    pub finish_us: Option<f64>,
    /// Payload of completed flows over the sum of their completion times.
    pub rate_mean_gbps: Option<f64>,
    /// Round-trip time of the empty network, in microseconds.
    pub base_rtt_us: f64,
    /// Bandwidth-delay product of the network.
    pub bdp_bytes: u64,
    /// The sampled switch port with the largest mean queue.
    pub busiest_port: Option<BusiestPort>,
    /// How long each iteration of each collective took; absent without collectives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveTime>,
    /// Everything that was counted.
    pub counters: Totals,
    /// What to know before trusting the run.
    pub warnings: Vec<String>,
    /// Digest of the order and time of all events, 16 hexadecimal digits.
    pub digest: String,
}

/// Goodput in Gbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Mean over completed flows of payload over completion time.
    pub mean_per_flow: Option<f64>,
    /// Payload delivered over the time from the first start to the last completion (to the end of
    /// the run when flows were still under way).
    pub aggregate: Option<f64>,
}

/// Queues of switch ports, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueBytes {
    /// Mean over all samples of all ports; null unless queues were sampled.
    pub mean: Option<f64>,
    /// 99th percentile of the same, rounded up to 1000 bytes.
    pub p99: Option<u64>,
    /// Largest, exact, sampled or not.
    pub max: u64,
}

/// Priority flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pfc {
    /// Pause frames received.
    pub pauses: u64,
    /// Resume frames received.
    pub resumes: u64,
    /// Time that (port, class) pairs spent paused, summed.
    pub paused_s: f64,
}

/// Credit-based flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Credits {
    /// Times that a port had packets and no credits.
    pub stalls: u64,
    /// How long, summed over ports.
    pub stalled_s: f64,
}

/// Marked data packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ecn {
    /// "Congestion experienced".
    pub ce: u64,
    /// "Undetermined experienced" (ternary congestion detection).
    pub ue: u64,
}

/// The sampled switch port with the largest mean queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusiestPort {
    /// The switch.
    pub node: u32,
    /// Its interface, from 1.
    pub interface: u32,
    /// The node at the other end.
    pub peer: u32,
    /// Mean queue, in bytes.
    pub mean: f64,
    /// 99th percentile, rounded up to 1000 bytes.
    pub p99: u64,
    /// Largest sample.
    pub max: u64,
}

/// Time from the first start to the last completion, and aggregate goodput in Gbit/s.
fn span_and_aggregate(
    input: &Resolved,
    outcome: &Outcome,
    rows: &[FlowRow<'_>],
) -> (Option<f64>, Option<f64>) {
    let started = |row: &&FlowRow<'_>| matches!(row.status, FlowState::Completed | FlowState::Unfinished);
    let Some(first) = rows.iter().filter(started).map(|row| row.start_ps).min() else {
        return (None, None);
    };
    let last = rows.iter().filter_map(FlowRow::end_ps).max();
    let unfinished = rows.iter().any(|row| row.status == FlowState::Unfinished);
    let end = if unfinished {
        outcome.end.as_ps()
    } else {
        last.unwrap_or(first)
    };
    let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
    let aggregate = (end > first).then(|| delivered as f64 * 8e3 / (end - first) as f64);
    debug_assert_eq!(input.run.flows.len(), rows.len());
    (last.map(|last| (last - first) as f64 / 1e6), aggregate)
}

fn queue_bytes(outcome: &Outcome) -> QueueBytes {
    let bins = outcome
        .queues
        .iter()
        .map(|queue| queue.histogram_kb.len())
        .max()
        .unwrap_or(0);
    let mut all = vec![0u64; bins];
    for queue in &outcome.queues {
        for (sum, count) in all.iter_mut().zip(&queue.histogram_kb) {
            *sum += count;
        }
    }
    let samples: u64 = all.iter().sum();
    let sum: u128 = outcome.queues.iter().map(|queue| queue.sum).sum();
    let max = outcome.queue_max.get();
    QueueBytes {
        mean: (samples > 0).then(|| sum as f64 / samples as f64),
        p99: stats::quantile_of_kb_bins(&all, 0.99).map(|p99| p99.min(max)),
        max,
    }
}

fn busiest_port(queues: &[QueueRecord]) -> Option<BusiestPort> {
    let mean = |queue: &QueueRecord| {
        let samples: u64 = queue.histogram_kb.iter().sum();
        if samples == 0 {
            0.0
        } else {
            queue.sum as f64 / samples as f64
        }
    };
    // The first of equals.
    let busiest = queues.iter().rev().max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let max = busiest.max.get();
    Some(BusiestPort {
        node: busiest.port.node.0,
        interface: busiest.port.interface,
        peer: busiest.port.peer.0,
        mean: mean(busiest),
        p99: stats::quantile_of_kb_bins(&busiest.histogram_kb, 0.99).map_or(0, |p99| p99.min(max)),
        max,
    })
}

/// The summary of a run.
pub fn summarise(input: &Resolved, outcome: &Outcome, status: RunStatus, machine: Machine) -> Summary {
    let rows: Vec<FlowRow<'_>> = flow_rows(input, outcome).collect();
    let refs: Vec<&FlowRow<'_>> = rows.iter().collect();
    let all = Group::of(&refs);
    let (finish_us, aggregate) = span_and_aggregate(input, outcome, &rows);
    let counters = &outcome.counters;
    let seconds = if machine.cpu_s > 0.0 {
        machine.cpu_s
    } else {
        machine.wall_s
    };
    let hops = counters.packet_hops();
    Summary {
        version: env!("CARGO_PKG_VERSION").to_string(),
        scenario: input.name.clone(),
        scheme: input.scheme.clone(),
        seed: input.seed,
        status,
        simulated_s: outcome.end.as_secs_f64(),
        wall_s: machine.wall_s,
        cpu_s: machine.cpu_s,
        events: counters.events,
        packet_hops: hops,
        packet_hops_per_s: if seconds > 0.0 { hops as f64 / seconds } else { 0.0 },
        peak_rss_bytes: machine.peak_rss_bytes,
        flows: all.flows,
        fct_slowdown: all.fct_slowdown,
        by_size: all.by_size,
        rtt_us: RttSummary::of(&outcome.rtt),
        rtt_all_us: RttSummary::of(&outcome.rtt_all),
        goodput_gbps: Goodput {
            mean_per_flow: all.goodput_gbps,
            aggregate,
        },
        jain: all.jain,
        queue_bytes: queue_bytes(outcome),
        pfc: Pfc {
            pauses: counters.pauses,
            resumes: counters.resumes,
            paused_s: counters.paused_ps as f64 / 1e12,
        },
        credits: Credits::default(),
        ecn: Ecn {
            ce: counters.marked,
            ue: 0,
        },
        cnps: counters.notifications,
        drops: counters.buffer_drops + counters.link_drops,
        retransmitted_bytes: counters.retransmitted_bytes,
        control_overhead_bytes: counters.control_bytes,
        schemes: by_scheme(&refs),
        fct_us: all.fct_us,
        finish_us,
        rate_mean_gbps: all.rate_mean_gbps,
        base_rtt_us: outcome.base_rtt.as_us_f64(),
        bdp_bytes: outcome.bdp.get(),
        busiest_port: busiest_port(&outcome.queues),
        collectives: collective_times(input, outcome),
        counters: Totals::from(counters),
        warnings: checks::warnings(input, outcome, status),
        digest: format!("{:016x}", outcome.digest),
    }
}

macro_rules! totals {
    ($($field:ident: $doc:literal),* $(,)?) => {
        /// [`Counters`], as they are written.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Totals { $(#[doc = $doc] pub $field: u64,)* }
        impl From<&Counters> for Totals {
            fn from(counters: &Counters) -> Self {
                Self { $($field: counters.$field,)* }
            }
        }
    };
}
totals! {
    events: "Events executed.",
    data_hops: "Transmissions of data packets over a link.",
    ack_hops: "Transmissions of ACKs and NACKs.",
    control_hops: "Transmissions of PFC frames and CNPs.",
    control_bytes: "Bytes of everything that is not data, over all links.",
    data_received: "Data packets that reached their receiver.",
    buffer_drops: "Data packets dropped in switches for lack of buffer.",
    link_drops: "Packets lost on links or without a route.",
    marked: "Data packets marked, each counted once.",
    notifications: "Congestion notifications that reached a sender.",
    nacks: "Negative acknowledgements sent.",
    timeouts: "Retransmission timeouts.",
    pauses: "PFC pause frames received.",
    resumes: "PFC resume frames received.",
    paused_ps: "Picoseconds that (port, class) pairs spent paused, summed.",
    retransmitted_bytes: "Payload bytes sent more than once.",
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn summary_json() {
        let (input, outcome) = sample::incast();
        let machine = Machine {
            wall_s: 0.5,
            cpu_s: 0.25,
            peak_rss_bytes: 1 << 20,
        };
        let summary = Summary {
            version: "1.2.3".into(),
            ..summarise(&input, &outcome, RunStatus::Completed, machine)
        };
        let text = serde_json::to_string_pretty(&summary).unwrap();
        insta::assert_snapshot!("summary", text);
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    }

    #[test]
    fn by_hand() {
        let (input, outcome) = sample::incast();
        let s = summarise(&input, &outcome, RunStatus::Completed, Machine::default());
        // Flow 0: 1000 B in 10 us against 5 us. Flow 1: 20 KB in 6 us against 8 us: not below 1.
        assert_eq!(s.fct_slowdown.mean, Some(1.5));
        assert_eq!(s.fct_us.mean, Some(8.0));
        // 0.8 and 26.667 Gbit/s; 168 kbit in 16 us.
        assert!((s.goodput_gbps.mean_per_flow.unwrap() - 13.733_333).abs() < 1e-5);
        assert_eq!(s.rate_mean_gbps, Some(10.5));
        // The third flow is unfinished with 4000 B delivered: 25 KB until the end, 100 us after the start.
        assert_eq!(s.goodput_gbps.aggregate, Some(2.0));
        assert_eq!(s.finish_us, Some(10.0));
        assert_eq!(s.schemes.len(), 1);
        assert_eq!(
            s.schemes["none"].labels["mice"].flows,
            FlowCount {
                total: 1,
                completed: 1
            }
        );
        assert_eq!(s.busiest_port.unwrap().interface, 2);
    }

    #[test]
    fn no_flows_give_nulls() {
        let (mut input, mut outcome) = sample::incast();
        input.run.flows.clear();
        outcome.flows.clear();
        outcome.completions.clear();
        outcome.queues.clear();
        let s = summarise(&input, &outcome, RunStatus::Completed, Machine::default());
        assert_eq!((s.fct_slowdown.p99, s.jain, s.finish_us), (None, None, None));
        assert_eq!(
            (s.goodput_gbps.aggregate, s.queue_bytes.mean, s.busiest_port),
            (None, None, None)
        );
        assert!(serde_json::to_string(&s).unwrap().contains("\"jain\":null"));
    }
}
