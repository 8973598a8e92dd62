//! Durations and bandwidths of collectives.

use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::{Outcome, recorded};
use paceline_jobs::{TraceCollective, TraceOutcome};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::{Collective, Resolved};
use paceline_traces::program::CollectiveKind;
use serde::{Deserialize, Serialize};

use super::groups::FlowCount;
use crate::stats::Distribution;

/// One iteration of a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveTime {
    /// Label of its flows.
    pub label: String,
    /// Index of the iteration, from 0.
    pub iteration: u32,
    /// Start of its first message; null if none started.
    pub start_s: Option<f64>,
    /// Arrival of its last byte; null if some byte is missing.
    pub end_s: Option<f64>,
    /// Time from start to end, in microseconds.
    pub time_us: Option<f64>,
    /// Data size of the collective at a host, divided by the time ("algbw" of NCCL's tests).
    pub algbw_gbps: Option<f64>,
    /// Bytes that a host's link has to carry, divided by the time ("busbw" of NCCL's tests): comparable with the links'
    /// rate, independently of the number of hosts.
    pub busbw_gbps: Option<f64>,
    /// Name in a trace, at the collective's first member; only for jobs by traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Group in a trace; only for jobs by traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

/// Collectives of one kind of a job by a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSum {
    /// Label of their flows: the job and the kind.
    pub label: String,
    /// Number of collectives, and of those that completed.
    pub collectives: FlowCount,
    /// Sum of their sizes, as the trace counts them.
    pub bytes: u64,
    /// Duration of the completed ones, in microseconds.
    pub time_us: Distribution,
    /// Bandwidth over all of them; see [`CollectiveTime::busbw_gbps`].
    pub busbw_gbps: Option<f64>,
}

recorded! {
    /// a collective of a job by a trace
    pub struct CollectiveRow = "collectives", needs "a job by a trace" {
        /// the job's label
        job: String,
        /// in which iteration of its first member, from 0
        iteration: u32,
        /// what the trace calls it where its first member stands
        name: String,
        /// `all-reduce` and so on
        kind: String,
        /// its group in the trace
        group: u32,
        /// how many members that has
        members: u32,
        /// its size, as the trace counts it
        bytes: u64,
        /// when its first member started
        start_ps: u64,
        /// when its last member was done; nothing if it was not
        end_ps: Option<u64>,
    }
}

/// Maximum number of a trace's collectives in a summary: the slowest.
const SLOWEST: usize = 20;

/// Returns every iteration of every collective, in order; for a trace only the slowest.
pub(super) fn collective_times(input: &Resolved, outcome: &Outcome) -> Vec<CollectiveTime> {
    let mut all = Vec::new();
    for collective in &input.collectives {
        for (flows, iteration) in collective.iterations.iter().zip(0..) {
            all.push(time_of(collective, iteration, flows, outcome));
        }
    }
    for (job, trace) in traces(input, outcome) {
        let times: Vec<CollectiveTime> = of_trace(&job.label, trace)
            .into_iter()
            .flat_map(|(_, times)| times)
            .collect();
        let mut order: Vec<usize> = (0..times.len()).collect();
        // One without an end is slower than all others.
        let us = |index: &usize| times[*index].time_us.unwrap_or(f64::INFINITY);
        order.order_by(|a, b| us(b).total_cmp(&us(a)).then(a.cmp(b)));
        order.truncate(SLOWEST);
        // Selected by time, but listed in their original order.
        order.sort_unstable();
        all.extend(order.into_iter().map(|index| times[index].clone()));
    }
    all
}

/// Returns the collectives of jobs by traces, by job and kind.
pub(super) fn collective_sums(input: &Resolved, outcome: &Outcome) -> Vec<CollectiveSum> {
    let of_kind = |(bytes, times): (u64, Vec<CollectiveTime>)| CollectiveSum {
        label: times[0].label.clone(),
        collectives: FlowCount {
            total: times.len() as u64,
            completed: times.iter().filter(|one| one.end_s.is_some()).count() as u64,
        },
        bytes,
        time_us: Distribution::of(times.iter().filter_map(|one| one.time_us).collect::<Vec<_>>()),
        busbw_gbps: bus_bandwidth(&times),
    };
    traces(input, outcome)
        .flat_map(|(job, trace)| of_trace(&job.label, trace))
        .map(of_kind)
        .collect()
}

