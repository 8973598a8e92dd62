//! Probes of paths that a sender assumes to be bad: a small packet takes the path, and the receiver answers it by the
//! same way back.

use paceline_congestion::entropy::PathFeedback;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::traffic::Traffic;
use paceline_run::outcome::PacketKind;

impl Hosts {
    /// Schedules the next probe of a queue pair's paths, if a path is to be probed.
    #[cold]
    pub(super) fn await_probe(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        let qp = &mut self.qps[slot];
        let next = qp.ways.as_mut().and_then(|ways| ways.next_probe());
        if let Some(at) = next {
            let at = at.as_ps().max(cx.core.now());
            cx.core
                .schedule(LaneId::WHEEL, at, Event::ProbeDue { flow: qp.flow });
        }
    }

    /// Probes the paths of a flow that are due.
    pub(crate) fn probe_due(&mut self, cx: &mut Cx<'_>, flow: FlowId) {
        let Some(slot) = self.sender_of(flow) else {
            return;
        };
        let qp = &mut self.qps[slot];
        let Some(ways) = &mut qp.ways else { return };
        for entropy in ways.probes(cx.core.now()) {
            self.send_probe(cx, slot, entropy);
        }
        self.await_probe(cx, slot);
    }

    fn send_probe(&mut self, cx: &mut Cx<'_>, slot: QpId, entropy: u16) {
        let qp = &mut self.qps[slot];
        let ends = [qp.data.port, qp.data.last];
        let Some(ways) = &mut qp.ways else { return };
        let Some((path, epoch)) = ways.route(cx.world, ends, entropy) else {
            return;
        };
        let port = ways.port_of(entropy);
        if !cx.core.ports[port].is_up() {
            return;
        }
        let id = cx.core.packets.insert(Packet {
            kind: PacketKind::Probe,
            flow: qp.flow,
            qp: slot,
            path,
            epoch,
            sent_at: cx.core.now(),
            wire: cx.world.packet.cnp.get() as u16,
            class: qp.class,
            flags: Packet::ACK_REQUEST,
            pint: entropy,
            ..Packet::EMPTY
        });
        let class = qp.class;
        self.enqueue(cx, port, class, id);
    }

    /// Takes a probe that has arrived: answers it, or notes the answer.
    pub(super) fn receive_probe(&mut self, cx: &mut Cx<'_>, traffic: &Traffic, id: PacketId) {
        match cx.core.packets.get(id).asks_for_ack() {
            true => self.answer_probe(cx, traffic, id),
            false => self.take_probe_answer(cx, id),
        }
    }

    fn answer_probe(&mut self, cx: &mut Cx<'_>, traffic: &Traffic, id: PacketId) {
        let flow = cx.core.packets.get(id).flow;
        let known = self.receivers.find(flow).or_else(|| self.meet(cx, traffic, id));
        let (port, way, class) = if let Some(index) = known {
            self.receivers.turn(cx, index, id);
            let path = &self.receivers.list[index].path;
            (path.ack_port, (path.ack_route, path.ack_epoch), path.ack_class)
        } else if let Some((port, way)) = Self::late_way(cx, id) {
            // The sender of a complete flow may lack the last acknowledgements, and could not ask for them again over paths
            // that it assumes to be bad.
            let priority = cx.world.flow(cx.core, flow).class;
            (port, way, cx.world.ack_class(priority))
        } else {
            return cx.core.packets.remove(id);
        };
        let packet = cx.core.packets.get_mut(id);
        (packet.path, packet.epoch) = way;
        (packet.flags, packet.class, packet.ingress) = (0, class, PortId::NONE);
        self.enqueue(cx, port, cx.world.ack_queue(class), id);
    }

    fn take_probe_answer(&mut self, cx: &mut Cx<'_>, id: PacketId) {
        let packet = *cx.core.packets.get(id);
        cx.core.packets.remove(id);
        let qp = &mut self.qps[packet.qp];
        if !qp.is_of(cx.world, packet.flow) {
            return;
        }
        let feedback = match packet.mark.is_set() {
            true => PathFeedback::Marked,
            false => PathFeedback::Good,
        };
        if let Some(ways) = &mut qp.ways {
            ways.on_feedback(cx.core.now(), packet.pint, feedback);
        }
        let port = qp.data.port;
        self.nic_send(cx, port);
    }
}
