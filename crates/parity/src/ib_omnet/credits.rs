//! What is known of a lane of a port: at its arbiter, on its wire, in its input buffer.

use std::num::NonZeroU64;

/// A lane of a port. Packets are counted from the beginning of the run, in whole numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    /// Up to which packet the other end lets this port send (FCCL), as its arbiter knows.
    pub(super) limit: u32,
    /// Packets that the arbiter has let go.
    pub(super) granted: u32,
    /// Packets that went on the wire: FCTBS.
    pub(super) sent: u32,
    /// Packets that came in: ABR.
    pub(super) arrived: u32,
    /// Places that are free in the input buffer.
    pub(super) free: u32,
    /// What this port has told last: limit, and packets sent.
    pub(super) announced: Option<(u32, u32)>,
    /// Packets that wait in inputs for this output, those in slots apart.
    pub(super) waiting: u32,
    /// The input served last.
    pub(super) last_input: u8,
    /// Inputs whose slot at this output has a packet, or one that is on its way there.
    pub(super) filled: u64,
    pub(super) promised: u64,
    /// Since when it has a packet and no credit, if that is so.
    pub(super) stalled_since: Option<NonZeroU64>,
}

impl Lane {
    /// Packets that the arbiter may still let go.
    #[inline(always)]
    pub(super) const fn credits(&self) -> u32 {
        self.limit.saturating_sub(self.granted)
    }

    /// What there is to tell: up to which packet the other end may send, and how many went out here.
    #[inline(always)]
    pub(super) const fn news(&self) -> (u32, u32) {
        (self.arrived + self.free, self.sent)
    }

    /// Whether that has been told.
    #[inline(always)]
    pub(super) fn is_announced(&self) -> bool {
        self.announced == Some(self.news())
    }
}
