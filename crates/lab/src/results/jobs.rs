//! Times of training jobs' iterations.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::{Awaited, slowness};
use paceline_jobs::TraceOutcome;
use paceline_jobs::collective::Tail;
use paceline_kernel::Time;
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use super::collectives::{CollectiveTime, collective_times};
use super::groups::FlowCount;
use super::paths::{CriticalPath, critical_paths};
use super::rows::FlowRows;
use crate::stats::Distribution;

/// Training job. An iteration takes from the end of the one before, or the job's start, to the arrival of the last byte
/// of its collectives at any host, or to the end of the computing that follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobTimes {
    /// Label of the job.
    pub label: String,
    /// Number of ranks, each on its own host.
    pub ranks: u32,
    /// Start of its hosts, in seconds.
    pub start_s: f64,
    /// Computing time of each host per iteration, in microseconds.
    pub compute_us: f64,
    /// Number of iterations, and of those that completed.
    pub iterations: FlowCount,
    /// Duration of the completed iterations, in microseconds.
    pub iteration_us: Distribution,
    /// Duration of each completed iteration, in order.
    pub iterations_us: Vec<f64>,
    /// [`Self::exposed_us`] as a share of the mean of [`Self::iteration_us`]; null before the end of the first
    /// iteration.
    pub communication: Option<f64>,
    /// Time of an iteration in which a host does not compute (exposed communication, bubbles and waiting included), in
    /// microseconds: the mean of [`Self::iteration_us`] minus [`Self::compute_us`]. For a trace, computing is the mean
    /// over ranks. Null if [`Self::communication`] is.
    #[serde(default)]
    pub exposed_us: Option<f64>,
    /// Breakdown of each rank's time; empty unless the job is by a trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rank: Vec<RankTimes>,
    /// Critical path of the slowest iteration, from its start to its end; null if flows left no records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<CriticalPath>,
    /// Ranks of a stuck job by a trace, with the operations that they wait for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stuck: Vec<String>,
    /// Messages inside servers that had a price and sent no packets; null unless the job has such prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priced: Option<PricedMessages>,
}

/// Messages that had a price instead of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricedMessages {
    /// Number of messages, of all iterations.
    pub messages: u64,
    /// Sum of their payloads.
    pub bytes: u64,
}

/// Breakdown of a rank's time, from the start of its job to its own end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Number of the rank.
    pub rank: u32,
    /// End of the rank in seconds; of its last operation so far if the run did not get there.
    pub end_s: f64,
    /// Computing time in microseconds.
    pub compute_us: f64,
    /// Time without computing and with a message or collective of the rank in progress. With [`Self::waiting_us`] and
    /// the wait for the last rank it adds up to [`JobTimes::exposed_us`].
    pub communicating_us: f64,
    /// Time without computing or communication, in microseconds.
    pub waiting_us: f64,
}

/// Returns the times of a job by a trace. An iteration takes from the end of the one before at the last rank, or the
/// job's start, to its own end there.
fn of_trace(
    job: &paceline_scenario::Job,
    trace: &TraceOutcome,
    repeats: u64,
    path: Option<CriticalPath>,
) -> JobTimes {
    // An iteration counts only if all ranks completed it; it ends with the last of them.
    let ends = (0..).map_while(|iteration| {
        let ends = trace.ranks.iter().map(|rank| rank.iterations.get(iteration));
        ends.collect::<Option<Vec<_>>>()?.into_iter().max().copied()
    });
    let mut before = job.start;
    let iterations_us: Vec<f64> = ends
        .take(repeats as usize)
        .map(|end| {
            end.saturating_since(std::mem::replace(&mut before, end))
                .as_us_f64()
        })
        .collect();
    let iteration_us = Distribution::of(iterations_us.clone());
    let by_rank: Vec<RankTimes> = (0..)
        .zip(&trace.ranks)
        .map(|(rank, record)| RankTimes {
            rank,
            end_s: record.end.as_secs_f64(),
            compute_us: record.compute.as_us_f64(),
            communicating_us: record.exposed.as_us_f64(),
            waiting_us: record.waiting.as_us_f64(),
        })
        .collect();
    let sum = |of: fn(&RankTimes) -> f64| by_rank.iter().map(of).sum::<f64>();
    let (compute, all) = (
        sum(|rank| rank.compute_us),
        sum(|rank| rank.compute_us + rank.communicating_us + rank.waiting_us),
    );
    // Computing is averaged over ranks, because ranks of a trace may differ in what they compute.
    let rank_iterations = by_rank.len().max(1) as f64 * repeats.max(1) as f64;
    let compute_us = compute / rank_iterations;
    // Cost models without accounts of ranks have no computing times.
    let mean = iteration_us.mean.filter(|_| trace.is_done && all > 0.0);
    JobTimes {
        label: job.label.clone(),
        ranks: job.hosts.len() as u32,
        start_s: job.start.as_secs_f64(),
        compute_us,
        iterations: FlowCount {
            total: repeats,
            completed: iterations_us.len() as u64,
        },
        communication: mean.map(|mean| 1.0 - compute_us / mean),
        exposed_us: mean.map(|mean| mean - compute_us),
        iteration_us,
        iterations_us,
        by_rank,
        path,
        stuck: trace.stuck.iter().map(|one| one.text.clone()).collect(),
        priced: trace.local.map(|local| PricedMessages {
            messages: local.messages,
            bytes: local.bytes,
        }),
    }
}

