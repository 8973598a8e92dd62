//! Stalls of ports for lack of credits.

use paceline_kernel::Span;

/// Stalls of lanes that had a packet to send but no credit, summed over all ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of stalls that began.
    pub count: u64,
    /// Duration, summed over stalls.
    pub time: Span,
}
