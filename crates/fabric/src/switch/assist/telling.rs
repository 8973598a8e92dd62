//! Feedback of switches to senders: signals, and notes in packets that pass.

use paceline_congestion::signal::Carrier;
use paceline_kernel::ids::Id as _;

use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::core::port::Port;
use crate::ids::{PacketId, PortId, ProfileId};
use crate::world::classes::STRICT;
use paceline_run::outcome::PacketKind;

/// Returns a signal to the sender of data packet `id`, about the port by which that would leave.
pub(in crate::switch) fn signal(cx: &Cx<'_>, egress: PortId, id: PacketId, carrier: Carrier) -> Packet {
    let packet = cx.core.packets.get(id);
    let small = cx.world.packet.cnp.get() as u16;
    // A path of an older topology cannot be turned around: the signal is routed at every switch then.
    let back = if packet.epoch == cx.world.epoch {
        cx.world.epoch
    } else {
        cx.world.old_epoch()
    };
    let path = cx.world.routing.turn_back(packet.path);
    let (wire, path, epoch) = match carrier {
        Carrier::Headers => (
            cx.world.packet.turned_back(packet.wire - packet.payload),
            path,
            back,
        ),
        Carrier::Packet => (small, path, back),
        // Rare enough to be looked up at every switch.
        Carrier::Routed => (small, 0, cx.world.old_epoch()),
    };
    Packet {
        kind: PacketKind::Signal,
        flow: packet.flow,
        qp: packet.qp,
        seq: packet.seq,
        sent_at: packet.sent_at,
        class: STRICT,
        wire,
        path,
        epoch,
        note_port: cx.core.ports[egress].profile,
        ..Packet::EMPTY
    }
}

/// Writes the port's queue into a passing data packet, unless the packet carries the report of a port whose queue takes
/// longer to drain.
pub(super) fn note(cx: &mut Cx<'_>, egress: PortId, id: PacketId) {
    let Port { queued, profile, .. } = cx.core.ports[egress];
    let rate = |profile: ProfileId| u128::from(cx.world.profiles[profile].rate.as_bps());
    let packet = cx.core.packets.get_mut(id);
    let worse = packet.note_port == ProfileId::NONE
        // Queues over rates, compared by cross products: rates differ from link to link, and a division would round.
        || u128::from(queued) * rate(packet.note_port) > u128::from(packet.note) * rate(profile);
    if worse {
        (packet.note, packet.note_port) = (queued, profile);
        if cx.core.watch.flow_probes.on() {
            cx.core.observe_note(id, egress);
        }
    }
}
