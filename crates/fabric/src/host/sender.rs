//! Senders of queue pairs: reactions to acknowledgements and notifications, and completion of flows. Lost data is
//! repaired in [`super::recovery`].

use paceline_congestion::{AckInfo, CongestionControl, Ctx, TrimmedAt};
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Span, Time};

use super::Hosts;
use super::cnp::read_cnp;
use super::recovery::Acknowledged;
use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::order::read_order;
use crate::core::packet::{Packet, WIRE_HOPS};
use crate::ids::{PacketId, ProfileId, QpId};
use crate::traffic::Traffic;
use paceline_run::outcome::{FlowStatus, PacketKind, RttSample};
use paceline_run::spec::Awaited;

/// Returns where the acknowledged packet was trimmed, if it was.
#[inline]
fn trimmed_at(answer: &Packet) -> Option<TrimmedAt> {
    if !answer.is_trimmed() {
        return None;
    }
    match answer.flags & Packet::AT_LAST_HOP {
        0 => Some(TrimmedAt::Network),
        _ => Some(TrimmedAt::LastHop),
    }
}

impl Hosts {
    pub(super) fn receive_cnp(&mut self, cx: &mut Cx<'_>, id: PacketId) {
        let packet = cx.core.packets.get(id);
        let (cnp, (silence, is_shown)) = (read_cnp(packet), read_order(packet));
        if silence > Span::ZERO && self.is_current(cx.world, cx.core, id) {
            self.keep_silent(cx, id, silence);
        }
        if !is_shown {
            cx.core.counters.notifications += 1;
            return cx.core.packets.remove(id);
        }
        self.receive_notification(cx, id, |scheme, ctx| scheme.on_cnp(ctx, &cnp));
    }

