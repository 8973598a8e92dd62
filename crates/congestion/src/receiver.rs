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

copies! {
    /// A copy of a receiver's half, whatever its type.
    CloneReceiver, clone_receiver, ReceiverHalf
}
