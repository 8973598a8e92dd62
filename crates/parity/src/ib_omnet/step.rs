//! What happens in a network under credits, in 64 bits.

use paceline_fabric::model::{Event, NicId, PacketId, PortId};

/// A step. The first ones take time to come, and are events of the run; the others happen at the instant in which they
/// are handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A source begins.
    Start { source: u32 },
    /// A message comes to its host.
    Message { source: u32 },
    /// All ports look whether they have credits to tell of.
    Scan,
    /// All hosts stop taking packets, or go on.
    Stall { ends: bool },
    /// A packet has left a port's wire.
    WireFree { port: PortId },
    /// An arbiter may let the next packet go.
    Arbitrate { port: PortId },
    /// A packet comes to its slot at an arbiter.
    ToSlot { port: PortId, packet: PacketId },
    /// A packet comes from the arbiter to the wire.
    ToWire { port: PortId, packet: PacketId },
    /// A host has taken the packet that it had started with.
    Take { host: NicId },
    /// A host without congestion control can make a packet.
    Make { host: NicId },
    /// A host's pace lets it make one.
    Pace { host: NicId },
    /// The timer of a host's index into its table.
    Lower { host: NicId },
    /// A packet's first bit arrives at a port.
    Arrive { port: PortId, packet: PacketId },
    /// A flow-control packet arrives at a port.
    Update { port: PortId, lane: u8, limit: u32 },
    /// Its arbiter learns of it.
    Limit { port: PortId, lane: u8, limit: u32 },
    /// An input learns that the arbiter of `port` let a packet of it go.
    Gone { port: PortId, input: u8, lane: u8 },
    /// An input has handed a packet on: others of it may go.
    Done { switch: u32 },
    /// A packet that had waited in front of a port's wire has left it.
    Freed { port: PortId },
    /// A packet comes to who takes it, in its host.
    Received { port: PortId, packet: PacketId },
    /// A host has taken a packet: its place in the buffer is free.
    Taken { port: PortId, lane: u8 },
    /// A receiver has a notification to be sent.
    Notify { host: NicId, packet: PacketId },
    /// A sender gets one.
    Notified { host: NicId, packet: PacketId },
    /// The last packet of a source's message is made.
    Made { source: u32 },
    /// A host's queue learns that its arbiter let a packet go.
    HostGone { host: NicId },
}

/// A lane and a limit in 32 bits.
const LIMIT_BITS: u32 = 28;

const fn lane_and_limit(lane: u8, limit: u32) -> u32 {
    (lane as u32) << LIMIT_BITS | limit
}

impl Step {
    /// A kind below 32 (below 15 of those that take time), 27 bits and 32 bits.
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

/// The kind of event of the first step.
const FIRST: u8 = 17;

impl Step {
    /// The event of a step that takes time to come.
    #[inline(always)]
    pub(super) const fn event(self) -> Event {
        let (kind, a, b) = self.encode();
        Event::Special {
            kind: FIRST + kind,
            a,
            b,
        }
    }

    /// The step of an event.
    #[inline(always)]
    pub(super) const fn of(event: Event) -> Option<Self> {
        match event {
            Event::Special { kind, a, b } => Some(Self::decode(kind - FIRST, a, b)),
            _ => None,
        }
    }
}

const A_BITS: u32 = 27;

/// A step as one word, and back.
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
