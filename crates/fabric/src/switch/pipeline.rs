//! The pipeline of a switch: route, admit and pause on arrival; then schedule, release, mark, stamp and send.

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::lost::Lost;
use crate::core::port::debit;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::world::SPREAD;
use crate::world::classes::{LINK_CONTROL, STRICT};
use crate::world::links::LinkProfile;
use paceline_congestion::Mark;
use paceline_kernel::ids::Id;
use paceline_run::outcome::{PacketKind, TraceKind};

impl Core {
    /// Marks a data packet, unless its mark is at least as strong.
    #[inline]
    pub fn mark(&mut self, egress: PortId, id: PacketId, mark: Mark) {
        let packet = self.packets.get_mut(id);
        // A port on the path has found as much congestion or more, and the sender has to see that.
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
    /// Prefetches the state of a port through which a packet will soon leave.
    #[inline(always)]
    pub(crate) fn prefetch(&self, egress: PortId) {
        if let Some(ties) = &self.ties {
            ties.prefetch(egress);
        }
    }

    /// Handles a packet that has entered a switch.
    #[inline(always)]
    pub(crate) fn switch_receive(&mut self, cx: &mut Cx<'_>, ingress: PortId, id: PacketId) {
        let Some(egress) = self.route(cx, ingress, id) else {
            cx.core.notify_before(ingress, id);
            return cx.core.discard(cx.world, ingress, id, Lost::Route);
        };
        // Most packets find an idle port: they skip the queue, with the same results and less work.
        let straight = self.plain
            || match self.look_at(cx, ingress, egress, id) {
                Some(straight) => straight,
                None => return,
            };
        if straight && self.pass(cx, ingress, egress, id) {
            return;
        }
        let class = cx.core.packets.get(id).class;
        // The strict class has no ingress account: pauses and drops of control packets would stop the feedback.
        if class > STRICT && !self.admit(cx, ingress, egress, class, id) {
            return self.refuse(cx, egress, class, id);
        }
        self.enqueue(cx, egress, class, id);
        // Measured once the packet has joined: one that leaves at once has not queued.
        let port = &mut cx.core.ports[egress];
        port.queue_max = port.queue_max.max(port.queued);
    }

    /// Shows an arriving packet to the switch halves of schemes and to the record of losses. Returns true if the packet
    /// may skip the queue: no half watches departures. Returns `None` if the packet is gone.
    #[inline(never)]
    fn look_at(&mut self, cx: &mut Cx<'_>, ingress: PortId, egress: PortId, id: PacketId) -> Option<bool> {
        if self.hears_arrivals && !self.hear_arrival(cx, ingress, egress, id) {
            return None;
        }
        if self.isolation.is_some() {
            self.receive_isolating(cx, ingress, egress, id);
            return None;
        }
        Some(self.straight && !self.assists.is_awake(egress))
    }

    /// Shows an arriving packet to all that look at each arrival. Returns false if that was the packet's end.
    #[inline(never)]
    fn hear_arrival(&mut self, cx: &mut Cx<'_>, ingress: PortId, egress: PortId, id: PacketId) -> bool {
        if !cx.core.ports[egress].is_up() {
            // Routes do not reflect the failure yet (reconvergence takes time), so the packet was sent to a dead link.
            cx.core.notify_before(ingress, id);
            cx.core.discard(cx.world, ingress, id, Lost::Link);
            return false;
        }
        let class = cx.core.packets.get(id).class;
        // In a storm, packets for the paused port and packets from it are dropped before they take buffer space.
        if let Some(watchdog) = &mut self.watchdog
            && watchdog.drop_packet([ingress, egress], class)
        {
            self.drop_packet(cx, egress, id, Lost::Watchdog);
            return false;
        }
        let lossy = class > STRICT && self.rules.is_lossy(class);
        if let Some(ties) = self.ties.as_mut().filter(|_| lossy) {
            ties.arrives(cx.core.now(), egress, ingress);
        }
        !self.assists.arrivals || self.arriving(cx, ingress, egress, id)
    }

    /// Sends a packet without queueing it, if admission and release would leave the ingress accounts as they are:
    /// within the reserve a packet takes nothing from others, and no pause begins or ends. Strict classes have no
    /// accounts. Returns false if the packet has to wait.
    #[inline(always)]
    fn pass(&mut self, cx: &mut Cx<'_>, ingress: PortId, egress: PortId, id: PacketId) -> bool {
        let ((now, tie), ports) = (cx.core.instant(), &mut cx.core.ports);
        let port = &ports[egress];
        if !port.is_clear() || port.is_busy(now, tie) {
            return false;
        }
        let profile = &cx.world.profiles[port.profile];
        let (packet, room) = cx.core.packets.with_room(id);
        let (class, kind, wire) = (packet.class, packet.kind, packet.wire);
        if class > STRICT {
            let entry = &ports[ingress];
            let queue = &cx.core.queues[(ingress, class)];
            let buffer = &self.buffers[entry.switch()];
            let shift = cx.world.profiles[entry.profile].shift;
            // Where a pause is pending, a departure may end it: that takes the full path.
            let unseen = entry.asked & 1 << class == 0
                && self.rules.fits_reserve(buffer, queue, shift, u32::from(wire));
            if !unseen {
                return false;
            }
        }
        let port = &mut ports[egress];
        // The round robin has to go on from this class, as if the packet had been queued.
        if class > STRICT {
            port.served = class;
        }
        if self.telemetry.on && kind == PacketKind::Data {
            self.telemetry.stamp(now, port, profile, packet, room);
        }
        let accounted = packet.is_traced();
        let arrives = cx
            .core
            .agenda
            .transmit(now, profile, (egress, port), (id, kind, wire), false);
        if accounted {
            cx.core.watch.accounts.step(id, egress, kind, now, arrives);
        }
        true
    }

    /// Returns the egress port: read from the packet's path, chosen here under load balancing, or looked up if the
    /// topology has changed since the packet was sent.
    #[inline(always)]
    pub fn route(&mut self, cx: &mut Cx<'_>, ingress: PortId, id: PacketId) -> Option<PortId> {
        let entry = &cx.core.ports[ingress];
        let packet = cx.core.packets.get_mut(id);
        packet.ingress = ingress;
        if packet.epoch == cx.world.epoch {
            let index = cx.world.routing.follow(entry.index, &mut packet.path);
            return Some(cx.world.routing.port_at(entry.ways, index));
        }
        self.route_elsewhere(cx, ingress, id)
    }

    #[inline(never)]
    fn route_elsewhere(&mut self, cx: &mut Cx<'_>, ingress: PortId, id: PacketId) -> Option<PortId> {
        // The flag is in the epoch, so that packets with a path of the current topology need one comparison.
        if cx.core.packets.get(id).epoch & SPREAD != 0 {
            return self.spread(cx, ingress, id);
        }
        self.reroute(cx, ingress, id)
    }

    /// Admits a packet to the buffer, and sends a pause if its ingress is above the threshold then. Returns false if it
    /// is to be dropped.
    // Left to the compiler, this and `enqueue` become calls: 15 instructions per hop.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        cx: &mut Cx<'_>,
        ingress: PortId,
        egress: PortId,
        class: u8,
        id: PacketId,
    ) -> bool {
        if self.rules.alike {
            self.admit_where::<true>(cx, ingress, class, id)
        } else {
            self.admit_by_class(cx, ingress, egress, class, id)
        }
    }

