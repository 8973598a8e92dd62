//! The switch: route, admit, ask for a pause; then schedule, let go, mark, stamp, send.

use crate::outcome::{PacketKind, TraceKind};
use crate::packet::NONE;
use crate::port::STRICT;
use crate::sim::Simulation;
use crate::spread::SPREAD;

impl Simulation {
    /// A packet entered a switch.
    #[inline]
    pub(crate) fn switch_receive(&mut self, ingress: u32, id: u32) {
        let Some(egress) = self.route(ingress, id) else {
            self.core.counters.link_drops += 1;
            return self.discard(ingress, id);
        };
        let packet = self.core.packets.get_mut(id);
        packet.ingress = ingress;
        let class = packet.class;
        if self.switches.assists && self.assist(ingress, egress, id) {
            return;
        }
        if class > STRICT && !self.admit(ingress, egress, class, id) {
            return self.refuse(egress, class, id);
        }
        let port = &self.core.ports[egress as usize];
        if port.ready == 0
            && port.paused == 0
            && !self.core.watch.recorder.tracing
            && port.up
            && !self.is_busy(egress)
        {
            // Nothing in front of it: as if it were queued and taken out again.
            return self.depart(egress, class, id, 0);
        }
        self.enqueue(egress, class, id);
        let port = &mut self.core.ports[egress as usize];
        port.queue_max = port.queue_max.max(port.queued);
    }

    /// The egress port: read off the flow's path, chosen here if switches choose, or looked up if the
    /// topology has changed since.
    #[inline]
    fn route(&mut self, ingress: u32, id: u32) -> Option<u32> {
        let epoch = self.world.epoch;
        let packet = self.core.packets.get_mut(id);
        if packet.epoch == epoch {
            let egress = self.world.routes[packet.path as usize];
            packet.path += 1;
            return Some(egress);
        }
        if packet.epoch & SPREAD != 0 {
            return self.spread(ingress, id);
        }
        self.reroute(ingress, id)
    }

    /// Takes a packet into the buffer; asks for a pause if that makes it too much.
    #[inline]
    fn admit(&mut self, ingress: u32, egress: u32, class: u8, id: u32) -> bool {
        if self.switches.rules.alike {
            self.admit_where::<true>(ingress, class, id)
        } else {
            self.admit_by_class(ingress, egress, class, id)
        }
    }

    #[inline(never)]
    fn admit_by_class(&mut self, ingress: u32, egress: u32, class: u8, id: u32) -> bool {
        if self.switches.rules.bounded >> class & 1 == 1 {
            let size = u32::from(self.core.packets.get(id).wire);
            let buffer = &self.switches.buffers[self.core.ports[egress as usize].owner as usize];
            let ahead = &self.core.queues[egress as usize * self.world.class_count + usize::from(class)];
            if !self.switches.rules.has_room(buffer, ahead, size) {
                return false;
            }
        }
        self.admit_where::<false>(ingress, class, id)
    }

    /// Where classes are `ALIKE`, or where they differ.
    #[inline(always)]
    fn admit_where<const ALIKE: bool>(&mut self, ingress: u32, class: u8, id: u32) -> bool {
        let size = u32::from(self.core.packets.get(id).wire);
        let port = &self.core.ports[ingress as usize];
        let profile = &self.world.profiles[usize::from(port.profile)];
        let buffer = &mut self.switches.buffers[port.owner as usize];
        let queue = &mut self.core.queues[ingress as usize * self.world.class_count + usize::from(class)];
        if !self
            .switches
            .rules
            .admit::<ALIKE>(buffer, queue, class, profile.shift, profile.headroom, size)
        {
            return false;
        }
        if port.asked & 1 << class == 0
            && self
                .switches
                .rules
                .must_pause::<ALIKE>(buffer, queue, class, profile.shift)
        {
            self.send_pfc(ingress, class, true);
        }
        true
    }

