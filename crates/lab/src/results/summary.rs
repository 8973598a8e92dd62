//! `summary.json`: the metrics of a run.

use std::ops::Range;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::Counters;
use paceline_kernel::format::FileFormat;
use paceline_kernel::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use super::collectives::{CollectiveSum, CollectiveTime, collective_sums, collective_times};
use super::deadlock::Deadlock;
use super::decisions::DecisionTimes;
use super::feedback::{Unscheduled, reacting};
use super::flows::{FlowState, IdealFct};
use super::goodput::GoodputShare;
use super::groups::{FlowCount, Group, SizeBucket};
use super::incidents::{Incident, incidents};
use super::jobs::{JobTimes, job_times};
use super::marks::{FlowMarks, PortStates, detection};
use super::ports::{PauseShare, Utilisation, pause_share, utilisation};
use super::queues::{BusiestPort, QueueBytes, QueueCdf, busiest_port, queue_bytes, queue_cdf};
use super::rows::FlowRows;
use super::services::{ServiceTimes, service_times};
use super::sharing::{Convergence, Goodputs, JainOverTime};
use super::{checks, iterations, services};
use crate::measures;
use crate::stats::{Distribution, RttSummary};
use paceline_scenario::{InputFormat, Resolved, Warning};

/// Reason for the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// No events were left, or the stop time was reached.
    Completed,
    /// The run was interrupted.
    Partial,
    /// Pauses that never end block all remaining traffic.
    Deadlock,
    /// A job by a trace is stuck: its operations wait for events that never happen.
    Stuck,
}

/// Cost of a run on the machine: the only part of a result that may differ between two runs of the same input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    /// Elapsed time, in seconds.
    pub wall_s: f64,
    /// Processor time of the thread that ran it, in seconds, or of all threads if there were several; 0 where
    /// unknown.
    pub cpu_s: f64,
    /// Largest resident memory of the process so far, in bytes; 0 where unknown.
    pub peak_rss_bytes: u64,
}

