//! Steps of a network under credits, encoded in 64 bits.

use paceline_fabric::model::{Event, NicId, PacketId, PortId};

/// A step. The first ones take time, and are events of the run. The others run in the instant in which they are
/// handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A source starts: its first gap begins.
    Start { source: u32 },
    /// A message starts at its host.
    Message { source: u32 },
    /// All ports check for credits to announce.
    Scan,
    /// All hosts stop consuming packets, or resume.
    Stall { ends: bool },
    /// A port's wire becomes free, or an idle port checks for news.
    WireFree { port: PortId },
    /// An arbiter may grant the next packet.
    Arbitrate { port: PortId },
    /// A packet arrives at its slot at an arbiter.
    ToSlot { port: PortId, packet: PacketId },
    /// A packet goes from the arbiter to the wire.
    ToWire { port: PortId, packet: PacketId },
    /// A host has consumed a packet.
    Take { host: NicId },
    /// A host without congestion control may create its next packet.
    Make { host: NicId },
    /// A host's pace allows its next packet.
    Pace { host: NicId },
    /// The timer of a host's IBCC index expires.
    Lower { host: NicId },
    /// The first bit of a packet arrives at a port.
    Arrive { port: PortId, packet: PacketId },
    /// A flow-control packet arrives at a port.
    Update { port: PortId, lane: u8, limit: u32 },
    /// The port's arbiter receives the new limit.
    Limit { port: PortId, lane: u8, limit: u32 },
    /// An input is notified that the arbiter of `port` granted its packet.
    Gone { port: PortId, input: u8, lane: u8 },
    /// An input has handed on a packet and may give others.
    Done { switch: u32 },
    /// A packet from a port's output queue has left the wire.
    Freed { port: PortId },
    /// A packet reaches the receiving part of its host.
    Received { port: PortId, packet: PacketId },
    /// A host has consumed a packet, which frees its buffer.
    Taken { port: PortId, lane: u8 },
    /// A receiver has a notification to send.
    Notify { host: NicId, packet: PacketId },
    /// A sender receives a notification.
    Notified { host: NicId, packet: PacketId },
    /// The last packet of a source's message has been created.
    Made { source: u32 },
    /// A host's queue is notified that its arbiter granted a packet.
    HostGone { host: NicId },
}

/// Bits of the limit in a word of lane and limit.
const LIMIT_BITS: u32 = 28;

const fn lane_and_limit(lane: u8, limit: u32) -> u32 {
    (lane as u32) << LIMIT_BITS | limit
}

impl Step {
    /// Encodes the kind (below 32, or below 15 for steps that take time), 27 bits and 32 bits.
    #[inline(always)]
    pub(super) const fn encode(self) -> (u8, u32, u32) {
        match self {
            Self::Start { source } => (0, 0, source),
            Self::Message { source } => (1, 0, source),
            Self::Scan => (2, 0, 0),
            Self::Stall { ends } => (3, 0, ends as u32),
            Self::WireFree { port } => (4, port.0, 0),
            Self::Arbitrate { port } => (5, port.0, 0),
            Self::ToSlot { port, packet } => (6, port.0, packet.0),
            Self::ToWire { port, packet } => (7, port.0, packet.0),
            Self::Take { host } => (8, host.0, 0),
            Self::Make { host } => (9, host.0, 0),
            Self::Pace { host } => (10, host.0, 0),
            Self::Lower { host } => (11, host.0, 0),
            Self::Arrive { port, packet } => (16, port.0, packet.0),
            Self::Update { port, lane, limit } => (17, port.0, lane_and_limit(lane, limit)),
            Self::Limit { port, lane, limit } => (18, port.0, lane_and_limit(lane, limit)),
            Self::Gone { port, input, lane } => (19, port.0, (input as u32) << 8 | lane as u32),
            Self::Done { switch } => (20, 0, switch),
            Self::Freed { port } => (21, port.0, 0),
            Self::Received { port, packet } => (22, port.0, packet.0),
            Self::Taken { port, lane } => (23, port.0, lane as u32),
            Self::Notify { host, packet } => (24, host.0, packet.0),
            Self::Notified { host, packet } => (25, host.0, packet.0),
            Self::Made { source } => (26, 0, source),
            Self::HostGone { host } => (27, host.0, 0),
        }
    }

