//! Totals of a run, and what it writes down as it goes on.

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that happened.
    pub events: u64,
    /// Transmissions of packets.
    pub link_hops: u64,
    /// Of them above 64 bytes.
    pub data_hops: u64,
    /// Random numbers, those of the set-up included.
    pub random_draws: u64,
    /// Packets that were marked.
    pub ecn_marks: u64,
    /// Arriving packets that were trimmed.
    pub trims_arriving: u64,
    /// Packets that were trimmed at the end of a queue.
    pub trims_tail: u64,
    /// Of both, in queues to hosts.
    pub trims_on_tor_to_host: u64,
    /// Data packets that were dropped.
    pub data_drops: u64,
    /// Headers and control packets that were dropped.
    pub header_drops: u64,
    /// ACKs that receivers sent.
    pub acks_made: u64,
    /// NACKs that receivers sent.
    pub nacks_made: u64,
    /// Pulls that receivers sent.
    pub pulls_made: u64,
    /// Data packets that came twice.
    pub duplicates: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets that SLEEK took for lost.
    pub sleek_packets: u64,
}

impl Counters {
    /// Names and values, in the order of `uet_counters.tsv`.
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

/// Something that the simulator prints while it runs.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) at: u64,
    pub(super) what: Said,
}

#[derive(Clone, Debug)]
pub(super) enum Said {
    Starting(u32),
    Finished(u32, Box<Finish>),
    /// A data packet at the end of a queue was dropped: packets of both queues, flow id.
    DataDrop(u32, u32, u32),
    HeaderDrop(u32, u32, u32),
    /// Data came twice: flow id, sequence number.
    Spurious(u32, u32),
    /// A trigger: its kind's word, id, targets or activations that are missing.
    Fired(&'static str, u32, usize),
    Waiting(u32, u32),
    /// A trigger that starts one flow at a time has started all.
    NoneLeft,
    Activate(u32),
    /// What DCTCP is told by an ACK: the flow, its window, whether the ACK is marked, new bytes.
    Dctcp(u32, i64, bool, i64),
    /// A base round-trip time so short that nothing is in flight in it: flow id, what the last probe measured.
    NoBdp(u32, u64),
    /// Data of a message came twice before its sender knew that it came once: flow id, message, sequence number.
    Again(u32, u32, u32),
}

/// A flow when its last packet is acknowledged.
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
