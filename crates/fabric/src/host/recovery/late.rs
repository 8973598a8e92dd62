//! Duplicates of complete flows, whose queue pair may have another flow by now: the sender knows that everything
//! arrived, and the receiver cannot know that.

use super::Answer;
use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::flow_path::FlowPath;
use crate::host::receivers::{Receiver, Receivers};
use crate::host::ways::Ways;
use crate::ids::{PacketId, PortId};
use paceline_kernel::ids::Id;
use paceline_run::outcome::PacketKind;

impl Hosts {
    /// Answers data packet `id` of a complete flow. Its sender will ignore the answer, but the answer takes capacity of
    /// the network.
    #[cold]
    pub(in crate::host) fn receive_late(&mut self, cx: &mut Cx<'_>, id: PacketId) {
        cx.core.notify_at_receiver(id);
        cx.core.record_latency(id);
        let (answer, expected) = self.receivers.take_late(cx, id);
        let kind = match answer {
            Answer::Ack => PacketKind::Ack,
            Answer::Nack => PacketKind::Nack,
            Answer::Nothing => return cx.core.packets.remove(id),
        };
        let number = cx.core.packets.get(id).flow;
        let Some((port, way)) = Self::late_way(cx, id) else {
            return cx.core.packets.remove(id);
        };
        let flow = cx.world.flow(cx.core, number);
        let needs = cx.world.scheme_of(cx.core, number).needs();
        let class = cx.world.ack_class(flow.class);
        let answer = cx.core.packets.get_mut(id);
        (answer.kind, answer.seq, answer.payload) = (kind, expected, 0);
        (answer.path, answer.epoch) = way;
        answer.wire = cx.world.packet.ack_wire(&needs);
        (answer.class, answer.ingress) = (class, PortId::NONE);
        self.enqueue(cx, port, cx.world.ack_queue(class), id);
    }

    /// Returns the port and the path of the answer to packet `id`, whose receiver is gone, and with it the path: switches
    /// look up the next hops. Where senders keep a state for each path, the answer takes that of the packet's value: one
    /// that leads elsewhere could be broken, and would say nothing of this path.
    pub(in crate::host) fn late_way(cx: &Cx<'_>, id: PacketId) -> Option<(PortId, (u64, u16))> {
        let packet = cx.core.packets.get(id);
        let back = cx.world.find_way_back(cx.core, packet.flow)?;
        let ends = [back[0], back[back.len() - 1]];
        let flow = cx.world.flow(cx.core, packet.flow);
        let entropy = cx.world.spec.entropy.as_ref();
        let Some(entropy) =
            entropy.filter(|_| cx.world.spec.chooses_links() && cx.world.chooses_paths(&flow))
        else {
            return Some((ends[0], (packet.path, cx.world.old_epoch())));
        };
        let mut ways = Ways::answering(cx.world, &flow, entropy);
        let way = ways.route(cx.world, ends, packet.pint)?;
        Some((ways.port_of(packet.pint), way))
    }
}

impl Receivers {
    /// Returns the answer to a duplicate, and the byte that the receiver expects: the flow's end, unless the receiver
    /// has forgotten the flow and starts again ([`paceline_run::spec::Quirks::receiver_forgets`]).
    fn take_late(&mut self, cx: &Cx<'_>, id: PacketId) -> (Answer, u64) {
        let packet = cx.core.packets.get(id);
        let (nic, quirks) = (&cx.world.nic, &cx.world.quirks);
        if !quirks.receiver_forgets {
            let size = cx.world.flow(cx.core, packet.flow).size.get();
            let answer = if quirks.ignore_duplicates {
                Answer::Nothing
            } else {
                Answer::Ack
            };
            return (answer, size);
        }
        let receiver = self
            .late
            .entry(packet.flow)
            .or_insert(Receiver::new(packet.flow, FlowPath::NONE));
        let answer = if packet.seq == receiver.expected {
            let end = packet.seq + u64::from(packet.payload);
            receiver.take_in_order(end, u64::MAX, false, nic, quirks)
        } else if packet.seq > receiver.expected {
            receiver.report_gap(cx.core.now(), nic)
        } else {
            Answer::Nothing
        };
        (answer, receiver.expected)
    }
}
