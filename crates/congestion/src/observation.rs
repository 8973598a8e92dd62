//! What a sender that is decided for outside the run tells those who decide.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, PathInfo, SendLimits};
use crate::mark::Mark;
use crate::switch_ack::PortReport;

/// What a sender counted over a while.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Acknowledgements.
    pub acks: u32,
    /// Payload bytes that they were the first to acknowledge.
    pub acked: u64,
    /// Those that were marked.
    pub marked: u32,
    /// Those that told of a gap.
    pub nacks: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Notifications of the receiver.
    pub cnps: u32,
    /// Sum of the round-trip times.
    pub rtt_sum: Span,
    /// The smallest of them; that of the last acknowledgement where there was none.
    pub rtt_min: Span,
    /// The last that is known, also of a time before.
    pub rtt_last: Span,
    /// The most bytes in a port's queue that telemetry told of.
    pub queue_max: u32,
    /// The longest time that such a queue takes to drain.
    pub queue_delay_max: Span,
    /// What switches answered.
    pub answers: Answers,
}

/// What a sender counted of what switches answered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    /// How many answers.
    pub count: u32,
    /// The longest time that a queue takes to drain of which they told.
    pub drains_max: Span,
    /// The growth of that queue over its line's rate.
    pub growth: f64,
    /// The largest share of a line that was used.
    pub utilisation_max: f64,
}

impl Answers {
    pub(crate) fn count(&mut self, report: &PortReport) {
        let drains = report.drains();
        if self.count == 0 || drains >= self.drains_max {
            (self.drains_max, self.growth) = (drains, report.growth());
        }
        self.count += 1;
        self.utilisation_max = self.utilisation_max.max(report.utilisation());
    }
}

impl Counters {
    pub(crate) fn count(&mut self, path: &PathInfo, ack: &AckInfo<'_>) {
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

    /// Counts from nothing; what is known last stays known.
    pub(crate) fn begin(&mut self) {
        *self = Self {
            rtt_min: self.rtt_last,
            rtt_last: self.rtt_last,
            ..Self::default()
        };
    }

    /// The mean round-trip time; that of the last acknowledgement where there was none.
    pub fn rtt_mean(&self) -> Span {
        match self.acks {
            0 => self.rtt_last,
            acks => Span::from_ps(self.rtt_sum.as_ps() / u64::from(acks)),
        }
    }
}

/// What a sender tells when it asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// How many times it has asked.
    pub asked: u64,
    /// When it asked the time before; at first when its first packet left.
    pub since: Time,
    /// When it asked.
    pub at: Time,
    /// What it counted between.
    pub tally: Counters,
    /// The mean round-trip time that it told of the time before; zero at first.
    pub rtt_before: Span,
    /// What held when it asked.
    pub limits: SendLimits,
    /// The lowest rate that it may be told.
    pub min_rate: BitRate,
    /// Payload bytes in flight after the last acknowledgement.
    pub in_flight: u64,
}

impl Observation {
    /// Of a sender that has not asked.
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

    /// Over how long it counted.
    pub fn span(&self) -> Span {
        self.at.saturating_since(self.since)
    }
}
