//! Causes of waiting in queues: which flows made which others wait, and at which ports.
//!
//! A packet waits at an egress port from joining the port's queue until its transmission starts, it is lost,
//! or the run ends. Each instant of a wait has one cause ([`Why`]):
//!
//! 1. While the peer has paused the packet's class (PFC), the wait is [`Why::Paused`], regardless of what else the port
//!    sends. Its causes are the flows with bytes in the queue that caused the pause, in proportion to these
//!    bytes.
//! 2. Otherwise, while the port transmits, the packet on the wire is the cause: [`Why::Own`] if it is of the
//!    same flow, [`Why::InProgress`] if its transmission had started before the waiting packet arrived,
//!    [`Why::Queue`] if it started later.
//! 3. Otherwise the wait is [`Why::Idle`] and has no cause: the link is down.
//!
//! So the waits of all packets are the sum of these, to the picosecond. Time during which a sender holds data
//! back (window, pacing, a busy NIC) does not count here: see [`super::account`].

use crate::outcome::PortRef;

/// Reason for which packets waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A packet of the same flow was being transmitted.
    Own,
    /// A packet of another flow was already being transmitted when the waiting one arrived.
    InProgress,
    /// Packets of other flows were transmitted in the meantime: they arrived earlier, or are of another
    /// class.
    Queue,
    /// The peer had paused the packet's class.
    Paused,
    /// The port transmitted nothing, because its link was down.
    Idle,
}

impl Why {
    /// All reasons, in the order of their declaration.
    pub const ALL: [Self; 5] = [Self::Own, Self::InProgress, Self::Queue, Self::Paused, Self::Idle];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::InProgress => "in-progress",
            Self::Queue => "queue",
            Self::Paused => "paused",
            Self::Idle => "idle",
        }
    }
}

/// Group of a flow's packets that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// Data packets, of any size.
    Data,
    /// Acknowledgements, including negative ones.
    Acks,
    /// Notifications, signals of switches, and grants.
    Control,
}

impl Waiting {
    /// All groups, in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Data, Self::Acks, Self::Control];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Acks => "acks",
            Self::Control => "control",
        }
    }
}

crate::recorded! {
    /// how long packets of one party (a label or a host) waited for another at a port; the times of a victim's rows sum to
    /// all the time that its packets waited in queues
    pub struct Waited = "blame", needs "record.blame" {
        /// whose packets waited: a label, or `host N`
        victim: String,
        /// which of them: `data`, `acks` or `control`
        packets: Waiting,
        /// for whom they waited; empty where nobody is known: link control was transmitted, a NIC sent the pause, or
        /// nothing was transmitted
        cause: String,
        /// at which egress port
        port: PortRef,
        /// why: `own`, `in-progress`, `queue`, `paused` or `idle`
        why: Why,
        /// how long, summed over packets
        waited_ps: u64,
    }
}

crate::named_value!(Why);
crate::named_value!(Waiting);
