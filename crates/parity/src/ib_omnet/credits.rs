//! State of a port's lane: arbiter, wire and input buffer.

use std::num::NonZeroU64;

/// Content of a flow-control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    /// Limit for the other end, in packets since the start of the run.
    pub(super) limit: u32,
    /// Packets that this end has transmitted.
    pub(super) sent: u32,
}

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
    /// Content of the last update that this port sent.
    pub(super) announced: Option<Announcement>,
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

    /// Returns the content of the next update.
    #[inline(always)]
    pub(super) const fn news(&self) -> Announcement {
        Announcement {
            limit: self.arrived + self.free,
            sent: self.sent,
        }
    }

    /// Returns true if the last update is still up to date.
    #[inline(always)]
    pub(super) fn is_announced(&self) -> bool {
        self.announced == Some(self.news())
    }
}