    #[inline(never)]
    fn admit_by_class(
        &mut self,
        cx: &mut Cx<'_>,
        ingress: PortId,
        egress: PortId,
        class: u8,
        id: PacketId,
    ) -> bool {
        // A lossy class is bounded where it queues, not where it came in.
        if self.rules.bounded >> class & 1 == 1 {
            let size = u32::from(cx.core.packets.get(id).wire);
            let buffer = &self.buffers[cx.core.ports[egress].switch()];
            let ahead = &cx.core.queues[(egress, class)];
            if !self.rules.has_room(buffer, ahead, size) {
                return false;
            }
        }
        self.admit_where::<false>(cx, ingress, class, id)
    }

    /// Admits a packet where classes are `ALIKE`, or where they differ.
    #[inline(always)]
    fn admit_where<const ALIKE: bool>(
        &mut self,
        cx: &mut Cx<'_>,
        ingress: PortId,
        class: u8,
        id: PacketId,
    ) -> bool {
        let size = u32::from(cx.core.packets.get(id).wire);
        let port = &cx.core.ports[ingress];
        let profile = &cx.world.profiles[port.profile];
        let buffer = &mut self.buffers[port.switch()];
        let queue = &mut cx.core.queues[(ingress, class)];
        if !self
            .rules
            .admit::<ALIKE>(buffer, queue, class, profile.shift, profile.headroom, size)
        {
            return false;
        }
        // One pause is enough until the resume; under timed pauses a timer renews it.
        if port.asked & 1 << class == 0
            && self
                .rules
                .must_pause::<ALIKE>(buffer, queue, class, profile.shift)
        {
            self.send_pfc(cx, ingress, class, true);
        }
        true
    }

