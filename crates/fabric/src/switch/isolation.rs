//! Congestion isolation (IEEE 802.1Qcz): flows that congest a port wait in a queue of their own, so that others need not
//! wait behind them, here or at the switch before.
//!
//! A port has two queues, one for watched packets and one for isolated ones, served in turn. An isolated packet waits until
//! those of its flow that came before have left the other queue, so none overtakes another. A packet's priority on the wire
//! is that of the queue that it left. The receiving switch counts it there, since only that queue of its neighbour can be
//! paused, and chooses the queue by its own table of flows.
//!
//! A switch whose isolated queue grows tells the switch before of the flow (CIM), which isolates it at the port towards
//! here. From then on pauses of the isolated priority stop the flow there, and nothing else.

use std::collections::BTreeMap;

use paceline_kernel::ids::Id;
use paceline_run::outcome::{PacketKind, TraceKind};

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::isolated::IsolatedFlow;
use crate::core::packet::Packet;
use crate::core::port::debit;
use crate::ids::{FlowId, PacketId, PortId};
use crate::switch::Switches;
use crate::switch::isolated_flows::Isolated;
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};

impl World {
    /// Returns the class in whose account at the ingress a packet counts: that of the queue that it came from.
    pub(crate) fn account_class(&self, packet: &Packet) -> u8 {
        match (&self.spec.switch.isolation, packet.flags & Packet::MOVED) {
            (Some(spec), flag) if flag != 0 => {
                let pair = self.classes.dense(spec.from) + self.classes.dense(spec.to);
                pair - packet.class
            }
            _ => packet.class,
        }
    }
}

impl Switches {
    /// Handles a packet that has entered a switch which isolates flows.
    #[inline(never)]
    pub(super) fn receive_isolating(
        &mut self,
        cx: &mut Cx<'_>,
        ingress: PortId,
        egress: PortId,
        id: PacketId,
    ) {
        let Some(isolation) = &mut self.isolation else {
            return;
        };
        let packet = *cx.core.packets.get(id);
        let is_watched = packet.kind == PacketKind::Data
            && (packet.class == isolation.watched || packet.class == isolation.isolated);
        if is_watched {
            let is_isolated = isolation.isolates(cx, egress, cx.world.sending_flow(packet.flow));
            let class = if is_isolated {
                isolation.isolated
            } else {
                isolation.watched
            };
            let moved = cx.core.packets.get_mut(id);
            moved.class = class;
            if class != packet.class {
                moved.flags |= Packet::MOVED;
            }
        }
        let packet = *cx.core.packets.get(id);
        let account = cx.world.account_class(&packet);
        // As for all: the strict class has no account.
        if packet.class > STRICT && !self.admit(cx, ingress, egress, account, id) {
            return self.refuse(cx, egress, account, id);
        }
        self.note_queued(cx, egress, id);
        cx.core.push(cx.world, egress, packet.class, id);
        self.hold_isolated_back(cx, egress);
        self.try_send(cx, egress);
        let port = &mut cx.core.ports[egress];
        port.queue_max = port.queue_max.max(port.queued);
        self.tell_neighbour(cx, ingress, egress, &packet);
    }

    /// Counts a packet that joins the isolated queue.
    fn note_queued(&mut self, cx: &Cx<'_>, egress: PortId, id: PacketId) {
        let Some(isolation) = &mut self.isolation else {
            return;
        };
        let packet = cx.core.packets.get(id);
        let flow = cx.world.sending_flow(packet.flow);
        if packet.class == isolation.isolated
            && let Some(entry) = isolation.flows.get_mut(&(egress, flow))
        {
            entry.held += 1;
            entry.packets += 1;
        }
    }

    /// Notes that a packet has left a queue, sent or lost.
    pub(crate) fn left_queue(&mut self, cx: &Cx<'_>, egress: PortId, packet: &Packet) {
        let Some(isolation) = &mut self.isolation else {
            return;
        };
        let [watched, isolated] = [isolation.watched, isolation.isolated];
        let flow = cx.world.sending_flow(packet.flow);
        // Probes are not moved, and need not keep the order.
        if packet.kind != PacketKind::Data {
            return;
        }
        let Some(entry) = isolation.flows.get_mut(&(egress, flow)) else {
            return;
        };
        if packet.class == isolated {
            entry.held -= 1;
            entry.last = cx.core.now();
        } else if packet.class == watched {
            // All that are there came before the flow was isolated.
            entry.older -= 1;
        }
    }

    /// Returns true if a queue of a port waits for another: that of isolated packets, whose first follows packets of its
    /// flow in the watched queue.
    pub(crate) fn holds_back(&self, world: &World, core: &Core, port: PortId, class: u8) -> bool {
        let Some(isolation) = self.isolation.as_ref().filter(|own| own.isolated == class) else {
            return false;
        };
        let head = core.queues[(port, class)].head;
        if core.ports[port].is_host || head == PacketId::NONE {
            return false;
        }
        let flow = world.sending_flow(core.packets.get(head).flow);
        (isolation.flows.get(&(port, flow))).is_some_and(|entry| entry.older > 0)
    }

    /// Lets the isolated queue of a port be served only if its first packet follows none of its flow.
    fn hold_isolated_back(&self, cx: &mut Cx<'_>, egress: PortId) {
        let Some(isolation) = &self.isolation else { return };
        let isolated = isolation.isolated;
        let waits = cx.core.queues[(egress, isolated)].head != PacketId::NONE;
        let serves = waits && !self.holds_back(cx.world, cx.core, egress, isolated);
        let ready = &mut cx.core.ports[egress].ready;
        *ready = *ready & !(1 << isolated) | u16::from(serves) << isolated;
    }

