//! Probe of a flow: cuts, marks, pauses and competitors in detail.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::outcome::PortRef;

/// Cause of a sender's slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Congestion marks echoed in acknowledgements.
    Mark,
    /// Congestion notification packet of the receiver, caused by marks.
    Cnp,
    /// Report of the receiver (PCN).
    Report,
    /// Message of a switch (Bolt's SRC, QCN's CNM), or its report in an acknowledgement.
    Notice,
    /// Telemetry of the hops (INT).
    Telemetry,
    /// Digest of the busiest hop's utilisation (HPCC-PINT).
    Digest,
    /// Round-trip time of a packet.
    Delay,
    /// Gap that the receiver detected.
    Loss,
    /// Expiry of the retransmission timer.
    Timeout,
    /// No external event: a timer of the scheme, or its own transmissions.
    Itself,
}

impl Cause {
    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Cnp => "cnp",
            Self::Report => "report",
            Self::Notice => "notice",
            Self::Telemetry => "telemetry",
            Self::Digest => "digest",
            Self::Delay => "delay",
            Self::Loss => "loss",
            Self::Timeout => "timeout",
            Self::Itself => "itself",
        }
    }
}

/// Limits of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate at which packets may leave.
    pub rate: BitRate,
    /// Payload bytes that may be in flight; `u64::MAX` without a limit.
    pub window: Bytes,
}

/// Reduction of a sender's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Time of the cut.
    pub at: Time,
    /// Cause of the cut.
    pub cause: Cause,
    /// Port responsible for the cut: the one that marked, sent the message or had the highest utilisation in
    /// the telemetry; for a round-trip time, the port at which the packet waited longest.
    pub port: Option<PortRef>,
    /// Limits before the cut.
    pub before: Limits,
    /// Limits after the cut.
    pub after: Limits,
    /// Round-trip time of the acknowledgement, if one caused the cut.
    pub rtt: Option<Span>,
}

impl Cut {
    /// Returns the factor of the cut: limit before over limit after, of rate or window, whichever fell more.
    pub fn factor(&self) -> f64 {
        let of = |before: u64, after: u64| before as f64 / after.max(1) as f64;
        let window = match (self.before.window.get(), self.after.window.get()) {
            (_, u64::MAX) => 1.0,
            (u64::MAX, _) => 1.0,
            (before, after) => of(before, after),
        };
        of(self.before.rate.as_bps(), self.after.rate.as_bps()).max(window)
    }
}

/// Totals of all cuts with one cause and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutTotals {
    /// Cause of the cuts.
    pub cause: Cause,
    /// Port responsible for the cuts.
    pub port: Option<PortRef>,
    /// Number of cuts in the total.
    pub count: u64,
    /// Time of the first cut.
    pub first: Time,
    /// Time of the last cut.
    pub last: Time,
    /// Lowest rate that one of the cuts led to.
    pub lowest: BitRate,
}

/// Packets of the flow that one port marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Port that marked the packets.
    pub port: PortRef,
    /// Number of marked packets.
    pub count: u64,
    /// Packets marked as undetermined, part of `count`.
    pub undetermined: u64,
    /// Departure time of the first marked packet.
    pub first: Time,
    /// Departure time of the last marked packet.
    pub last: Time,
    /// Longest queue, in bytes, that a marked packet left behind.
    pub queue_max: Bytes,
}

/// Pauses of a port on the flow's path, from one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// Port that was paused.
    pub port: PortRef,
    /// Ports from the paused one to the root. Each is the egress port that held most of the bytes received
    /// through the previous port when the pause was requested; the chain ends at a port that was not paused
    /// itself. Empty if a host requested the pause.
    pub way: Vec<PortRef>,
    /// Number of pauses in the total.
    pub count: u64,
    /// Total duration of the pauses.
    pub time: Span,
    /// Start of the first pause.
    pub first: Time,
    /// End of the last pause.
    pub last: Time,
    /// Flows with bytes in the root's queue when these pauses were requested, with the bytes summed over
    /// pauses; largest first.
    pub flows: Vec<(u32, u64)>,
}

/// Effect of one flow on another at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Flow, possibly the probed one itself.
    pub flow: u32,
    /// Bytes of it that left the port while packets of the probed flow waited there.
    pub bytes: u64,
    /// Time that these packets waited for it, summed.
    pub waited: Span,
}

/// Causes for which the flow's data packets waited at an egress port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Port at which they waited.
    pub port: PortRef,
    /// Flows for which they waited, most bytes first. Their times and `idle` sum to the time that the flow's
    /// packets queued there ([`crate::outcome::account::HopTotals::queueing`]).
    pub flows: Vec<Neighbour>,
    /// Waiting while the port's peer had paused their class.
    pub paused: Span,
    /// Waiting while the port sent nothing, because its link was down.
    pub idle: Span,
    /// Arrival of the first waiting packet.
    pub first: Time,
    /// Departure of the last waiting packet.
    pub last: Time,
}

/// Detailed record of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowProbe {
    /// Index of the flow.
    pub flow: u32,
    /// Limits at its start.
    pub began: Limits,
    /// Limits at its end.
    pub ended: Limits,
    /// Line rate of its sender.
    pub line: BitRate,
    /// Cuts by cause and port, the most frequent first.
    pub causes: Vec<CutTotals>,
    /// Deepest cuts, at most [`FlowProbe::CUTS_MAX`], in order of time.
    pub cuts: Vec<Cut>,
    /// Ports that marked its packets, in the order of the first mark.
    pub marks: Vec<Marks>,
    /// Pauses of the ports on its path.
    pub pauses: Vec<Pauses>,
    /// Flows for which its sender waited at its NIC because they were on the wire. The times sum to the `nic`
    /// of its account until its last packet.
    pub nic: Vec<(u32, Span)>,
    /// Switch ports on its path at which its packets waited, in the order in which they reached them.
    pub shared: Vec<Shared>,
}

impl FlowProbe {
    /// Upper limit of the cuts listed one by one.
    pub const CUTS_MAX: usize = 256;
}
