//! A receiver's knowledge of its flow, found when the first packet arrives. The path back is found again after every
//! change of topology.

use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::ids::{FlowId, PortId, QpId};
use crate::world::World;
use paceline_kernel::ids::Id;
use paceline_run::outcome::PacketKind;

/// Properties of a flow that its receiver needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowPath {
    /// Size of the flow in bytes; [`FlowPath::ENDLESS`] for a connection.
    pub(super) size: u64,
    /// Path of the flow's ACKs, and its generation: an older one than the network's if there is no path any more.
    pub(super) ack_route: u64,
    pub(super) ack_epoch: u16,
    /// Port by which the receiver answers, and the port by which answers leave the network.
    pub(super) ack_port: PortId,
    pub(super) ack_last: PortId,
    pub(super) ack_wire: u16,
    /// Dense class of the flow's ACKs in switches.
    pub(super) ack_class: u8,
    /// True if the ACKs report the path that the data took.
    pub(super) tells_way: bool,
    /// Slot of the sender's queue pair, from the data packets.
    pub(super) qp: QpId,
}

impl FlowPath {
    pub(super) const ENDLESS: u64 = u64::MAX;

    /// Placeholder for no flow.
    pub(super) const NONE: Self = Self {
        size: 0,
        ack_route: 0,
        ack_epoch: 0,
        ack_port: PortId::NONE,
        ack_last: PortId::NONE,
        ack_wire: 0,
        ack_class: 0,
        tells_way: false,
        qp: QpId::NONE,
    };

    /// Finds the properties of `flow`, whose packets name `qp` as its sender.
    pub(super) fn of(cx: &Cx<'_>, flow: FlowId, qp: QpId) -> Self {
        let described = cx.world.flow(cx.core, flow);
        let needs = cx.world.scheme_of(cx.core, flow).needs();
        let mut path = Self {
            size: match described.connection {
                None => described.size.get(),
                Some(_) => Self::ENDLESS,
            },
            ack_wire: cx.world.packet.ack_wire(&needs),
            ack_class: cx.world.ack_class(described.class),
            // With entropy values, the value in a packet identifies its path.
            tells_way: needs.int && cx.world.spec.entropy.is_none(),
            qp,
            ack_port: cx.world.routing.ports_of(described.dst)[0],
            ack_epoch: cx.world.old_epoch(),
            ..Self::NONE
        };
        path.find_way(cx, flow);
        path
    }

    /// Finds the path of the flow's ACKs, if there is one.
    pub(super) fn find_way(&mut self, cx: &Cx<'_>, flow: FlowId) {
        if let Some(back) = cx.world.find_way_back(cx.core, flow) {
            (self.ack_port, self.ack_last) = (back[0], back[back.len() - 1]);
            (self.ack_route, self.ack_epoch) = cx.world.way_of(&back);
        }
    }

    /// Puts a packet on the path of ACKs.
    #[inline]
    pub(super) fn send_back(&self, packet: &mut Packet) {
        packet.path = self.ack_route;
        packet.epoch = self.ack_epoch;
        packet.class = self.ack_class;
    }

    /// Returns a packet of the receiver to the sender of `flow`, about a packet that was sent at `sent_at`.
    pub(super) fn control_packet(&self, world: &World, flow: FlowId, sent_at: u64) -> Packet {
        let mut packet = Packet {
            kind: PacketKind::Cnp,
            flow,
            qp: self.qp,
            sent_at,
            wire: world.packet.cnp.get() as u16,
            ..Packet::EMPTY
        };
        self.send_back(&mut packet);
        packet
    }
}