/// Metrics of a run: the content of `summary.json`, in the same order. Times are in seconds unless their names say
/// otherwise; values that no flow contributed to are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of the format of all files in the folder.
    pub format: FileFormat<1>,
    /// Version of the program with the hash of its code.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Program whose configuration file the scenario was converted from; absent for Paceline's own format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_format: Option<InputFormat>,
    /// Reason for the end of the run.
    pub status: RunStatus,
    /// Simulated time at which the run ended.
    pub simulated_s: f64,
    /// Elapsed time; see [`Machine::wall_s`].
    pub wall_s: f64,
    /// Processor time; see [`Machine::cpu_s`].
    pub cpu_s: f64,
    /// Number of executed events.
    pub events: u64,
    /// Transmissions of packets of any kind over links.
    pub packet_hops: u64,
    /// Packet-hops per second of processor time (of elapsed time where that is unknown).
    pub packet_hops_per_s: f64,
    /// Largest memory; see [`Machine::peak_rss_bytes`].
    pub peak_rss_bytes: u64,
    /// Flows in total, and completed.
    pub flows: FlowCount,
    /// Reference of the slowdowns.
    #[serde(default)]
    pub ideal_fct: IdealFct,
    /// Slowdown of completed flows.
    pub fct_slowdown: Distribution,
    /// Slowdown of completed flows by flow size.
    pub by_size: Vec<SizeBucket>,
    /// Round-trip times of all acknowledgements.
    pub rtt_per_ack_us: RttSummary,
    /// Round-trip times, one sample per flow and round trip, as some papers measure them: the longer a queue is, the
    /// fewer samples it gives, so their percentiles are below those of [`Self::rtt_per_ack_us`].
    pub rtt_per_round_trip_us: RttSummary,
    /// One-way latency of data packets, from the start of their transmission to the receiver; absent unless it was
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<RttSummary>,
    /// Goodput of all flows together.
    pub goodput_gbps: Goodput,
    /// Goodput as a share of the payload capacity of the receivers' links; absent unless latencies were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_share: Option<GoodputShare>,
    /// Jain's index over the goodput of the flows; null unless all are of one size and completed.
    pub jain: Option<f64>,
    /// Queues of switch ports.
    pub queue_bytes: QueueBytes,
    /// Pauses and frames of priority flow control.
    pub pfc: Pfc,
    /// Stalls of credit-based flow control.
    pub credits: Credits,
    /// Data packets marked by switches.
    pub ecn: Ecn,
    /// Names of the detectors; absent if ports mark by the curves alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<String>,
    /// Marks on flows' packets as they arrived.
    #[serde(default)]
    pub marks: FlowMarks,
    /// Time that ports spent in each detector state; absent unless it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<PortStates>,
    /// Congestion notifications that reached senders.
    pub cnps: u64,
    /// Packets lost, in switches and on links.
    pub drops: u64,
    /// Losses of lossy classes among packets that arrived at the same instant for the same port: the order of events,
    /// which no real network fixes, decided which were lost.
    #[serde(default)]
    pub tied_drops: u64,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
    /// Bytes of all packets other than data packets on links.
    pub control_overhead_bytes: u64,
    /// Bytes that left before their sender had any feedback on their flow, and their share of all bytes; null if no
    /// flow's scheme reacts to feedback.
    #[serde(default)]
    pub unscheduled: Option<Unscheduled>,
    /// Groups of flows by scheme, with those of each label.
    pub schemes: SortedMap<String, Group>,
    /// Completion times of completed flows, in microseconds.
    pub fct_us: Distribution,
    /// Time from the first start to the last completion, in microseconds.
    pub makespan_us: Option<f64>,
    /// Payload of completed flows over the sum of their completion times: the average rate of an active flow.
    pub rate_while_active_gbps: Option<f64>,
    /// Round-trip time of the empty network, in microseconds.
    pub base_rtt_us: f64,
    /// Bandwidth-delay product of the network.
    pub bdp_bytes: u64,
    /// Pauses that will never end; null if there are none.
    #[serde(default)]
    pub deadlock: Option<Deadlock>,
    /// Sampled switch port with the largest mean queue.
    pub busiest_port: Option<BusiestPort>,
    /// Distribution of sampled queues; null unless queues were sampled.
    pub queue_cdf: Option<QueueCdf>,
    /// Share of time in which ports sent; null unless it was recorded.
    pub utilisation: Option<Utilisation>,
    /// Share of time in which ports were paused; null without priority flow control, or if its frames were not
    /// recorded.
    pub pause_share: Option<PauseShare>,
    /// Fairness among active flows, bin by bin; null unless goodput was recorded.
    pub jain_over_time: Option<JainOverTime>,
    /// Times that flows took to converge to equal shares after others arrived or left; null unless goodput was
    /// recorded, or if there was no change followed by enough bins.
    pub convergence_us: Option<Convergence>,
    /// Time of each iteration of each collective, for a trace only of the slowest 20 collectives; absent without
    /// collectives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveTime>,
    /// Sums over the collectives of jobs by traces, by job and kind; absent without such jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collective_sums: Vec<CollectiveSum>,
    /// Times of the iterations of training jobs; absent without jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobTimes>,
    /// Times of the requests of services; absent without services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceTimes>,
    /// Incidents of links and hosts, in order of time; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// Waiting times of delayed decisions; absent if no sender requested any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<DecisionTimes>,
    /// Requested measures, by set; absent if there are none.
    #[serde(default, skip_serializing_if = "SortedMap::is_empty")]
    pub measures: SortedMap<String, SortedMap<String, f64>>,
    /// Counters of all events in the network.
    pub counters: Totals,
    /// Warnings about the input, then about the run itself.
    pub warnings: Vec<Warning>,
    /// Digest of the order and time of all events, 16 hexadecimal digits.
    pub digest: String,
}

/// Goodput of all flows, in Gbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Payload delivered over the time from the first start to the last completion (to the end of the run if flows were
    /// still active).
    pub aggregate: Option<f64>,
}

/// Statistics of priority flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pfc {
    /// Pauses of a (port, class) that were started.
    pub pauses: u64,
    /// Pause frames received: those that start a pause and those that renew one.
    #[serde(default)]
    pub pause_frames: u64,
    /// Resume frames received by paused ports.
    pub resume_frames: u64,
    /// Paused time, summed over (port, class) pairs, in seconds.
    pub paused_s: f64,
}

/// Statistics of credit-based flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Credits {
    /// Number of times that a lane of a port had a packet to send and no credit for it.
    pub stalls: u64,
    /// Time without credit, summed over lanes of ports, in seconds.
    pub stalled_s: f64,
}

/// Marked data packets, by kind of mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ecn {
    /// Packets with the mark "congestion experienced".
    pub ce: u64,
    /// Packets with the mark "undetermined experienced" (ternary congestion detection).
    pub ue: u64,
}

/// Interval in which flows were active, in ps, and the bytes that they delivered.
#[derive(Default)]
struct Busy {
    first: Option<u64>,
    last_end: Option<u64>,
    /// True if some flows were still active at the end.
    open: bool,
    delivered: u64,
}

impl Busy {
    fn of(flows: &FlowRows) -> Self {
        let mut all = Self::default();
        for (flow, times) in flows.distinct_entries() {
            let open = matches!(flow.status, FlowState::Unfinished | FlowState::GivenUp);
            if open || flow.status == FlowState::Completed {
                all.first = Some(all.first.map_or(flow.start_ps, |first| first.min(flow.start_ps)));
            }
            all.open |= open;
            all.last_end = all.last_end.max(flow.end_ps().map(|end| end + times.later_ps));
            all.delivered += flow.delivered * u64::from(times.times);
        }
        all
    }

