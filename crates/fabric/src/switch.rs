//! The switch: route, admit, ask for a pause; then schedule, let go, mark, stamp, send.

use crate::outcome::{PacketKind, TraceKind};
use crate::packet::NONE;
use crate::port::{LINK_CONTROL, STRICT};
use crate::sim::{Core, Switches, World};
use crate::spread::SPREAD;

impl Switches {
    /// A packet entered a switch.
    #[inline]
    pub(crate) fn switch_receive(&mut self, world: &World, core: &mut Core, ingress: u32, id: u32) {
        let Some(egress) = self.route(world, core, ingress, id) else {
            core.counters.link_drops += 1;
            return core.discard(world, ingress, id);
        };
        let packet = core.packets.get_mut(id);
        packet.ingress = ingress;
        let class = packet.class;
        if self.assists {
            self.assist(world, core, ingress, egress, id);
        }
        if class > STRICT && !self.admit(world, core, ingress, egress, class, id) {
            return self.refuse(world, core, egress, class, id);
        }
        let port = &core.ports[egress as usize];
        if port.ready == 0
            && port.paused == 0
            && !core.watch.recorder.tracing
            && port.up
            && !core.is_busy(egress)
        {
            // Nothing in front of it: as if it were queued and taken out again.
            return self.depart(world, core, egress, class, id, 0);
        }
        self.enqueue(world, core, egress, class, id);
        let port = &mut core.ports[egress as usize];
        port.queue_max = port.queue_max.max(port.queued);
    }

    /// The egress port: read off the flow's path, chosen here if switches choose, or looked up if the
    /// topology has changed since.
    #[inline]
    pub(crate) fn route(&mut self, world: &World, core: &mut Core, ingress: u32, id: u32) -> Option<u32> {
        let epoch = world.epoch;
        let packet = core.packets.get_mut(id);
        if packet.epoch == epoch {
            let egress = world.routes[packet.path as usize];
            packet.path += 1;
            return Some(egress);
        }
        if packet.epoch & SPREAD != 0 {
            return self.spread(world, core, ingress, id);
        }
        self.reroute(world, core, ingress, id)
    }

    /// Takes a packet into the buffer; asks for a pause if that makes it too much.
    #[inline]
    fn admit(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: u32,
        egress: u32,
        class: u8,
        id: u32,
    ) -> bool {
        if self.rules.alike {
            self.admit_where::<true>(world, core, ingress, class, id)
        } else {
            self.admit_by_class(world, core, ingress, egress, class, id)
        }
    }

    #[inline(never)]
    fn admit_by_class(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: u32,
        egress: u32,
        class: u8,
        id: u32,
    ) -> bool {
        if self.rules.bounded >> class & 1 == 1 {
            let size = u32::from(core.packets.get(id).wire);
            let buffer = &self.buffers[core.ports[egress as usize].owner as usize];
            let ahead = &core.queues[egress as usize * core.class_count + usize::from(class)];
            if !self.rules.has_room(buffer, ahead, size) {
                return false;
            }
        }
        self.admit_where::<false>(world, core, ingress, class, id)
    }

    /// Where classes are `ALIKE`, or where they differ.
    #[inline(always)]
    fn admit_where<const ALIKE: bool>(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: u32,
        class: u8,
        id: u32,
    ) -> bool {
        let size = u32::from(core.packets.get(id).wire);
        let port = &core.ports[ingress as usize];
        let profile = &world.profiles[usize::from(port.profile)];
        let buffer = &mut self.buffers[port.owner as usize];
        let queue = &mut core.queues[ingress as usize * core.class_count + usize::from(class)];
        if !self
            .rules
            .admit::<ALIKE>(buffer, queue, class, profile.shift, profile.headroom, size)
        {
            return false;
        }
        if port.asked & 1 << class == 0
            && self
                .rules
                .must_pause::<ALIKE>(buffer, queue, class, profile.shift)
        {
            self.send_pfc(world, core, ingress, class, true);
        }
        true
    }

    /// There is no room for a packet of `class`: it is dropped, or its payload is.
    #[cold]
    fn refuse(&mut self, world: &World, core: &mut Core, egress: u32, class: u8, id: u32) {
        let lossy = self.rules.is_lossy(class);
        let packet = core.packets.get_mut(id);
        if lossy
            && packet.kind == PacketKind::Data
            && let Some(limit) = self.rules.trim
        {
            let header = packet.wire - packet.payload;
            let queue = &core.queues[egress as usize * core.class_count + usize::from(STRICT)];
            if queue.bytes + u32::from(header) <= limit {
                packet.trimmed = true;
                (packet.wire, packet.payload, packet.class) = (header, 0, STRICT);
                core.counters.trimmed += 1;
                self.enqueue(world, core, egress, STRICT, id);
                let port = &mut core.ports[egress as usize];
                port.queue_max = port.queue_max.max(port.queued);
                return;
            }
        }
        core.counters.buffer_drops += 1;
        core.counters.lossless_drops += u64::from(!lossy);
        core.discard(world, egress, id);
    }

