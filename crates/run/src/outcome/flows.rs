//! Flows over time.

use super::Binned;

/// What a flow's scheme allowed over time, sampled at its start and at every multiple of the period.
/// When the series of all flows are too long, the longest of them get wider bins, each for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSeries {
    /// Which flow.
    pub flow: u32,
    /// The scheme's rate, in bit/s.
    pub rate: Binned,
    /// Payload bytes that may be in flight; without samples while any number may.
    pub window: Binned,
    /// The last round-trip time, in ps; from the first sample that has one.
    pub rtt: Binned,
}
