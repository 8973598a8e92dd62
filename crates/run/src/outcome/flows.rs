//! Time series of flows.

use super::Binned;

/// Limits that a flow's scheme set over time, sampled at its start and at every multiple of the period. If
/// the series of all flows are too long, the longest of them get wider bins, each independently.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSeries {
    /// Index of the flow.
    pub flow: u32,
    /// Rate of the scheme, in bit/s.
    pub rate: Binned,
    /// Limit of payload bytes in flight; without samples while there is no limit.
    pub window: Binned,
    /// Last round-trip time, in ps; from the first sample that has one.
    pub rtt: Binned,
}
