//! Switch half of a scheme: the actions of an egress port on passing packets.
//!
//! A half is a state machine for one port with a few hooks. It gets plain numbers and returns a verdict,
//! which the switch carries out; it holds no packets and knows no flows. By default a network marks by
//! [`Red`]; a half may overrule it ([`Marking`]).
//!
//! A half chooses neither the port nor the class of a packet. It belongs to the port that routing has chosen;
//! choosing among equal next hops is the task of load balancing, which sees all of them. The class determines
//! which pause from the previous switch holds a packet back, and its buffer account: it must be the same at
//! both ends of a link.

use std::fmt::Debug;

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Span, Time};

use crate::detect::PortState;
use crate::mark::Mark;
use crate::signal::{Carrier, Words};

mod ports;
mod red;

pub use ports::{PerPort, SwitchHalves};
pub use red::Red;

/// Support that a scheme needs from every switch, in addition to marks and telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchSupport {
    /// Task of the half, as a phrase that follows "switches".
    pub task: &'static str,
    /// Parameters that the half uses; all flows of the scheme must agree on them.
    pub params: &'static [&'static str],
    /// Events that call the half.
    pub hooks: Hooks,
    /// True if signals travel in the headers of data packets ([`Carrier::Headers`]): packets of that size are
    /// then common.
    pub turns_back: bool,
    /// Name of its signals in traces; `None` for the scheme's name.
    pub signal: Option<&'static str>,
    /// True if the half may trim packets ([`Action::Trim`]).
    pub trims: bool,
    /// True if its marks replace those of the network's curves.
    pub marks: bool,
}

/// Events that call a half; the others cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Calls [`SwitchHalf::on_arrival`] for every arriving packet.
    pub arrivals: bool,
    /// Calls [`SwitchHalf::on_departure`] for departing packets.
    pub departures: bool,
    /// Calls [`SwitchHalf::on_pause`] and [`SwitchHalf::on_resume`].
    pub pauses: bool,
}

/// Static properties of an egress port that takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EgressPort {
    /// Number of traffic classes, each with its own queue.
    pub classes: usize,
    /// Transmission time of a full packet of the scheme.
    pub full_packet: Span,
    /// Size of a full packet on the wire.
    pub full_bytes: u32,
    /// Rate of the port.
    pub rate: BitRate,
    /// Propagation delay of its link.
    pub delay: Span,
    /// Marking curve of the network.
    pub red: Red,
    /// Bytes that a queue can fill: under credits the input buffer of a lane, otherwise the switch's buffer.
    pub buffer: u32,
}

/// State of an egress port during a call.
#[derive(Debug)]
pub struct Egress<'a> {
    /// Simulated time of the call.
    pub now: Time,
    /// Rate of the port.
    pub rate: BitRate,
    /// Bytes in all of its queues.
    pub queued: u32,
    /// Random stream of the port.
    pub rng: &'a mut Rng,
}

/// Kind of a passing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// Data packet with its payload.
    Data,
    /// Headers of a data packet whose payload was trimmed.
    Trimmed,
    /// Acknowledgement, notification or pause.
    Control,
}

/// Packet as the forwarding switch sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView {
    /// Kind of the payload it carries.
    pub load: PayloadKind,
    /// Traffic class, which selects the queue.
    pub class: u8,
    /// Bytes on the wire.
    pub wire: u32,
    /// Transmission time at this port.
    pub takes: Span,
    /// Tag that the sender's scheme wrote.
    pub tag: u8,
    /// Mark that earlier ports set.
    pub mark: Mark,
    /// Bytes in its queue without the packet: ahead of it on arrival, left behind on departure.
    pub queue: u32,
}

/// Length of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Length in bytes on the wire.
    pub bytes: u32,
    /// Length in packets of any kind.
    pub packets: u32,
}

/// Decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// New tag of the packet.
    pub tag: u8,
    /// New mark of the packet.
    pub mark: Mark,
    /// Action of the switch: forward, trim or drop.
    pub action: Action,
    /// Receiver of a notification.
    pub notify: Notify,
}

impl Verdict {
    /// Forwards the packet unchanged.
    #[inline]
    pub const fn pass(packet: &PacketView) -> Self {
        Self {
            tag: packet.tag,
            mark: packet.mark,
            action: Action::Forward,
            notify: Notify::Nobody,
        }
    }
}

/// Fate of an arriving packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Forward the whole packet.
    #[default]
    Forward,
    /// Forward its headers only, so that its receiver learns at once that the payload is missing. Only with
    /// [`SwitchSupport::trims`] and for data packets. Dropped if the port has no room for the headers.
    Trim,
    /// Drop the packet. It counts as dropped for lack of room.
    Drop,
}

/// Receiver of a notification about a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// No notification is sent.
    Nobody,
    /// The packet itself, whose acknowledgement carries the queue to the sender
    /// ([`crate::AckInfo::congested`]); of several ports the one whose queue takes longest to drain.
    Packet,
    /// The packet's sender, if it uses the half's scheme; the words arrive with
    /// [`crate::api::CongestionControl::on_signal`].
    Sender(Words, Carrier),
}

/// Rule that marks a departing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// The network's curve ([`Red`]).
    Curve,
    /// This mark, unless the packet already has a stronger one; [`Mark::None`] prevents a mark.
    Put(Mark),
}

impl Marking {
    /// Combines the rules of two halves at one port: a mark overrides the curve, and the stronger mark
    /// overrides the other.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Put(one), Self::Put(other)) => Self::Put(one.max(other)),
            (Self::Curve, put) | (put, Self::Curve) => put,
        }
    }
}

/// State of one egress port for one scheme.
pub trait SwitchHalf: Clone + Debug + Send + 'static {
    /// Handles the arrival of a packet that will leave through this port; it is not in its queue yet.
    #[inline]
    fn on_arrival(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        Verdict::pass(packet)
    }
    /// Handles the departure of a packet from its queue.
    #[inline]
    fn on_departure(&mut self, _at: &mut Egress<'_>, _packet: &PacketView) -> Marking {
        Marking::Curve
    }
    /// Returns true if the curve marks all departing packets until a pause ends; the half is not called for
    /// them until then.
    #[inline]
    fn is_inactive(&self, _now: Time) -> bool {
        false
    }
    /// Handles the start of a pause of a class with `_queue` bytes in its queue.
    fn on_pause(&mut self, _at: &mut Egress<'_>, _class: u8, _queue: u32) {}
    /// Handles the end of a pause of a class; nothing has left its queue during the pause.
    fn on_resume(&mut self, _at: &mut Egress<'_>, _class: u8, _queue: Queue) {}
    /// Handles a link failure: waiting packets are lost, and pauses are over.
    fn on_link_down(&mut self) {}
    /// Returns the congestion state of a class with `_queue` bytes in its queue, if the half detects it.
    fn state(&self, _now: Time, _class: u8, _queue: u32) -> Option<PortState> {
        None
    }
    /// Checks the invariants for a class with this queue.
    ///
    /// # Panics
    /// If one is violated.
    fn verify(&self, _now: Time, _class: u8, _queue: Queue) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_wins_over_the_curve() {
        let put = Marking::Put;
        assert_eq!(Marking::Curve.and(Marking::Curve), Marking::Curve);
        assert_eq!(Marking::Curve.and(put(Mark::None)), put(Mark::None));
        assert_eq!(
            put(Mark::Undetermined).and(put(Mark::None)),
            put(Mark::Undetermined)
        );
    }
}
