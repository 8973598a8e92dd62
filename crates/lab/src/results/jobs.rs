//! How long the iterations of training jobs took.

use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use super::collectives::CollectiveTime;
use super::groups::FlowCount;
use crate::stats::Distribution;

/// A training job. An iteration takes from the end of the one before, or the job's start, to the arrival of the last
/// byte of its last collective at any host: computing included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobTimes {
    /// Its label.
    pub label: String,
    /// How many ranks it has, each a host.
    pub ranks: u32,
    /// When its hosts begin.
    pub start_s: f64,
    /// What each host computes in an iteration, in microseconds.
    pub compute_us: f64,
    /// Iterations: all, and those that came to their end.
    pub iterations: FlowCount,
    /// How long those took, in microseconds.
    pub iteration_us: Distribution,
    /// Each of them, in order.
    pub iterations_us: Vec<f64>,
    /// The share of that time in which hosts did not compute, which is what the network adds; null before the first
    /// iteration's end.
    pub communication: Option<f64>,
}

/// Every job; `times` are those of all collectives' iterations, one collective after another.
pub(super) fn job_times(input: &Resolved, times: &[CollectiveTime]) -> Vec<JobTimes> {
    let first = |collective: usize| -> usize {
        let before = &input.collectives[..collective];
        before.iter().map(|one| one.iterations.len()).sum()
    };
    let of = |job: &paceline_scenario::Job| {
        let last = *job.collectives.last()?;
        let all = &times[first(last)..][..input.collectives[last].iterations.len()];
        let mut before = job.start.as_secs_f64();
        let ended = all.iter().map_while(|time| time.end_s);
        let iterations_us: Vec<f64> = ended
            .map(|end| (end - std::mem::replace(&mut before, end)) * 1e6)
            .collect();
        let iteration_us = Distribution::of(iterations_us.clone());
        let compute_us = job.compute.as_us_f64();
        Some(JobTimes {
            label: job.label.clone(),
            ranks: job.hosts.len() as u32,
            start_s: job.start.as_secs_f64(),
            compute_us,
            iterations: FlowCount {
                total: all.len() as u64,
                completed: iterations_us.len() as u64,
            },
            communication: iteration_us.mean.map(|mean| 1.0 - compute_us / mean),
            iteration_us,
            iterations_us,
        })
    };
    input.jobs.iter().filter_map(of).collect()
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

    /// Each step is one packet of 1048 bytes each way, 83.84 ns per link, over two links of 1 us. A second iteration
    /// begins when the messages of the all-to-all are acknowledged: that much later than its data.
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
