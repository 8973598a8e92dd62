//! Events, their encoding in 64 bits, and the order of those of the same instant.

use paceline_kernel::rng::mix;

use crate::ids::{FlowId, NicId, PacketId, PortId};
use paceline_run::spec::TieOrder;

/// The closed set of events. One `match` over it is the whole control flow of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "what is said of a variant is said of its fields")]
pub enum Event {
    /// Start or end of a link failure: index in the list of changes.
    Topology { change: u32 },
    /// Start of the flows that share a start time: the first of them.
    FlowDue { flow: FlowId },
    /// Start of a queue pair's transmission.
    FlowStart { flow: FlowId },
    /// End of a timed pause, unless it was renewed.
    PauseEnd { port: PortId, class: u8 },
    /// Renewal of a timed pause, if its queue is still above the threshold.
    PauseRenew { port: PortId, class: u8 },
    /// Watchdog's check of a queue that is paused, or was.
    Watchdog { port: PortId, class: u8 },
    /// Expiry of a scheme's timer. Timers that were set again have another generation.
    Timer { flow: FlowId, slot: u8, generation: u8 },
    /// Expiry of a sender's retransmission timeout.
    Timeout { flow: FlowId },
    /// Time of the next probe of a sender's paths (`host/probes.rs`).
    ProbeDue { flow: FlowId },
    /// End of a transmission; an event only if something waits for it.
    TxDone { port: PortId },
    /// Time at which a NIC may have something to send. Superseded ones have an older generation.
    Wake { port: PortId, generation: u32 },
    /// Arrival of a packet's last bit at a port (of its headers at a cut-through switch).
    Arrive { port: PortId, packet: PacketId },
    /// Sampling time of the queues.
    Sample,
    /// Expiry of a timer of a scheme's receiver half.
    ReceiverTimer { flow: FlowId },
    /// Time at which a receiving host may have a grant to send (`host/grants.rs`).
    GrantDue { nic: NicId, scheme: u16 },
    /// Start or end of a NIC's pause storm.
    Storm { storm: u32, ends: bool },
    /// End of a host's processing of the first packet in its queue (`host/decisions.rs`).
    HostDone { nic: NicId },
    /// Completion of a decision that a NIC computes (`host/decisions.rs`).
    Decided { nic: NicId },
    /// Start of a program, or a time that it asked for.
    Program { program: u32 },
    /// Departure of the last packet of a program's flow from its host.
    Sent { flow: FlowId },
    /// Event of a special network model, which defines its meaning. The kind is 14, or 16 to 29.
    Special { kind: u8, a: u32, b: u32 },
}

const A_BITS: u32 = 27;
/// Bits below the kind.
const KIND: u32 = A_BITS + 32;
/// Flag in the argument of the watchdog's events, which share a kind with ends of pauses.
const WATCHDOG: u32 = 1 << 8;
/// Kinds that are compared without decoding.
const ARRIVE: u64 = 9;
const TX_DONE: u64 = 7;
const A_MASK: u64 = (1 << A_BITS) - 1;

impl Event {
    /// Bits below the kind.
    pub(super) const KIND: u32 = KIND;
    /// Upper limit of the numbers of ports and of flows.
    pub(crate) const MAX_ENTITIES: usize = 1 << A_BITS;

    /// Returns the event in 64 bits: kind 5, entity 27, argument 32.
    #[inline(always)]
    pub(super) fn encode(self) -> u64 {
        let (kind, a, b) = match self {
            Self::Topology { change } => (0, 0, change),
            Self::FlowDue { flow } => (1, 0, flow.0),
            Self::FlowStart { flow } => (2, 0, flow.0),
            Self::PauseEnd { port, class } => (3, port.0, u32::from(class)),
            Self::Watchdog { port, class } => (3, port.0, u32::from(class) | WATCHDOG),
            Self::PauseRenew { port, class } => (4, port.0, u32::from(class)),
            Self::Timer {
                flow,
                slot,
                generation,
            } => (5, flow.0, u32::from(slot) | u32::from(generation) << 8),
            Self::Timeout { flow } => (6, flow.0, 0),
            Self::ProbeDue { flow } => (6, flow.0, 1),
            Self::TxDone { port } => (TX_DONE, port.0, 0),
            Self::Wake { port, generation } => (8, port.0, generation),
            Self::Arrive { port, packet } => (ARRIVE, port.0, packet.0),
            Self::Sample => (10, 0, 0),
            Self::Storm { storm, ends } => (11, u32::from(ends), storm),
            Self::ReceiverTimer { flow } => (13, flow.0, 0),
            // Argument 0 of this kind is the receiver's timer, so schemes are counted from 1.
            Self::GrantDue { nic, scheme } => (13, nic.0, 1 + u32::from(scheme)),
            Self::HostDone { nic } => (12, nic.0, 0),
            Self::Decided { nic } => (15, nic.0, 0),
            Self::Program { program } => (31, 0, program),
            Self::Sent { flow } => (30, flow.0, 0),
            Self::Special { kind, a, b } => (u64::from(kind), a, b),
        };
        kind << KIND | u64::from(a) << 32 | u64::from(b)
    }

    /// Returns port and packet if the encoded event is an arrival.
    #[inline(always)]
    pub(crate) fn arrival(bits: u64) -> Option<(PortId, PacketId)> {
        (bits >> KIND == ARRIVE).then_some((PortId((bits >> 32 & A_MASK) as u32), PacketId(bits as u32)))
    }

    /// Returns the port if the encoded event is the end of a transmission.
    #[inline(always)]
    pub(crate) fn sent(bits: u64) -> Option<PortId> {
        (bits >> KIND == TX_DONE).then_some(PortId((bits >> 32 & A_MASK) as u32))
    }

