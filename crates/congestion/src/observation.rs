//! Observations that a sender reports when it asks for a decision outside the run.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, PathInfo, SendLimits};
use crate::mark::Mark;
use crate::switch_ack::PortReport;

/// Counters of a sender between two decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Number of acknowledgements, NACKs included.
    pub acks: u32,
    /// Payload bytes newly acknowledged.
    pub acked: u64,
    /// Acknowledgements with a congestion mark.
    pub marked: u32,
    /// Negative acknowledgements, each of which reports a gap.
    pub nacks: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Congestion notification packets from the receiver.
    pub cnps: u32,
    /// Sum of all round-trip times.
    pub rtt_sum: Span,
    /// Smallest round-trip time; without acknowledgements, the last known one.
    pub rtt_min: Span,
    /// Last known round-trip time, possibly from an earlier interval.
    pub rtt_last: Span,
    /// Longest queue in any telemetry, in bytes.
    pub queue_max: u32,
    /// Longest time in which a queue of the telemetry drains.
    pub queue_delay_max: Span,
    /// Replies from switches, with their extremes.
    pub answers: Answers,
}

/// Counters of replies from switches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    /// Number of replies received.
    pub count: u32,
    /// Longest time in which a reported queue drains.
    pub drains_max: Span,
    /// Growth of that queue as a share of its link's rate.
    pub growth: f64,
    /// Largest reported utilisation of a link.
    pub utilisation_max: f64,
}

impl Answers {
    pub(crate) fn count(&mut self, report: &PortReport) {
        let drains = report.drains();
        // The growth belongs to the longest queue.
        if self.count == 0 || drains >= self.drains_max {
            (self.drains_max, self.growth) = (drains, report.growth());
        }
        self.count += 1;
        self.utilisation_max = self.utilisation_max.max(report.utilisation());
    }
}

impl Counters {
    pub(crate) fn count(&mut self, path: &PathInfo, ack: &AckInfo<'_>) {
        // Before the first ACK of an interval it holds the last known value, which may be lower.
        self.rtt_min = if self.acks == 0 {
            ack.rtt
        } else {
            self.rtt_min.min(ack.rtt)
        };
        self.acks += 1;
        self.acked += ack.newly_acked;
        self.marked += u32::from(ack.mark != Mark::None);
        self.nacks += u32::from(ack.nack);
        self.rtt_sum += ack.rtt;
        self.rtt_last = ack.rtt;
        for (hop, rate) in ack.hops.iter().zip(&path.hop_rates) {
            self.queue_max = self.queue_max.max(hop.queue_bytes);
            let drains = rate.time_to_send(Bytes::new(u64::from(hop.queue_bytes)));
            self.queue_delay_max = self.queue_delay_max.max(drains);
        }
    }

    /// Resets the counters and keeps the last known round-trip time.
    pub(crate) fn begin(&mut self) {
        *self = Self {
            rtt_min: self.rtt_last,
            rtt_last: self.rtt_last,
            ..Self::default()
        };
    }

    /// Returns the mean round-trip time; without acknowledgements, the last known one.
    pub fn rtt_mean(&self) -> Span {
        match self.acks {
            0 => self.rtt_last,
            acks => Span::from_ps(self.rtt_sum.as_ps() / u64::from(acks)),
        }
    }
}

/// Observation that a sender reports with its request for a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Number of requests so far.
    pub asked: u64,
    /// Time of the previous request; for the first one, departure time of the first packet.
    pub since: Time,
    /// Time of the request.
    pub at: Time,
    /// Counters between `since` and `at`.
    pub tally: Counters,
    /// Mean round-trip time of the previous observation; zero for the first.
    pub rtt_before: Span,
    /// Limits at the time of the request.
    pub limits: SendLimits,
    /// Lowest rate that a decision may set.
    pub min_rate: BitRate,
    /// Payload bytes in flight after the last acknowledgement.
    pub in_flight: u64,
}

impl Observation {
    /// Creates the observation of a sender that has not asked.
    pub(crate) fn new(limits: SendLimits, min_rate: BitRate) -> Self {
        Self {
            asked: 0,
            since: Time::ZERO,
            at: Time::ZERO,
            tally: Counters::default(),
            rtt_before: Span::ZERO,
            limits,
            min_rate,
            in_flight: 0,
        }
    }

    /// Returns the duration of the observation.
    pub fn span(&self) -> Span {
        self.at.saturating_since(self.since)
    }
}
