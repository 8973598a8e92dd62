//! Packets during a change of topology: lost ones, and those that need another route.

use crate::core::cx::Cx;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::world::routing::FlowKey;

impl Switches {
    /// Returns a lost packet's bytes to its ingress counters, and ends the pause that they caused.
    pub(crate) fn release_lost(&mut self, cx: &mut Cx<'_>, ingress: PortId, class: u8, wire: u32) {
        let port = &cx.core.ports[ingress];
        let profile = &cx.world.profiles[port.profile];
        let buffer = &mut self.buffers[port.switch()];
        let queue = &mut cx.core.queues[(ingress, class)];
        self.rules.release(buffer, queue, wire);
        // No packet of the queue will leave to trigger the resume, so it has to be sent here.
        if port.asked & 1 << class != 0 && self.rules.may_resume(buffer, queue, profile.shift) {
            self.send_pfc(cx, ingress, class, false);
        }
    }

    /// Returns the egress port of a packet that left its host before the topology changed.
    #[cold]
    pub(super) fn reroute(&mut self, cx: &mut Cx<'_>, ingress: PortId, id: PacketId) -> Option<PortId> {
        let packet = cx.core.packets.get(id);
        let flow = cx.world.flow(cx.core, packet.flow);
        let to_receiver = matches!(packet.kind, paceline_run::outcome::PacketKind::Data);
        let key = FlowKey::of(&flow);
        let (dst, key) = if to_receiver {
            (flow.dst, key)
        } else {
            (flow.src, key.reversed())
        };
        let node = cx.core.ports[ingress].node;
        cx.world.routing.next_hop(node, dst, key)
    }
}
