//! State of a flow: application, NIC and receiver.

use paceline_fabric::model::{FlowId, Traffic};
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::{FlowSpec, RunSpec};
use paceline_kernel::Bytes;
use paceline_kernel::rng::Mrg32k3a;

use crate::tcd_ns3::reaction_point::{ReactionPoint, Settings};
use crate::tcd_ns3::ways::FlowWays;

/// Payload bytes per packet in a flow file.
const PACKET: u64 = 1000;
/// Header bytes in a packet's payload: sequence number, time stamp, and ten spare bytes.
pub(super) const HEADERS: u64 = 24;
/// ns-3 random stream of the jitter, in the range that programs number themselves.
const JITTER: u64 = (1 << 63) + 1;

/// State of a flow at its sending host, with its receiver.
#[derive(Clone)]
pub(super) struct Flow {
    size: u64,
    /// Number of packets, and payload bytes of each.
    pub(super) packets: u32,
    pub(super) payload: u32,
    pub(super) class: u8,
    pub(super) jitter: Mrg32k3a,
    pub(super) ways: FlowWays,
    /// Packet numbers: pushed by the application (`pushed`), next to send (`next`), and cumulatively acknowledged
    /// (`acked`).
    pub(super) pushed: u32,
    pub(super) next: u32,
    pub(super) acked: u32,
    /// Highest value of `next` so far.
    pub(super) sent: u32,
    /// Number among the NIC's flows; `None` before the first packet.
    pub(super) index: Option<usize>,
    /// Reaction point; `None` before the first transmission.
    pub(super) sender: Option<ReactionPoint>,
    /// Earliest time of the next transmission, ps, and the credits for it.
    pub(super) next_at: u64,
    pub(super) credits: f64,
    /// Generations of its two timers, for alpha and for increases.
    pub(super) settings: [u8; 2],
    pub(super) receiver: Option<Receiver>,
}

/// State of a flow's receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// Number of the next packet in order.
    pub(super) expected: u32,
    /// Packet number above which the next acknowledgement is due.
    pub(super) milestone: u32,
    /// Time until which the last NACK suppresses further ones, ps, and the packet number in it.
    pub(super) nack_until: u64,
    pub(super) nacked: Option<u32>,
    /// Counts since the last notification: OR of the marks, marked packets, all packets.
    pub(super) bits: u8,
    pub(super) marked: u16,
    pub(super) total: u16,
    /// Packets delivered to the application.
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
            index: None,
            sender: None,
            next_at: 0,
            credits: 0.0,
            settings: [0; 2],
            receiver: None,
        }
    }

    /// Returns the number of packets queued in the NIC.
    pub(super) fn backlog(&self) -> u32 {
        self.pushed - self.next
    }

    /// Returns the bytes that the application sends and receives.
    pub(super) fn heard_bytes(&self) -> u64 {
        u64::from(self.packets) * (u64::from(self.payload) - HEADERS)
    }

    /// Returns the reaction point, which is created on the first call.
    pub(super) fn sender(&mut self, settings: &Settings) -> &mut ReactionPoint {
        self.sender.get_or_insert_with(|| ReactionPoint::new(settings))
    }

    /// Writes sent and delivered bytes of an incomplete flow to its record.
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
