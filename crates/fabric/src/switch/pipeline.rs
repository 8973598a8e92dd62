//! The switch: route, admit, ask for a pause; then schedule, let go, mark, stamp, send.

use crate::core::Core;
use crate::core::lost::Lost;
use crate::core::port::debit;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::world::SPREAD;
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};
use crate::world::links::LinkProfile;
use paceline_congestion::Mark;
use paceline_kernel::ids::Id;
use paceline_run::outcome::{PacketKind, TraceKind};

impl Core {
    /// A port marks a data packet, unless its mark is as strong.
    #[inline]
    pub fn mark(&mut self, egress: PortId, id: PacketId, mark: Mark) {
        let packet = self.packets.get_mut(id);
        if mark <= packet.mark {
            return;
        }
        match mark {
            Mark::Congested => self.counters.marked += 1,
            _ => self.counters.undetermined += 1,
        }
        packet.mark = mark;
        self.watch.recorder.ports.marked(egress);
    }
}

impl Switches {
    /// Fetches what is known of a port by which a packet will soon leave.
    #[inline(always)]
    pub(crate) fn prefetch(&self, egress: PortId) {
        if let Some(ties) = &self.ties {
            ties.prefetch(egress);
        }
    }

    /// A packet entered a switch.
    #[inline(always)]
    pub(crate) fn switch_receive(&mut self, world: &World, core: &mut Core, ingress: PortId, id: PacketId) {
        let Some(egress) = self.route(world, core, ingress, id) else {
            core.notify_before(ingress, id);
            return core.discard(world, ingress, id, Lost::Route);
        };
        let straight = self.plain
            || match self.look_at(world, core, ingress, egress, id) {
                Some(straight) => straight,
                None => return,
            };
        if straight && self.pass(world, core, ingress, egress, id) {
            return;
        }
        let class = core.packets.get(id).class;
        if class > STRICT && !self.admit(world, core, ingress, egress, class, id) {
            return self.refuse(world, core, egress, class, id);
        }
        self.enqueue(world, core, egress, class, id);
        let port = &mut core.ports[egress];
        port.queue_max = port.queue_max.max(port.queued);
    }

    /// Lets the switch's half of a scheme look at a packet that arrives, and who counts losses; whether it may pass then: no
    /// half wants to be told that it departs. `None` if a half has dropped it.
    #[inline(never)]
    fn look_at(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: PortId,
        egress: PortId,
        id: PacketId,
    ) -> Option<bool> {
        if self.hears_arrivals && !self.hear_arrival(world, core, ingress, egress, id) {
            return None;
        }
        Some(self.straight && !self.assists.is_awake(egress))
    }

    /// Tells those who want to hear of each packet that arrives: who counts losses at one instant, and halves of schemes.
    /// Whether it goes on, as it does unless its link has failed.
    #[inline(never)]
    fn hear_arrival(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: PortId,
        egress: PortId,
        id: PacketId,
    ) -> bool {
        if !core.ports[egress].is_up() {
            // Routes have yet to hear of it.
            core.notify_before(ingress, id);
            core.discard(world, ingress, id, Lost::Link);
            return false;
        }
        let class = core.packets.get(id).class;
        if let Some(watchdog) = &mut self.watchdog
            && watchdog.drop_packet([ingress, egress], class)
        {
            self.drop_packet(world, core, egress, id, Lost::Watchdog);
            return false;
        }
        let lossy = class > STRICT && self.rules.is_lossy(class);
        if let Some(ties) = self.ties.as_mut().filter(|_| lossy) {
            ties.arrives(core.now(), egress, ingress);
        }
        !self.assists.arrivals || self.arriving(world, core, ingress, egress, id)
    }

    /// Sends a packet that need not wait, if what its ingress has accounts of would be as it was when the packet
    /// has been admitted and let go: within the reserve it takes nothing that others could miss, and no
    /// pause begins or ends. Of strict classes there are no accounts.
    #[inline(always)]
    fn pass(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: PortId,
        egress: PortId,
        id: PacketId,
    ) -> bool {
        let ((now, tie), ports) = (core.instant(), &mut core.ports);
        let port = &ports[egress];
        if !port.is_clear() || port.is_busy(now, tie) {
            return false;
        }
        let profile = &world.profiles[port.profile];
        let (packet, room) = core.packets.with_room(id);
        let (class, kind, wire) = (packet.class, packet.kind, packet.wire);
        if class > STRICT {
            let entry = &ports[ingress];
            let queue = &core.queues[(ingress, class)];
            let buffer = &self.buffers[entry.switch()];
            let shift = world.profiles[entry.profile].shift;
            let unseen = entry.asked & 1 << class == 0
                && self.rules.fits_reserve(buffer, queue, shift, u32::from(wire));
            if !unseen {
                return false;
            }
        }
        let port = &mut ports[egress];
        if class > STRICT {
            port.served = class;
        }
        if self.telemetry.on && kind == PacketKind::Data {
            self.telemetry.stamp(now, port, profile, packet, room);
        }
        let accounted = packet.is_traced();
        let arrives = core
            .agenda
            .transmit(now, profile, (egress, port), (id, kind, wire), false);
        if accounted {
            core.watch.accounts.step(id, egress, kind, now, arrives);
        }
        true
    }

