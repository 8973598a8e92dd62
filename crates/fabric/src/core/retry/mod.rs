//! Link-level retry (LLR): each end of a link numbers its frames, keeps them until they are acknowledged, and sends them
//! again when the other end misses one.
//!
//! Rules and counters follow the Switch Abstraction Interface's LLR profile and UE 1.0, section 5.1, as far as public
//! texts tell of them. Frames get their numbers after everything above the link is done: a replay obeys neither pauses
//! nor credits. Link control (PFC frames, credit updates) has no numbers, and goes ahead of a replay.
//!
//! A packet crosses the link once. If its frame is not accepted, the packet waits at the receiving end, and the frames
//! that bring it again carry nothing but its number ([`PacketKind::Llr`]): all copies of a frame are equal, so the
//! receiver takes the packet from where it waits. While a port may not send new frames, it counts as busy.

mod answers;
mod counts;
mod receiver;
mod sender;
mod sending;
pub(crate) mod state;

pub use counts::LlrPort;

use crate::core::Core;
use crate::core::lost::Lost;
use crate::core::noise::Carried;
use crate::core::packet::Packet;
use crate::core::port::LinkState;
use crate::core::retry::receiver::Receiver;
use crate::core::retry::sender::{Sender, Sending};
use crate::core::retry::state::End;
use crate::ids::{PacketId, PortId};
use crate::world::World;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::{Fault, LinkRetry, NoiseKind, RunSpec};

/// Kinds of [`Event::Special`] on links with retry: an acknowledgement (0) or a negative one (1) is due, a control
/// ordered set takes effect, a timer may have expired, a link has been dark for too long.
pub(crate) const DUE: u8 = 19;
const HEARD: u8 = 20;
const ALARM: u8 = 21;
pub(crate) const DARK: u8 = 22;

/// Tag of a frame that is sent again, and carries no packet; other tags are those of control ordered sets.
const AGAIN: u8 = u8::MAX;

/// Kind of a control ordered set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::core) enum Control {
    Ack,
    Nack,
    Init,
    Echo,
}

impl Control {
    /// Returns true for a control ordered set, which is no frame.
    pub(in crate::core) const fn is_in(packet: &Packet) -> bool {
        packet.kind as u8 == PacketKind::Llr as u8 && packet.tag != AGAIN
    }

    const ALL: [Self; 4] = [Self::Ack, Self::Nack, Self::Init, Self::Echo];

    const fn carried(self) -> Carried {
        match self {
            Self::Ack => Carried::Ack,
            Self::Nack => Carried::Nack,
            Self::Init | Self::Echo => Carried::Control,
        }
    }
}

/// Delivery of a frame that has arrived to the layers above.
pub(crate) enum Brought {
    Nothing,
    /// A packet, and the time for which it has waited for a replay, in ps.
    Packet(PacketId, u64),
    /// A packet that was damaged before the link.
    Poisoned(PacketId),
}

impl Core {
    /// Returns true if a link of the network has retry.
    pub(crate) fn has_retries(&self) -> bool {
        self.retry.is_some()
    }

    /// Returns true if the port's link has retry.
    #[inline]
    pub(crate) fn has_retry(&self, port: PortId) -> bool {
        self.retry.as_ref().is_some_and(|retry| retry.has(port))
    }

    /// Returns one end of a link that has retry.
    #[inline]
    fn end_of(&mut self, port: PortId) -> &mut End {
        self.retry.as_mut().expect("a link with retry").end(port)
    }

    /// Handles an event of a link with retry. Returns true if the layers above may send through the port now.
    pub(crate) fn retry_event(&mut self, world: &World, kind: u8, port: PortId, b: u32) -> bool {
        match kind {
            DUE => self.answer_now(world, port, b),
            HEARD => {
                let control = Control::ALL[(b >> 20) as usize];
                return self.hear(world, port, control, b % LinkRetry::NUMBERS);
            }
            ALARM => return self.alarm(world, port),
            DARK => {
                let state = self.end_of(port).sender.state;
                if matches!(state, Sending::Advance | Sending::Replay(_)) {
                    return self.give_up(world, port);
                }
            }
            _ => unreachable!("an event of a link with retry"),
        }
        false
    }