    /// Sends the next packet of an idle port, if any may go.
    #[inline]
    pub(crate) fn switch_send(&mut self, world: &World, core: &mut Core, egress: u32) {
        let port = &mut core.ports[egress as usize];
        let Some(class) = port.next_class() else { return };
        let queue = &mut core.queues[egress as usize * core.class_count + usize::from(class)];
        let id = queue.pop(&core.packets);
        let left = queue.bytes;
        if queue.head == NONE {
            port.ready &= !(1 << class);
        }
        port.queued -= u32::from(core.packets.get(id).wire);
        self.depart(world, core, egress, class, id, left);
    }

    /// A packet that has left its queue (`left` bytes stay in it) leaves the switch.
    #[inline]
    fn depart(&mut self, world: &World, core: &mut Core, egress: u32, class: u8, id: u32, left: u32) {
        if class > STRICT {
            core.ports[egress as usize].served = class;
            self.let_go(world, core, egress, class, id, left);
        }
        if core.packets.get(id).kind == PacketKind::Data && self.telemetry.on {
            self.stamp(world, core, egress, id);
        }
        if self.telemetry.pint.is_some() {
            self.pint_departed(world, core, egress, id);
        }
        if core.watch.recorder.tracing {
            core.trace(world, egress, TraceKind::Dequeue, id, left);
        }
        let port = &core.ports[egress as usize];
        // What is paused waits for the resume, not for this transmission.
        let more = port.ready & !port.paused != 0;
        core.start_transmission(world, egress, id, more);
    }

    /// The packet leaves the buffer: its ingress gets its bytes back, perhaps a mark is set,
    /// perhaps a pause ends.
    #[inline]
    fn let_go(&mut self, world: &World, core: &mut Core, egress: u32, class: u8, id: u32, left: u32) {
        let packet = core.packets.get(id);
        let (ingress, size) = (packet.ingress, u32::from(packet.wire));
        let port = &core.ports[ingress as usize];
        let profile = &world.profiles[usize::from(port.profile)];
        let buffer = &mut self.buffers[port.owner as usize];
        let queue = &mut core.queues[ingress as usize * core.class_count + usize::from(class)];
        self.rules.release(buffer, queue, size);
        let resume = port.asked & 1 << class != 0 && self.rules.may_resume(buffer, queue, profile.shift);
        if self.held_back.is_empty() || !self.was_held_back(core, egress, class) {
            self.mark(world, core, egress, id, left);
        }
        if resume {
            self.send_pfc(world, core, ingress, class, false);
        }
    }

    /// RED at dequeue: by the bytes of the class that are left in the egress queue.
    #[inline]
    fn mark(&mut self, world: &World, core: &mut Core, egress: u32, id: u32, left: u32) {
        let profile = &world.profiles[usize::from(core.ports[egress as usize].profile)];
        if left <= profile.kmin {
            return;
        }
        let is_data = core.packets.get(id).kind == PacketKind::Data;
        if !is_data && !world.spec.quirks.mark_acks {
            return;
        }
        if left <= profile.kmax {
            let p = profile.pmax * f64::from(left - profile.kmin) / f64::from(profile.kmax - profile.kmin);
            let draw = match &mut core.shared_rng.ns3 {
                Some(ns3) => ns3.next_f64(),
                None => self.mark_rng[egress as usize].next_f64(),
            };
            if draw >= p {
                return;
            }
        }
        if is_data {
            let packet = core.packets.get_mut(id);
            if packet.ecn == 0 {
                core.counters.marked += 1;
                core.watch.recorder.ports.marked(egress);
            }
            packet.ecn = 3;
        }
    }

    /// Appends a packet to a port's queue and sends if the port is idle.
    #[inline]
    pub(crate) fn enqueue(&mut self, world: &World, core: &mut Core, port: u32, class: u8, id: u32) {
        core.push(world, port, class, id);
        self.kick(world, core, port);
    }

    /// Sends from a port if it is idle and something may go.
    #[inline]
    pub(crate) fn kick(&mut self, world: &World, core: &mut Core, port: u32) {
        let p = &core.ports[port as usize];
        if p.up && p.ready != 0 {
            if core.is_busy(port) {
                core.await_transmission(port);
            } else {
                self.switch_send(world, core, port);
            }
        }
    }

    /// Sends a PFC frame about `class` out of `port`.
    #[cold]
    pub(crate) fn send_pfc(&mut self, world: &World, core: &mut Core, port: u32, class: u8, pause: bool) {
        if let Some(id) = core.pfc_frame(world, port, class, pause) {
            self.enqueue(world, core, port, LINK_CONTROL, id);
        }
    }
}
