//! A sender's pull target, which its packets carry: the credit that it wants to be granted.

use paceline_congestion::rccc::pacer::QUANTUM;

/// Inputs of a sender's pull target, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// Wire bytes to send or retransmit.
    pub(super) bytes: i64,
    /// The congestion window; `None` without congestion control at the sender.
    pub(super) window: Option<i64>,
    /// The network's largest window.
    pub(super) most: i64,
    pub(super) credit: i64,
    /// Lower limit of the target: one packet, if at least one must be requested.
    pub(super) least: Option<i64>,
    /// Number of flows that wait for the NIC, which share the credit.
    pub(super) waiting: usize,
    /// Credit granted so far, quanta.
    pub(super) pull: u64,
}

impl Backlog {
    /// Returns the pull target in quanta, counted from the start of the flow.
    #[inline]
    pub(super) fn target(self) -> u64 {
        let mut bytes = self.bytes;
        if let Some(window) = self.window {
            bytes = bytes.min(window);
        }
        bytes = bytes.min(self.most) - self.credit;
        if let Some(least) = self.least {
            bytes = bytes.max(least);
        }
        // Flows that wait for the same NIC share it, so each asks for its part.
        if self.waiting > 1 {
            bytes /= self.waiting as i64;
        }
        ((bytes + QUANTUM * self.pull as i64 + 255) / QUANTUM) as u64
    }
}
