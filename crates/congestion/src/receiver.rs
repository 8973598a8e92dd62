//! Receiver half of a scheme: what it does with data packets in addition to acknowledging them.
//!
//! A half is a state machine for one flow. It gets each data packet, may ask for a timer, and returns what to
//! send: it sends nothing itself.

use std::fmt::Debug;

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::copies::copies;
use crate::mark::Mark;

/// Data packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Congestion mark of the packet.
    pub mark: Mark,
    /// Bytes on the wire, including headers.
    pub wire: Bytes,
    /// Tag that the sender's scheme wrote; switches may have changed it.
    pub tag: u8,
    /// Eight bytes from the sender's scheme ([`crate::CongestionControl::words`]).
    pub words: u64,
    /// Offset of the first payload byte.
    pub seq: u64,
    /// Payload bytes; zero if a switch trimmed it.
    pub payload: Bytes,
    /// Bytes of the flow that are still missing, after this packet; [`u64::MAX`] for a connection, whose
    /// messages may continue.
    pub left: u64,
    /// Entropy value ([`crate::entropy`]); 0 if packets carry none.
    pub entropy: u16,
    /// True if a switch trimmed the packet.
    pub trimmed: bool,
}

/// Plain packet without a mark, for tests and defaults.
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

/// Congestion notification packet from receiver to sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnp {
    /// Verdict on the flow's packets.
    pub mark: Mark,
    /// Rate at which they arrived, if the CNP carries one; whole Mbit/s, at most 4.29 Tbit/s.
    pub rate: Option<BitRate>,
}

impl Cnp {
    /// Plain CNP: a marked packet arrived.
    pub const MARKED: Self = Self {
        mark: Mark::Congested,
        rate: None,
    };
}

/// Reaction of a receiver half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// CNP to send to the sender.
    pub cnp: Option<Cnp>,
    /// Time after which [`ReceiverHalf::on_timer`] is due; no other timer may be set before it expires.
    pub timer: Option<Span>,
    /// Mark for this packet's acknowledgement to echo, if it is acknowledged; by default the strongest mark
    /// since the last acknowledgement.
    pub echo: Option<Mark>,
}

impl Reaction {
    /// No CNP, timer or echo.
    pub const NONE: Self = Self {
        cnp: None,
        timer: None,
        echo: None,
    };
}

/// Receiver half of a scheme, for one flow.
pub trait ReceiverHalf: CloneReceiver + Debug + Send {
    /// Handles the arrival of a data packet.
    fn on_data(&mut self, now: Time, data: &Arrived) -> Reaction;
    /// Handles the expiry of its timer.
    fn on_timer(&mut self, _now: Time) -> Reaction {
        Reaction::NONE
    }
    /// Returns true if its CNPs replace the echo of marks; echoes then do not count as notifications.
    fn replaces_echo(&self) -> bool {
        false
    }
}

/// Permission from a receiver's host to its sender: eight bytes whose meaning the scheme defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant(pub u64);

/// Scheduler of grants for all flows of a scheme to one host; one exists per receiving NIC and scheme. The
/// host numbers flows from 0, and reuses the numbers of completed flows.
pub trait GrantScheduler: CloneGrants + Debug + Send {
    /// Handles the arrival of a data packet of a flow. The first packet starts the flow.
    fn on_data(&mut self, now: Time, flow: u32, data: &Arrived);
    /// Removes a flow that is complete, or whose sender is gone.
    fn on_end(&mut self, flow: u32);
    /// Returns when the next grant is due, or `None` if there is nothing to grant. Called after every other
    /// method.
    fn due(&self) -> Option<Time>;
    /// Returns the grant that is due and the flow that receives it.
    fn grant(&mut self, now: Time) -> Option<(u32, Grant)>;
}

copies! {
    /// Copies a host's grant scheduler of any type.
    CloneGrants, clone_grants, GrantScheduler
}

copies! {
    /// Copies a receiver half of any type.
    CloneReceiver, clone_receiver, ReceiverHalf
}
