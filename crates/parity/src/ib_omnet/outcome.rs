//! Results of a network under credits, in addition to the engine's.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::NodeId;
use paceline_kernel::Time;

/// Results of a network under credits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreditOutcome {
    /// Arrival of each flow's first packet at its host's arbiter; `None` if it never arrived.
    pub injected: Vec<Option<Time>>,
    /// Totals by port, in the order of nodes and of each node's links.
    pub ports: Vec<PortTotals>,
    /// Totals by source, in the order of the specification.
    pub sources: Vec<SourceTotals>,
    /// Recorded steps in time order; empty unless steps are logged.
    pub trace: Vec<CreditEvent>,
}

impl CreditOutcome {
    /// Returns the results of a run, or `None` for another network model.
    pub fn of(outcome: &Outcome) -> Option<&Self> {
        outcome.model.as_ref().and_then(ModelOutcome::get)
    }
}

/// Totals of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortTotals {
    /// Node of the port.
    pub node: NodeId,
    /// Index among the node's ports, from 0 in the order of links.
    pub interface: u16,
    /// Packets sent, without flow control.
    pub packets: u64,
    /// Sent packets that this port marked.
    pub marked: u64,
    /// Flow-control packets sent, all lanes together.
    pub updates: u64,
}

/// Totals of a source's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceTotals {
    /// Data packets that their receiver got.
    pub received: u64,
    /// Received data packets with a mark.
    pub marked: u64,
    /// Notifications that the source's host received.
    pub notified: u64,
}

/// A recorded step at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditEvent {
    /// Simulated time of the step.
    pub at: Time,
    /// Node at which it happens.
    pub node: NodeId,
    /// Index among the node's ports, from 0 in the order of links.
    pub interface: u16,
    /// The step with its details.
    pub what: CreditStep,
}

/// Kinds of recorded steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CreditStep {
    /// A message starts at its host.
    Message {
        /// Index of the flow.
        flow: u32,
    },
    /// A flow-control packet is transmitted.
    Update {
        /// Lane whose credits it announces.
        lane: u8,
        /// Number of packets that the other end may send in total (FCCL).
        limit: u32,
        /// Packets sent so far (FCTBS).
        sent: u32,
    },
    /// A data packet or notification is transmitted.
    Sent {
        /// Host that created the packet.
        from: NodeId,
        /// For a notification: true if it reports congestion. `None` for data.
        notification: Option<bool>,
    },
    /// An arbiter receives a new credit limit.
    Credits {
        /// Credits available after the update.
        credits: u32,
    },
    /// An arbiter grants a packet.
    Granted {
        /// Host that created the packet.
        from: NodeId,
        /// Credits left after the grant.
        credits: u32,
    },
    /// An arbiter marks a packet.
    Marked {
        /// Host that created the packet.
        from: NodeId,
    },
    /// A data packet arrives and is queued for this port's output.
    Found {
        /// Packets that already waited for the output.
        waiting: u32,
    },
    /// The first bit of a data packet arrives at its host.
    Received {
        /// Index of the flow.
        flow: u32,
        /// Index of the packet within the flow.
        packet: u32,
        /// True if the packet is marked.
        marked: bool,
    },
    /// A sender receives a notification.
    Notified {
        /// Rate in the notification (RRCC), Gbit/s; 0 if there is no congestion.
        rate: f64,
        /// The sender's rate after the notification, Gbit/s.
        allowed: f64,
    },
}