    /// There is no room for a packet of `class`: it is dropped, or its payload is.
    #[cold]
    fn refuse(&mut self, egress: u32, class: u8, id: u32) {
        let lossy = self.switches.rules.is_lossy(class);
        let packet = self.core.packets.get_mut(id);
        if lossy
            && packet.kind == PacketKind::Data
            && let Some(limit) = self.switches.rules.trim
        {
            let header = packet.wire - packet.payload;
            let queue = &self.core.queues[egress as usize * self.world.class_count + usize::from(STRICT)];
            if queue.bytes + u32::from(header) <= limit {
                packet.trimmed = true;
                (packet.wire, packet.payload, packet.class) = (header, 0, STRICT);
                self.core.counters.trimmed += 1;
                self.enqueue(egress, STRICT, id);
                let port = &mut self.core.ports[egress as usize];
                port.queue_max = port.queue_max.max(port.queued);
                return;
            }
        }
        self.core.counters.buffer_drops += 1;
        self.core.counters.lossless_drops += u64::from(!lossy);
        self.discard(egress, id);
    }

    /// Sends the next packet of an idle port, if any may go.
    #[inline]
    pub(crate) fn switch_send(&mut self, egress: u32) {
        let port = &mut self.core.ports[egress as usize];
        let Some(class) = port.next_class() else { return };
        let queue = &mut self.core.queues[egress as usize * self.world.class_count + usize::from(class)];
        let id = queue.pop(&self.core.packets);
        let left = queue.bytes;
        if queue.head == NONE {
            port.ready &= !(1 << class);
        }
        port.queued -= u32::from(self.core.packets.get(id).wire);
        self.depart(egress, class, id, left);
    }

    /// A packet that has left its queue (`left` bytes stay in it) leaves the switch.
    #[inline]
    fn depart(&mut self, egress: u32, class: u8, id: u32, left: u32) {
        if class > STRICT {
            self.core.ports[egress as usize].served = class;
            self.let_go(egress, class, id, left);
        }
        if self.core.packets.get(id).kind == PacketKind::Data && self.switches.telemetry.on {
            self.stamp(egress, id);
        }
        if self.switches.telemetry.pint.is_some() {
            self.pint_departed(egress, id);
        }
        if self.core.watch.recorder.tracing {
            self.trace(egress, TraceKind::Dequeue, id, left);
        }
        let port = &self.core.ports[egress as usize];
        // What is paused waits for the resume, not for this transmission.
        let more = port.ready & !port.paused != 0;
        self.start_transmission(egress, id, more);
    }

    /// The packet leaves the buffer: its ingress gets its bytes back, perhaps a mark is set,
    /// perhaps a pause ends.
    #[inline]
    fn let_go(&mut self, egress: u32, class: u8, id: u32, left: u32) {
        let packet = self.core.packets.get(id);
        let (ingress, size) = (packet.ingress, u32::from(packet.wire));
        let port = &self.core.ports[ingress as usize];
        let profile = &self.world.profiles[usize::from(port.profile)];
        let buffer = &mut self.switches.buffers[port.owner as usize];
        let queue = &mut self.core.queues[ingress as usize * self.world.class_count + usize::from(class)];
        self.switches.rules.release(buffer, queue, size);
        let resume =
            port.asked & 1 << class != 0 && self.switches.rules.may_resume(buffer, queue, profile.shift);
        if self.switches.held_back.is_empty() || !self.was_held_back(egress, class) {
            self.mark(egress, id, left);
        }
        if resume {
            self.send_pfc(ingress, class, false);
        }
    }

    /// RED at dequeue: by the bytes of the class that are left in the egress queue.
    #[inline]
    fn mark(&mut self, egress: u32, id: u32, left: u32) {
        let profile = &self.world.profiles[usize::from(self.core.ports[egress as usize].profile)];
        if left <= profile.kmin {
            return;
        }
        let is_data = self.core.packets.get(id).kind == PacketKind::Data;
        if !is_data && !self.world.spec.quirks.mark_acks {
            return;
        }
        if left <= profile.kmax {
            let p = profile.pmax * f64::from(left - profile.kmin) / f64::from(profile.kmax - profile.kmin);
            let draw = match &mut self.core.shared_rng.ns3 {
                Some(ns3) => ns3.next_f64(),
                None => self.switches.mark_rng[egress as usize].next_f64(),
            };
            if draw >= p {
                return;
            }
        }
        if is_data {
            let packet = self.core.packets.get_mut(id);
            if packet.ecn == 0 {
                self.core.counters.marked += 1;
                self.core.watch.recorder.ports.marked(egress);
            }
            packet.ecn = 3;
        }
    }
}
