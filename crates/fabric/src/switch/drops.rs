//! Packets that find no room: they are dropped or trimmed.

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::lost::Lost;
use crate::core::packet::Packet;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::world::classes::STRICT;
use paceline_run::outcome::PacketKind;

impl Switches {
    /// Trims or drops a packet of `class` for which there is no room.
    #[cold]
    pub(super) fn refuse(&mut self, cx: &mut Cx<'_>, egress: PortId, class: u8, id: PacketId) {
        let lossy = self.rules.is_lossy(class);
        if let Some(ties) = self.ties.as_mut().filter(|_| lossy) {
            ties.drops(egress);
        }
        if lossy
            && cx.core.packets.get(id).kind == PacketKind::Data
            && let Some(limit) = self.rules.trim
            && self.trim(cx.core, egress, id, limit)
        {
            // Headers take the strict class, so that they overtake the full queue and report the loss early.
            self.enqueue(cx, egress, STRICT, id);
            let port = &mut cx.core.ports[egress];
            port.queue_max = port.queue_max.max(port.queued);
            return;
        }
        // A drop in a lossless class means too little headroom, which the results report separately.
        cx.core.counters.lossless_drops += u64::from(!lossy);
        self.drop_packet(cx, egress, id, Lost::Buffer);
    }

    /// Removes a data packet's payload, if there is room for its headers at `egress`.
    fn trim(&self, core: &mut Core, egress: PortId, id: PacketId, limit: u32) -> bool {
        let packet = core.packets.get(id);
        let (header, ingress) = (packet.wire - packet.payload, packet.ingress);
        // Headers have a limit too: an incast of them would fill the buffer as the data did.
        if core.queues[(egress, STRICT)].bytes + u32::from(header) > limit {
            return false;
        }
        core.notify_before(ingress, id);
        let packet = core.packets.get_mut(id);
        packet.flags |= Packet::TRIMMED;
        // UEC tells a trim at the last hop apart: there the receiver is the bottleneck, not the path.
        if core.ports[core.ports[egress].peer].is_host {
            packet.flags |= Packet::AT_LAST_HOP;
        }
        (packet.wire, packet.payload, packet.class) = (header, 0, STRICT);
        core.counters.trimmed += 1;
        true
    }

    /// Trims a packet at the request of a scheme's half. Returns true if the packet goes on.
    #[cold]
    pub(super) fn trim_or_drop(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId) -> bool {
        let packet = cx.core.packets.get(id);
        // Control packets have no payload to cut, and a second trim would cut nothing.
        if packet.kind != PacketKind::Data || packet.is_trimmed() {
            return true;
        }
        let limit = self.rules.trim.unwrap_or(u32::MAX);
        if !self.trim(cx.core, egress, id, limit) {
            self.drop_packet(cx, egress, id, Lost::Buffer);
            return false;
        }
        true
    }

    /// Drops a packet at a switch.
    #[cold]
    pub(super) fn drop_packet(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, why: Lost) {
        cx.core.notify_before(cx.core.packets.get(id).ingress, id);
        cx.core.discard(cx.world, egress, id, why);
    }
}
