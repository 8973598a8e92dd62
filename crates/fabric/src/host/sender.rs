//! Queue pairs' senders: what they keep, what lets them send, and what they make of what comes back. What is
//! lost is repaired in [`super::recovery`].

use paceline_congestion::registry::WindowMode;
use paceline_congestion::{AckInfo, CongestionControl, Needs, PathInfo, SendLimits, TimerBank};
use paceline_kernel::ids::Id;
use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use super::Hosts;
use super::cnp::read_cnp;
use super::recovery::Acknowledged;
use crate::core::Core;
use crate::ids::{AccountId, FlowId, PacketId, PortId, ProfileId, QpId};
use crate::outcome::{FlowStatus, RttSample};
use crate::spec::Awaited;
use crate::switch::telemetry::WIRE_HOPS;
use crate::traffic::Traffic;
use crate::world::World;

/// A rate at which nothing may be sent, until it changes.
pub(crate) const STANDSTILL: BitRate = BitRate::from_bps(0);

/// A queue pair's sender: one flow.
#[derive(Clone)]
pub(crate) struct Qp {
    pub(crate) flow: FlowId,
    pub(crate) port: PortId,
    /// Its place in its NIC's list, where the NIC has gathered (see [`crate::host::choose`]).
    pub(crate) place: u32,
    /// The account of its time ([`crate::watch::account`]); `AccountId::NONE` without one.
    pub(crate) account: AccountId,
    pub(crate) size: u64,
    pub(crate) snd_nxt: u64,
    pub(crate) snd_una: u64,
    /// Bytes beyond `snd_una` that are acknowledged selectively.
    pub(crate) sacked: u64,
    /// New data is sent up to here: the size, or as far as selective repeat allows.
    pub(crate) limit: u64,
    /// When pacing allows the next packet, in ps.
    pub(crate) next_avail: u64,
    /// The gap that pacing leaves after the start of the last packet, in ps.
    pub(crate) gap: u64,
    /// Payload bytes that may be in flight.
    pub(crate) window: u64,
    /// Where `snd_nxt` has to stop, pauses and pacing apart: see [`Qp::reckon`].
    pub(crate) bound: u64,
    pub(crate) rate: BitRate,
    /// The scheme's own window, as [`Qp::apply`] took it over.
    pub(crate) asked_window: Bytes,
    pub(crate) last_wire: u16,
    pub(crate) data_header: u16,
    /// Dense class of its data.
    pub(crate) class: u8,
    pub(crate) window_mode: WindowMode,
    /// Whether a path exists.
    pub(crate) reachable: bool,
    pub(crate) done: bool,
    /// Whether lost packets are to be sent again, before new ones.
    pub(crate) repairs: bool,
    /// The way of its data (see [`crate::switch::spread`] for what is spread), and the generation of that: an
    /// older one than the network's where there is no path any more.
    pub(crate) route: u64,
    pub(crate) data_epoch: u16,
    /// Highest byte ever sent.
    pub(crate) max_sent: u64,
    /// What that was when the sender first heard anything of its flow; `u64::MAX` before.
    pub(crate) sent_unheard: u64,
    /// The next round-trip sample counts once this byte is acknowledged.
    pub(crate) sample_after: u64,
    pub(crate) last_progress: u64,
    pub(crate) retransmitted: u64,
    pub(crate) needs: Needs,
    /// Whether echoes of marks in acknowledgements are notifications: the receiver sends none in their place.
    pub(crate) echo_notifies: bool,
    pub(crate) scheme: Box<dyn CongestionControl>,
    pub(crate) timers: TimerBank,
    pub(crate) rng: Rng,
    pub(crate) path: Box<PathInfo>,
}

