//! The host's NIC: choice of the next packet, pacing, and wake-ups.

use paceline_congestion::{CongestionControl, Ctx, Expiry, Outgoing, SentInfo, TimerEvent, TimerSlot};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::core::port::LinkState;
use crate::host::Hosts;
use crate::host::qp::{NO_RATE, Part, Qp};
use crate::host::scheduler::{Choice, Following};
use crate::ids::{FlowId, NicId, PacketId, PortId, QpId};
use crate::world::World;
use crate::world::links::time_to_send;
use paceline_run::outcome::{PacketKind, TraceKind};
use paceline_run::spec::Rounding;

/// Returns the gap, in ps, that pacing leaves after the start of a packet of `wire` bytes. At a rate of zero there is
/// none: the rate itself then holds back further packets ([`crate::host::qp::Qp::stands`]).
#[inline]
fn gap_after(wire: u16, rate: BitRate, rounding: Rounding) -> u64 {
    if rate == NO_RATE {
        return 0;
    }
    time_to_send(rate, wire, rounding).as_ps()
}

/// Fields that a data packet gets from the scheme and from the choice of its path.
struct Stamp {
    /// Path, and the generation of the topology that it belongs to.
    path: u64,
    epoch: u16,
    entropy: u16,
    tag: u8,
    words: u64,
}

impl Stamp {
    /// Returns the fields for a queue pair with one path, whose scheme writes nothing.
    #[inline(always)]
    fn of(qp: &Qp) -> Self {
        Self {
            path: qp.data.route,
            epoch: qp.data.epoch,
            entropy: 0,
            tag: 0,
            words: 0,
        }
    }
}

