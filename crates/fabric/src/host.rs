//! What arrives at a host: data at the receiver, acknowledgements and notifications at the sender.
//! What is lost is repaired in [`crate::recovery`].

use paceline_congestion::AckInfo;
use paceline_kernel::{Bytes, Span, Time};

use crate::outcome::{FlowStatus, PacketKind, RttSample};
use crate::packet::{NO_PORT, NONE, Packet};
use crate::port::STRICT;
use crate::recovery::{Acknowledged, Answer};
use crate::sim::Simulation;
use crate::spec::Awaited;
use crate::spread::way;
use crate::telemetry::WIRE_HOPS;

impl Simulation {
    #[inline]
    pub(crate) fn host_receive(&mut self, port: u32, id: u32) {
        if self.bolt_ns3.on {
            return self.message_receive(id);
        }
        let packet = self.core.packets.get(id);
        match packet.kind {
            PacketKind::Data if self.hosts.endpoints.is_some() => self.enter_host(port, id),
            PacketKind::Data => self.receive_data(id),
            PacketKind::Ack | PacketKind::Nack => self.receive_ack(id),
            PacketKind::Cnp => self.receive_cnp(id),
            PacketKind::Src | PacketKind::Cnm => self.receive_notice(id),
            PacketKind::Pause | PacketKind::Resume => unreachable!("PFC frames end at the port"),
        }
    }

    /// Whether the packet's flow still holds its queue pair.
    pub(crate) fn is_current(&self, id: u32) -> bool {
        let packet = self.core.packets.get(id);
        let qp = &self.hosts.qps[packet.qp as usize];
        qp.flow == packet.flow && !qp.done
    }

    #[inline(always)]
    pub(crate) fn receive_data(&mut self, id: u32) {
        let packet = self.core.packets.get(id);
        self.core.counters.data_received += u64::from(!packet.trimmed);
        let (slot, flow, marked) = (packet.qp as usize, packet.flow, packet.ecn != 0);
        let qp = &self.hosts.qps[slot];
        if qp.flow != flow || qp.done && self.world.spec.quirks.receiver_forgets {
            return self.receive_late(id);
        }
        let answer = self.take_data(id);
        if self.hosts.receivers[slot].expected >= self.hosts.qps[slot].size {
            self.received_whole(flow);
        }
        if self.hosts.qps[slot].needs.is_told() {
            self.tell_sender(id);
        }
        let (kind, echo) = match answer {
            Answer::Ack => (PacketKind::Ack, self.take_marks(slot, marked)),
            Answer::Nack => {
                self.core.counters.nacks += 1;
                (PacketKind::Nack, marked)
            }
            Answer::Nothing => return self.core.packets.remove(id),
        };
        self.answer(slot, id, kind, echo);
    }

    /// Data packet `id` becomes its acknowledgement and leaves. It keeps its slot, telemetry and time stamp.
    #[inline(always)]
    fn answer(&mut self, slot: usize, id: u32, kind: PacketKind, echo: bool) {
        let qp = &self.hosts.qps[slot];
        let packet = self.core.packets.get_mut(id);
        if qp.needs.int {
            packet.pint = way(packet.epoch);
        }
        packet.kind = kind;
        packet.ecn = if echo { 3 } else { 0 };
        packet.seq = self.hosts.receivers[slot].expected;
        packet.path = qp.ack_route;
        packet.epoch = qp.epoch;
        packet.wire = qp.ack_wire;
        packet.payload = 0;
        packet.class = qp.ack_class;
        // Nothing accounts for it in a host.
        packet.ingress = NONE;
        let (wire, ack_port) = (qp.ack_wire, qp.ack_port);
        let class = self.ack_queue(qp.ack_class);
        let port = &mut self.core.ports[ack_port as usize];
        let nothing_before = port.ready == 0 && port.paused == 0 && port.up;
        if nothing_before && !self.core.watch.recorder.tracing && !port.is_busy(self.core.now, self.core.tie)
        {
            // As if it were queued and taken out again.
            if class > STRICT {
                port.served = class;
            }
            let nic = port.owner as usize;
            let more = self.awaits_end(nic, wire);
            return self.start_transmission(ack_port, id, more);
        }
        self.enqueue(ack_port, class, id);
    }