    /// Tells the switch from which an isolated packet came of its flow, if the isolated queue has grown enough.
    fn tell_neighbour(&mut self, cx: &mut Cx<'_>, ingress: PortId, egress: PortId, packet: &Packet) {
        let Some(isolation) = &mut self.isolation else {
            return;
        };
        let waiting = u64::from(cx.core.queues[(egress, isolation.isolated)].bytes);
        let neighbour = cx.core.ports[ingress].peer;
        if packet.class != isolation.isolated
            || waiting <= isolation.spec.tell.get()
            || cx.core.ports[neighbour].is_host
            || !cx.core.ports[ingress].is_up()
        {
            return;
        }
        let now = cx.core.now();
        let flow = cx.world.sending_flow(packet.flow);
        let Some(entry) = isolation.flows.get_mut(&(egress, flow)) else {
            return;
        };
        if now < entry.next_message {
            return;
        }
        entry.next_message = now + isolation.spec.interval.as_ps();
        let message = Packet {
            kind: PacketKind::Isolate,
            flow,
            sent_at: now,
            wire: cx.world.packet.pfc_frame.get() as u16,
            epoch: cx.world.epoch,
            ..Packet::EMPTY
        };
        let id = cx.core.packets.insert(message);
        self.enqueue(cx, ingress, LINK_CONTROL, id);
    }

    /// Isolates a flow at the port through which its neighbour has asked for it.
    pub(crate) fn hear_isolation(&mut self, cx: &mut Cx<'_>, port: PortId, id: PacketId) {
        if cx.core.watch.recorder.tracing {
            cx.core.trace(cx.world, port, TraceKind::Receive, id, 0);
        }
        let flow = cx.core.packets.get(id).flow;
        cx.core.packets.remove(id);
        if let Some(isolation) = &mut self.isolation {
            // A full table leaves the flow where it is, to the pauses of its own priority.
            isolation.add(cx, port, flow, true);
        }
    }

    /// Sends the next packet of an idle port of a switch that isolates flows.
    #[inline(never)]
    pub(super) fn send_isolating(&mut self, cx: &mut Cx<'_>, egress: PortId) {
        let Some(class) = cx.core.ports[egress].next_class() else {
            return;
        };
        let queue = &mut cx.core.queues[(egress, class)];
        let (id, packet) = queue.pop(&cx.core.packets);
        let (packet, left) = (*packet, queue.bytes);
        let port = &mut cx.core.ports[egress];
        if queue.head == PacketId::NONE {
            port.ready &= !(1 << class);
        }
        debit(&mut port.queued, u32::from(packet.wire));
        if class > STRICT {
            port.served = class;
            let account = cx.world.account_class(&packet);
            cx.core.packets.get_mut(id).flags &= !Packet::MOVED;
            let resumes = self.release(cx, packet.ingress, account, packet.wire);
            self.left_queue(cx, egress, &packet);
            self.hold_isolated_back(cx, egress);
            let marks = |own: &Isolated| !own.spec.marks_isolated || class == own.isolated;
            if self.isolation.as_deref().is_some_and(marks) {
                let profile = &cx.world.profiles[cx.core.ports[egress].profile];
                self.mark_departing(cx, profile, egress, id, left);
            }
            if resumes {
                self.send_pfc(cx, packet.ingress, account, false);
            }
        }
        self.leave_and_tell(cx, egress, id, left);
    }

    /// Forgets the flows that were isolated at a port whose link has failed: its queues are empty.
    pub(super) fn forget_isolated(&mut self, core: &Core, port: PortId) {
        let Some(isolation) = &mut self.isolation else {
            return;
        };
        let here: Vec<FlowId> = isolation.at(port).map(|(flow, _)| flow).collect();
        for flow in here {
            isolation.remove(core, port, flow);
        }
    }

    /// Returns the isolated flows of this part, those that still are included.
    pub(crate) fn isolated_flows(&self, core: &Core) -> Vec<IsolatedFlow> {
        let Some(isolation) = &self.isolation else {
            return Vec::new();
        };
        let entries = isolation.flows.iter();
        let lasting = entries.map(|(&(port, flow), entry)| entry.record(core, port, flow, None));
        isolation.released.iter().cloned().chain(lasting).collect()
    }

    /// Checks that the queues hold the packets that isolated flows count.
    pub(crate) fn verify_isolated(&self, world: &World, core: &Core) {
        let Some(isolation) = &self.isolation else { return };
        for (port, _) in core.ports.numbered().filter(|(_, port)| !port.is_host) {
            let mut counted: BTreeMap<FlowId, [u32; 2]> = BTreeMap::new();
            for (index, class) in [isolation.watched, isolation.isolated].into_iter().enumerate() {
                let waiting = core.packets.linked(core.queues[(port, class)].head);
                let waiting = waiting.map(|id| core.packets.get(id));
                for packet in waiting.filter(|packet| packet.kind == PacketKind::Data) {
                    let flow = world.sending_flow(packet.flow);
                    counted.entry(flow).or_default()[index] += 1;
                }
            }
            for (flow, entry) in isolation.at(port) {
                let found = counted.remove(&flow).unwrap_or_default();
                assert_eq!(
                    [entry.older, entry.held],
                    found,
                    "port {port}: packets of flow {flow}"
                );
            }
            let others = counted.values().all(|[_, isolated]| *isolated == 0);
            assert!(others, "port {port}: packets of flows that are not isolated");
        }
    }
}
