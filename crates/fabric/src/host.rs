//! What arrives at a host: data at the receiver, acknowledgements and notifications at the sender.
//! What is lost is repaired in [`crate::recovery`].

use paceline_congestion::AckInfo;
use paceline_kernel::{Bytes, Span, Time};

use crate::outcome::{FlowStatus, PacketKind, RttSample, TraceKind};
use crate::packet::{NONE, Packet};
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
        let packet = self.packets.get(id);
        match packet.kind {
            PacketKind::Data if self.endpoints.is_some() => self.enter_host(port, id),
            PacketKind::Data => self.receive_data(id),
            PacketKind::Ack | PacketKind::Nack => self.receive_ack(id),
            PacketKind::Cnp => self.receive_cnp(id),
            PacketKind::Src | PacketKind::Cnm => self.receive_notice(id),
            PacketKind::Pause | PacketKind::Resume => unreachable!("PFC frames end at the port"),
        }
    }

    /// Whether the packet's flow still holds its queue pair.
    pub(crate) fn is_current(&self, id: u32) -> bool {
        let packet = self.packets.get(id);
        let qp = &self.qps[packet.qp as usize];
        qp.flow == packet.flow && !qp.done
    }

    #[inline(always)]
    pub(crate) fn receive_data(&mut self, id: u32) {
        self.counters.data_received += u64::from(!self.packets.get(id).trimmed);
        if !self.is_current(id) {
            return self.packets.remove(id);
        }
        let packet = *self.packets.get(id);
        let answer = self.take_data(&packet);
        let whole = self.receivers[packet.qp as usize].expected >= self.qps[packet.qp as usize].size;
        if whole && self.flows[packet.flow as usize].received.is_none() {
            self.flows[packet.flow as usize].received = Some(Time::from_ps(self.now));
            self.release(packet.flow, Awaited::Received);
        }
        let marked = packet.ecn != 0;
        let needs = &self.qps[packet.qp as usize].needs;
        let interval = needs.cnp_interval;
        if let Some(reports) = needs.reports {
            self.meter(&packet, reports);
        }
        if marked && interval > Span::ZERO {
            self.notify_sender(&packet, interval);
        }
        let (kind, ecn) = match answer {
            Answer::Ack => (PacketKind::Ack, self.take_marks(packet.qp, marked)),
            Answer::Nack => (PacketKind::Nack, u8::from(marked)),
            Answer::Nothing => return self.packets.remove(id),
        };
        self.counters.nacks += u64::from(kind == PacketKind::Nack);
        let qp = &self.qps[packet.qp as usize];
        let ack_port = qp.ack_port;
        let pint = if qp.needs.int {
            way(packet.epoch)
        } else {
            packet.pint
        };
        // The data packet's slot becomes the acknowledgement's: telemetry and time stamp stay.
        let ack = Packet {
            kind,
            ecn: if ecn != 0 { 3 } else { 0 },
            seq: self.receivers[packet.qp as usize].expected,
            path: qp.ack_route,
            epoch: qp.epoch,
            wire: qp.ack_wire,
            payload: 0,
            pint,
            class: qp.ack_class,
            // Nothing accounts for it in a host.
            ingress: NONE,
            ..packet
        };
        *self.packets.get_mut(id) = ack;
        let class = self.ack_queue(ack.class);
        let port = &self.ports[ack_port as usize];
        let nothing_before = port.ready == 0 && port.paused == 0 && port.up;
        if nothing_before && !self.recorder.tracing && !self.is_busy(ack_port) {
            // As if it were queued and taken out again.
            let more = self.awaits_end(port.owner as usize, ack.wire);
            if class > STRICT {
                self.ports[ack_port as usize].served = class;
            }
            return self.start_transmission(ack_port, id, more);
        }
        self.enqueue(ack_port, class, id);
    }

    /// The congestion echo of an ACK: of this packet in the reference, of all since the last ACK
    /// where ACKs answer for several packets.
    fn take_marks(&mut self, qp: u32, marked: bool) -> u8 {
        if self.spec.quirks.ack_threshold {
            return u8::from(marked);
        }
        let receiver = &mut self.receivers[qp as usize];
        u8::from(std::mem::take(&mut receiver.marked))
    }

    /// A congestion notification packet to the sender, at most one per `interval`.
    fn notify_sender(&mut self, packet: &Packet, interval: Span) {
        let receiver = &mut self.receivers[packet.qp as usize];
        if self.now < receiver.cnp_until {
            return;
        }
        receiver.cnp_until = self.now + interval.as_ps();
        let qp = &self.qps[packet.qp as usize];
        let (port, path, epoch, class) = (qp.ack_port, qp.ack_route, qp.epoch, qp.ack_class);
        let id = self.packets.insert(Packet {
            kind: PacketKind::Cnp,
            flow: packet.flow,
            qp: packet.qp,
            sent_at: packet.sent_at,
            wire: self.spec.packet.cnp.get() as u16,
            path,
            epoch,
            class,
            ..Packet::EMPTY
        });
        let class = self.ack_queue(class);
        self.enqueue(port, class, id);
    }

    fn receive_cnp(&mut self, id: u32) {
        let packet = *self.packets.get(id);
        let slot = packet.qp;
        if self.is_current(id) {
            self.counters.notifications += 1;
            if self.qps[slot as usize].needs.reports.is_some() {
                let report = Self::read_report(&packet);
                self.call_scheme(slot, |scheme, cx| scheme.on_notice(cx, &report));
            } else {
                self.call_scheme(slot, |scheme, cx| scheme.on_cnp(cx));
            }
            self.nic_send(self.qps[slot as usize].port);
        }
        self.packets.remove(id);
    }

    fn receive_ack(&mut self, id: u32) {
        if !self.is_current(id) {
            return self.packets.remove(id);
        }
        let packet = *self.packets.get(id);
        let slot = packet.qp;
        let acknowledged = self.take_acknowledgement(slot, &packet);
        let newly_acked = acknowledged.newly;
        let qp = &self.qps[slot as usize];
        let finished = qp.snd_una >= qp.size;
        if newly_acked > 0 && self.recorder.tracing {
            self.account_progress(packet.flow, false);
        }
        if finished {
            self.complete(slot);
            if packet.accounted {
                self.close_account(packet.flow, id);
            }
        }
        let rtt = self.now - packet.sent_at;
        self.record_rtt(slot, acknowledged.highest, rtt, newly_acked);
        // Where the receiver sends notifications as packets, those are counted.
        let echo_notifies = self.qps[slot as usize].needs.cnp_interval == Span::ZERO;
        self.counters.notifications += u64::from(echo_notifies && packet.ecn != 0);
        self.react(slot, id, &packet, &acknowledged, rtt);
        self.packets.remove(id);
        let port = self.qps[slot as usize].port;
        if finished && !self.spec.quirks.lazy_qp_removal {
            self.remove_qp(slot);
        }
        self.nic_send(port);
    }

    /// Shows the acknowledgement to the scheme.
    #[inline]
    fn react(&mut self, slot: u32, id: u32, packet: &Packet, acknowledged: &Acknowledged, rtt: u64) {
        if self.qps[slot as usize].needs.foresight {
            self.tell_foresight(slot);
        }
        let now = Time::from_ps(self.now);
        let too_many_hops = self.spec.quirks.int_wire_precision && usize::from(packet.hops) > WIRE_HOPS;
        let newly_acked = acknowledged.newly;
        let info = AckInfo {
            seq: acknowledged.highest,
            newly_acked,
            snd_nxt: self.qps[slot as usize].snd_nxt,
            rtt: Span::from_ps(rtt),
            ecn: packet.ecn != 0,
            hops: if too_many_hops { &[] } else { self.packets.hops(id) },
            way: if self.qps[slot as usize].needs.int {
                packet.pint
            } else {
                0
            },
            pint_power: packet.pint,
            nack: acknowledged.loss,
            tag: packet.tag,
            congested: self.congested_port(packet),
            endpoint_delay: self.endpoint_delay(packet),
        };
        let qp = &mut self.qps[slot as usize];
        let rng = self.shared_rng.c_library.as_mut().unwrap_or(&mut qp.rng);
        let mut cx = paceline_congestion::Ctx {
            now,
            path: &qp.path,
            timers: &mut qp.timers,
            rng,
        };
        qp.scheme.on_ack(&mut cx, &info);
        let repaces = qp.needs.repaces && newly_acked < qp.snd_una;
        self.take_limits(slot);
        if repaces {
            // Also where the rate is what it was; but not for a flow's first acknowledgement, which
            // only starts the measurement.
            self.pull_wake(slot);
        }
    }

    #[inline(always)]
    pub(crate) fn record_rtt(&mut self, slot: u32, seq: u64, rtt: u64, newly_acked: u64) {
        let qp = &mut self.qps[slot as usize];
        self.recorder.rtt_all.record(rtt);
        if seq > qp.sample_after {
            qp.sample_after = qp.snd_nxt;
            self.recorder.rtt.record(rtt);
            if self.spec.record.rtt_samples {
                let sample = RttSample {
                    at: Time::from_ps(self.now),
                    flow: qp.flow,
                    seq,
                    rtt: Span::from_ps(rtt),
                };
                self.recorder.rtt_samples.push(sample);
            }
        }
        if self.recorder.follows_flows {
            self.record_flow(slot, rtt, newly_acked);
        }
    }

    /// Every byte is acknowledged.
    fn complete(&mut self, slot: u32) {
        let qp = &mut self.qps[slot as usize];
        qp.done = true;
        let flow = qp.flow as usize;
        let record = &mut self.flows[flow];
        record.status = FlowStatus::Completed;
        record.fct = Span::from_ps(self.now - record.start.as_ps());
        record.retransmitted = Bytes::new(qp.retransmitted);
        record.delivered = Bytes::new(self.receivers[slot as usize].expected);
        self.completions.push(flow as u32);
        self.release(flow as u32, Awaited::Acknowledged);
    }

    /// Takes a finished queue pair out of its NIC's round robin.
    fn remove_qp(&mut self, slot: u32) {
        let nic = self.ports[self.qps[slot as usize].port as usize].owner as usize;
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
    pub(crate) fn record_unfinished(&mut self, slot: usize) {
        let qp = &self.qps[slot];
        let record = &mut self.flows[qp.flow as usize];
        if !qp.done && record.status == FlowStatus::Unfinished {
            record.retransmitted = Bytes::new(qp.retransmitted);
            record.delivered = Bytes::new(self.receivers[slot].expected);
            if !qp.reachable {
                record.status = FlowStatus::Unreachable;
            }
        }
    }

    /// Records an event of a packet at a traced node.
    #[cold]
    pub(crate) fn trace(&mut self, port: u32, event: TraceKind, id: u32, queue_bytes: u32) {
        if self.accounts.on() {
            self.account(port, event, id);
        }
        let node = self.ports[port as usize].node;
        self.recorder.trace(
            self.now,
            node,
            port,
            event,
            self.packets.get(id),
            queue_bytes,
            &self.classes,
            &self.spec,
        );
    }
}