    /// A flow's last byte is here, and perhaps was before.
    fn received_whole(&mut self, flow: u32) {
        let record = &mut self.traffic.flows[flow as usize];
        if record.received.is_none() {
            record.received = Some(Time::from_ps(self.core.now));
            self.release(flow, Awaited::Received);
        }
    }

    /// The receiver of a flow whose scheme asks for packets of its own counts data packet `id`.
    #[inline(never)]
    fn tell_sender(&mut self, id: u32) {
        let packet = *self.core.packets.get(id);
        let needs = &self.hosts.qps[packet.qp as usize].needs;
        let interval = needs.cnp_interval;
        if let Some(reports) = needs.reports {
            self.meter(&packet, reports);
        }
        if packet.ecn != 0 && interval > Span::ZERO {
            self.notify_sender(&packet, interval);
        }
    }

    /// The congestion echo of an ACK: of this packet in the reference, of all since the last ACK
    /// where ACKs answer for several packets.
    #[inline]
    fn take_marks(&mut self, slot: usize, marked: bool) -> bool {
        if self.world.spec.quirks.ack_threshold {
            return marked;
        }
        std::mem::take(&mut self.hosts.receivers[slot].marked)
    }

    /// A congestion notification packet to the sender, at most one per `interval`.
    fn notify_sender(&mut self, packet: &Packet, interval: Span) {
        let receiver = &mut self.hosts.receivers[packet.qp as usize];
        if self.core.now < receiver.cnp_until {
            return;
        }
        receiver.cnp_until = self.core.now + interval.as_ps();
        let qp = &self.hosts.qps[packet.qp as usize];
        let (port, path, epoch, class) = (qp.ack_port, qp.ack_route, qp.epoch, qp.ack_class);
        let id = self.core.packets.insert(Packet {
            kind: PacketKind::Cnp,
            flow: packet.flow,
            qp: packet.qp,
            sent_at: packet.sent_at,
            wire: self.world.spec.packet.cnp.get() as u16,
            path,
            epoch,
            class,
            ..Packet::EMPTY
        });
        let class = self.ack_queue(class);
        self.enqueue(port, class, id);
    }

    fn receive_cnp(&mut self, id: u32) {
        let packet = *self.core.packets.get(id);
        let slot = packet.qp;
        if self.is_current(id) {
            self.core.counters.notifications += 1;
            self.hosts.qps[slot as usize].hears();
            if self.hosts.qps[slot as usize].needs.reports.is_some() {
                let report = Self::read_report(&packet);
                self.call_scheme(slot, |scheme, cx| scheme.on_notice(cx, &report));
            } else {
                self.call_scheme(slot, |scheme, cx| scheme.on_cnp(cx));
            }
            self.nic_send(self.hosts.qps[slot as usize].port);
        }
        self.core.packets.remove(id);
    }

    fn receive_ack(&mut self, id: u32) {
        let packet = self.core.packets.get(id);
        let (slot, flow, sent_at, marked) = (packet.qp, packet.flow, packet.sent_at, packet.ecn != 0);
        let qp = &self.hosts.qps[slot as usize];
        if qp.flow != flow || qp.done {
            return self.core.packets.remove(id);
        }
        let port = qp.port;
        // Where the receiver sends notifications as packets, those are counted.
        let echo_notifies = marked && qp.needs.cnp_interval == Span::ZERO;
        self.core.counters.notifications += u64::from(echo_notifies);
        let acknowledged = self.take_acknowledgement(slot, id);
        if acknowledged.newly == 0 {
            // What acknowledges something is a round-trip sample: see `record_rtt`.
            self.hosts.qps[slot as usize].hears();
        } else if self.core.watch.recorder.tracing {
            self.account_progress(flow, false);
        }
        let finished = self.hosts.qps[slot as usize].is_finished();
        if finished {
            self.complete(slot);
            if self.core.packets.get(id).accounted {
                self.close_account(flow, id);
            }
        }
        let rtt = self.core.now - sent_at;
        self.record_rtt(slot, acknowledged.highest, rtt, acknowledged.newly);
        self.react(slot, id, &acknowledged, rtt);
        self.core.packets.remove(id);
        if finished && !self.world.spec.quirks.lazy_qp_removal {
            self.remove_qp(slot);
        }
        self.nic_send(port);
    }