    /// Sends the next packet of an idle port, unless all classes are empty or paused.
    #[inline]
    pub(crate) fn switch_send(&mut self, cx: &mut Cx<'_>, egress: PortId) {
        if self.isolation.is_some() {
            return self.send_isolating(cx, egress);
        }
        let port = &mut cx.core.ports[egress];
        let Some(class) = port.next_class() else { return };
        let queue = &mut cx.core.queues[(egress, class)];
        let (id, packet) = queue.pop(&cx.core.packets);
        let (ingress, wire, left) = (packet.ingress, packet.wire, queue.bytes);
        if queue.head == PacketId::NONE {
            port.ready &= !(1 << class);
        }
        debit(&mut port.queued, u32::from(wire));
        let profile = &cx.world.profiles[port.profile];
        if class > STRICT {
            port.served = class;
            // The bytes are released before the mark and the frame are decided. The mark comes before the resume, since
            // the reference draws for both from one stream, in this order.
            let resumes = self.release(cx, ingress, class, wire);
            self.mark_departing(cx, profile, egress, id, left);
            if resumes {
                self.send_pfc(cx, ingress, class, false);
            }
        }
        if self.straight && !cx.core.watch.accounts.awaits_pauses() {
            self.leave::<false>(cx, egress, id, left);
        } else {
            self.leave_and_tell(cx, egress, id, left);
        }
    }

    /// Marks a packet that leaves a queue in which `left` bytes stay, as schemes or the RED curve decide.
    #[inline(always)]
    pub(super) fn mark_departing(
        &mut self,
        cx: &mut Cx<'_>,
        profile: &LinkProfile,
        egress: PortId,
        id: PacketId,
        left: u32,
    ) {
        if self.assists.is_awake(egress) {
            self.departing(cx, egress, id, left);
        } else if profile.red.may_mark(left) {
            self.mark_by_curve(cx, egress, id, left);
        }
    }

    /// Marks, stamps and records a packet that another module puts on the wire ([`crate::lanes`]).
    pub(crate) fn prepare(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, left: u32) {
        let profile = &cx.world.profiles[cx.core.ports[egress].profile];
        self.mark_departing(cx, profile, egress, id, left);
        let now = cx.core.now();
        let (packet, room) = cx.core.packets.with_room(id);
        if self.telemetry.on && packet.kind == PacketKind::Data {
            self.telemetry
                .stamp(now, &cx.core.ports[egress], profile, packet, room);
        }
        self.notify_leaving(cx, egress, id, left);
    }

    #[inline(never)]
    pub(super) fn leave_and_tell(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, left: u32) {
        self.leave::<true>(cx, egress, id, left);
    }