    /// Returns the interval from the first start to the last completion, or to the end of the run if flows were still
    /// active; `None` if no flow started.
    fn time(&self, outcome: &Outcome) -> Option<Range<u64>> {
        let first = self.first?;
        let end = if self.open {
            outcome.end.as_ps()
        } else {
            self.last_end.unwrap_or(first)
        };
        Some(first..end)
    }

    /// Returns the goodput of all flows together in Gbit/s over that time.
    fn goodput_gbps(&self, time: &Range<u64>) -> Option<f64> {
        (!time.is_empty()).then(|| self.delivered as f64 * 8e3 / (time.end - time.start) as f64)
    }
}

/// Computes the summary of a run from its outcome.
pub fn summarise(
    input: &Resolved,
    outcome: &Outcome,
    flows: &FlowRows,
    status: RunStatus,
    machine: Machine,
) -> Summary {
    let stands = outcome.deadlock.as_ref().is_some_and(|found| found.ended);
    let collectives = collective_times(input, outcome);
    let jobs = job_times(input, outcome, flows, &collectives);
    let stuck = jobs.iter().any(|job| !job.stuck.is_empty());
    // An engine without further events reports completion; a deadlock and a stuck trace are the more specific states.
    let status = match status {
        RunStatus::Completed if stands => RunStatus::Deadlock,
        RunStatus::Completed if stuck => RunStatus::Stuck,
        other => other,
    };
    let (all, schemes) = Group::all_and_parts(flows, &reacting(&input.run));
    let busy_with = Busy::of(flows);
    let busy = busy_with.time(outcome);
    let goodput = busy.as_ref().and_then(|time| busy_with.goodput_gbps(time));
    let recorded = input.run.record.rate_every.is_some();
    let bin_ps = if recorded { outcome.rate_bin.as_ps() } else { 0 };
    let goodputs = Goodputs::new(flows, &outcome.rates, bin_ps, outcome.end.as_ps());
    let counters = &outcome.counters;
    // Elapsed time depends on other programs, so processor time is used if the system reports it.
    let seconds = if machine.cpu_s > 0.0 {
        machine.cpu_s
    } else {
        machine.wall_s
    };
    let hops = counters.packet_hops();
    let mut warnings = checks::warnings(input, outcome, flows, all.unscheduled, status);
    warnings.extend(iterations::warnings(input, outcome, &jobs, &collectives));
    warnings.extend(services::warnings(input, outcome));
    Summary {
        format: FileFormat,
        version: crate::identity::version().to_string(),
        scenario: input.name.clone(),
        scheme: input.scheme.clone(),
        seed: input.seed,
        input_format: input.input_format,
        status,
        simulated_s: outcome.end.as_secs_f64(),
        wall_s: machine.wall_s,
        cpu_s: machine.cpu_s,
        events: counters.events,
        packet_hops: hops,
        packet_hops_per_s: if seconds > 0.0 { hops as f64 / seconds } else { 0.0 },
        peak_rss_bytes: machine.peak_rss_bytes,
        flows: all.flows,
        ideal_fct: IdealFct::of(&input.run),
        fct_slowdown: all.fct_slowdown,
        by_size: all.by_size,
        rtt_per_ack_us: RttSummary::of(&outcome.rtt_per_ack),
        rtt_per_round_trip_us: RttSummary::of(&outcome.rtt_per_round_trip),
        latency_us: outcome.latency.as_ref().map(RttSummary::of),
        goodput_share: (outcome.latency.as_ref().zip(goodput))
            .and_then(|(_, gbps)| GoodputShare::of(&input.run, flows, gbps)),
        goodput_gbps: Goodput { aggregate: goodput },
        jain: all.jain,
        queue_bytes: queue_bytes(outcome),
        pfc: Pfc {
            pauses: counters.pauses,
            pause_frames: counters.pause_frames,
            resume_frames: counters.resume_frames,
            paused_s: match input.run.is_under_credits() {
                true => 0.0,
                false => counters.paused_ps as f64 / 1e12,
            },
        },
        credits: Credits {
            stalls: outcome.stalls.count,
            stalled_s: outcome.stalls.time.as_ps() as f64 / 1e12,
        },
        ecn: Ecn {
            ce: counters.marked,
            ue: counters.undetermined,
        },
        detection: detection(&input.run.switch),
        marks: all.marks,
        states: PortStates::of(outcome),
        cnps: counters.notifications,
        drops: counters.buffer_drops + counters.link_drops,
        tied_drops: outcome.ties.drops,
        retransmitted_bytes: counters.retransmitted_bytes,
        control_overhead_bytes: counters.control_bytes,
        unscheduled: all.unscheduled,
        schemes,
        fct_us: all.fct_us,
        makespan_us: (busy.as_ref().zip(busy_with.last_end))
            .map(|(busy, last)| (last - busy.start) as f64 / 1e6),
        rate_while_active_gbps: all.rate_while_active_gbps,
        base_rtt_us: outcome.base_rtt.as_us_f64(),
        bdp_bytes: outcome.bdp.get(),
        deadlock: outcome.deadlock.as_ref().map(Deadlock::of),
        busiest_port: busiest_port(&outcome.queues),
        queue_cdf: queue_cdf(&outcome.queues),
        utilisation: (outcome.ports.as_ref().zip(busy.as_ref()))
            .and_then(|(ports, time)| utilisation(ports, time)),
        pause_share: busy.and_then(|time| pause_share(&input.run, outcome, &time)),
        jain_over_time: goodputs.as_ref().and_then(Goodputs::jain_over_time),
        convergence_us: goodputs.as_ref().and_then(Goodputs::convergence),
        incidents: incidents(&input.run, &input.names, outcome),
        jobs,
        services: service_times(input, outcome),
        collectives,
        collective_sums: collective_sums(input, outcome),
        decisions: outcome.decisions.as_ref().map(DecisionTimes::of),
        measures: measures::summarised(input, outcome),
        counters: Totals::from(counters),
        warnings,
        digest: format!("{:016x}", outcome.digest),
    }
}