    /// Passes a packet that notifies the sender's scheme, without acknowledging anything, to the scheme.
    pub(super) fn receive_notification(
        &mut self,
        cx: &mut Cx<'_>,
        id: PacketId,
        tell: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>),
    ) {
        let packet = cx.core.packets.get(id);
        let (slot, is_grant) = (packet.qp, packet.kind == PacketKind::Grant);
        if self.is_current(cx.world, cx.core, id) {
            if cx.core.watch.accounts_alone() {
                cx.core.settle(&self.qps[slot]);
            }
            // Grants are not signs of congestion.
            cx.core.counters.notifications += u64::from(!is_grant);
            self.qps[slot].on_feedback();
            self.call_scheme(cx, slot, tell);
            self.try_send(cx, self.qps[slot].data.port);
        }
        cx.core.packets.remove(id);
    }

    #[inline(always)]
    pub(super) fn receive_ack(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, id: PacketId) {
        let packet = cx.core.packets.get(id);
        let (slot, flow, sent_at, marked) = (packet.qp, packet.flow, packet.sent_at, packet.mark.is_set());
        let qp = &self.qps[slot];
        if !qp.is_of(cx.world, flow) {
            return cx.core.packets.remove(id);
        }
        let port = qp.data.port;
        if cx.core.watch.accounts_alone() {
            cx.core.settle_account(qp);
        }
        // If the receiver sends notifications as packets, those are counted instead.
        cx.core.counters.notifications += u64::from(marked && qp.echo_notifies);
        let acknowledged = self.take_acknowledgement(cx, slot, id);
        if acknowledged.newly == 0 {
            // A packet that acknowledges new data is a round-trip sample, and noted in `record_rtt`.
            self.qps[slot].on_feedback();
        } else if cx.core.watch.is_traced() {
            cx.core.account_progress(&self.qps[slot]);
        }
        // The flow completes before the scheme sees the ACK, which may set timers or rates: those do not matter any
        // more.
        let finished = self.qps[slot].is_finished() && self.finish(cx, traffic, slot, id);
        let rtt = cx.core.now() - sent_at;
        self.record_rtt(cx, slot, acknowledged.highest, rtt, acknowledged.newly);
        self.react(cx, slot, id, &acknowledged, rtt);
        cx.core.packets.remove(id);
        // Left last, since the scheme and the recorders have used the queue pair until here.
        if finished {
            self.leave(cx, traffic, slot);
        }
        self.nic_send(cx, port);
    }

    /// Passes an acknowledgement to the scheme.
    #[inline(always)]
    fn react(&mut self, cx: &mut Cx<'_>, slot: QpId, id: PacketId, acknowledged: &Acknowledged, rtt: u64) {
        let packet = cx.core.packets.get(id);
        let (congested, endpoint_delay) = if packet.note_port == ProfileId::NONE && self.endpoints.is_none() {
            (None, Span::ZERO)
        } else {
            (cx.world.congested_port(packet), self.endpoint_delay(packet))
        };
        // The reference's sender ignores telemetry of more hops than its header has room for.
        let too_many_hops = cx.world.quirks.int_wire_precision && usize::from(packet.hops) > WIRE_HOPS;
        let qp = &mut self.qps[slot];
        if let Some(ways) = &mut qp.ways {
            ways.judge(cx.core.now(), packet);
        }
        let info = AckInfo {
            highest: acknowledged.highest,
            delivered: acknowledged.delivered,
            newly_acked: acknowledged.newly,
            snd_nxt: qp.progress.snd_nxt,
            rtt: Span::from_ps(rtt),
            mark: packet.mark,
            hops: if too_many_hops {
                &[]
            } else {
                cx.core.packets.hops(id)
            },
            header_bits: packet.pint,
            nack: acknowledged.loss,
            packet: packet.answers,
            trimmed: trimmed_at(packet),
            tag: packet.tag,
            congested,
            endpoint_delay,
        };
        let now = cx.core.now();
        let rng = cx.core.shared_rng.of_schemes().unwrap_or(&mut qp.rng);
        let mut ctx = Ctx {
            now: Time::from_ps(now),
            path: &qp.path,
            timers: &mut qp.timers,
            rng,
        };
        qp.scheme.on_ack(&mut ctx, &info);
        let repaced = qp.timers.take_repace();
        self.take_limits(cx, slot);
        if repaced {
            // Even if the rate is the same as before.
            self.pull_wake(cx.core, slot);
        }
    }

    /// Records a round-trip time.
    #[inline(always)]
    pub fn record_rtt(&mut self, cx: &mut Cx<'_>, slot: QpId, seq: u64, rtt: u64, newly_acked: u64) {
        let qp = &mut self.qps[slot];
        cx.core.watch.recorder.rtt_per_ack.record(rtt);
        // One sample per round trip: the next one has to be of data sent after this.
        if seq > qp.progress.sample_after {
            qp.progress.sample_after = qp.progress.snd_nxt;
            qp.on_feedback();
            cx.core.watch.recorder.rtt_per_round_trip.record(rtt);
            if cx.world.spec.record.rtt_samples {
                let sample = RttSample {
                    at: Time::from_ps(cx.core.now()),
                    flow: qp.flow.0,
                    seq,
                    rtt: Span::from_ps(rtt),
                };
                cx.core.watch.recorder.rtt_samples.push(sample);
            }
        }
        if cx.core.watch.recorder.follows_flows {
            let acknowledged = qp.progress.snd_una + qp.progress.sacked;
            cx.core.record_rtt_of(qp.flow, rtt);
            match &mut qp.connection {
                None => cx.core.record_goodput(cx.world, qp.flow, newly_acked),
                Some(connection) => connection.notify(acknowledged, |flow, bytes| {
                    cx.core.record_goodput(cx.world, flow, bytes);
                }),
            }
        }
    }

    /// Completes a flow, or messages of a connection. Returns true if the queue pair is done.
    #[cold]
    #[inline(never)]
    fn finish(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, slot: QpId, id: PacketId) -> bool {
        if self.qps[slot].is_connection() {
            return self.complete_messages(cx, traffic, slot, id);
        }
        let flow = self.qps[slot].flow;
        self.complete(cx, traffic, slot);
        if cx.core.packets.get(id).is_accounted() {
            let fct = traffic.record_mut(flow).fct;
            cx.core.close_account(cx.world, flow, fct, id);
        }
        true
    }

    /// Completes a flow whose bytes are all acknowledged.
    fn complete(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, slot: QpId) {
        let qp = &mut self.qps[slot];
        qp.done = true;
        let flow = qp.flow;
        let record = traffic.record_mut(flow);
        record.status = FlowStatus::Completed;
        record.fct = Span::from_ps(cx.core.now() - record.start.as_ps());
        record.retransmitted = Bytes::new(qp.progress.retransmitted);
        (record.sent, record.sent_unscheduled) = qp.sent_within(0, qp.progress.size);
        traffic.complete(flow);
        if let Some(order) = &mut self.hash_order {
            order.remove(&cx.world.flow(cx.core, flow));
        }
        traffic.release(cx, flow, Awaited::Acknowledged);
        self.senders.take(flow);
        if cx.world.quirks.receiver_forgets {
            self.receivers.end(flow);
        }
    }

    /// Removes a complete flow at its sender.
    #[cold]
    fn leave(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, slot: QpId) {
        let flow = self.qps[slot].flow;
        if !cx.world.quirks.lazy_qp_removal {
            self.remove_qp(cx.core, slot);
        }
        let receivers = &self.receivers;
        traffic.end(cx, flow, |flow| receivers.find(flow).is_some());
    }

    /// Removes a finished queue pair from its NIC's round robin.
    fn remove_qp(&mut self, core: &Core, slot: QpId) {
        let nic = core.ports[self.qps[slot].data.port].nic();
        if self.scheduler.remove(nic, slot, &mut self.qps) && !self.qps[slot].is_connection() {
            self.free_qps.push(slot);
        }
    }
}
