//! What arrives at a host: data at the receiver, acknowledgements and notifications at the sender.
//! What is lost is repaired in [`crate::recovery`].

use paceline_congestion::AckInfo;
use paceline_kernel::{Bytes, Span, Time};

use crate::outcome::{FlowStatus, PacketKind, RttSample};
use crate::packet::{NO_PORT, NONE};
use crate::recovery::Acknowledged;
use crate::reports::read_report;
use crate::sim::{Core, Hosts, Traffic, World};
use crate::spec::Awaited;
use crate::telemetry::WIRE_HOPS;

impl Hosts {
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        world: &World,
        core: &mut Core,
        traffic: &mut Traffic,
        port: u32,
        id: u32,
    ) {
        let packet = core.packets.get(id);
        match packet.kind {
            PacketKind::Data if self.endpoints.is_some() => self.enter_host(core, port, id),
            PacketKind::Data => self.receive_data(world, core, traffic, id),
            PacketKind::Ack | PacketKind::Nack => self.receive_ack(world, core, traffic, id),
            PacketKind::Cnp => self.receive_cnp(world, core, id),
            PacketKind::Src | PacketKind::Cnm => self.receive_notice(world, core, id),
            PacketKind::Pause | PacketKind::Resume => unreachable!("PFC frames end at the port"),
        }
    }

    /// Whether the packet's flow still holds its queue pair.
    pub(crate) fn is_current(&self, core: &Core, id: u32) -> bool {
        let packet = core.packets.get(id);
        let qp = &self.qps[packet.qp as usize];
        qp.flow == packet.flow && !qp.done
    }

    fn receive_cnp(&mut self, world: &World, core: &mut Core, id: u32) {
        let packet = *core.packets.get(id);
        let slot = packet.qp;
        if self.is_current(core, id) {
            core.counters.notifications += 1;
            self.qps[slot as usize].hears();
            if self.qps[slot as usize].needs.reports.is_some() {
                let report = read_report(&packet);
                self.call_scheme(world, core, slot, |scheme, cx| scheme.on_notice(cx, &report));
            } else {
                self.call_scheme(world, core, slot, |scheme, cx| scheme.on_cnp(cx));
            }
            self.nic_send(world, core, self.qps[slot as usize].port);
        }
        core.packets.remove(id);
    }

    #[inline(always)]
    fn receive_ack(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, id: u32) {
        let packet = core.packets.get(id);
        let (slot, flow, sent_at, marked) = (packet.qp, packet.flow, packet.sent_at, packet.ecn != 0);
        let qp = &self.qps[slot as usize];
        if qp.flow != flow || qp.done {
            return core.packets.remove(id);
        }
        let port = qp.port;
        // Where the receiver sends notifications as packets, those are counted.
        let echo_notifies = marked && qp.needs.cnp_interval == Span::ZERO;
        core.counters.notifications += u64::from(echo_notifies);
        let acknowledged = self.take_acknowledgement(world, core, slot, id);
        if acknowledged.newly == 0 {
            // What acknowledges something is a round-trip sample: see `record_rtt`.
            self.qps[slot as usize].hears();
        } else if core.watch.recorder.tracing {
            core.account_progress(flow, false);
        }
        let finished = self.qps[slot as usize].is_finished();
        if finished {
            self.complete(world, core, traffic, slot);
            if core.packets.get(id).accounted {
                let fct = traffic.flows[flow as usize].fct;
                core.close_account(world, flow, fct, id);
            }
        }
        let rtt = core.now - sent_at;
        self.record_rtt(world, core, slot, acknowledged.highest, rtt, acknowledged.newly);
        self.react(world, core, slot, id, &acknowledged, rtt);
        core.packets.remove(id);
        if finished && !world.spec.quirks.lazy_qp_removal {
            self.remove_qp(core, slot);
        }
        self.nic_send(world, core, port);
    }

    /// Shows the acknowledgement to the scheme.
    #[inline(always)]
    fn react(
        &mut self,
        world: &World,
        core: &mut Core,
        slot: u32,
        id: u32,
        acknowledged: &Acknowledged,
        rtt: u64,
    ) {
        if self.qps[slot as usize].needs.foresight {
            self.tell_foresight(world, core, slot);
        }
        let packet = core.packets.get(id);
        let (congested, endpoint_delay) = if packet.note_port == NO_PORT && self.endpoints.is_none() {
            (None, Span::ZERO)
        } else {
            (world.congested_port(packet), self.endpoint_delay(packet))
        };
        let too_many_hops = world.spec.quirks.int_wire_precision && usize::from(packet.hops) > WIRE_HOPS;
        let qp = &mut self.qps[slot as usize];
        let info = AckInfo {
            seq: acknowledged.highest,
            newly_acked: acknowledged.newly,
            snd_nxt: qp.snd_nxt,
            rtt: Span::from_ps(rtt),
            ecn: packet.ecn != 0,
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
        slot: u32,
        seq: u64,
        rtt: u64,
        newly_acked: u64,
    ) {
        let qp = &mut self.qps[slot as usize];
        core.watch.recorder.rtt_all.record(rtt);
        if seq > qp.sample_after {
            qp.sample_after = qp.snd_nxt;
            qp.hears();
            core.watch.recorder.rtt.record(rtt);
            if world.spec.record.rtt_samples {
                let sample = RttSample {
                    at: Time::from_ps(core.now),
                    flow: qp.flow,
                    seq,
                    rtt: Span::from_ps(rtt),
                };
                core.watch.recorder.rtt_samples.push(sample);
            }
        }
        if core.watch.recorder.follows_flows {
            core.record_flow(world, self.qps[slot as usize].flow, rtt, newly_acked);
        }
    }

    /// Every byte is acknowledged.
    fn complete(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, slot: u32) {
        let qp = &mut self.qps[slot as usize];
        qp.done = true;
        let flow = qp.flow as usize;
        let record = &mut traffic.flows[flow];
        record.status = FlowStatus::Completed;
        record.fct = Span::from_ps(core.now - record.start.as_ps());
        record.retransmitted = Bytes::new(qp.retransmitted);
        record.delivered = Bytes::new(self.receivers.list[slot as usize].expected);
        (record.sent, record.sent_unheard) = qp.sent_within(0, qp.size);
        traffic.completions.push(flow as u32);
        if let Some(order) = &mut self.hash_order {
            order.remove(&world.spec.flows[flow]);
        }
        traffic.release(world, core, flow as u32, Awaited::Acknowledged);
        if world.spec.quirks.receiver_forgets {
            self.receivers.list[slot as usize].flow = NONE;
        }
    }

    /// Takes a finished queue pair out of its NIC's round robin.
    fn remove_qp(&mut self, core: &Core, slot: u32) {
        let nic = core.ports[self.qps[slot as usize].port as usize].owner as usize;
        let nic = &mut self.nics[nic];
        if let Some(place) = nic.qps.iter().position(|&other| other == slot) {
            nic.qps.remove(place);
            nic.crowd.forget();
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

    /// The results so far of a flow that holds queue pair `slot`.
    pub(crate) fn record_unfinished(&self, traffic: &mut Traffic, slot: usize) {
        let qp = &self.qps[slot];
        let record = &mut traffic.flows[qp.flow as usize];
        if !qp.done && record.status == FlowStatus::Unfinished {
            record.retransmitted = Bytes::new(qp.retransmitted);
            record.delivered = Bytes::new(self.receivers.list[slot].expected);
            (record.sent, record.sent_unheard) = qp.sent_within(0, qp.size);
            if !qp.reachable {
                record.status = FlowStatus::Unreachable;
            }
        }
    }
}
