//! What is known of an agent when it asks, in the units of the field.

use crate::{Observation, PathInfo};

/// Calls a macro with the fields that are measured of each flow.
macro_rules! of_a_flow {
    ($of:ident) => {
        $of!(
            span_us,
            rtt_us,
            rtt_before_us,
            rtt_min_us,
            base_rtt_us,
            delivered_gbps,
            rate_gbps,
            line_gbps,
            bottleneck_gbps,
            acks,
            loss,
            marked,
            queue_us,
            switch_queue_us,
            switch_growth,
            switch_utilisation,
            switch_answers,
            in_flight,
            bdp,
            action
        )
    };
}

/// What was measured since an agent's last question: of its flow, or the mean over those flows of it that ask.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Of how many flows it is the mean.
    pub flows: f64,
    /// Over how long, in us.
    pub span_us: f64,
    /// Mean round-trip time, in us; the last known where there was no acknowledgement.
    pub rtt_us: f64,
    /// The mean of the time before the last question, in us; as now with the first.
    pub rtt_before_us: f64,
    /// The smallest, in us.
    pub rtt_min_us: f64,
    /// That of the empty network, in us.
    pub base_rtt_us: f64,
    /// Payload that was acknowledged, in Gbit/s.
    pub delivered_gbps: f64,
    /// The rate at which packets may leave, in Gbit/s.
    pub rate_gbps: f64,
    /// The sender's line, in Gbit/s.
    pub line_gbps: f64,
    /// The last link to the receiver, in Gbit/s.
    pub bottleneck_gbps: f64,
    /// Acknowledgements.
    pub acks: f64,
    /// Share of acknowledgements that told of a gap; 1 after a timeout.
    pub loss: f64,
    /// Share of acknowledgements that were marked.
    pub marked: f64,
    /// How long the longest queue on the way takes to drain, in us, by telemetry.
    pub queue_us: f64,
    /// The same, of what switches answered.
    pub switch_queue_us: f64,
    /// How fast that queue grows, over its line's rate.
    pub switch_growth: f64,
    /// The largest share of a line that was used, of what switches answered.
    pub switch_utilisation: f64,
    /// Answers of switches.
    pub switch_answers: f64,
    /// Bytes in flight.
    pub in_flight: f64,
    /// The bandwidth-delay product in bytes.
    pub bdp: f64,
    /// The last action.
    pub action: f64,
}

impl Measured {
    /// Of what a sender tells.
    pub fn new(report: &Observation, path: &PathInfo, action: f32) -> Self {
        let tally = &report.tally;
        let span_us = report.span().as_us_f64();
        let share = |count: u32| f64::from(count) / f64::from(tally.acks.max(1));
        let line_gbps = path.line_rate.as_gbps_f64();
        Self {
            flows: 1.0,
            span_us,
            rtt_us: tally.rtt_mean().as_us_f64(),
            rtt_before_us: match report.asked {
                1 => tally.rtt_mean().as_us_f64(),
                _ => report.rtt_before.as_us_f64(),
            },
            rtt_min_us: tally.rtt_min.as_us_f64(),
            base_rtt_us: path.base_rtt.as_us_f64(),
            delivered_gbps: if span_us > 0.0 {
                tally.acked as f64 * 8e-3 / span_us
            } else {
                0.0
            },
            rate_gbps: report.limits.rate.as_gbps_f64(),
            line_gbps,
            bottleneck_gbps: path.hop_rates.last().map_or(line_gbps, |rate| rate.as_gbps_f64()),
            acks: f64::from(tally.acks),
            loss: if tally.timeouts > 0 {
                1.0
            } else {
                share(tally.nacks)
            },
            marked: share(tally.marked),
            queue_us: tally.queue_delay_max.as_us_f64(),
            switch_queue_us: tally.answers.drains_max.as_us_f64(),
            switch_growth: tally.answers.growth,
            switch_utilisation: tally.answers.utilisation_max,
            switch_answers: f64::from(tally.answers.count),
            in_flight: report.in_flight as f64,
            bdp: path.bdp.get() as f64,
            action: f64::from(action),
        }
    }

    /// The round-trip time over the empty network's.
    pub fn latency(&self) -> f64 {
        self.rtt_us / self.base_rtt_us.max(1e-9)
    }

    /// The sum, of which [`Self::over`] makes the mean.
    pub fn add(&mut self, other: &Self) {
        self.each(other, |mine, theirs| mine + theirs);
    }

    /// A sum of so many, as their mean.
    pub fn over(&mut self, count: usize) {
        let zero = Self::default();
        self.each(&zero, |mine, _| mine / count.max(1) as f64);
        self.flows = count as f64;
    }

    /// How many flows it is of, and all that is measured of one, by the names of the fields.
    pub fn columns(&self) -> [(&'static str, f64); 21] {
        macro_rules! columns {
            ($($field:ident),+) => { [("flows", self.flows), $((stringify!($field), self.$field)),+] };
        }
        of_a_flow!(columns)
    }

    fn each(&mut self, other: &Self, of: impl Fn(f64, f64) -> f64) {
        macro_rules! each {
            ($($field:ident),+) => { $(self.$field = of(self.$field, other.$field);)+ };
        }
        of_a_flow!(each);
    }
}
