//! Path of a packet through a switch under credits: it takes buffer space, waits at its output, takes credit, and frees
//! its space.

use crate::core::credits::READY;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::core::packet::Packet;
use crate::core::port::debit;
use crate::ids::{PacketId, PortId};
use crate::lanes::LaneSwitches;
use crate::switch::Switches;
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_run::outcome::TraceKind;
use paceline_run::spec::Release;

/// The parts of a run that these switches need.
pub(crate) struct Net<'a, 'b> {
    pub(crate) cx: &'a mut Cx<'b>,
    /// Routing, marking and telemetry.
    pub(crate) switches: &'a mut Switches,
}

impl LaneSwitches {
    /// Handles a packet that has arrived, or whose headers have.
    pub(crate) fn receive(&mut self, net: &mut Net<'_, '_>, ingress: PortId, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        let (class, wire) = (packet.class, packet.wire);
        // Space is taken even if the packet is then discarded: the sender has used credit for it, which comes back when
        // the space is freed.
        if class > STRICT {
            net.cx.core.take_room(ingress, class, wire);
        }
        let Some(egress) = net.switches.route(net.cx, ingress, id) else {
            net.cx.core.notify_before(ingress, id);
            net.cx.core.discard(net.cx.world, ingress, id, Lost::Route);
            return self.free(net, ingress, class, wire);
        };
        let tail = net.cx.core.tail_of(net.cx.world, ingress, egress, id);
        // A packet that leaves too early would run out of bytes on a faster egress link.
        if tail == 0 {
            return self.enqueue(net, ingress, egress, id);
        }
        self.entering[(ingress, class)] += net.cx.core.units(wire);
        net.cx.core.packets.get_mut(id).ingress = ingress;
        let (at, a, b) = (net.cx.core.now() + tail, egress.0, id.0);
        net.cx
            .core
            .schedule(LaneId::WHEEL, at, Event::Special { kind: READY, a, b });
    }

    /// Queues a cut-through packet of which enough has arrived to leave without a gap.
    pub(crate) fn may_leave(&mut self, net: &mut Net<'_, '_>, egress: PortId, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        let (ingress, class, wire) = (packet.ingress, packet.class, packet.wire);
        debit(&mut self.entering[(ingress, class)], net.cx.core.units(wire));
        // The link may have failed while the packet was arriving.
        if net.cx.core.ports[egress].is_up() {
            return self.enqueue(net, ingress, egress, id);
        }
        net.cx.core.notify_before(ingress, id);
        net.cx.core.discard(net.cx.world, ingress, id, Lost::Link);
        self.free(net, ingress, class, wire);
    }

    fn enqueue(&mut self, net: &mut Net<'_, '_>, ingress: PortId, egress: PortId, id: PacketId) {
        let class = net.cx.core.packets.get(id).class;
        if class > STRICT {
            let input = net.cx.core.ports[ingress].index;
            self.join(net.cx.core, egress, class, input, id);
            if net.cx.core.watch.accounts.awaits_pauses() {
                net.cx.core.account_queued(net.cx.world, egress, id);
            }
            if net.cx.core.watch.recorder.tracing {
                let bytes = net.cx.core.queues[(egress, class)].bytes;
                net.cx
                    .core
                    .trace(net.cx.world, egress, TraceKind::Enqueue, id, bytes);
            }
        } else {
            net.cx.core.push(net.cx.world, egress, class, id);
        }
        self.try_send(net, egress);
    }

    /// Sends from a port if it is up, idle and has packets.
    pub(crate) fn try_send(&mut self, net: &mut Net<'_, '_>, port: PortId) {
        let p = &net.cx.core.ports[port];
        if p.is_up() && p.ready != 0 {
            if net.cx.core.is_busy(port) {
                net.cx.core.await_transmission(port);
            } else {
                self.send(net, port);
            }
        }
    }

    /// Handles the end of a port's transmission.
    pub(crate) fn sent(&mut self, net: &mut Net<'_, '_>, port: PortId) {
        if let Some((ingress, class, wire)) = self.leaving[port].take() {
            self.free(net, ingress, class, wire);
        }
        self.try_send(net, port);
    }