impl Qp {
    pub(crate) fn in_flight(&self) -> u64 {
        self.snd_nxt.saturating_sub(self.snd_una + self.sacked)
    }
    pub(crate) fn has_data(&self) -> bool {
        self.repairs || self.snd_nxt < self.size
    }
    /// Of the bytes from `start` to `end`: those that were sent, and those before the sender heard anything.
    pub(crate) fn sent_within(&self, start: u64, end: u64) -> (Bytes, Bytes) {
        let within = |sent: u64| Bytes::new(sent.clamp(start, end) - start);
        (
            within(self.max_sent),
            within(self.sent_unheard.min(self.max_sent)),
        )
    }
    /// The sender hears of its flow: an acknowledgement, a notification.
    #[inline]
    pub(crate) fn hears(&mut self) {
        if self.sent_unheard == u64::MAX {
            self.sent_unheard = self.max_sent;
        }
    }
    /// Whether its scheme lets nothing go, whatever the window.
    #[inline]
    pub(crate) fn stands(&self) -> bool {
        self.rate == STANDSTILL
    }
    /// Whether something other than pacing keeps it from sending.
    #[inline]
    pub(crate) fn is_blocked(&self, paused: u16) -> bool {
        self.snd_nxt >= self.bound || paused >> self.class & 1 != 0
    }
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.snd_una >= self.size
    }

    /// Whether it may send is asked much more often than the answer changes: what bounds it is put
    /// together here, after every change of what is acknowledged, of rate and window, of the limit, of what
    /// is to be repaired and of the path.
    #[inline]
    pub(crate) fn reckon(&mut self) {
        self.bound = self.bound_now();
    }

    #[inline]
    fn bound_now(&self) -> u64 {
        match (self.reachable && !self.stands(), self.repairs) {
            (false, _) => 0,
            (true, true) => u64::MAX,
            // With `unsigned_in_flight` only: more is in flight than any window allows.
            (true, false) if self.snd_nxt < self.snd_una && self.window != u64::MAX => 0,
            (true, false) => {
                let acknowledged = self.snd_una + self.sacked;
                self.limit.min(acknowledged.saturating_add(self.window))
            }
        }
    }

    /// What was put together is still so.
    pub(crate) fn verify(&self) {
        assert_eq!(
            self.bound,
            self.bound_now(),
            "flow {}: what it may send",
            self.flow
        );
    }

    /// Takes over what the scheme allows now.
    #[inline]
    pub(crate) fn apply(&mut self, limits: SendLimits) {
        (self.rate, self.asked_window) = (limits.rate, limits.window);
        let by_mode = match self.window_mode {
            WindowMode::Off => u64::MAX,
            WindowMode::Fixed => self.path.bdp.get(),
            // Integers, as the reference has it; at least one byte.
            WindowMode::Variable => {
                let (bdp, rate, line) = (
                    self.path.bdp.get(),
                    limits.rate.as_bps(),
                    self.path.line_rate.as_bps(),
                );
                let window = match bdp.checked_mul(rate) {
                    Some(product) => product / line,
                    None => (u128::from(bdp) * u128::from(rate) / u128::from(line)) as u64,
                };
                window.max(1)
            }
        };
        self.window = by_mode.min(limits.window.get());
        self.reckon();
    }
}

impl Hosts {
    pub(super) fn receive_cnp(&mut self, world: &World, core: &mut Core, id: PacketId) {
        let packet = *core.packets.get(id);
        let slot = packet.qp;
        if self.is_current(core, id) {
            if core.watch.accounts_alone() {
                core.settle(&self.qps[slot]);
            }
            core.counters.notifications += 1;
            self.qps[slot].hears();
            let cnp = read_cnp(&packet);
            self.call_scheme(world, core, slot, |scheme, cx| scheme.on_cnp(cx, &cnp));
            self.nic_send(world, core, self.qps[slot].port);
        }
        core.packets.remove(id);
    }

    #[inline(always)]
    pub(super) fn receive_ack(
        &mut self,
        world: &World,
        core: &mut Core,
        traffic: &mut Traffic,
        id: PacketId,
    ) {
        let packet = core.packets.get(id);
        let (slot, flow, sent_at, marked) = (packet.qp, packet.flow, packet.sent_at, packet.mark.is_set());
        let qp = &self.qps[slot];
        if qp.flow != flow || qp.done {
            return core.packets.remove(id);
        }
        let port = qp.port;
        if core.watch.accounts_alone() {
            core.settle_account(qp);
        }
        // Where the receiver sends notifications as packets, those are counted.
        core.counters.notifications += u64::from(marked && qp.echo_notifies);
        let acknowledged = self.take_acknowledgement(world, core, slot, id);
        if acknowledged.newly == 0 {
            // What acknowledges something is a round-trip sample: see `record_rtt`.
            self.qps[slot].hears();
        } else if core.watch.is_told() {
            core.account_progress(&self.qps[slot]);
        }
        let finished = self.qps[slot].is_finished();
        if finished {
            self.complete(world, core, traffic, slot);
            if core.packets.get(id).is_accounted() {
                let fct = traffic.flows[flow].fct;
                core.close_account(world, flow, fct, id);
            }
        }
        let rtt = core.now - sent_at;
        self.record_rtt(world, core, slot, acknowledged.highest, rtt, acknowledged.newly);
        self.react(world, core, slot, id, &acknowledged, rtt);
        core.packets.remove(id);
        if finished {
            self.leave(world, core, traffic, slot);
        }
        self.nic_send(world, core, port);
    }