/// Returns the time at which a host finishes the computing at the end of an iteration; `None` if it did not get there.
fn tail_end(input: &Resolved, outcome: &Outcome, tail: &Tail) -> Option<f64> {
    let flow = outcome.flows.get(tail.after as usize)?;
    let from = match tail.awaited {
        Awaited::Started => Some(flow.start).filter(|_| flow.status != FlowStatus::NotStarted),
        Awaited::Received => flow.received,
        Awaited::Acknowledged => {
            let finish = flow.start.saturating_add(flow.fct);
            Some(finish).filter(|_| flow.status == FlowStatus::Completed)
        }
    }?;
    let slow = slowness(&input.run.host_changes, tail.host);
    Some(Time::from_ps(slow.end(from.as_ps(), tail.delay.as_ps())).as_secs_f64())
}

/// Iteration of a job, with its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iteration {
    pub(super) index: u32,
    /// Start of the job, or end of the iteration before.
    pub(super) start: Time,
    pub(super) end: Time,
}

/// Returns the ends of a job's completed iterations, in seconds; none of a job by a trace.
fn ends_by_steps(
    input: &Resolved,
    outcome: &Outcome,
    job: &paceline_scenario::Job,
    times: &[CollectiveTime],
) -> Vec<f64> {
    let Some(&collective) = job.collectives.first().filter(|_| job.trace.is_none()) else {
        return Vec::new();
    };
    let first = |collective: usize| -> usize {
        let before = &input.collectives[..collective];
        before.iter().map(|one| one.iterations.len()).sum()
    };
    // All collectives of a job have one iteration for each iteration of the job.
    let count = input.collectives[collective].iterations.len();
    let firsts: Vec<usize> = job.collectives.iter().map(|&one| first(one)).collect();
    let ended = (0..count).map_while(|iteration| {
        let ends = firsts.iter().map(|first| times[first + iteration].end_s);
        let tails = job.tails.get(iteration).into_iter().flatten();
        let tails = tails.map(|tail| tail_end(input, outcome, tail));
        // The iteration ends with the last collective or the computing after it, and only if all of them ended.
        ends.chain(tails)
            .try_fold(0.0, |last: f64, end| Some(last.max(end?)))
    });
    ended.collect()
}

/// Returns the first of the slowest iterations of each job, from the ends of its iterations in seconds.
fn slowest_of<'a>(
    jobs: &'a [paceline_scenario::Job],
    ends: &[Vec<f64>],
) -> Vec<(&'a paceline_scenario::Job, Iteration)> {
    let at = |seconds: f64| Time::from_ps((seconds * 1e12).round() as u64);
    let slowest = |(job, ends): (&'a paceline_scenario::Job, &Vec<f64>)| {
        let starts = [job.start].into_iter().chain(ends.iter().map(|&end| at(end)));
        let all = (0..)
            .zip(starts)
            .zip(ends)
            .map(|((index, start), &end)| Iteration {
                index,
                start,
                end: at(end),
            });
        // Of equal ones the first.
        let took = |one: &Iteration| (one.end.saturating_since(one.start), std::cmp::Reverse(one.index));
        Some((job, all.max_by_key(took)?))
    };
    jobs.iter().zip(ends).filter_map(slowest).collect()
}

/// Returns the slowest iteration of each job by steps.
pub(super) fn slowest_by_steps<'a>(
    input: &'a Resolved,
    outcome: &Outcome,
) -> Vec<(&'a paceline_scenario::Job, Iteration)> {
    let times = collective_times(input, outcome);
    let ends: Vec<Vec<f64>> = (input.jobs.iter())
        .map(|job| ends_by_steps(input, outcome, job, &times))
        .collect();
    slowest_of(&input.jobs, &ends)
}