    /// Puts a packet on the wire, with telemetry in it; `left` bytes stay in its queue. `TRACED` if every departure
    /// from a queue is recorded.
    #[inline(always)]
    fn leave<const TRACED: bool>(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, left: u32) {
        let now = cx.core.now();
        let port = &cx.core.ports[egress];
        let profile = &cx.world.profiles[port.profile];
        let (packet, room) = cx.core.packets.with_room(id);
        let (kind, wire, accounted) = (packet.kind, packet.wire, packet.is_accounted());
        // Stamped before the transmission is counted: telemetry reports the bytes sent before this packet.
        if self.telemetry.on && kind == PacketKind::Data {
            self.telemetry.stamp(now, port, profile, packet, room);
        }
        if TRACED {
            self.notify_leaving(cx, egress, id, left);
        }
        let port = &mut cx.core.ports[egress];
        // What is paused now needs no event at the end of the transmission: the resume will restart the port.
        let more = port.has_sendable();
        let arrives = cx
            .core
            .agenda
            .transmit(now, profile, (egress, port), (id, kind, wire), more);
        if accounted {
            cx.core
                .watch
                .accounts
                .step(id, egress, kind, cx.core.now(), arrives);
        }
        if TRACED && cx.core.has_retry(egress) {
            cx.core.frame_left(egress, kind, wire);
        }
    }

    /// Shows a packet that leaves its queue to all that look at each departure.
    #[inline(always)]
    fn notify_leaving(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, left: u32) {
        if self.notices.is_some() {
            self.notify_of_departure(cx, egress, id, left);
        }
        if self.telemetry.pint.is_some() {
            self.pint_departed(cx, egress, id);
        }
        if cx.core.watch.recorder.tracing {
            cx.core.trace(cx.world, egress, TraceKind::Dequeue, id, left);
        }
        if cx.core.watch.accounts.awaits_pauses() {
            cx.core.account_pause(cx.world, egress, id);
        }
    }

    /// Returns a departing packet's bytes to its ingress accounts. Returns true if a pause can end.
    #[inline(always)]
    pub(super) fn release(&mut self, cx: &mut Cx<'_>, ingress: PortId, class: u8, wire: u16) -> bool {
        let port = &cx.core.ports[ingress];
        let buffer = &mut self.buffers[port.switch()];
        let queue = &mut cx.core.queues[(ingress, class)];
        self.rules.release(buffer, queue, u32::from(wire));
        port.asked & 1 << class != 0
            && self
                .rules
                .may_resume(buffer, queue, cx.world.profiles[port.profile].shift)
    }

    /// Marks a data packet by the RED curve, from the bytes of its class that are left in the egress queue.
    #[inline(never)]
    pub(super) fn mark_by_curve(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, left: u32) {
        let profile = &cx.world.profiles[cx.core.ports[egress].profile];
        let is_data = matches!(cx.core.packets.get(id).kind, PacketKind::Data | PacketKind::Probe);
        // The reference draws for ACKs too, so that its stream advances, but marks data only.
        if !is_data && !cx.world.quirks.mark_acks {
            return;
        }
        // Drawn only between the thresholds, where chance decides.
        let marks = profile.red.marks(left, || match cx.core.shared_rng.ns3() {
            Some(ns3) => ns3.next_f64(),
            None => self.mark_rng.get(egress).next_f64(),
        });
        if marks && is_data {
            cx.core.mark(egress, id, Mark::Congested);
            self.notify_of_own_mark(cx, egress, id);
        }
    }

    /// Appends a packet to a port's queue, and sends if the port is idle.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8, id: PacketId) {
        cx.core.push(cx.world, port, class, id);
        self.try_send(cx, port);
    }

    /// Sends from a port if it is up, idle and has packets.
    #[inline]
    pub(crate) fn try_send(&mut self, cx: &mut Cx<'_>, port: PortId) {
        let p = &cx.core.ports[port];
        if p.is_up() && p.ready != 0 {
            if cx.core.is_busy(port) {
                cx.core.await_transmission(port);
            } else {
                self.switch_send(cx, port);
            }
        }
    }

    /// Sends a PFC frame about `class` out of `port`.
    #[cold]
    pub(super) fn send_pfc(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8, pause: bool) {
        // The switches of a tier may be set not to pause; their buffers absorb or drop.
        if pause && self.buffers[cx.core.ports[port].switch()].is_silent {
            return;
        }
        if pause && cx.core.watch.recorder.ports.asks_why(port) {
            cx.core.notify_why(port, class);
        }
        if let Some(id) = cx.core.pfc_frame(cx.world, port, class, pause) {
            // Frames of link control go first: behind data, a pause would arrive after the headroom is full.
            self.enqueue(cx, port, LINK_CONTROL, id);
        }
    }
}
