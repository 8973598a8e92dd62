//! Who made whom wait, and where.
//!
//! A packet waits at an egress port from the moment it joins the port's queue until its transmission starts (or it is
//! lost, or the run ends). Each instant of a wait has one cause ([`Why`]):
//!
//! 1. While the peer has paused the packet's class (PFC), the wait is [`Why::Paused`], whatever else the port sends. Its
//!    causes are those whose bytes stood in the queue that the pause comes from, in proportion to these bytes.
//! 2. Otherwise, while the port transmits, the packet on the wire is the cause: [`Why::Own`] if it is of the same flow,
//!    [`Why::InProgress`] if its transmission had started before the waiting packet came, [`Why::Queue`] if it was
//!    transmitted since.
//! 3. Otherwise the wait is [`Why::Idle`] and has no cause: the link is down.
//!
//! So the waits of all packets are the sum of these, to the picosecond. Time that a sender holds data back before it is a
//! packet (window, pacing, a busy NIC) is no wait in this sense: [`super::account`] has it.

use crate::outcome::PortRef;

/// Why packets waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A packet of the same flow was transmitted.
    Own,
    /// A packet of another flow was being transmitted when the waiting one came.
    InProgress,
    /// Packets of other flows were transmitted meanwhile: they came before, or are of another class.
    Queue,
    /// The peer had paused the packet's class.
    Paused,
    /// The port transmitted nothing.
    Idle,
}

impl Why {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Own, Self::InProgress, Self::Queue, Self::Paused, Self::Idle];

    /// Its name in files.
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

/// Which packets of a flow waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// Data.
    Data,
    /// Acknowledgements, negative ones too.
    Acks,
    /// Notifications, signals of switches, grants.
    Control,
}

impl Waiting {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Data, Self::Acks, Self::Control];

    /// Its name in files.
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
