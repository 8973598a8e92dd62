//! A flow: what its application has pushed, what its NIC has sent, what its receiver knows.

use paceline_fabric::model::{FlowId, Traffic};
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::{FlowSpec, RunSpec};
use paceline_kernel::Bytes;
use paceline_kernel::rng::Mrg32k3a;

use crate::tcd_ns3::reaction_point::{ReactionPoint, Settings};
use crate::tcd_ns3::ways::FlowWays;

/// Payload bytes that a flow file means by a packet.
const PACKET: u64 = 1000;
/// Of the bytes that a packet stands for, those of headers: sequence number and time stamp, and ten that are spared.
pub(super) const HEADERS: u64 = 24;
/// Stream of the jitter, among those that ns-3 programs number themselves.
const JITTER: u64 = (1 << 63) + 1;

/// All of it.
#[derive(Clone)]
pub(super) struct Flow {
    size: u64,
    /// Packets, and how many bytes each stands for.
    pub(super) packets: u32,
    pub(super) payload: u32,
    pub(super) class: u8,
    pub(super) jitter: Mrg32k3a,
    pub(super) ways: FlowWays,
    /// Pushed so far, and the next to be sent; before the latter, those that are acknowledged.
    pub(super) pushed: u32,
    pub(super) next: u32,
    pub(super) acked: u32,
    /// The most that were sent.
    pub(super) sent: u32,
    /// Its place among those of its NIC; none before its first packet.
    pub(super) place: Option<usize>,
    /// Before it sends for the first time it has no rate.
    pub(super) sender: Option<ReactionPoint>,
    /// When it may send next, in ps, and what is due to it until then.
    pub(super) next_at: u64,
    pub(super) credits: f64,
    /// Which settings of its timers count: of alpha, and of increases.
    pub(super) settings: [u8; 2],
    pub(super) receiver: Option<Receiver>,
}

/// What the receiver of a flow knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// The number of the next packet.
    pub(super) expected: u32,
    /// Beyond this an acknowledgement is due.
    pub(super) milestone: u32,
    /// Until when an earlier negative answer stands, in ps, and the number that it was about.
    pub(super) nack_until: u64,
    pub(super) nacked: Option<u32>,
    /// Since its last notification: marks joined, packets with marks, all packets.
    pub(super) bits: u8,
    pub(super) marked: u16,
    pub(super) total: u16,
    /// Packets that the application has heard of.
    pub(super) heard: u32,
}

impl Flow {
    pub(super) fn new(flow: &FlowSpec, run: &RunSpec) -> Self {
        let size = flow.size.get();
        let full = run.packet.mtu.get();
        Self {
            size,
            packets: size.div_ceil(PACKET) as u32,
            payload: if size < PACKET { size } else { full } as u32,
            class: 0,
            jitter: Mrg32k3a::ns3_stream_of(run.seed as u32, JITTER),
            ways: FlowWays::default(),
            pushed: 0,
            next: 0,
            acked: 0,
            sent: 0,
            place: None,
            sender: None,
            next_at: 0,
            credits: 0.0,
            settings: [0; 2],
            receiver: None,
        }
    }

    /// Packets that its NIC has.
    pub(super) fn backlog(&self) -> u32 {
        self.pushed - self.next
    }

    /// Bytes that its application gives and gets.
    pub(super) fn heard_bytes(&self) -> u64 {
        u64::from(self.packets) * (u64::from(self.payload) - HEADERS)
    }

    /// Its reaction point, which begins when it is asked for first.
    pub(super) fn sender(&mut self, settings: &Settings) -> &mut ReactionPoint {
        self.sender.get_or_insert_with(|| ReactionPoint::new(settings))
    }

    /// What became of it, if it is not complete.
    pub(super) fn write(&self, traffic: &mut Traffic, id: FlowId) {
        let bytes = |packets: u32| Bytes::new((u64::from(packets) * PACKET).min(self.size));
        let record = traffic.record_mut(id);
        if record.status != FlowStatus::NotStarted {
            record.sent = bytes(self.sent);
        }
        if record.status == FlowStatus::Unfinished {
            record.delivered = bytes(self.receiver.as_ref().map_or(0, |receiver| receiver.expected));
        }
    }
}