impl Hosts {
    /// Calls the scheme of a queue pair, starts the timers that it set, and applies its limits.
    #[inline]
    pub fn call_scheme(
        &mut self,
        cx: &mut Cx<'_>,
        slot: QpId,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>),
    ) {
        let now = Time::from_ps(cx.core.now());
        let qp = &mut self.qps[slot];
        let rng = cx.core.shared_rng.of_schemes().unwrap_or(&mut qp.rng);
        let mut ctx = Ctx {
            now,
            path: &qp.path,
            timers: &mut qp.timers,
            rng,
        };
        call(&mut *qp.scheme, &mut ctx);
        self.take_limits(cx, slot);
    }

    /// Applies the limits of a scheme after a callback, and starts the timers that it set.
    #[inline(always)]
    pub(super) fn take_limits(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        let qp = &mut self.qps[slot];
        let limits = qp.scheme.limits();
        let old_rate = qp.pacing.rate;
        if limits.rate != old_rate || limits.window != qp.limits.asked_window {
            qp.apply(limits);
        }
        let repaces = cx.world.nic.pacing || cx.world.quirks.repaces_unpaced;
        if qp.needs.repaces && limits.rate != old_rate && repaces {
            self.recompute_pacing(cx.world, slot);
            // An earlier departure than the one that the NIC is armed for would be missed otherwise.
            self.pull_wake(cx.core, slot);
        }
        if self.qps[slot].timers.has_requests() {
            self.start_timers(cx, slot);
        }
        // Rate and window decide when the queue pair may send, so its position in the schedule follows them.
        self.scheduler.update(cx.core, slot, &self.qps);
    }

    /// Recomputes the departure time of the next packet after a change of rate: the gap after the last packet is what
    /// it would have been at the new rate.
    fn recompute_pacing(&mut self, world: &World, slot: QpId) {
        let rounding = world.rounding;
        let qp = &mut self.qps[slot];
        let gap = gap_after(qp.pacing.last_wire, qp.pacing.rate, rounding);
        qp.pacing.next_avail = (qp.pacing.next_avail + gap).saturating_sub(qp.pacing.gap);
        qp.pacing.gap = gap;
    }

    /// Keeps the queue pair of a notification from sending for a while.
    #[cold]
    pub(super) fn keep_silent(&mut self, cx: &mut Cx<'_>, id: PacketId, silence: Span) {
        let slot = cx.core.packets.get(id).qp;
        if cx.core.watch.accounts_alone() {
            cx.core.settle(&self.qps[slot]);
        }
        let until = cx.core.now() + silence.as_ps();
        let pacing = &mut self.qps[slot].pacing;
        pacing.next_avail = pacing.next_avail.max(until);
        self.scheduler.update(cx.core, slot, &self.qps);
    }

    /// Moves the NIC's wake-up forward if the queue pair's next packet may leave earlier.
    #[inline(always)]
    pub(super) fn pull_wake(&mut self, core: &mut Core, slot: QpId) {
        let qp = &self.qps[slot];
        let nic = core.ports[qp.data.port].nic();
        let wake_at = self.scheduler.nics[nic].wake_at;
        // A NIC that is not armed waits for something other than pacing.
        if qp.pacing.next_avail < wake_at && wake_at != u64::MAX {
            self.set_wake(core, nic, qp.pacing.next_avail.max(core.now()));
        }
    }

    fn start_timers(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        while let Some(event) = self.qps[slot].timers.take_request() {
            self.schedule_timer(cx.core, slot, event);
        }
        let asked = self.qps[slot].timers.take_asked();
        if asked.anything() {
            self.grant(cx, slot, asked);
        }
    }

    fn schedule_timer(&mut self, core: &mut Core, slot: QpId, timer: TimerEvent) {
        let event = Event::Timer {
            flow: self.qps[slot].flow,
            slot: timer.slot.0,
            generation: timer.generation,
        };
        core.schedule(LaneId::WHEEL, timer.at.as_ps(), event);
    }

    /// Runs a timer of a flow's scheme that has expired.
    pub fn scheme_timer(&mut self, cx: &mut Cx<'_>, flow: FlowId, timer: u8, generation: u8) {
        let Some(slot) = self.sender_of(flow) else {
            return;
        };
        let qp = &mut self.qps[slot];
        let event = TimerEvent {
            slot: TimerSlot(timer),
            at: Time::from_ps(cx.core.now()),
            generation,
        };
        match qp.timers.expire(event) {
            Expiry::Now => {}
            Expiry::Later(event) => return self.schedule_timer(cx.core, slot, event),
            Expiry::Stale => return,
        }
        // Kept from before the call: the reference, whose NICs do not look again after a timer, does so if the rate was
        // zero.
        let stood = qp.stands();
        if cx.core.watch.is_traced() {
            cx.core.settle(&self.qps[slot]);
            cx.core
                .observe_timer(&self.qps[slot], paceline_run::outcome::flow_probe::Cause::Itself);
        }
        self.call_scheme(cx, slot, |scheme, ctx| scheme.on_timer(ctx, TimerSlot(timer)));
        if stood || !cx.world.quirks.wakeup_suppression {
            // A larger window or rate may allow a packet now.
            self.try_send(cx, self.qps[slot].data.port);
        }
    }

    fn set_wake(&mut self, core: &mut Core, nic: NicId, at: u64) {
        let nic = &mut self.scheduler.nics[nic];
        nic.wake_at = at;
        nic.wake_generation += 1;
        let event = Event::Wake {
            port: nic.port,
            generation: nic.wake_generation,
        };
        core.schedule(LaneId::WHEEL, at, event);
    }

    /// Handles a wake-up of a NIC. Returns true if it is the one armed last.
    pub(crate) fn wake(&mut self, cx: &mut Cx<'_>, port: PortId, generation: u32) -> bool {
        let nic = &mut self.scheduler.nics[cx.core.ports[port].nic()];
        if nic.wake_generation != generation || nic.wake_at == u64::MAX {
            return false;
        }
        nic.wake_at = u64::MAX;
        self.nic_send(cx, port);
        true
    }

    /// Lets a host's senders try to send after a change. (Those of a network model check for themselves.)
    #[inline]
    pub(crate) fn try_send(&mut self, cx: &mut Cx<'_>, port: PortId) {
        if !cx.world.hosts_are_foreign {
            self.nic_send(cx, port);
        }
    }

    /// Sends the next packet of a host port if the port is idle: ACKs first, then queue pairs by turns. Otherwise arms
    /// a wake-up for the first packet that pacing holds back.
    pub(crate) fn nic_send(&mut self, cx: &mut Cx<'_>, port: PortId) {
        let p = &cx.core.ports[port];
        if p.link != LinkState::Open {
            return self.nic_send_checked(cx, port);
        }
        let (nic, paused) = (p.nic(), p.paused);
        let has_acks = p.ready != 0;
        if cx.core.is_busy(port) {
            // Without queue pairs and ACKs there is nothing to do at the end of the transmission.
            if has_acks || !self.scheduler.is_empty(nic) {
                cx.core.await_transmission(port);
            }
            return;
        }
        // ACKs go first: behind data they would delay the control loops of flows in the other direction.
        if has_acks && let Some(class) = cx.world.next_ack(&cx.core.ports[port]) {
            return self.send_ack::<false>(cx, port, class);
        }
        match self.choose_qp(nic, (cx.core.now(), paused)) {
            Choice::Now(index, slot) => {
                self.scheduler.serve(nic, index);
                self.send_data::<false>(cx, port, slot);
            }
            Choice::Later(at) => self.arm_wake(cx, nic, at),
            Choice::None => {}
        }
    }

    /// Returns the queue pair of a NIC that may send while these classes are paused: see [`super::scheduler`].
    #[inline(always)]
    pub(super) fn choose_qp(&mut self, nic: NicId, now_and_paused: (u64, u16)) -> Choice {
        (self.scheduler).choose(nic, now_and_paused, &mut self.qps, &mut self.free_qps)
    }

    /// Arms the wake-up for a packet that may leave at `at`.
    #[inline(always)]
    pub(super) fn arm_wake(&mut self, cx: &mut Cx<'_>, nic: NicId, at: u64) {
        let wake_at = self.scheduler.nics[nic].wake_at;
        // The reference leaves a wake-up that is armed alone, even if it is too late.
        if at > cx.core.now() && (wake_at == u64::MAX || !cx.world.quirks.wakeup_suppression && at < wake_at)
        {
            self.set_wake(cx.core, nic, at);
        }
    }

    /// Puts the next packet of a queue pair on the wire, through a port under credits or another. (Inlined into callers
    /// that use it for every packet.)
    #[inline(always)]
    pub(super) fn send_data<const ON_CREDIT: bool>(&mut self, cx: &mut Cx<'_>, port: PortId, slot: QpId) {
        if self.qps[slot].stamps {
            return self.send_stamped::<ON_CREDIT>(cx, port, slot);
        }
        self.put_on_wire::<ON_CREDIT, false>(cx, port, slot);
    }

    /// Sends the next packet where schemes or path selectors write into packets.
    #[inline(never)]
    fn send_stamped<const ON_CREDIT: bool>(&mut self, cx: &mut Cx<'_>, port: PortId, slot: QpId) {
        self.put_on_wire::<ON_CREDIT, true>(cx, port, slot);
    }

    #[inline(always)]
    fn put_on_wire<const ON_CREDIT: bool, const STAMPS: bool>(
        &mut self,
        cx: &mut Cx<'_>,
        port: PortId,
        slot: QpId,
    ) {
        let mtu = cx.world.packet.mtu.get();
        let (number, seq) = self.next_packet(cx, slot);
        let stamp = if STAMPS {
            self.stamp(cx, (port, slot), number, seq)
        } else {
            Stamp::of(&self.qps[slot])
        };
        let qp = &mut self.qps[slot];
        let Part {
            flow,
            payload,
            end,
            mut flags,
        } = qp.part(seq, mtu);
        let is_new = seq == qp.progress.snd_nxt;
        // A sender that can send no more until an ACK comes asks for one, or it and a receiver that coalesces ACKs
        // would wait for each other. Retransmitted data is answered at once too.
        let ack_request = qp.in_flight() + (end - seq) >= qp.limits.window
            || !is_new
            || qp.limits.limit < qp.progress.size && end >= qp.limits.limit;
        flags |= u8::from(ack_request) * Packet::ACK_REQUEST;
        let mut wire = payload + qp.data_header;
        // Only under credits does the first packet of a message have a longer header.
        if ON_CREDIT {
            wire += qp.first_header(cx.world, seq);
        }
        let id = cx.core.packets.insert(Packet {
            flow,
            qp: slot,
            path: stamp.path,
            seq,
            sent_at: cx.core.now(),
            wire,
            payload,
            pint: stamp.entropy,
            epoch: stamp.epoch,
            kind: PacketKind::Data,
            class: qp.class,
            flags,
            tag: stamp.tag,
            answers: number,
            ..Packet::EMPTY
        });
        if STAMPS {
            cx.core.packets.set_words(id, stamp.words);
        }
        if cx.core.watch.is_traced() {
            cx.core.account_send(cx.world, qp, id);
        }
        if qp.progress.snd_nxt == qp.progress.snd_una {
            // With nothing in flight there was nothing to wait for: the timeout starts here.
            qp.progress.last_progress = cx.core.now();
        }
        if is_new {
            qp.progress.snd_nxt = end;
        }
        // Go-back-N sends old data as if it were new, so `max_sent` decides what is a retransmission.
        if end <= qp.progress.max_sent {
            qp.sent_again(seq, u64::from(payload));
            cx.core.counters.retransmitted_bytes += u64::from(payload);
        } else {
            qp.progress.max_sent = end;
        }
        let qp = if cx.core.watch.recorder.tracing || qp.hears_sent {
            self.notify_sent(cx, (port, slot), (id, is_new))
        } else {
            qp
        };
        let rounding = cx.world.rounding;
        let pacing = cx.world.nic.pacing;
        let rate = if pacing { qp.pacing.rate } else { qp.path.line_rate };
        qp.pacing.last_wire = wire;
        qp.pacing.gap = gap_after(wire, rate, rounding);
        qp.pacing.next_avail = cx.core.now() + qp.pacing.gap;
        if !pacing && cx.world.quirks.repaces_unpaced {
            // In the reference, a change of rate subtracts this from the gap even without pacing.
            qp.pacing.gap = gap_after(wire, qp.pacing.rate, rounding);
        }
        self.scheduler.sent(cx.core, slot, wire, &self.qps);
        let nic = cx.core.ports[port].nic();
        let more = self.awaits_end(cx, nic, wire);
        if ON_CREDIT {
            cx.core.transmit_checked(cx.world, port, id, more, Packet::TRACED);
        } else {
            cx.core.start_transmission(cx.world, port, id, more);
        }
    }

    /// Shows a departing packet to the trace, to the scheme and to the program.
    #[inline(never)]
    fn notify_sent(
        &mut self,
        cx: &mut Cx<'_>,
        (port, slot): (PortId, QpId),
        (id, is_new): (PacketId, bool),
    ) -> &mut Qp {
        if cx.core.watch.recorder.tracing {
            self.trace(cx, port, TraceKind::Dequeue, id, 0);
        }
        if self.qps[slot].needs.counts_sent {
            let packet = cx.core.packets.get(id);
            let sent = SentInfo {
                payload: Bytes::new(u64::from(packet.payload)),
                wire: Bytes::new(u64::from(packet.wire)),
            };
            self.call_scheme(cx, slot, |scheme, ctx| scheme.on_send(ctx, &sent));
        }
        let qp = &self.qps[slot];
        if is_new && qp.progress.snd_nxt == qp.progress.size && cx.world.is_of_program(qp.flow) {
            // The program is notified when the packet has left completely.
            let wire = cx.core.packets.get(id).wire;
            let tx = cx.world.profiles[cx.core.ports[port].profile].serialise(wire).tx;
            cx.core
                .schedule(LaneId::WHEEL, cx.core.now() + tx, Event::Sent { flow: qp.flow });
        }
        &mut self.qps[slot]
    }

    /// Returns the fields that the scheme and the path selector write into the next data packet, which has this number
    /// and first byte.
    #[inline(never)]
    fn stamp(&mut self, cx: &mut Cx<'_>, (port, slot): (PortId, QpId), number: u32, seq: u64) -> Stamp {
        let mtu = cx.world.packet.mtu.get();
        let qp = &self.qps[slot];
        let mut stamp = Stamp::of(qp);
        let packet = Outgoing {
            seq,
            payload: u64::from(qp.part(seq, mtu).payload),
            snd_una: qp.progress.snd_una,
            end: qp.progress.size,
        };
        let (tags, tells) = (qp.needs.tags, qp.needs.words);
        if tags || tells {
            self.call_scheme(cx, slot, |scheme, ctx| {
                if tags {
                    stamp.tag = scheme.tag(ctx, &packet);
                }
                if tells {
                    stamp.words = scheme.words(ctx, &packet);
                }
            });
        }
        let plane = self.plane_of(cx.core.ports[port].nic(), port);
        let qp = &mut self.qps[slot];
        if let Some(ways) = &mut qp.ways {
            stamp.entropy = ways.choose(plane, &mut qp.rng);
            if let Some(way) = ways.route(cx.world, [qp.data.port, qp.data.last], stamp.entropy) {
                (stamp.path, stamp.epoch) = way;
            }
            self.packet_sent(cx.world, slot, number, stamp.entropy);
        }
        stamp
    }

    /// Returns true if the end of a transmission of `wire` bytes that starts now must be an event: only if a packet may
    /// follow at once. If pacing holds all packets back for longer, a wake-up is armed.
    #[inline(always)]
    pub(super) fn awaits_end(&mut self, cx: &mut Cx<'_>, nic: NicId, wire: u16) -> bool {
        match self.scheduler.following(cx.core, nic, &self.qps) {
            Following::Nothing => false,
            Following::Unknown => true,
            Following::At(at) => self.follows(cx, nic, wire, at),
        }
    }

    /// Returns true if a packet that may leave at `at` can follow a transmission of `wire` bytes at once; arms a
    /// wake-up otherwise.
    #[inline(always)]
    fn follows(&mut self, cx: &mut Cx<'_>, nic: NicId, wire: u16, at: u64) -> bool {
        let n = &self.scheduler.nics[nic];
        let profile = &cx.world.profiles[cx.core.ports[n.port].profile];
        if at <= cx.core.now() + profile.serialise(wire).tx {
            return true;
        }
        if at < n.wake_at {
            self.set_wake(cx.core, nic, at);
        }
        false
    }
}