/// Returns the times of every job; `times` are those of all collectives' iterations, one collective after another.
pub(super) fn job_times(
    input: &Resolved,
    outcome: &Outcome,
    flows: &FlowRows,
    times: &[CollectiveTime],
) -> Vec<JobTimes> {
    let ends: Vec<Vec<f64>> = (input.jobs.iter())
        .map(|job| ends_by_steps(input, outcome, job, times))
        .collect();
    let paths = critical_paths(input, outcome, flows, &slowest_of(&input.jobs, &ends));
    let of = |(job, ends): (&paceline_scenario::Job, &Vec<f64>)| {
        let path = paths.get(&job.label).cloned();
        if let Some(by_trace) = &job.trace {
            let trace = outcome.programs.get(by_trace.program)?.get()?;
            return Some(of_trace(job, trace, u64::from(by_trace.repeats), path));
        }
        let count = input.collectives[*job.collectives.first()?].iterations.len();
        let mut before = job.start.as_secs_f64();
        let iterations_us: Vec<f64> = (ends.iter())
            .map(|&end| (end - std::mem::replace(&mut before, end)) * 1e6)
            .collect();
        let iteration_us = Distribution::of(iterations_us.clone());
        let compute_us = job.compute.as_us_f64();
        Some(JobTimes {
            label: job.label.clone(),
            ranks: job.hosts.len() as u32,
            start_s: job.start.as_secs_f64(),
            compute_us,
            iterations: FlowCount {
                total: count as u64,
                completed: iterations_us.len() as u64,
            },
            communication: iteration_us.mean.map(|mean| 1.0 - compute_us / mean),
            exposed_us: iteration_us.mean.map(|mean| mean - compute_us),
            iteration_us,
            iterations_us,
            by_rank: Vec::new(),
            path,
            stuck: Vec::new(),
            priced: None,
        })
    };
    input.jobs.iter().zip(&ends).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use paceline_scenario::{Overrides, load_text};

    use super::*;
    use crate::run::{Control, execute};

    fn run(duration: &str) -> Vec<JobTimes> {
        let text = format!(
            "duration = '{duration}'\ncheck = true\n[topology.star]\nhosts = 4\n[cc]\nscheme = 'none'\n\
             [[job]]\nlabel = 'two'\nhosts = '1..2'\nstart = '10us'\niterations = 3\n\
             [[job.step]]\ncompute = '30us'\nall-gather = {{ size = '2KB' }}\n\
             [[job.step]]\ncompute = '20us'\nall-to-all = {{ size = '1KB' }}\n\
             [[job]]\nlabel = 'late'\nhosts = '3..4'\nstart = '1ms'\n[[job.step]]\nall-gather = {{}}\n"
        );
        let input = load_text("test.toml", &text, &Overrides::default()).unwrap();
        let done = execute(&input, &mut |_| Control::Continue).unwrap();
        done.summary.jobs
    }

    /// Each step is one packet of 1048 bytes in each direction, 83.84 ns per link, over two links of 1 us. A second
    /// iteration starts when the messages of the all-to-all are acknowledged, which is later than the arrival of their
    /// data.
    #[test]
    fn iterations_by_hand() {
        let jobs = run("2ms");
        let packet_us = 2.0 * (0.08384 + 1.0);
        let two = &jobs[0];
        assert_eq!((two.label.as_str(), two.ranks, two.compute_us), ("two", 2, 50.0));
        assert_eq!((two.iterations.total, two.iterations.completed), (3, 3));
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        close(two.iterations_us[0], 50.0 + 2.0 * packet_us);
        // The acknowledgement of an all-to-all comes a way back later.
        let ack_us = 2.0 * (0.0048 + 1.0);
        close(two.iterations_us[1], 50.0 + 2.0 * packet_us + ack_us);
        close(two.iteration_us.max.unwrap(), two.iterations_us[1]);
        let mean = two.iterations_us.iter().sum::<f64>() / 3.0;
        close(two.communication.unwrap(), 1.0 - 50.0 / mean);
        close(two.exposed_us.unwrap(), mean - 50.0);
        close(jobs[1].start_s, 1e-3);
        assert_eq!(jobs[1].iterations.completed, 1);
    }

    #[test]
    fn what_is_not_over_has_no_time() {
        let jobs = run("100us");
        assert_eq!((jobs[0].iterations.total, jobs[0].iterations.completed), (3, 1));
        assert_eq!(jobs[1].iterations.completed, 0);
        assert_eq!((jobs[1].iteration_us.mean, jobs[1].communication), (None, None));
    }
}
