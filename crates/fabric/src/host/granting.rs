//! Grants as packets: from the hosts that issue them to the senders that wait for them.

use paceline_congestion::Grant;
use paceline_congestion::receiver::Arrived;

use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{NicId, PacketId, ReceiverId};
use paceline_run::outcome::PacketKind;

impl Hosts {
    /// Shows a data packet of a flow under grants to the host's scheduler.
    #[inline(never)]
    pub(super) fn show_to_scheduler(&mut self, cx: &mut Cx<'_>, index: ReceiverId, arrived: &Arrived) {
        let receiver = &mut self.receivers.list[index];
        let answered = (receiver.flow, receiver.path.ack_port);
        if let Some(granted) = &mut receiver.granted {
            self.grants.on_data(cx, granted, answered, arrived);
        }
    }

    /// Removes a complete flow from the host's scheduler.
    pub(super) fn end_grants(&mut self, index: ReceiverId) {
        if let Some(granted) = self.receivers.list[index].granted.take() {
            self.grants.end(granted);
        }
    }

    /// Sends a host's next grant, if it is due.
    pub(crate) fn grant_due(&mut self, cx: &mut Cx<'_>, nic: NicId, scheme: u16) {
        let Some((flow, Grant(grant))) = self.grants.next(cx, nic, scheme) else {
            return;
        };
        // The flow may have completed since: its data no longer needs a grant.
        let Some(index) = self.receivers.find(flow) else {
            return;
        };
        let path = self.receivers.list[index].path;
        let packet = Packet {
            kind: PacketKind::Grant,
            note: grant as u32,
            answers: (grant >> 32) as u32,
            ..path.control_packet(cx.world, flow, cx.core.now())
        };
        cx.core.counters.grants += 1;
        let id = cx.core.packets.insert(packet);
        self.enqueue(cx, path.ack_port, cx.world.ack_queue(path.ack_class), id);
    }

    /// Passes a grant that has arrived to the sender's scheme.
    pub(super) fn receive_grant(&mut self, cx: &mut Cx<'_>, id: PacketId) {
        let packet = cx.core.packets.get(id);
        let grant = Grant(u64::from(packet.note) | u64::from(packet.answers) << 32);
        self.receive_notification(cx, id, |scheme, ctx| scheme.on_grant(ctx, grant));
    }
}