    /// Shows the acknowledgement to the scheme.
    #[inline]
    fn react(&mut self, slot: u32, id: u32, acknowledged: &Acknowledged, rtt: u64) {
        if self.hosts.qps[slot as usize].needs.foresight {
            self.tell_foresight(slot);
        }
        let packet = self.core.packets.get(id);
        let (congested, endpoint_delay) = if packet.note_port == NO_PORT && self.hosts.endpoints.is_none() {
            (None, Span::ZERO)
        } else {
            (self.congested_port(packet), self.endpoint_delay(packet))
        };
        let too_many_hops = self.world.spec.quirks.int_wire_precision && usize::from(packet.hops) > WIRE_HOPS;
        let qp = &mut self.hosts.qps[slot as usize];
        let info = AckInfo {
            seq: acknowledged.highest,
            newly_acked: acknowledged.newly,
            snd_nxt: qp.snd_nxt,
            rtt: Span::from_ps(rtt),
            ecn: packet.ecn != 0,
            hops: if too_many_hops {
                &[]
            } else {
                self.core.packets.hops(id)
            },
            way: if qp.needs.int { packet.pint } else { 0 },
            pint_power: packet.pint,
            nack: acknowledged.loss,
            tag: packet.tag,
            congested,
            endpoint_delay,
        };
        let rng = self.core.shared_rng.c_library.as_mut().unwrap_or(&mut qp.rng);
        let mut cx = paceline_congestion::Ctx {
            now: Time::from_ps(self.core.now),
            path: &qp.path,
            timers: &mut qp.timers,
            rng,
        };
        qp.scheme.on_ack(&mut cx, &info);
        let repaced = qp.timers.take_repace();
        self.take_limits(slot);
        if repaced {
            // Also where the rate is what it was.
            self.pull_wake(slot);
        }
    }

    #[inline(always)]
    pub(crate) fn record_rtt(&mut self, slot: u32, seq: u64, rtt: u64, newly_acked: u64) {
        let qp = &mut self.hosts.qps[slot as usize];
        self.core.watch.recorder.rtt_all.record(rtt);
        if seq > qp.sample_after {
            qp.sample_after = qp.snd_nxt;
            qp.hears();
            self.core.watch.recorder.rtt.record(rtt);
            if self.world.spec.record.rtt_samples {
                let sample = RttSample {
                    at: Time::from_ps(self.core.now),
                    flow: qp.flow,
                    seq,
                    rtt: Span::from_ps(rtt),
                };
                self.core.watch.recorder.rtt_samples.push(sample);
            }
        }
        if self.core.watch.recorder.follows_flows {
            self.record_flow(slot, rtt, newly_acked);
        }
    }

    /// Every byte is acknowledged.
    fn complete(&mut self, slot: u32) {
        let qp = &mut self.hosts.qps[slot as usize];
        qp.done = true;
        let flow = qp.flow as usize;
        let record = &mut self.traffic.flows[flow];
        record.status = FlowStatus::Completed;
        record.fct = Span::from_ps(self.core.now - record.start.as_ps());
        record.retransmitted = Bytes::new(qp.retransmitted);
        record.delivered = Bytes::new(self.hosts.receivers[slot as usize].expected);
        (record.sent, record.sent_unheard) = qp.sent_within(0, qp.size);
        self.traffic.completions.push(flow as u32);
        if let Some(order) = &mut self.hosts.hash_order {
            order.remove(&self.world.spec.flows[flow]);
        }
        self.release(flow as u32, Awaited::Acknowledged);
    }

    /// Takes a finished queue pair out of its NIC's round robin.
    fn remove_qp(&mut self, slot: u32) {
        let nic = self.core.ports[self.hosts.qps[slot as usize].port as usize].owner as usize;
        let nic = &mut self.hosts.nics[nic];
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
            self.hosts.free_qps.push(slot);
        }
    }

    /// The results so far of a flow that holds queue pair `slot`.
    pub(crate) fn record_unfinished(&mut self, slot: usize) {
        let qp = &self.hosts.qps[slot];
        let record = &mut self.traffic.flows[qp.flow as usize];
        if !qp.done && record.status == FlowStatus::Unfinished {
            record.retransmitted = Bytes::new(qp.retransmitted);
            record.delivered = Bytes::new(self.hosts.receivers[slot].expected);
            (record.sent, record.sent_unheard) = qp.sent_within(0, qp.size);
            if !qp.reachable {
                record.status = FlowStatus::Unreachable;
            }
        }
        if self.bolt_ns3.on {
            self.record_sent_messages(slot);
        }
    }
}
