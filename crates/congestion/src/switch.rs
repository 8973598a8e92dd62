//! The switch's half of a scheme: what an egress port does about the packets that pass it.
//!
//! A half is a state machine for one port with a few hooks. It is given plain numbers and answers with a
//! verdict, which the switch carries out; it holds no packet and knows no flow. The law by which a network marks
//! anyway is [`Red`]; a half may overrule it ([`Marking`]).
//!
//! A half chooses neither the port nor the class of a packet. It belongs to the port that routing has chosen, and a choice
//! among equal next hops is load balancing's, which sees all of them. The class says which pause of the switch before
//! holds a packet back, and which account it is in: that has to be the same at both ends of a link.

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

/// What a scheme asks of every switch alongside marks and telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchSupport {
    /// What its half does, as it follows on "switches".
    pub task: &'static str,
    /// Parameters that it goes by: all flows of the scheme have one set of them.
    pub params: &'static [&'static str],
    /// What it is called for.
    pub hooks: Hooks,
    /// Whether its signals travel in the headers of data packets ([`Carrier::Headers`]): packets of a size that is
    /// then common.
    pub turns_back: bool,
    /// What traces call its signals; `None`: as the scheme.
    pub signal: Option<&'static str>,
    /// Whether it has packets trimmed ([`Action::Trim`]).
    pub trims: bool,
    /// True if its marks take the place of those of the network's curves.
    pub marks: bool,
}

/// What a half is called for: nothing else costs anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// [`SwitchHalf::on_arrival`].
    pub arrivals: bool,
    /// [`SwitchHalf::on_departure`].
    pub departures: bool,
    /// [`SwitchHalf::on_pause`] and [`SwitchHalf::on_resume`].
    pub pauses: bool,
}

/// An egress port that takes part, before anything has passed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EgressPort {
    /// Classes of traffic, a queue each.
    pub classes: usize,
    /// What a full packet of the scheme takes on the wire.
    pub full_packet: Span,
    /// Bytes of such a packet.
    pub full_bytes: u32,
    /// The port's rate.
    pub rate: BitRate,
    /// What its link takes.
    pub delay: Span,
    /// The network's curve.
    pub red: Red,
    /// Bytes of what a queue can fill: the input buffer of a lane under credits, elsewhere the switch's.
    pub buffer: u32,
}

/// An egress port at the moment of a call.
#[derive(Debug)]
pub struct Egress<'a> {
    /// The time.
    pub now: Time,
    /// The port's rate.
    pub rate: BitRate,
    /// Bytes in all of its queues.
    pub queued: u32,
    /// The port's random stream.
    pub rng: &'a mut Rng,
}

/// What kind of packet passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// Data.
    Data,
    /// The headers of a data packet that lost its payload.
    Trimmed,
    /// Acknowledgements, notifications, pauses.
    Control,
}

/// A packet, as a switch that passes it on sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView {
    /// What it carries.
    pub load: PayloadKind,
    /// Its class, which names its queue.
    pub class: u8,
    /// Its bytes on the wire.
    pub wire: u32,
    /// The time that those take at this port.
    pub takes: Span,
    /// What its sender's scheme wrote into it.
    pub tag: u8,
    /// Its mark so far.
    pub mark: Mark,
    /// Bytes in its queue without it: before it as it arrives, behind it as it departs.
    pub queue: u32,
}

/// A queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Its bytes.
    pub bytes: u32,
    /// Its packets.
    pub packets: u32,
}

/// What becomes of an arriving packet, and who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The tag with which it goes on.
    pub tag: u8,
    /// The mark with which it goes on.
    pub mark: Mark,
    /// Whether it goes on.
    pub action: Action,
    /// Who is told.
    pub notify: Notify,
}

impl Verdict {
    /// The packet goes on as it came.
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

/// Whether a packet goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// It does.
    #[default]
    Forward,
    /// Its headers do: its receiver learns at once that the payload is missing. Only with [`SwitchSupport::trims`]; of
    /// packets other than data nothing is cut off. Dropped where the port has no room for the headers.
    Trim,
    /// It does not. It is counted among the packets for which there was no room.
    Drop,
}

/// Who is told of a port's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Nobody.
    Nobody,
    /// The packet, whose acknowledgement brings the queue to the sender ([`crate::AckInfo::congested`]); of several
    /// ports, that whose queue takes longest.
    Packet,
    /// The packet's sender, if its scheme is the half's: these words, which come with [`crate::api::CongestionControl::on_signal`].
    Sender(Words, Carrier),
}

/// By what law a departing packet is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// By the network's curve ([`Red`]).
    Curve,
    /// With this, unless its mark is stronger; [`Mark::None`] spares it.
    Put(Mark),
}

impl Marking {
    /// Of two halves at one port: what one of them puts wins over the curve, the stronger mark over the other.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Put(one), Self::Put(other)) => Self::Put(one.max(other)),
            (Self::Curve, put) | (put, Self::Curve) => put,
        }
    }
}

/// The state of one egress port, for one scheme.
pub trait SwitchHalf: Clone + Debug + Send + 'static {
    /// A packet came that will leave by this port; it is not in its queue yet.
    #[inline]
    fn on_arrival(&mut self, _at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        Verdict::pass(packet)
    }
    /// A packet has left its queue for the wire.
    #[inline]
    fn on_departure(&mut self, _at: &mut Egress<'_>, _packet: &PacketView) -> Marking {
        Marking::Curve
    }
    /// Whether all packets that depart are the curve's to mark until a pause ends: till then it is not told of them.
    #[inline]
    fn is_inactive(&self, _now: Time) -> bool {
        false
    }
    /// A pause of a class with so many bytes in its queue begins.
    fn on_pause(&mut self, _at: &mut Egress<'_>, _class: u8, _queue: u32) {}
    /// A pause of a class ends; nothing has left its queue since.
    fn on_resume(&mut self, _at: &mut Egress<'_>, _class: u8, _queue: Queue) {}
    /// The link failed: what waited is lost, and pauses are over.
    fn on_link_down(&mut self) {}
    /// What a class with so many bytes in its queue is, for a half that tells.
    fn state(&self, _now: Time, _class: u8, _queue: u32) -> Option<PortState> {
        None
    }
    /// Checks what always holds, of a class with such a queue.
    ///
    /// # Panics
    /// If it does not.
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