macro_rules! totals {
    ($($field:ident: $doc:literal),* $(,)?) => {
        /// [`Counters`], as they are written.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
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
    control_hops: "Transmissions of PFC frames, CNPs and switches' notices.",
    control_bytes: "Bytes of all packets other than data, summed over links.",
    data_received: "Data packets that reached their receiver.",
    buffer_drops: "Packets dropped in switches for lack of buffer.",
    lossless_drops: "Of these, packets of classes under flow control.",
    watchdog_drops: "Of these, packets that the PFC watchdog dropped.",
    trimmed: "Data packets of which switches dropped only the payload, not among the drops.",
    link_drops: "Packets lost on links or without a route.",
    marked: "Data packets marked as congested, each counted once.",
    undetermined: "Data packets marked as undetermined where they had no mark.",
    notifications: "Congestion notifications that reached a sender.",
    notices: "Packets that switches sent to senders about congestion.",
    grants: "Packets by which receivers granted what senders may send.",
    nacks: "Negative acknowledgements sent.",
    timeouts: "Retransmission timeouts.",
    pauses: "Pauses of a (port, class) that began.",
    pause_frames: "PFC pause frames received: those that begin a pause and those that renew one.",
    resume_frames: "PFC resume frames received.",
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
            ..sample::summarised(&input, &outcome, machine)
        };
        let text = serde_json::to_string_pretty(&summary).unwrap();
        insta::assert_snapshot!("summary", text);
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    }

    #[test]
    fn by_hand() {
        let (input, outcome) = sample::incast();
        let s = sample::summarised(&input, &outcome, Machine::default());
        // Flow 0: 1000 B in 10 us against 5 us. Flow 1: 20 KB in 6 us against 8 us: not below 1.
        assert_eq!(s.fct_slowdown.mean, Some(1.5));
        assert_eq!(s.fct_us.mean, Some(8.0));
        // 168 kbit in 16 us.
        assert_eq!(s.rate_while_active_gbps, Some(10.5));
        // The third flow is unfinished with 4000 B delivered: 25 KB until the end, 100 us after the start.
        assert_eq!(s.goodput_gbps.aggregate, Some(2.0));
        assert_eq!(s.makespan_us, Some(10.0));
        assert_eq!(s.schemes.len(), 1);
        assert_eq!(
            s.schemes["none"].labels["mice"].flows,
            FlowCount {
                total: 1,
                completed: 1
            }
        );
        assert_eq!(s.busiest_port.unwrap().port, "port 0.2->2");
    }

    #[test]
    fn no_flows_give_nulls() {
        let (mut input, mut outcome) = sample::incast();
        input.run_mut().flows.clear();
        outcome.flows.clear();
        outcome.completions.clear();
        outcome.queues.clear();
        let s = sample::summarised(&input, &outcome, Machine::default());
        assert_eq!((s.fct_slowdown.p99, s.jain, s.makespan_us), (None, None, None));
        assert_eq!((s.goodput_gbps.aggregate, s.queue_bytes.mean), (None, None));
        assert_eq!(s.busiest_port, None);
        assert!(serde_json::to_string(&s).unwrap().contains("\"jain\":null"));
    }
}
