//! How far a sender wants to send: the pull target that its packets carry.

use paceline_congestion::rccc::pacer::QUANTUM;

/// What a sender's pull target is made of, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// To be sent, and to be sent again.
    pub(super) bytes: i64,
    /// The window, if the sender has a congestion control, too.
    pub(super) window: Option<i64>,
    /// The largest window of the network.
    pub(super) most: i64,
    pub(super) credit: i64,
    /// A packet's size if one is to be asked for at least.
    pub(super) least: Option<i64>,
    /// Flows that wait for the NIC.
    pub(super) waiting: usize,
    /// Granted so far, quanta.
    pub(super) pull: u64,
}

impl Backlog {
    /// The pull target, quanta.
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
        if self.waiting > 1 {
            bytes /= self.waiting as i64;
        }
        ((bytes + QUANTUM * self.pull as i64 + 255) / QUANTUM) as u64
    }
}
