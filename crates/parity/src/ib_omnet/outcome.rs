//! What a network under credits leaves behind alongside the rest.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::NodeId;
use paceline_kernel::Time;

/// What a network under credits leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreditOutcome {
    /// When the first packet of each flow reached its host's arbiter, if it did.
    pub injected: Vec<Option<Time>>,
    /// By port, in the order of nodes and of each node's links.
    pub ports: Vec<PortTotals>,
    /// By source, in the order of the specification.
    pub sources: Vec<SourceTotals>,
    /// What happened while it was traced, in order.
    pub trace: Vec<CreditEvent>,
}

impl CreditOutcome {
    /// That of a run, if it is of this simulator.
    pub fn of(outcome: &Outcome) -> Option<&Self> {
        outcome.model.as_ref().and_then(ModelOutcome::get)
    }
}

/// What a port did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortTotals {
    /// The node that it belongs to.
    pub node: NodeId,
    /// Its interface, counted from 0 in the order of links.
    pub interface: u16,
    /// Packets that it sent.
    pub packets: u64,
    /// Of these, packets that it marked.
    pub marked: u64,
    /// Flow-control packets that it sent.
    pub updates: u64,
}

/// What came of a source's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceTotals {
    /// Packets of it that came, and those that were marked.
    pub received: u64,
    /// See `received`.
    pub marked: u64,
    /// Notifications that its host received.
    pub notified: u64,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditEvent {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// At which of the node's interfaces, counted from 0 in the order of links.
    pub interface: u16,
    /// What.
    pub what: CreditStep,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CreditStep {
    /// A message comes to the host that is to send it.
    Message {
        /// Which flow it is.
        flow: u32,
    },
    /// A flow-control packet goes on the wire.
    Update {
        /// The lane that it is about.
        lane: u8,
        /// Up to which packet the other end may send (FCCL).
        limit: u32,
        /// Packets sent so far (FCTBS).
        sent: u32,
    },
    /// A packet goes on the wire.
    Sent {
        /// The host that it is from.
        from: NodeId,
        /// If it is a notification: whether it tells of congestion.
        notification: Option<bool>,
    },
    /// An arbiter learns of credits.
    Credits {
        /// How many it has then.
        credits: u32,
    },
    /// An arbiter lets a packet go.
    Granted {
        /// The host that it is from.
        from: NodeId,
        /// Credits that are left.
        credits: u32,
    },
    /// An arbiter marks a packet.
    Marked {
        /// The host that it is from.
        from: NodeId,
    },
    /// A data packet finds so many others waiting for the output of this port.
    Found {
        /// How many.
        waiting: u32,
    },
    /// A packet's first bit arrives at its host.
    Received {
        /// The flow.
        flow: u32,
        /// Which of its packets.
        packet: u32,
        /// Whether it is marked.
        marked: bool,
    },
    /// A sender is notified.
    Notified {
        /// The rate that the notification tells (RRCC), in Gbit/s; 0: that there is no congestion.
        rate: f64,
        /// The rate that the sender has then, in Gbit/s.
        allowed: f64,
    },
}
