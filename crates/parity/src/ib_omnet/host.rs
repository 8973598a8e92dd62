//! State of hosts as senders and receivers.

use std::collections::VecDeque;

use paceline_congestion::{ibcc::omnet as ibcc, rrcc::omnet as rrcc};
use paceline_fabric::model::{FlowId, NicId, PacketId, PortId};
use paceline_fabric::spec::NodeId;

use crate::ib_omnet::outcome::SourceTotals;
use crate::ib_omnet::spec::Control;

/// State of a host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) port: PortId,
    pub(super) node: NodeId,
    /// Index of its source; `u32::MAX` if it sends nothing.
    pub(super) source: u32,
    /// Packets queued for the arbiter.
    pub(super) queue: VecDeque<PacketId>,
    /// True while it is creating a packet.
    pub(super) making: bool,
    /// True once a packet has left its queue.
    pub(super) has_sent: bool,
    pub(super) controlled: bool,
    pub(super) pace: Pace,
    /// Interval between packets, ns.
    pub(super) interval_ns: f64,
    /// Received packets that wait to be consumed (`coming`); `taking` is true while one is being consumed.
    pub(super) coming: u32,
    pub(super) taking: bool,
}

/// A host's congestion control state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Free,
    Ibcc(ibcc::Sender),
    Rrcc(rrcc::Sender),
}

/// Messages of a host, sent one after the other.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) host: NicId,
    pub(super) to: NicId,
    /// Number of switches on the path; `None` without a path.
    pub(super) switches: Option<u32>,
    /// Index of the next message (`next`), and the flow of which packets are being created (`current`).
    pub(super) next: u32,
    pub(super) current: Option<FlowId>,
    /// Number of packets in the current message, and of those already created.
    pub(super) packets: u32,
    pub(super) made: u32,
    /// Packets received of the oldest incomplete message. Messages arrive in order.
    pub(super) come: u32,
    /// The receiver's observation window (RRCC); `is_notified` is true if the receiver sends notifications.
    pub(super) window: rrcc::Receiver,
    pub(super) is_notified: bool,
    pub(super) totals: SourceTotals,
    /// True once the first message has started.
    pub(super) begun: bool,
}

impl Source {
    pub(super) fn new(host: NicId, to: NicId, switches: Option<u32>, is_notified: bool) -> Self {
        Self {
            host,
            to,
            switches,
            next: 0,
            current: None,
            packets: 0,
            made: 0,
            come: 0,
            window: rrcc::Receiver::default(),
            is_notified,
            totals: SourceTotals::default(),
            begun: false,
        }
    }
}

impl Host {
    pub(super) fn new(port: PortId, node: NodeId, control: Control, packet_ns: f64, line: f64) -> Self {
        let pace = match control {
            Control::None => Pace::Free,
            Control::Ibcc(_) => Pace::Ibcc(ibcc::Sender::default()),
            Control::Rrcc(_) => Pace::Rrcc(rrcc::Sender::new(line, packet_ns)),
        };
        Self {
            port,
            node,
            source: u32::MAX,
            queue: VecDeque::new(),
            making: false,
            has_sent: false,
            controlled: !matches!(control, Control::None),
            pace,
            interval_ns: packet_ns,
            coming: 0,
            taking: false,
        }
    }
}
