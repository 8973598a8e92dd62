//! Grants as packets: from the hosts that give them to the senders that wait for them.

use paceline_congestion::Grant;
use paceline_congestion::receiver::Arrived;

use crate::core::Core;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{NicId, PacketId, ReceiverId};
use crate::world::World;
use paceline_run::outcome::PacketKind;

impl Hosts {
    /// A data packet came to a flow whose scheme grants.
    #[inline(never)]
    pub(super) fn show_to_scheduler(
        &mut self,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        arrived: &Arrived,
    ) {
        let receiver = &mut self.receivers.list[place];
        let answered = (receiver.flow, receiver.path.ack_port);
        if let Some(granted) = &mut receiver.granted {
            self.grants.on_data(world, core, granted, answered, arrived);
        }
    }

    /// All of a flow is here.
    pub(super) fn end_grants(&mut self, place: ReceiverId) {
        if let Some(granted) = self.receivers.list[place].granted.take() {
            self.grants.end(granted);
        }
    }

    /// A host's next grant may be due.
    pub(crate) fn grant_due(&mut self, world: &World, core: &mut Core, nic: NicId, scheme: u16) {
        let Some((flow, Grant(grant))) = self.grants.next(world, core, nic, scheme) else {
            return;
        };
        let Some(place) = self.receivers.find(flow) else {
            return;
        };
        let path = self.receivers.list[place].path;
        let packet = Packet {
            kind: PacketKind::Grant,
            note: grant as u32,
            answers: (grant >> 32) as u32,
            ..path.control_packet(world, flow, core.now())
        };
        core.counters.grants += 1;
        let id = core.packets.insert(packet);
        self.enqueue(world, core, path.ack_port, world.ack_queue(path.ack_class), id);
    }

    /// A grant reached the sender.
    pub(super) fn receive_grant(&mut self, world: &World, core: &mut Core, id: PacketId) {
        let packet = core.packets.get(id);
        let grant = Grant(u64::from(packet.note) | u64::from(packet.answers) << 32);
        self.receive_notification(world, core, id, |scheme, cx| scheme.on_grant(cx, grant));
    }
}
