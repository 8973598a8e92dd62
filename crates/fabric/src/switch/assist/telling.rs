//! What senders are told of ports: packets to them, and notes in packets that pass.

use paceline_congestion::switch_ack::QueueTrend;
use paceline_kernel::ids::Id as _;

use crate::core::Core;
use crate::core::packet::Packet;
use crate::core::port::Port;
use crate::ids::{PacketId, PortId, ProfileId};
use crate::world::World;
use crate::world::classes::STRICT;
use paceline_run::outcome::PacketKind;

/// A packet to the sender of data packet `id`.
fn to_sender(core: &Core, id: PacketId, kind: PacketKind) -> Packet {
    let packet = core.packets.get(id);
    Packet {
        kind,
        flow: packet.flow,
        qp: packet.qp,
        seq: packet.seq,
        sent_at: packet.sent_at,
        class: STRICT,
        ..Packet::EMPTY
    }
}

/// What the sender has to know of the port, back the way that the packet came.
fn back(world: &World, core: &Core, egress: PortId, id: PacketId, kind: PacketKind) -> Packet {
    let packet = core.packets.get(id);
    let known_way = packet.epoch == world.epoch;
    let port = &core.ports[egress];
    Packet {
        path: world.routing.turn_back(packet.path),
        epoch: if known_way { world.epoch } else { world.old_epoch() },
        note: port.queued,
        note_port: port.profile,
        ..to_sender(core, id, kind)
    }
}

/// The packet's headers turn back (Bolt's SRC).
pub(super) fn turn_back(world: &World, core: &Core, egress: PortId, id: PacketId) -> Packet {
    let packet = core.packets.get(id);
    Packet {
        wire: world.packet.turned_back(packet.wire - packet.payload),
        ..back(world, core, egress, id, PacketKind::Src)
    }
}

/// The port's answer to a packet that asked.
pub(super) fn report(world: &World, core: &Core, egress: PortId, id: PacketId, trend: QueueTrend) -> Packet {
    Packet {
        wire: world.packet.cnp.get() as u16,
        pint: trend.utilisation,
        answers: trend.growth.cast_unsigned(),
        ..back(world, core, egress, id, PacketKind::SwitchAck)
    }
}

/// A value for the sender, in a packet rare enough to be looked up at every switch (QCN's CNM).
pub(super) fn feedback(world: &World, core: &Core, id: PacketId, value: u8) -> Packet {
    Packet {
        wire: world.packet.cnp.get() as u16,
        epoch: world.old_epoch(),
        note: u32::from(value),
        ..to_sender(core, id, PacketKind::Cnm)
    }
}

/// The data packet carries the report of the port whose queue takes longest.
pub(super) fn note(world: &World, core: &mut Core, egress: PortId, id: PacketId) {
    let Port { queued, profile, .. } = core.ports[egress];
    let rate = |profile: ProfileId| u128::from(world.profiles[profile].rate.as_bps());
    let packet = core.packets.get_mut(id);
    let worse = packet.note_port == ProfileId::NONE
        || u128::from(queued) * rate(packet.note_port) > u128::from(packet.note) * rate(profile);
    if worse {
        (packet.note, packet.note_port) = (queued, profile);
        if core.watch.flow_probes.on() {
            core.observe_note(id, egress);
        }
    }
}
