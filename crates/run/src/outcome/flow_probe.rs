//! What a close-up says.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::outcome::PortRef;

/// What made a sender slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Congestion marks that acknowledgements echoed.
    Mark,
    /// A congestion notification packet of the receiver, which marks had caused.
    Cnp,
    /// A report of the receiver (PCN).
    Report,
    /// A message of a switch (Bolt's SRC, QCN's CNM), or its note in an acknowledgement.
    Notice,
    /// Telemetry of the hops (INT).
    Telemetry,
    /// The digest of the busiest hop's utilisation (HPCC-PINT).
    Digest,
    /// The round-trip time of a packet.
    Delay,
    /// A gap that the receiver saw.
    Loss,
    /// A retransmission timeout.
    Timeout,
    /// Nothing from outside: a timer of the scheme, or what it had sent itself.
    Itself,
}

impl Cause {
    /// Its name in files.
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

/// What a sender may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The rate at which packets may leave.
    pub rate: BitRate,
    /// Payload bytes that may be in flight; `u64::MAX` for any number.
    pub window: Bytes,
}

/// A sender was slowed down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// When.
    pub at: Time,
    /// By what.
    pub cause: Cause,
    /// The port that it came from: that marked, sent the message, had the most utilised hop of the telemetry,
    /// or (of a round-trip time) where the packet had waited longest.
    pub port: Option<PortRef>,
    /// What the sender was allowed before, and after.
    pub before: Limits,
    /// See `before`.
    pub after: Limits,
    /// The round-trip time of the acknowledgement, if it was one.
    pub rtt: Option<Span>,
}

impl Cut {
    /// By how much: the limit before over that after, of the rate or of the window, whichever fell more.
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

/// All cuts of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutTotals {
    /// By what.
    pub cause: Cause,
    /// From which port.
    pub port: Option<PortRef>,
    /// How many.
    pub count: u64,
    /// When the first and the last were.
    pub first: Time,
    /// See `first`.
    pub last: Time,
    /// The lowest rate that one of them led to.
    pub lowest: BitRate,
}

/// Packets of the flow that one port marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The port.
    pub port: PortRef,
    /// How many packets.
    pub count: u64,
    /// Of these, as undetermined.
    pub undetermined: u64,
    /// When the first and the last left it.
    pub first: Time,
    /// See `first`.
    pub last: Time,
    /// The most bytes that were left in the queue behind one of them.
    pub queue_max: Bytes,
}

/// Pauses of a port that the flow's packets leave by, from one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// The port that was paused.
    pub port: PortRef,
    /// From it to the root: the egress port in which most of what had come in by `port` stood when the pause was
    /// asked for; if that was paused itself, the one of the next node, and so on. Empty where a host asked.
    pub way: Vec<PortRef>,
    /// How many.
    pub count: u64,
    /// For how long in all.
    pub time: Span,
    /// When the first began and the last ended.
    pub first: Time,
    /// See `first`.
    pub last: Time,
    /// Whose bytes stood in the root's queue when these pauses were asked for, summed over them; the most first.
    pub flows: Vec<(u32, u64)>,
}

/// What one flow did to another at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The flow; the looked-at one itself too.
    pub flow: u32,
    /// Its bytes that left the port while packets of the looked-at flow waited there.
    pub bytes: u64,
    /// For how long these packets waited for it, summed over them.
    pub waited: Span,
}

/// What the flow's data packets waited for at an egress port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The port.
    pub port: PortRef,
    /// For whom, the most bytes first. Their times and `idle` sum to the time that the flow's packets queued
    /// there ([`crate::outcome::account::HopTotals::queueing`]).
    pub flows: Vec<Neighbour>,
    /// While the port's peer had paused their class.
    pub paused: Span,
    /// While the port sent nothing (its link was down).
    pub idle: Span,
    /// When the first of them came and the last left.
    pub first: Time,
    /// See `first`.
    pub last: Time,
}

/// One flow, looked at closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowProbe {
    /// Index of the flow.
    pub flow: u32,
    /// What it was allowed at its start.
    pub began: Limits,
    /// What it was allowed last.
    pub ended: Limits,
    /// The line rate of its sender.
    pub line: BitRate,
    /// Cuts by cause and port, the most frequent first.
    pub causes: Vec<CutTotals>,
    /// The deepest of the cuts, at most [`FlowProbe::CUTS_MAX`], in order of time.
    pub cuts: Vec<Cut>,
    /// Ports that marked its packets, in the order of the first mark.
    pub marks: Vec<Marks>,
    /// Pauses of the ports on its way.
    pub pauses: Vec<Pauses>,
    /// For whom its sender waited at its NIC: flows that were on the wire. These sum to the `nic` of its account
    /// until its last packet.
    pub nic: Vec<(u32, Span)>,
    /// The switch ports on its way where its packets waited, in the order in which they came to them.
    pub shared: Vec<Shared>,
}

impl FlowProbe {
    /// Cuts that are listed one by one.
    pub const CUTS_MAX: usize = 256;
}
