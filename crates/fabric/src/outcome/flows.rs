//! Flows over time.

use paceline_kernel::{BitRate, Bytes, Span, Time};

/// What a flow's scheme allowed over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSeries {
    /// Which flow.
    pub flow: u32,
    /// A point where something differs from the point before, in order of time.
    pub points: Vec<FlowPoint>,
}

/// A flow's limits at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPoint {
    /// When.
    pub at: Time,
    /// The scheme's rate.
    pub rate: BitRate,
    /// Payload bytes that may be in flight; [`Bytes::MAX`] for any number.
    pub window: Bytes,
    /// The last round-trip time; zero before the first.
    pub rtt: Span,
}

impl FlowPoint {
    /// Whether it says what the other does, at another time.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        (self.rate, self.window, self.rtt) == (other.rate, other.window, other.rtt)
    }
}

impl FlowSeries {
    /// Points that a flow has at most; with very many flows, fewer.
    pub const POINTS_MAX: usize = 2048;
}
