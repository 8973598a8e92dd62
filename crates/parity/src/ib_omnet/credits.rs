//! State of a port's lane: arbiter, wire and input buffer.

use std::num::NonZeroU64;

/// State of one lane of a port. Packets are counted from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    /// Credit limit from the other end, as the arbiter knows it (FCCL): the number of packets that may be sent in
    /// total.
    pub(super) limit: u32,
    /// Packets that the arbiter has granted.
    pub(super) granted: u32,
    /// Packets put on the wire (FCTBS).
    pub(super) sent: u32,
    /// Packets that arrived at this port (ABR).
    pub(super) arrived: u32,
    /// Free packets in the input buffer.
    pub(super) free: u32,
    /// Limit and number of transmitted packets in the last update that this port sent.
    pub(super) announced: Option<(u32, u32)>,
    /// Packets that wait in inputs for this output, without those in slots.
    pub(super) waiting: u32,
    /// Input that the arbiter served last.
    pub(super) last_input: u8,
    /// Bit masks of inputs whose slot at this output is occupied (`filled`), or reserved for a packet in transit to
    /// it (`promised`).
    pub(super) filled: u64,
    pub(super) promised: u64,
    /// Start of the present credit stall, ps: the time since which the lane has a packet and no credit.
    pub(super) stalled_since: Option<NonZeroU64>,
}

impl Lane {
    /// Returns the number of packets that the arbiter may still grant.
    #[inline(always)]
    pub(super) const fn credits(&self) -> u32 {
        self.limit.saturating_sub(self.granted)
    }

    /// Returns the content of the next update: the other end's limit, and the packets transmitted here.
    #[inline(always)]
    pub(super) const fn news(&self) -> (u32, u32) {
        (self.arrived + self.free, self.sent)
    }

    /// Returns true if the last update is still up to date.
    #[inline(always)]
    pub(super) fn is_announced(&self) -> bool {
        self.announced == Some(self.news())
    }
}
