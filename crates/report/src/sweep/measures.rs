//! What a sweep is looked at for.

use paceline_lab::results::Summary;

/// A quantity of a run.
pub(super) struct Measure {
    pub(super) name: &'static str,
    /// `B`, `µs`: the page chooses a multiple that reads well.
    pub(super) unit: &'static str,
    /// 1: the less the better; -1: the more the better; 0: neither.
    pub(super) cost: i8,
    pub(super) of: fn(&Summary) -> Option<f64>,
}

macro_rules! measures {
    ($($name:literal $unit:literal $cost:literal: $of:expr;)*) => {
        /// In the order in which they are offered; the first is shown first.
        pub(super) const MEASURES: &[Measure] =
            &[$(Measure { name: $name, unit: $unit, cost: $cost, of: $of },)*];
    };
}
measures! {
    "FCT slowdown, p99" "×" 1: |s| s.fct_slowdown.p99;
    "FCT slowdown, mean" "×" 1: |s| s.fct_slowdown.mean;
    "FCT slowdown, median" "×" 1: |s| s.fct_slowdown.p50;
    "FCT slowdown, p95" "×" 1: |s| s.fct_slowdown.p95;
    "FCT, mean" "µs" 1: |s| s.fct_us.mean;
    "Makespan" "µs" 1: |s| s.makespan_us;
    "RTT, mean" "µs" 1: |s| s.rtt_per_ack_us.mean;
    "RTT, p99" "µs" 1: |s| s.rtt_per_ack_us.p99;
    "Rate while active" "Gbit/s" -1: |s| s.rate_while_active_gbps;
    "Goodput of all flows" "Gbit/s" -1: |s| s.goodput_gbps.aggregate;
    "Jain's index" "" -1: |s| s.jain;
    "Largest queue" "B" 1: |s| Some(s.queue_bytes.max as f64);
    "Queue, mean" "B" 1: |s| s.queue_bytes.mean;
    "PFC pauses" "" 1: |s| Some(s.pfc.pauses as f64);
    "Packets marked" "" 0: |s| Some(s.ecn.ce as f64);
    "Packets lost" "" 1: |s| Some(s.drops as f64);
    "Flows completed" "%" -1: |s| {
        (s.flows.total > 0).then(|| s.flows.completed as f64 / s.flows.total as f64 * 100.0)
    };
}

/// The first: that by which the page's story compares points.
pub(super) const MAIN: usize = 0;