/// Returns all collectives of jobs by traces, as in `collectives.csv`.
pub(crate) fn collective_rows(input: &Resolved, outcome: &Outcome) -> Vec<CollectiveRow> {
    let row = |job: &str, one: &TraceCollective| CollectiveRow {
        job: job.to_string(),
        iteration: one.iteration,
        name: one.name.clone(),
        kind: one.kind.name().to_string(),
        group: one.group,
        members: one.members,
        bytes: one.bytes,
        start_ps: one.start.as_ps(),
        end_ps: one.end.map(Time::as_ps),
    };
    traces(input, outcome)
        .flat_map(|(job, trace)| trace.collectives.iter().map(|one| row(&job.label, one)))
        .collect()
}

/// Returns the jobs by traces with their outcomes.
pub(super) fn traces<'a>(
    input: &'a Resolved,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a paceline_scenario::Job, &'a TraceOutcome)> {
    input.jobs.iter().filter_map(|job| {
        let program = outcome.programs.get(job.trace?.program)?;
        Some((job, program.get::<TraceOutcome>()?))
    })
}

/// Returns the collectives of a trace by kind, those of one kind in the order of their starts, with all of their bytes.
fn of_trace(job: &str, trace: &TraceOutcome) -> Vec<(u64, Vec<CollectiveTime>)> {
    let mut kinds: SortedMap<CollectiveKind, Vec<&TraceCollective>> = SortedMap::new();
    for one in &trace.collectives {
        kinds.entry(one.kind).or_default().push(one);
    }
    let of_kind = |(kind, all): (CollectiveKind, Vec<&TraceCollective>)| {
        let label = format!("{job}/{}", kind.name());
        let bytes = all.iter().map(|one| one.bytes).sum();
        let times = (0..).zip(all).map(|(iteration, one)| {
            let end = one.end;
            let time = end.map(|end| end.saturating_since(one.start).as_us_f64());
            // Without a duration there is no rate.
            let time = time.filter(|&us| us > 0.0);
            let algbw_gbps = time.map(|us| one.bytes as f64 * 8e-3 / us);
            CollectiveTime {
                label: label.clone(),
                iteration,
                start_s: Some(one.start.as_secs_f64()),
                end_s: end.map(|at| at.as_secs_f64()),
                time_us: time,
                algbw_gbps,
                busbw_gbps: algbw_gbps
                    .zip(bus_factor(kind, one.members))
                    .map(|(rate, factor)| rate * factor),
                name: Some(one.name.clone()),
                group: Some(one.group),
            }
        });
        (bytes, times.collect())
    };
    kinds.into_iter().map(of_kind).collect()
}

/// Returns the bytes on a host's link per byte of a collective, as NCCL's tests count them; `None` for kinds that
/// NCCL's tests lack or whose size is defined differently by each format.
fn bus_factor(kind: CollectiveKind, members: u32) -> Option<f64> {
    let n = f64::from(members);
    match kind {
        CollectiveKind::AllReduce => Some(2.0 * (n - 1.0) / n),
        CollectiveKind::AllToAll => Some((n - 1.0) / n),
        CollectiveKind::Broadcast | CollectiveKind::Reduce => Some(1.0),
        _ => None,
    }
}

/// Computes the bus bandwidth in Gbit/s over the ended iterations of a collective: the bytes of all over the time of
/// all. (The mean of their rates would not match their mean time.)
pub fn bus_bandwidth<'a>(iterations: impl IntoIterator<Item = &'a CollectiveTime>) -> Option<f64> {
    let (mut kilobits, mut us) = (0.0, 0.0);
    for (gbps, time) in iterations
        .into_iter()
        .filter_map(|one| one.busbw_gbps.zip(one.time_us))
    {
        kilobits += gbps * time;
        us += time;
    }
    (us > 0.0).then(|| kilobits / us)
}

