//! Measurements of an agent's flow, in the field's units.

use crate::{Observation, PathInfo};

/// Calls a macro with the fields that are measured per flow.
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

/// Measurements since an agent's last decision, of one flow or averaged over the flows that ask the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Number of flows averaged.
    pub flows: f64,
    /// Duration of the measurement, in us.
    pub span_us: f64,
    /// Mean round-trip time, in us; the last known value if no acknowledgement arrived.
    pub rtt_us: f64,
    /// Mean round-trip time of the interval before the last decision, in us; at the first decision, the
    /// present one.
    pub rtt_before_us: f64,
    /// Smallest round-trip time, in us.
    pub rtt_min_us: f64,
    /// Round-trip time of the empty network, in us.
    pub base_rtt_us: f64,
    /// Rate of acknowledged payload, in Gbit/s.
    pub delivered_gbps: f64,
    /// Rate at which packets may leave, in Gbit/s.
    pub rate_gbps: f64,
    /// Rate of the sender's link, in Gbit/s.
    pub line_gbps: f64,
    /// Rate of the last link to the receiver, in Gbit/s.
    pub bottleneck_gbps: f64,
    /// Acknowledgements received in the interval.
    pub acks: f64,
    /// Share of acknowledgements that report a gap; 1 after a timeout.
    pub loss: f64,
    /// Share of acknowledgements that carry an ECN mark.
    pub marked: f64,
    /// Time to drain the longest queue on the path, in us, from telemetry.
    pub queue_us: f64,
    /// Time to drain the longest queue on the path, in us, from switches' replies.
    pub switch_queue_us: f64,
    /// Growth of that queue as a share of its link's rate.
    pub switch_growth: f64,
    /// Largest link utilisation in the switches' replies.
    pub switch_utilisation: f64,
    /// Number of replies from switches.
    pub switch_answers: f64,
    /// Payload bytes sent and not acknowledged.
    pub in_flight: f64,
    /// Bandwidth-delay product, in bytes.
    pub bdp: f64,
    /// Last action, from -1 to 1.
    pub action: f64,
}

impl Measured {
    /// Converts a sender's observation and its last action.
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

    /// Returns the round-trip time divided by the empty network's.
    pub fn latency(&self) -> f64 {
        self.rtt_us / self.base_rtt_us.max(1e-9)
    }

    /// Adds another flow's measurements; [`Self::over`] turns the sum into a mean.
    pub fn add(&mut self, other: &Self) {
        self.each(other, |mine, theirs| mine + theirs);
    }

    /// Divides a sum by `count`, the number of flows in it.
    pub fn over(&mut self, count: usize) {
        let zero = Self::default();
        self.each(&zero, |mine, _| mine / count.max(1) as f64);
        self.flows = count as f64;
    }

    /// Returns all values with their field names, `flows` first.
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
