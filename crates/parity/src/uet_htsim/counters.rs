//! Totals of a run, and the lines that it prints.

/// Totals of a run, as in `uet_counters.tsv`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events executed by the simulator's loop.
    pub events: u64,
    /// Transmissions of packets on any link.
    pub link_hops: u64,
    /// Transmissions of packets above 64 bytes.
    pub data_hops: u64,
    /// Random numbers drawn, those of the set-up included.
    pub random_draws: u64,
    /// Packets marked with ECN.
    pub ecn_marks: u64,
    /// Arriving packets trimmed because the queue was full.
    pub trims_arriving: u64,
    /// Packets trimmed at the tail of a queue to make room for an arriving one.
    pub trims_tail: u64,
    /// Trims of both kinds in queues to hosts.
    pub trims_on_tor_to_host: u64,
    /// Data packets dropped without trimming.
    pub data_drops: u64,
    /// Dropped headers and control packets.
    pub header_drops: u64,
    /// ACKs sent by receivers.
    pub acks_made: u64,
    /// NACKs sent by receivers.
    pub nacks_made: u64,
    /// Pulls sent by receivers.
    pub pulls_made: u64,
    /// Data packets received again after they had arrived.
    pub duplicates: u64,
    /// Expiries of retransmission timers, all flows together.
    pub timeouts: u64,
    /// Packets that SLEEK declared lost.
    pub sleek_packets: u64,
}

impl Counters {
    /// Returns names and values in the order of `uet_counters.tsv`.
    pub fn rows(&self) -> [(&'static str, u64); 15] {
        [
            ("events", self.events),
            ("link_hops", self.link_hops),
            ("data_hops", self.data_hops),
            ("random_draws", self.random_draws),
            ("ecn_marks", self.ecn_marks),
            ("trims_arriving", self.trims_arriving),
            ("trims_tail", self.trims_tail),
            ("trims_on_tor_to_host", self.trims_on_tor_to_host),
            ("data_drops", self.data_drops),
            ("header_drops", self.header_drops),
            ("acks_made", self.acks_made),
            ("nacks_made", self.nacks_made),
            ("pulls_made", self.pulls_made),
            ("duplicates", self.duplicates),
            ("timeouts", self.timeouts),
        ]
    }
}

/// A line that the simulator prints during a run.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) at: u64,
    pub(super) what: LogLine,
}

#[derive(Clone, Debug)]
pub(super) enum LogLine {
    Starting(u32),
    Finished(u32, Box<Finish>),
    /// A data packet dropped at the tail of a queue: packets in the data queue and in the control queue, flow id.
    DataDrop(u32, u32, u32),
    HeaderDrop(u32, u32, u32),
    /// A duplicate data packet: flow id, sequence number.
    Spurious(u32, u32),
    /// A trigger: the word of its kind, its id, and its number of targets or of missing activations.
    Fired(&'static str, u32, usize),
    Waiting(u32, u32),
    /// Printed when a trigger that starts one flow at a time has none left.
    NoneLeft,
    Activate(u32),
    /// DCTCP's input from an ACK: flow, window, true if the ACK is marked, newly acknowledged bytes.
    Dctcp(u32, i64, bool, i64),
    /// A base round-trip time too short for any byte in flight: flow id, round trip of the last probe.
    NoBdp(u32, u64),
    /// A duplicate packet of a message whose first copy is not acknowledged yet: flow id, message, sequence number.
    Again(u32, u32, u32),
}

/// State of a flow when its last packet is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Finish {
    pub(super) at: u64,
    pub(super) cum: u32,
    pub(super) requests: u32,
    pub(super) in_flight: i64,
    pub(super) window: i64,
    pub(super) base: u64,
    pub(super) average: u64,
    pub(super) max_window: i64,
    pub(super) messages: usize,
    pub(super) sums: paceline_congestion::nscc::window::Sums,
}