fn time_of(collective: &Collective, iteration: u32, flows: &[u32], outcome: &Outcome) -> CollectiveTime {
    let records = || flows.iter().map(|&flow| &outcome.flows[flow as usize]);
    let started = records().filter(|flow| flow.status != FlowStatus::NotStarted);
    let start = started.map(|flow| flow.start).min();
    // All of them, or none.
    let received: Option<Vec<_>> = records().map(|flow| flow.received).collect();
    let end = received.and_then(|times| times.into_iter().max());
    let time = start
        .zip(end)
        .map(|(start, end)| end.saturating_since(start).as_us_f64())
        .filter(|&us| us > 0.0);
    let algbw_gbps = time.map(|us| collective.size.get() as f64 * 8e-3 / us);
    CollectiveTime {
        label: collective.label.clone(),
        iteration,
        start_s: start.map(|at| at.as_secs_f64()),
        end_s: end.map(|at| at.as_secs_f64()),
        time_us: time,
        algbw_gbps,
        busbw_gbps: algbw_gbps.map(|rate| rate * collective.bus_factor),
        name: None,
        group: None,
    }
}

#[cfg(test)]
mod tests {
    use paceline_scenario::{Overrides, load_text};

    use super::*;
    use crate::run::{Control, execute};

    fn run(workload: &str, duration: &str) -> Vec<CollectiveTime> {
        let text = format!(
            "duration = '{duration}'\ncheck = true\n[topology.star]\nhosts = 4\n[[workload]]\n{workload}\n[cc]\nscheme = 'none'\n"
        );
        let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
        execute(&input, &mut |_| Control::Continue)
            .unwrap()
            .summary
            .collectives
    }

    /// Time of 100 KB over four hosts: six steps of 25 packets of 1048 bytes, 83.84 ns each at 100 Gbit/s. A step takes
    /// its packets' time, the last one's again after the switch, and two cables' delay; each but the first lets the
    /// acknowledgement of the last packet (4.8 ns) go first.
    const RING_NS: f64 = 6.0 * (26.0 * 83.84 + 2000.0) + 5.0 * 4.8;

    #[test]
    fn a_ring_by_hand() {
        let times = run(
            "label = 'sum'\nall-reduce = { size = '100KB', iterations = 2, compute = '50us' }",
            "1ms",
        );
        let [first, second] = &times[..] else {
            panic!("{times:?}")
        };
        assert_eq!(
            (first.label.as_str(), first.iteration, second.iteration),
            ("sum", 0, 1)
        );
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() / b - 1.0).abs() < 1e-9, "{a:?} {b}");
        close(first.time_us, RING_NS / 1e3);
        close(first.end_s, RING_NS / 1e9);
        close(second.start_s, (RING_NS + 50_000.0) / 1e9);
        // The first iteration's last ACK has left before the second starts.
        close(second.time_us, RING_NS / 1e3);
        close(first.algbw_gbps, 8e5 / RING_NS);
        close(first.busbw_gbps, 1.5 * 8e5 / RING_NS);
    }

    /// Combines 100 and 50 Gbit/s of the same collective: twice its bytes in three times the shorter time.
    #[test]
    fn bandwidth_belongs_to_the_mean_time() {
        let mut times = run("all-gather = { size = '100KB', iterations = 3 }", "1ms");
        let rates = [Some((10.0, 100.0)), Some((20.0, 50.0)), None];
        for (one, rate) in times.iter_mut().zip(rates) {
            (one.time_us, one.busbw_gbps) = (rate.map(|of| of.0), rate.map(|of| of.1));
        }
        assert_eq!(bus_bandwidth(&times), Some(2000.0 / 30.0));
        assert_eq!(bus_bandwidth(&times[2..]), None);
    }

    #[test]
    fn what_is_not_over_has_no_time() {
        let times = run("all-gather = { size = '100KB', iterations = 3 }", "20us");
        let ended: Vec<_> = times.iter().map(|time| time.end_s.is_some()).collect();
        let started: Vec<_> = times.iter().map(|time| time.start_s.is_some()).collect();
        assert_eq!(
            (ended, started),
            (vec![true, false, false], vec![true, true, false])
        );
        assert_eq!(times[1].busbw_gbps, None);
    }
}