    /// Shows the acknowledgement to the scheme.
    #[inline(always)]
    fn react(
        &mut self,
        world: &World,
        core: &mut Core,
        slot: QpId,
        id: PacketId,
        acknowledged: &Acknowledged,
        rtt: u64,
    ) {
        let packet = core.packets.get(id);
        let (congested, endpoint_delay) = if packet.note_port == ProfileId::NONE && self.endpoints.is_none() {
            (None, Span::ZERO)
        } else {
            (world.congested_port(packet), self.endpoint_delay(packet))
        };
        let too_many_hops = world.quirks.int_wire_precision && usize::from(packet.hops) > WIRE_HOPS;
        let qp = &mut self.qps[slot];
        let info = AckInfo {
            seq: acknowledged.highest,
            newly_acked: acknowledged.newly,
            snd_nxt: qp.snd_nxt,
            rtt: Span::from_ps(rtt),
            mark: packet.mark,
            hops: if too_many_hops { &[] } else { core.packets.hops(id) },
            way: if qp.needs.int { packet.pint } else { 0 },
            pint_power: packet.pint,
            nack: acknowledged.loss,
            tag: packet.tag,
            congested,
            endpoint_delay,
        };
        let rng = core.shared_rng.c_library.as_mut().unwrap_or(&mut qp.rng);
        let mut cx = paceline_congestion::Ctx {
            now: Time::from_ps(core.now),
            path: &qp.path,
            timers: &mut qp.timers,
            rng,
        };
        qp.scheme.on_ack(&mut cx, &info);
        let repaced = qp.timers.take_repace();
        self.take_limits(world, core, slot);
        if repaced {
            // Also where the rate is what it was.
            self.pull_wake(core, slot);
        }
    }

    #[inline(always)]
    pub(crate) fn record_rtt(
        &mut self,
        world: &World,
        core: &mut Core,
        slot: QpId,
        seq: u64,
        rtt: u64,
        newly_acked: u64,
    ) {
        let qp = &mut self.qps[slot];
        core.watch.recorder.rtt_all.record(rtt);
        if seq > qp.sample_after {
            qp.sample_after = qp.snd_nxt;
            qp.hears();
            core.watch.recorder.rtt.record(rtt);
            if world.spec.record.rtt_samples {
                let sample = RttSample {
                    at: Time::from_ps(core.now),
                    flow: qp.flow.0,
                    seq,
                    rtt: Span::from_ps(rtt),
                };
                core.watch.recorder.rtt_samples.push(sample);
            }
        }
        if core.watch.recorder.follows_flows {
            core.record_flow(world, self.qps[slot].flow, rtt, newly_acked);
        }
    }

    /// Every byte is acknowledged.
    fn complete(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, slot: QpId) {
        let qp = &mut self.qps[slot];
        qp.done = true;
        let flow = qp.flow;
        let record = &mut traffic.flows[flow];
        record.status = FlowStatus::Completed;
        record.fct = Span::from_ps(core.now - record.start.as_ps());
        record.retransmitted = Bytes::new(qp.retransmitted);
        (record.sent, record.sent_unheard) = qp.sent_within(0, qp.size);
        traffic.complete(flow);
        if let Some(order) = &mut self.hash_order {
            order.remove(&world.flow(core, flow));
        }
        traffic.release(world, core, flow, Awaited::Acknowledged);
        self.senders.take(flow);
        if world.quirks.receiver_forgets {
            self.receivers.end(flow);
        }
    }

    /// A flow is over for its sender.
    #[cold]
    fn leave(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, slot: QpId) {
        let flow = self.qps[slot].flow;
        if !world.quirks.lazy_qp_removal {
            self.remove_qp(core, slot);
        }
        let receivers = &self.receivers;
        traffic.end(world, core, flow, |flow| receivers.find(flow).is_some());
    }

    /// Takes a finished queue pair out of its NIC's round robin.
    fn remove_qp(&mut self, core: &Core, slot: QpId) {
        let nic = core.ports[self.qps[slot].port].nic();
        let nic = &mut self.nics[nic];
        if let Some(place) = nic.qps.iter().position(|&other| other == slot) {
            nic.qps.remove(place);
            if nic.crowd.remove(place) {
                for &later in &nic.qps[place..] {
                    self.qps[later].place -= 1;
                }
            }
            // The one that would have been next stays next.
            if place <= nic.served {
                nic.served = nic
                    .served
                    .checked_sub(1)
                    .unwrap_or(nic.qps.len().saturating_sub(1));
            }
            self.free_qps.push(slot);
        }
    }
}
