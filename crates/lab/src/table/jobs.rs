//! Headline of a run with jobs or services: the time of iterations, the slowest rank, and the part that is
//! communication; the time to first tokens, and the part of the transfers in it.

use crate::layout;
use crate::results::{JobTimes, ServiceTimes, Summary};
use crate::text::{bytes, duration_us};

/// Maximum number of jobs with a line; the table by job has all.
const SHOWN: usize = 3;

/// Returns a paragraph of lines of `width` for each of the first jobs and services, and an empty line; empty without
/// any.
pub fn job_headline(summary: &Summary, width: usize) -> String {
    let jobs = summary.jobs.iter().take(SHOWN);
    let mut text: String = jobs
        .map(|job| layout::paragraph(&job.headline(), width))
        .collect();
    if summary.jobs.len() > SHOWN {
        let more = summary.jobs.len() - SHOWN;
        text.push_str(&format!("and {more} more jobs, in the table by job\n"));
    }
    let services = summary.services.iter().take(SHOWN);
    text.extend(services.map(|service| layout::paragraph(&service.headline(), width)));
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

impl ServiceTimes {
    /// Describes the service's requests in a line.
    pub fn headline(&self) -> String {
        let (done, total) = (self.requests.completed, self.requests.total);
        if self.ttft_us.mean.is_none() {
            return format!("service {}: none of {total} requests got a token", self.label);
        }
        let mut text = format!(
            "service {}: the first token took {} on average, {} at p99 ({done} of {total} requests)",
            self.label,
            duration_us(self.ttft_us.mean),
            duration_us(self.ttft_us.p99)
        );
        if let Some(share) = self.kv_share {
            text.push_str(&format!(
                "; {:.0} % of it is the transfer of the cache",
                100.0 * share
            ));
        }
        if let (Some(goodput), Some(share)) = (self.goodput_per_s, self.within_slo) {
            text.push_str(&format!(
                "; {:.0} % of the requests were within the limits, {goodput:.4} per second",
                100.0 * share
            ));
        }
        text
    }
}

impl JobTimes {
    /// Describes the job's iterations in a line.
    pub fn headline(&self) -> String {
        let us = |value: Option<f64>| duration_us(value);
        let (done, total) = (self.iterations.completed, self.iterations.total);
        if self.iteration_us.mean.is_none() {
            return format!("job {}: none of {total} iterations ended", self.label);
        }
        let mut text = match total {
            1 => format!(
                "job {}: its iteration took {}",
                self.label,
                us(self.iteration_us.mean)
            ),
            _ => format!(
                "job {}: an iteration took {} on average, {} at p99 ({done} of {total})",
                self.label,
                us(self.iteration_us.mean),
                us(self.iteration_us.p99)
            ),
        };
        if let Some(share) = self.communication {
            text.push_str(&format!("; {:.0} % of it is communication", 100.0 * share));
        }
        if let Some(rank) = self.slowest_rank() {
            text.push_str(&format!("; rank {rank} was slowest"));
        }
        if let Some(alone) = self.alone_us() {
            text.push_str(&format!(
                "; without contention its slowest one ({}) would take {}",
                us(self.path.as_ref().map(|path| path.time_us)),
                us(Some(alone))
            ));
        }
        if let Some(priced) = self.priced {
            text.push_str(&format!(
                "; {} messages inside servers ({}) had a price, and were not simulated",
                priced.messages,
                bytes(priced.bytes)
            ));
        }
        text
    }

    /// Returns the rank at which the iteration of its critical path ended.
    pub fn slowest_rank(&self) -> Option<u32> {
        self.path.as_ref()?.rank
    }

    /// Returns the time of the iteration of its critical path less the contention of the messages there, in
    /// microseconds: a lower bound for the path in an empty network.
    pub fn alone_us(&self) -> Option<f64> {
        let path = self.path.as_ref()?;
        let messages: f64 = path.sums.iter().map(|one| one.messages_us).sum();
        let contention: f64 = path.sums.iter().map(|one| one.contention_us).sum();
        (messages > 0.0).then_some(path.time_us - contention)
    }
}