    /// The egress port: read off the packet's path, chosen here if switches choose, or looked up if the
    /// topology has changed since.
    #[inline(always)]
    pub fn route(&mut self, world: &World, core: &mut Core, ingress: PortId, id: PacketId) -> Option<PortId> {
        let entry = &core.ports[ingress];
        let packet = core.packets.get_mut(id);
        packet.ingress = ingress;
        if packet.epoch == world.epoch {
            let place = world.routing.follow(entry.place, &mut packet.path);
            return Some(world.routing.port_at(entry.ways, place));
        }
        self.route_elsewhere(world, core, ingress, id)
    }

    #[inline(never)]
    fn route_elsewhere(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: PortId,
        id: PacketId,
    ) -> Option<PortId> {
        if core.packets.get(id).epoch & SPREAD != 0 {
            return self.spread(world, core, ingress, id);
        }
        self.reroute(world, core, ingress, id)
    }

    /// Takes a packet into the buffer; asks for a pause if that makes it too much.
    // Left to the compiler, this and `enqueue` become calls: 15 instructions per hop.
    #[inline(always)]
    fn admit(
        &mut self,
        world: &World,
        core: &mut Core,
        ingress: PortId,
        egress: PortId,
        class: u8,
        id: PacketId,
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
        ingress: PortId,
        egress: PortId,
        class: u8,
        id: PacketId,
    ) -> bool {
        if self.rules.bounded >> class & 1 == 1 {
            let size = u32::from(core.packets.get(id).wire);
            let buffer = &self.buffers[core.ports[egress].switch()];
            let ahead = &core.queues[(egress, class)];
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
        ingress: PortId,
        class: u8,
        id: PacketId,
    ) -> bool {
        let size = u32::from(core.packets.get(id).wire);
        let port = &core.ports[ingress];
        let profile = &world.profiles[port.profile];
        let buffer = &mut self.buffers[port.switch()];
        let queue = &mut core.queues[(ingress, class)];
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

    /// Sends the next packet of an idle port, if any may go.
    #[inline]
    pub(crate) fn switch_send(&mut self, world: &World, core: &mut Core, egress: PortId) {
        let port = &mut core.ports[egress];
        let Some(class) = port.next_class() else { return };
        let queue = &mut core.queues[(egress, class)];
        let (id, packet) = queue.pop(&core.packets);
        let (ingress, wire, left) = (packet.ingress, packet.wire, queue.bytes);
        if queue.head == PacketId::NONE {
            port.ready &= !(1 << class);
        }
        debit(&mut port.queued, u32::from(wire));
        let profile = &world.profiles[port.profile];
        if class > STRICT {
            port.served = class;
            let resumes = self.release(world, core, ingress, class, wire);
            self.mark_departing(world, core, profile, egress, id, left);
            if resumes {
                self.send_pfc(world, core, ingress, class, false);
            }
        }
        if self.straight && !core.watch.accounts.awaits_pauses() {
            self.leave::<false>(world, core, egress, id, left);
        } else {
            self.leave_and_tell(world, core, egress, id, left);
        }
    }

    /// A data packet that leaves a queue in which `left` bytes stay may get a mark.
    #[inline(always)]
    fn mark_departing(
        &mut self,
        world: &World,
        core: &mut Core,
        profile: &LinkProfile,
        egress: PortId,
        id: PacketId,
        left: u32,
    ) {
        if self.assists.is_awake(egress) {
            self.departing(world, core, egress, id, left);
        } else if profile.red.may_mark(left) {
            self.mark_by_curve(world, core, egress, id, left);
        }
    }

    /// The same, and what else switches have to tell of a packet, where it is another's to put it on the wire
    /// ([`crate::lanes`]).
    pub(crate) fn prepare(
        &mut self,
        world: &World,
        core: &mut Core,
        egress: PortId,
        id: PacketId,
        left: u32,
    ) {
        let profile = &world.profiles[core.ports[egress].profile];
        self.mark_departing(world, core, profile, egress, id, left);
        let now = core.now();
        let (packet, room) = core.packets.with_room(id);
        if self.telemetry.on && packet.kind == PacketKind::Data {
            self.telemetry
                .stamp(now, &core.ports[egress], profile, packet, room);
        }
        self.notify_leaving(world, core, egress, id, left);
    }

    #[inline(never)]
    fn leave_and_tell(&mut self, world: &World, core: &mut Core, egress: PortId, id: PacketId, left: u32) {
        self.leave::<true>(world, core, egress, id, left);
    }

    /// A packet goes on the wire, with what switches have to tell in it; `left` bytes stay in its queue. `TRACED` where
    /// there is somebody who is told of every packet that leaves a queue.
    #[inline(always)]
    fn leave<const TRACED: bool>(
        &mut self,
        world: &World,
        core: &mut Core,
        egress: PortId,
        id: PacketId,
        left: u32,
    ) {
        let now = core.now();
        let port = &core.ports[egress];
        let profile = &world.profiles[port.profile];
        let (packet, room) = core.packets.with_room(id);
        let (kind, wire, accounted) = (packet.kind, packet.wire, packet.is_accounted());
        if self.telemetry.on && kind == PacketKind::Data {
            self.telemetry.stamp(now, port, profile, packet, room);
        }
        if TRACED {
            self.notify_leaving(world, core, egress, id, left);
        }
        let port = &mut core.ports[egress];
        let more = port.has_sendable();
        let arrives = core
            .agenda
            .transmit(now, profile, (egress, port), (id, kind, wire), more);
        if accounted {
            core.watch.accounts.step(id, egress, kind, core.now(), arrives);
        }
    }

    /// A packet leaves its queue: tells those who are told of each.
    #[inline(always)]
    fn notify_leaving(&mut self, world: &World, core: &mut Core, egress: PortId, id: PacketId, left: u32) {
        if self.telemetry.pint.is_some() {
            self.pint_departed(world, core, egress, id);
        }
        if core.watch.recorder.tracing {
            core.trace(world, egress, TraceKind::Dequeue, id, left);
        }
        if core.watch.accounts.awaits_pauses() {
            core.account_pause(world, egress, id);
        }
    }

    /// A packet leaves the buffer: its ingress gets its bytes back. Says whether a pause may end.
    #[inline(always)]
    fn release(&mut self, world: &World, core: &mut Core, ingress: PortId, class: u8, wire: u16) -> bool {
        let port = &core.ports[ingress];
        let buffer = &mut self.buffers[port.switch()];
        let queue = &mut core.queues[(ingress, class)];
        self.rules.release(buffer, queue, u32::from(wire));
        port.asked & 1 << class != 0
            && self
                .rules
                .may_resume(buffer, queue, world.profiles[port.profile].shift)
    }

    /// RED: by the bytes of the class that are left in the egress queue, which may be enough for a mark.
    #[inline(never)]
    pub(super) fn mark_by_curve(
        &mut self,
        world: &World,
        core: &mut Core,
        egress: PortId,
        id: PacketId,
        left: u32,
    ) {
        let profile = &world.profiles[core.ports[egress].profile];
        let is_data = core.packets.get(id).kind == PacketKind::Data;
        if !is_data && !world.quirks.mark_acks {
            return;
        }
        let marks = profile.red.marks(left, || match core.shared_rng.ns3() {
            Some(ns3) => ns3.next_f64(),
            None => self.mark_rng.get(egress).next_f64(),
        });
        if marks && is_data {
            core.mark(egress, id, Mark::Congested);
        }
    }

    /// Appends a packet to a port's queue and sends if the port is idle.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, world: &World, core: &mut Core, port: PortId, class: u8, id: PacketId) {
        core.push(world, port, class, id);
        self.try_send(world, core, port);
    }

    /// Sends from a port if it is idle and something may go.
    #[inline]
    pub(crate) fn try_send(&mut self, world: &World, core: &mut Core, port: PortId) {
        let p = &core.ports[port];
        if p.is_up() && p.ready != 0 {
            if core.is_busy(port) {
                core.await_transmission(port);
            } else {
                self.switch_send(world, core, port);
            }
        }
    }

    /// Sends a PFC frame about `class` out of `port`.
    #[cold]
    pub(super) fn send_pfc(&mut self, world: &World, core: &mut Core, port: PortId, class: u8, pause: bool) {
        if pause && self.buffers[core.ports[port].switch()].is_silent {
            return;
        }
        if pause && core.watch.recorder.ports.asks_why(port) {
            core.notify_why(port, class);
        }
        if let Some(id) = core.pfc_frame(world, port, class, pause) {
            self.enqueue(world, core, port, LINK_CONTROL, id);
        }
    }
}