    /// Sends the next packet of an idle port, if a lane has one and credit for it.
    fn send(&mut self, net: &mut Net<'_, '_>, egress: PortId) {
        let strict = net.cx.core.ports[egress].ready & (1 << LINK_CONTROL | 1 << STRICT);
        if strict != 0 {
            return self.send_strict(net, egress, strict.trailing_zeros() as u8);
        }
        loop {
            let p = &net.cx.core.ports[egress];
            let ready = p.ready & !p.paused;
            if ready == 0 {
                return;
            }
            let class = net.cx.core.arbitrate(egress, ready);
            let (id, input) = self.next(egress, class);
            let wire = net.cx.core.packets.get(id).wire;
            if net.cx.core.has_credit(egress, class, wire) {
                net.cx.core.arbitrated(egress, class, wire, ready);
                return self.let_go(net, egress, class, input);
            }
            // The lane is paused now, so that the loop goes on with the others: one lane without credit must not hold
            // up the port.
            self.outputs[(egress, class)].held = Some(input);
            net.cx.core.await_credit(egress, class, wire);
            net.cx.core.watch.accounts.pause_begins();
            net.switches.pause_began(net.cx, egress, class);
        }
    }

    /// Sends a flow-control packet, or a packet of the strict class, which nothing holds back.
    fn send_strict(&mut self, net: &mut Net<'_, '_>, egress: PortId, class: u8) {
        // Its contents are filled in only now, so that they are up to date.
        if class == LINK_CONTROL {
            net.cx.core.write_update(egress);
        }
        let queue = &mut net.cx.core.queues[(egress, class)];
        let (id, packet) = queue.pop(&net.cx.core.packets);
        let (wire, is_last) = (packet.wire, queue.head == PacketId::NONE);
        let p = &mut net.cx.core.ports[egress];
        if is_last {
            p.ready &= !(1 << class);
        }
        debit(&mut p.queued, u32::from(wire));
        let more = p.has_sendable();
        if net.cx.core.watch.recorder.tracing {
            net.cx.core.trace(net.cx.world, egress, TraceKind::Dequeue, id, 0);
        }
        net.cx
            .core
            .transmit_checked(net.cx.world, egress, id, more, Packet::ACCOUNTED);
    }

    /// Sends the first packet of `input` through `egress`.
    fn let_go(&mut self, net: &mut Net<'_, '_>, egress: PortId, class: u8, input: u8) {
        let (id, left) = self.take(net.cx.core, egress, class, input);
        let packet = net.cx.core.packets.get(id);
        let (ingress, wire) = (packet.ingress, packet.wire);
        net.cx.core.ports[egress].served = class;
        net.switches.prepare(net.cx, egress, id, left);
        let ends = self.release == Release::End;
        // Where space is freed at the end of the transmission, that end has to be an event.
        let more = ends || net.cx.core.ports[egress].has_sendable();
        net.cx
            .core
            .transmit_checked(net.cx.world, egress, id, more, Packet::ACCOUNTED);
        if ends {
            self.leaving[egress] = Some((ingress, class, wire));
        } else {
            self.free(net, ingress, class, wire);
        }
    }

    /// Frees a packet's buffer space, and has the credit announced when due.
    fn free(&mut self, net: &mut Net<'_, '_>, ingress: PortId, class: u8, wire: u16) {
        if class > STRICT {
            net.cx.core.give_room(net.cx.world, ingress, class, wire);
            // The announcement is a packet, which leaves through the port where the freed packet came in.
            self.try_send(net, ingress);
        }
    }

    /// Discards the packets that wait for a port whose link has failed.
    pub(crate) fn link_down(&mut self, net: &mut Net<'_, '_>, egress: PortId) {
        if let Some((ingress, class, wire)) = self.leaving[egress].take() {
            self.free(net, ingress, class, wire);
        }
        for class in STRICT + 1..self.classes as u8 {
            while self.outputs[(egress, class)].filled != 0 {
                let input = self.outputs[(egress, class)].filled.trailing_zeros() as u8;
                let (id, _) = self.take(net.cx.core, egress, class, input);
                let packet = net.cx.core.packets.get(id);
                let (ingress, wire) = (packet.ingress, packet.wire);
                net.cx.core.discard(net.cx.world, egress, id, Lost::Link);
                self.free(net, ingress, class, wire);
            }
        }
    }
}
