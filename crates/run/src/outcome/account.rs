//! Breakdown of a flow's completion time.

use paceline_kernel::Span;
use serde::{Deserialize, Serialize};

use crate::outcome::PortRef;

/// Breakdown of a sender's time, from its flow's start to the start of the last transmission that mattered;
/// for an incomplete flow, to the end of the run. For a message over a persistent connection: the
/// connection's activity meanwhile, for this message and earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderTime {
    /// Sending bytes for the first time.
    pub sending: Span,
    /// Sending bytes again after a loss.
    pub resending: Span,
    /// Blocked by the window: as many bytes in flight as it allows.
    pub window: Span,
    /// Blocked by pacing: the next packet was not due.
    pub pacing: Span,
    /// Blocked by the scheme, which waited for a grant from its receiver's host.
    pub grants: Span,
    /// Blocked by a pause of the flow's class (PFC).
    pub paused: Span,
    /// Waiting for the NIC, which sent other flows, acknowledgements and control frames.
    pub nic: Span,
    /// Waiting for acknowledgements that did not arrive: all data was sent, or a retransmission timeout ran.
    pub recovery: Span,
    /// Waiting for a path.
    pub unreachable: Span,
}

impl SenderTime {
    /// Breakdown without any time.
    pub const NONE: Self = Self {
        sending: Span::ZERO,
        resending: Span::ZERO,
        window: Span::ZERO,
        pacing: Span::ZERO,
        grants: Span::ZERO,
        paused: Span::ZERO,
        nic: Span::ZERO,
        recovery: Span::ZERO,
        unreachable: Span::ZERO,
    };

    /// Returns the parts with their names.
    pub const fn parts(&self) -> [(&'static str, Span); 9] {
        [
            ("sending", self.sending),
            ("resending", self.resending),
            ("window", self.window),
            ("pacing", self.pacing),
            ("grants", self.grants),
            ("paused", self.paused),
            ("nic", self.nic),
            ("recovery", self.recovery),
            ("unreachable", self.unreachable),
        ]
    }
    /// Returns the sum of all parts.
    pub fn total(&self) -> Span {
        self.parts().iter().fold(Span::ZERO, |sum, &(_, part)| sum + part)
    }

    /// Returns the increase since `before`, an earlier breakdown of the same sender.
    #[inline]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sending: self.sending - before.sending,
            resending: self.resending - before.resending,
            window: self.window - before.window,
            pacing: self.pacing - before.pacing,
            grants: self.grants - before.grants,
            paused: self.paused - before.paused,
            nic: self.nic - before.nic,
            recovery: self.recovery - before.recovery,
            unreachable: self.unreachable - before.unreachable,
        }
    }
}

/// Time of one packet at one hop: in front of an egress port and on the link after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopTime {
    /// Egress port of the hop.
    pub port: PortRef,
    /// Transmission of its bytes.
    pub serialisation: Span,
    /// Propagation along the cable.
    pub propagation: Span,
    /// Waiting for other packets.
    pub queueing: Span,
    /// Waiting while the port's peer had paused the packet's class (PFC).
    pub paused: Span,
    /// Waiting at the other end of the link for a frame that link-level retry had to send again.
    pub retried: Span,
}

impl HopTime {
    /// Returns the parts with their names.
    pub const fn parts(&self) -> [(&'static str, Span); 5] {
        [
            ("serialisation", self.serialisation),
            ("propagation", self.propagation),
            ("queueing", self.queueing),
            ("paused", self.paused),
            ("retried", self.retried),
        ]
    }
    /// Returns the sum of all parts.
    pub fn total(&self) -> Span {
        self.parts().iter().fold(Span::ZERO, |sum, &(_, part)| sum + part)
    }
}

/// Totals of a flow's packets, of data or of acknowledgements, at one egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopTotals {
    /// Egress port of the hop.
    pub port: PortRef,
    /// True for the flow's acknowledgements, false for its data.
    pub back: bool,
    /// Packets that left through the port.
    pub packets: u64,
    /// Time they waited for other packets, summed.
    pub queueing: Span,
    /// Longest time that a packet waited for others.
    pub queueing_max: Span,
    /// Time they waited while their class was paused, summed.
    pub paused: Span,
    /// Longest time that a packet waited during a pause.
    pub paused_max: Span,
    /// Time they waited for frames that link-level retry had to send again, summed.
    pub retried: Span,
    /// Longest such time of a packet.
    pub retried_max: Span,
}

/// Time that a flow's data spent in the receiver's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTime {
    /// Time of the packet that triggered the last acknowledgement.
    pub time: Span,
    /// Packets that arrived there.
    pub packets: u64,
    /// Time of all packets, summed.
    pub total: Span,
    /// Longest time of a packet.
    pub max: Span,
}

/// Breakdown of one flow's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowAccount {
    /// Index of the flow.
    pub flow: u32,
    /// True if the flow completed; otherwise only the sender's time is known, up to the end of the run.
    pub completed: bool,
    /// Sender's part of the time.
    pub sender: SenderTime,
    /// Hops of the data packet that triggered the last acknowledgement.
    pub data: Vec<HopTime>,
    /// Time in the receiver's host, of that packet and of all others.
    pub host: HostTime,
    /// Hops of that acknowledgement.
    pub ack: Vec<HopTime>,
    /// Egress ports that the flow's packets left, in the order of first use; data and acknowledgements
    /// separately.
    pub hops: Vec<HopTotals>,
}

impl FlowAccount {
    /// Creates the breakdown of a flow that has not completed, with the sender's time only.
    pub fn new(flow: u32, sender: SenderTime) -> Self {
        Self {
            flow,
            completed: false,
            sender,
            data: Vec::new(),
            host: HostTime::default(),
            ack: Vec::new(),
            hops: Vec::new(),
        }
    }

    /// Returns the sum of all parts: the flow's completion time, or the time from its start to the run's end.
    pub fn total(&self) -> Span {
        let ways = self.data.iter().chain(&self.ack);
        ways.fold(self.sender.total() + self.host.time, |sum, hop| sum + hop.total())
    }
}
