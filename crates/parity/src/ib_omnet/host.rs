//! What hosts know: as senders, as receivers.

use std::collections::VecDeque;

use paceline_congestion::{ibcc::omnet as ibcc, rrcc::omnet as rrcc};
use paceline_fabric::model::{FlowId, NicId, PacketId, PortId};
use paceline_fabric::spec::NodeId;

use crate::ib_omnet::outcome::SourceTotals;
use crate::ib_omnet::spec::Control;

/// A host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) port: PortId,
    pub(super) node: NodeId,
    /// What it sends, if it sends.
    pub(super) source: u32,
    /// Packets that wait for the arbiter.
    pub(super) queue: VecDeque<PacketId>,
    /// Whether it is about to make a packet.
    pub(super) making: bool,
    /// Whether a packet has left its queue.
    pub(super) has_sent: bool,
    pub(super) controlled: bool,
    pub(super) pace: Pace,
    /// Nanoseconds from one packet to the next.
    pub(super) interval_ns: f64,
    /// Packets that have come and wait to be taken, and whether one is about to be.
    pub(super) coming: u32,
    pub(super) taking: bool,
}

/// What a host does about notifications.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Free,
    Ibcc(ibcc::Sender),
    Rrcc(rrcc::Sender),
}

/// Messages of a host, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) host: NicId,
    pub(super) to: NicId,
    /// Switches on the way; `None` if there is no way.
    pub(super) switches: Option<u32>,
    /// The next message, and the one of which packets are made.
    pub(super) next: u32,
    pub(super) current: Option<FlowId>,
    /// Packets of that one, and how many are made.
    pub(super) packets: u32,
    pub(super) made: u32,
    /// Packets that have come of the message whose packets come. Messages come in order.
    pub(super) come: u32,
    /// What its receiver knows, and whether it tells.
    pub(super) window: rrcc::Receiver,
    pub(super) is_notified: bool,
    pub(super) totals: SourceTotals,
    /// Whether its first message has come.
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