    #[inline(always)]
    pub(super) const fn decode(kind: u8, a: u32, b: u32) -> Self {
        let (port, host, packet) = (PortId(a), NicId(a), PacketId(b));
        let (lane, limit) = ((b >> LIMIT_BITS) as u8, b & ((1 << LIMIT_BITS) - 1));
        match kind {
            0 => Self::Start { source: b },
            1 => Self::Message { source: b },
            2 => Self::Scan,
            3 => Self::Stall { ends: b != 0 },
            4 => Self::WireFree { port },
            5 => Self::Arbitrate { port },
            6 => Self::ToSlot { port, packet },
            7 => Self::ToWire { port, packet },
            8 => Self::Take { host },
            9 => Self::Make { host },
            10 => Self::Pace { host },
            11 => Self::Lower { host },
            16 => Self::Arrive { port, packet },
            17 => Self::Update { port, lane, limit },
            18 => Self::Limit { port, lane, limit },
            19 => Self::Gone {
                port,
                input: (b >> 8) as u8,
                lane: b as u8,
            },
            20 => Self::Done { switch: b },
            21 => Self::Freed { port },
            22 => Self::Received { port, packet },
            23 => Self::Taken { port, lane: b as u8 },
            24 => Self::Notify { host, packet },
            25 => Self::Notified { host, packet },
            26 => Self::Made { source: b },
            _ => Self::HostGone { host },
        }
    }
}

/// Event kind of the first step.
const FIRST: u8 = 17;

impl Step {
    /// Returns the event of a step that takes time.
    #[inline(always)]
    pub(super) const fn event(self) -> Event {
        let (kind, a, b) = self.encode();
        Event::Special {
            kind: FIRST + kind,
            a,
            b,
        }
    }

    /// Decodes the step of an event.
    #[inline(always)]
    pub(super) const fn of(event: Event) -> Option<Self> {
        match event {
            Event::Special { kind, a, b } => Some(Self::decode(kind - FIRST, a, b)),
            _ => None,
        }
    }
}

const A_BITS: u32 = 27;

/// Packs an encoded step into one word; [`open`] is the inverse.
#[inline(always)]
pub(super) const fn close(kind: u8, a: u32, b: u32) -> u64 {
    (kind as u64) << (A_BITS + 32) | (a as u64) << 32 | b as u64
}

#[inline(always)]
pub(super) const fn open(word: u64) -> (u8, u32, u32) {
    let a = (word >> 32) as u32 & ((1 << A_BITS) - 1);
    ((word >> (A_BITS + 32)) as u8, a, word as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_their_encoding() {
        let (port, host, packet) = (PortId(123_456_789), NicId(1 << 26), PacketId(0xdead_beef));
        let (lane, limit, source) = (15, (1 << 28) - 1, u32::MAX);
        let steps = [
            Step::Start { source },
            Step::Message { source: 3 },
            Step::Scan,
            Step::Stall { ends: true },
            Step::WireFree { port },
            Step::Arbitrate { port },
            Step::ToSlot { port, packet },
            Step::ToWire { port, packet },
            Step::Take { host },
            Step::Make { host },
            Step::Pace { host },
            Step::Lower { host },
            Step::Arrive { port, packet },
            Step::Update { port, lane, limit },
            Step::Limit { port, lane, limit },
            Step::Gone {
                port,
                input: 63,
                lane,
            },
            Step::Done { switch: 7 },
            Step::Freed { port },
            Step::Received { port, packet },
            Step::Taken { port, lane },
            Step::Notify { host, packet },
            Step::Notified { host, packet },
            Step::Made { source },
            Step::HostGone { host },
        ];
        for step in steps {
            let (kind, a, b) = step.encode();
            let (kind, a, b) = open(close(kind, a, b));
            assert_eq!(Step::decode(kind, a, b), step);
        }
    }
}
