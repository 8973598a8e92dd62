//! The receiver's half of a scheme: what a receiver does about the data packets of its flow alongside acknowledging
//! them.
//!
//! A half is a state machine for one flow. It sees each data packet, may ask to be called again later, and says
//! what is to be told: it sends nothing itself.

use std::fmt::Debug;

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::copies::copies;
use crate::mark::Mark;

/// A data packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its mark.
    pub mark: Mark,
    /// Its bytes on the wire, headers included.
    pub wire: Bytes,
    /// What the sender's scheme wrote into it, and switches may have changed.
    pub tag: u8,
    /// What the sender's scheme tells the receiver ([`crate::CongestionControl::words`]).
    pub words: u64,
    /// Offset of its first payload byte.
    pub seq: u64,
    /// Payload bytes; none where a switch trimmed it.
    pub payload: Bytes,
    /// Bytes of the flow that have not arrived, with this packet; [`u64::MAX`] of a connection, whose messages may go
    /// on.
    pub left: u64,
    /// Its entropy value ([`crate::entropy`]); 0 where packets carry none.
    pub entropy: u16,
    /// Whether a switch trimmed it.
    pub trimmed: bool,
}

/// A plain packet without a mark, for tests and defaults.
impl Default for Arrived {
    fn default() -> Self {
        Self {
            mark: Mark::None,
            wire: Bytes::ZERO,
            tag: 0,
            words: 0,
            seq: 0,
            payload: Bytes::ZERO,
            left: u64::MAX,
            entropy: 0,
            trimmed: false,
        }
    }
}

/// What a receiver tells its sender in a packet of its own, a congestion notification packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnp {
    /// What it says of the flow's packets.
    pub mark: Mark,
    /// At what rate they arrived, if it says that; there is room for whole Mbit/s, 4.29 Tbit/s at most.
    pub rate: Option<BitRate>,
}

impl Cnp {
    /// A packet came marked: all that a plain one says.
    pub const MARKED: Self = Self {
        mark: Mark::Congested,
        rate: None,
    };
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// A packet to the sender.
    pub cnp: Option<Cnp>,
    /// [`ReceiverHalf::on_timer`] is to be called after so long; not again before that.
    pub timer: Option<Span>,
    /// What the answer to this packet echoes, if it is answered; otherwise the strongest mark since the last answer.
    pub echo: Option<Mark>,
}

impl Reaction {
    /// Nothing.
    pub const NONE: Self = Self {
        cnp: None,
        timer: None,
        echo: None,
    };
}

/// The receiver's half of a scheme, for one flow.
pub trait ReceiverHalf: CloneReceiver + Debug + Send {
    /// A data packet has arrived.
    fn on_data(&mut self, now: Time, data: &Arrived) -> Reaction;
    /// The time that it asked for is over.
    fn on_timer(&mut self, _now: Time) -> Reaction {
        Reaction::NONE
    }
    /// Whether its CNPs tell what echoes of marks would: the echoes are not counted as notifications then.
    fn replaces_echo(&self) -> bool {
        false
    }
}

/// What a receiver's host allows a sender to send, eight bytes whose meaning is the scheme's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant(pub u64);

/// What all flows of a scheme to one host have in common: who is granted what, and when. There is one for each receiving
/// NIC and scheme. Flows are numbered by the host, from 0 on; numbers of flows that are over are given to others.
pub trait GrantScheduler: CloneGrants + Debug + Send {
    /// A data packet of a flow has arrived. The first of a flow begins it.
    fn on_data(&mut self, now: Time, flow: u32, data: &Arrived);
    /// All of a flow is here, or its sender is gone.
    fn on_end(&mut self, flow: u32);
    /// When the next grant is due; never if there is nothing to grant. Asked after every call.
    fn due(&self) -> Option<Time>;
    /// It is due: the grant, and whose it is.
    fn grant(&mut self, now: Time) -> Option<(u32, Grant)>;
}

copies! {
    /// A copy of a host's scheduler of grants, whatever its type.
    CloneGrants, clone_grants, GrantScheduler
}

copies! {
    /// A copy of a receiver's half, whatever its type.
    CloneReceiver, clone_receiver, ReceiverHalf
}