    #[inline(always)]
    pub(crate) fn decode(bits: u64) -> Self {
        let a = (bits >> 32 & A_MASK) as u32;
        let b = bits as u32;
        match bits >> KIND {
            0 => Self::Topology { change: b },
            1 => Self::FlowDue { flow: FlowId(b) },
            2 => Self::FlowStart { flow: FlowId(b) },
            // Checked before the ends of pauses, which share the kind.
            3 if b & WATCHDOG != 0 => Self::Watchdog {
                port: PortId(a),
                class: b as u8,
            },
            3 => Self::PauseEnd {
                port: PortId(a),
                class: b as u8,
            },
            4 => Self::PauseRenew {
                port: PortId(a),
                class: b as u8,
            },
            5 => Self::Timer {
                flow: FlowId(a),
                slot: b as u8,
                generation: (b >> 8) as u8,
            },
            6 if b == 1 => Self::ProbeDue { flow: FlowId(a) },
            6 => Self::Timeout { flow: FlowId(a) },
            TX_DONE => Self::TxDone { port: PortId(a) },
            8 => Self::Wake {
                port: PortId(a),
                generation: b,
            },
            ARRIVE => Self::Arrive {
                port: PortId(a),
                packet: PacketId(b),
            },
            10 => Self::Sample,
            13 if b == 0 => Self::ReceiverTimer { flow: FlowId(a) },
            13 => Self::GrantDue {
                nic: NicId(a),
                scheme: (b - 1) as u16,
            },
            12 => Self::HostDone { nic: NicId(a) },
            11 => Self::Storm {
                storm: b,
                ends: a != 0,
            },
            15 => Self::Decided { nic: NicId(a) },
            31 => Self::Program { program: b },
            30 => Self::Sent { flow: FlowId(a) },
            kind => Self::Special {
                kind: kind as u8,
                a,
                b,
            },
        }
    }
}

/// Order of the events of an instant: gives each a number to sort by.
#[derive(Clone, Debug)]
pub(crate) struct Ties {
    order: TieOrder,
    seed: u64,
    counter: u64,
}

impl Ties {
    /// Reserves positions after all that were given so far. Returns the first of them.
    pub(super) fn reserve(&mut self, indices: u64) -> u64 {
        let first = self.counter + 1;
        self.counter += indices;
        first
    }

    pub(super) fn new(order: TieOrder, seed: u64) -> Self {
        Self {
            order,
            seed,
            counter: 0,
        }
    }

    /// Returns the tie of an event scheduled now for `at`, which is `what` encoded.
    ///
    /// Structural: kind of event, then its owner. No entity schedules two events of one kind for the same instant that
    /// another could tell apart (a port ends one transmission and starts one arrival at a time), so nothing more is
    /// needed, and nothing depends on the moment of the call.
    ///
    /// Drawn: structural, but arrivals are in an order that a hash of seed, instant and port gives them, so that no
    /// port always goes first. This does not depend on the parts of a run either.
    #[inline(always)]
    pub(super) fn next(&mut self, at: u64, what: u64) -> u64 {
        match self.order {
            TieOrder::Insertion => {
                self.counter += 1;
                self.counter
            }
            TieOrder::Structural => what,
            TieOrder::Drawn if what >> KIND == ARRIVE => {
                // A counter would depend on the order of calls, which differs between runs in one part and in several.
                let port = what >> 32 & A_MASK;
                // The kind stays in front, or arrivals would be spread among the other events of the instant.
                ARRIVE << KIND | mix(self.seed ^ mix(at ^ port << (64 - A_BITS))) >> (64 - KIND)
            }
            TieOrder::Drawn => what,
            // This too depends on the order of calls, so runs with it are never cut into parts.
            TieOrder::Shuffled(seed) => {
                self.counter += 1;
                mix(seed ^ self.counter)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::ids::Id;

    #[test]
    fn events_survive_their_encoding() {
        let events = [
            Event::Topology { change: 7 },
            Event::FlowDue { flow: FlowId::NONE },
            Event::FlowStart { flow: FlowId(3) },
            Event::PauseEnd {
                port: PortId(9),
                class: 3,
            },
            Event::PauseRenew {
                port: PortId(9),
                class: 7,
            },
            Event::Watchdog {
                port: PortId(9),
                class: 3,
            },
            Event::Timer {
                flow: FlowId((1 << 27) - 1),
                slot: 3,
                generation: 255,
            },
            Event::Timeout { flow: FlowId(5) },
            Event::ProbeDue { flow: FlowId(5) },
            Event::TxDone {
                port: PortId(123_456_789),
            },
            Event::Wake {
                port: PortId(1),
                generation: u32::MAX,
            },
            Event::Arrive {
                port: PortId(2),
                packet: PacketId(0xdead_beef),
            },
            Event::Sample,
            Event::ReceiverTimer { flow: FlowId(6) },
            Event::GrantDue {
                nic: NicId(6),
                scheme: 7,
            },
            Event::Storm { storm: 3, ends: true },
            Event::HostDone { nic: NicId(1 << 26) },
            Event::Decided { nic: NicId(1 << 26) },
            Event::Program { program: 5 },
            Event::Sent { flow: FlowId(7) },
            Event::Special { kind: 14, a: 6, b: 0 },
            Event::Special {
                kind: 29,
                a: (1 << 27) - 1,
                b: u32::MAX,
            },
        ];
        for event in events {
            assert_eq!(Event::decode(event.encode()), event);
        }
    }
}