    /// Forgets all numbers of a port whose link has failed, and loses the packets that wait there.
    pub(crate) fn retry_fails(&mut self, world: &World, port: PortId) {
        if !self.has_retry(port) {
            return;
        }
        let End {
            sender,
            receiver,
            alarm,
            ..
        } = self.end_of(port);
        let mut old = std::mem::replace(receiver, Receiver::new());
        *sender = Sender::new();
        *alarm = u64::MAX;
        while let Some(waiting) = old.take() {
            self.discard(world, port, waiting.packet, Lost::Link);
        }
        self.release_line(port);
    }

    /// Returns the state of a port whose link works.
    pub(crate) fn up_state(&self, port: PortId) -> LinkState {
        match (&self.credits, self.has_retry(port)) {
            (Some(_), _) => LinkState::OnCredit,
            (None, true) => LinkState::Retry,
            (None, false) if self.has_planes && self.ports[port].is_host => LinkState::Plane,
            (None, false) => LinkState::Open,
        }
    }

    /// Returns true if frames of the port are not acknowledged yet.
    pub(crate) fn has_outstanding(&self, port: PortId) -> bool {
        let Some(retry) = &self.retry else { return false };
        retry.has(port) && retry.ends[retry.number[port] as usize - 1].sender.outstanding() > 0
    }

    /// Returns the number of packets that wait for a replay.
    pub(crate) fn packets_in_retry(&self) -> u32 {
        let ends = self.retry.iter().flat_map(|retry| &retry.ends);
        ends.map(|end| end.receiver.waiting() as u32).sum()
    }

    /// Returns true if a port has given up for good.
    pub(crate) fn has_silent_port(&self) -> bool {
        let ends = self.retry.iter().flat_map(|retry| &retry.ends);
        ends.into_iter().any(|end| end.sender.state == Sending::Flushed)
    }

    /// Checks the replay buffers.
    pub(crate) fn verify_retry(&self) {
        for end in self.retry.iter().flat_map(|retry| &retry.ends) {
            end.sender.verify(&end.limits);
            end.receiver.verify();
        }
    }

    /// Returns the counters of the ports with retry that belong to this part of the run.
    pub(crate) fn retry_counts(&self) -> Vec<LlrPort> {
        let Some(retry) = &self.retry else {
            return Vec::new();
        };
        let with = retry.number.numbered().filter(|(_, number)| **number != 0);
        let own = with.filter(|(port, _)| self.has(self.ports[*port].node));
        let counts = own.map(|(port, number)| {
            let end = &retry.ends[*number as usize - 1];
            let mut counts = end.counts.clone();
            counts.port = self.port_ref(port);
            counts.held_ps += end.held_since.map_or(0, |since| self.now - since);
            counts
        });
        counts.collect()
    }
}

/// Returns the times at which ports have been without light for too long: port, and time in ps.
pub(crate) fn dark_for_too_long(spec: &RunSpec) -> Vec<(PortId, u64)> {
    let limits = |link: usize| {
        let mut found = spec.retries.iter().filter(|(of, _)| *of == link);
        found.next().map(|(_, limits)| limits)
    };
    let scripts = spec
        .noise
        .iter()
        .filter(|noise| matches!(noise.kind, NoiseKind::Script(Fault::Dark, None)));
    let too_long = scripts.filter_map(|noise| {
        let (from, until) = (
            noise.at.as_ps(),
            noise.until.map_or(u64::MAX, |until| until.as_ps()),
        );
        let lost_at = from.saturating_add(limits(noise.link)?.pcs_lost.as_ps());
        (lost_at < until).then(|| (crate::core::noise::port_of(noise), lost_at))
    });
    too_long.collect()
}
