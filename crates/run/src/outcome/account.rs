//! What an account says.

use paceline_kernel::Span;

use crate::outcome::PortRef;

/// A sender's time, from its flow's start to the start of the last transmission that mattered; of a
/// flow that did not complete, to the end of the run. Of a message over a persistent connection: what the connection did
/// meanwhile, for this message and those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTime {
    /// Putting bytes on the wire for the first time.
    pub sending: Span,
    /// Putting bytes on the wire again.
    pub resending: Span,
    /// As many bytes in flight as the window allows.
    pub window: Span,
    /// The pacing rate's next packet was not due.
    pub pacing: Span,
    /// The scheme waited for what its receiver's host grants.
    pub grants: Span,
    /// The scheme would have sent, but the flow's class was paused (PFC).
    pub paused: Span,
    /// The NIC was busy with other flows, acknowledgements and control frames.
    pub nic: Span,
    /// Everything sent, or a retransmission timeout ran: waiting for acknowledgements that did not
    /// come.
    pub recovery: Span,
    /// There was no path.
    pub unreachable: Span,
}

impl SenderTime {
    /// No time at all.
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

    /// Its parts, by name.
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
    /// All of it.
    pub fn total(&self) -> Span {
        self.parts().iter().fold(Span::ZERO, |sum, &(_, part)| sum + part)
    }

    /// What came to it since it was as it was before.
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

/// One packet's time at one hop: before an egress port and on the link behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopTime {
    /// The egress port.
    pub port: PortRef,
    /// Bytes on the wire.
    pub serialisation: Span,
    /// The way along the cable.
    pub propagation: Span,
    /// Waiting behind others.
    pub queueing: Span,
    /// Waiting while the port's peer had paused the packet's class (PFC).
    pub paused: Span,
}

impl HopTime {
    /// Its parts, by name.
    pub const fn parts(&self) -> [(&'static str, Span); 4] {
        [
            ("serialisation", self.serialisation),
            ("propagation", self.propagation),
            ("queueing", self.queueing),
            ("paused", self.paused),
        ]
    }
    /// All of it.
    pub fn total(&self) -> Span {
        self.parts().iter().fold(Span::ZERO, |sum, &(_, part)| sum + part)
    }
}

/// All of a flow's packets of one kind at one egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopTotals {
    /// The egress port.
    pub port: PortRef,
    /// Whether this is about the flow's acknowledgements, not its data.
    pub back: bool,
    /// Packets that left.
    pub packets: u64,
    /// Time they waited behind others, summed.
    pub queueing: Span,
    /// The longest.
    pub queueing_max: Span,
    /// Time they waited while their class was paused, summed.
    pub paused: Span,
    /// The longest.
    pub paused_max: Span,
}

/// Time that a flow's data spent in the receiver's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTime {
    /// The packet's that the last acknowledgement answered.
    pub time: Span,
    /// Packets that arrived there.
    pub packets: u64,
    /// Their time, summed.
    pub total: Span,
    /// The longest.
    pub max: Span,
}

/// Where one flow's time went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowAccount {
    /// Index of the flow.
    pub flow: u32,
    /// Whether it completed: otherwise only the sender's time is told, until the end of the run.
    pub completed: bool,
    /// The sender's time.
    pub sender: SenderTime,
    /// The way of the data packet that the last acknowledgement answered.
    pub data: Vec<HopTime>,
    /// That packet's time in the receiver's host, and that of all others.
    pub host: HostTime,
    /// The way of that acknowledgement.
    pub ack: Vec<HopTime>,
    /// Every egress port that packets of the flow left, in the order in which they were met: data
    /// and acknowledgements apart.
    pub hops: Vec<HopTotals>,
}

impl FlowAccount {
    /// Of a flow that has not completed: the sender's time.
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

    /// The sum of all parts: the flow's completion time, or the time from its start to the run's end.
    pub fn total(&self) -> Span {
        let ways = self.data.iter().chain(&self.ack);
        ways.fold(self.sender.total() + self.host.time, |sum, hop| sum + hop.total())
    }
}
