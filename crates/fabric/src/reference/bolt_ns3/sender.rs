//! The transport of a sending host: each flow for itself, on a clock of its own.
//!
//! A packet leaves when the flow's clock or an acknowledgement finds that the window lets it. After it
//! the flow waits for as long as its host's link takes for the packet. A window that has room for part of a
//! packet only makes the flow pause for a packet's share of the round-trip time, and at the end of the
//! pause one packet goes whether or not the window has grown meanwhile.

use std::collections::VecDeque;

use paceline_congestion::bolt_ns3::FIN;
use paceline_congestion::{AckInfo, Mark, Outgoing};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span, Time, ns3};

use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::ids::{FlowId, PacketId, QpId};
use crate::outcome::{FlowStatus, PacketKind};
use crate::run::simulation::Simulation;

/// The timer slot that is the transport's and no scheme's.
pub(crate) const CLOCK: u8 = u8::MAX;

/// What a queue pair has beside what all have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sender {
    /// Round-trip time of the last acknowledgement, in ns; 0 for none.
    pub(super) rtt_ns: u64,
    /// End of the pause, in ps.
    resume_at: u64,
    /// Whether the clock is set, and which setting counts.
    ticking: bool,
    setting: u8,
    /// While what was lost is sent again: the byte that would have been next; else 0.
    before_loss: u64,
    /// When the retransmission timer expires, in ps (`u64::MAX`: it does not), and the byte beyond which
    /// acknowledgements must have come by then.
    timeout_at: u64,
    timeout_offset: u64,
    /// Expiries of it without progress.
    strikes: u32,
    /// Messages that are not acknowledged.
    pub(super) messages: VecDeque<Message>,
    /// Where the first of them begins.
    pub(super) message_start: u64,
    /// Whether the flow stays for further messages.
    pub(super) keep: bool,
    /// Its key in the table of its host's flows.
    pub(super) key: u16,
    /// The window that flows begin with.
    pub(super) first_window: u64,
    /// Whether it is in that table: not before its first packet has left.
    pub(super) known: bool,
}

/// A message of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: FlowId,
    /// The flow's byte after its last.
    pub(super) end: u64,
    pub(super) received: bool,
}

impl Simulation {
    /// A flow begins: its first window leaves, paced.
    pub(crate) fn start_sender(&mut self, slot: QpId, keep: bool, found: Option<QpId>) {
        let qp = &self.hosts.qps[slot];
        let message = Message {
            flow: qp.flow,
            end: qp.size,
            received: false,
        };
        let sender = Sender {
            resume_at: self.core.now,
            timeout_at: u64::MAX,
            messages: VecDeque::from([message]),
            keep,
            key: self.enter_table(slot),
            first_window: self.hosts.qps[slot].window,
            ..Sender::default()
        };
        let senders = &mut self.bolt_ns3.senders;
        senders.reach(slot, Sender::default);
        senders[slot] = sender;
        self.send_down(slot);
        self.bolt_ns3.senders[slot].known = true;
        self.arm_timeout(slot, self.hosts.qps[slot].window);
        if let Some(found) = found {
            self.inherit_window(slot, found);
        }
    }

    /// Sends a packet of a flow, if the time has come and the window lets it.
    pub(super) fn send_down(&mut self, slot: QpId) {
        let sender = &self.bolt_ns3.senders[slot];
        if sender.ticking {
            return;
        }
        if self.core.now < sender.resume_at {
            return self.set_clock(slot, sender.resume_at);
        }
        let (mtu, pauses) = (self.world.packet.mtu.get(), self.world.quirks.window_pause);
        let qp = &self.hosts.qps[slot];
        let payload = mtu.min(qp.size - qp.snd_nxt.min(qp.size));
        let limit = qp.snd_una + qp.window;
        if payload == 0 || limit <= qp.snd_nxt {
            return;
        }
        let part = qp.window < payload || pauses && limit - qp.snd_nxt < payload;
        if part {
            if self.core.now == sender.resume_at {
                self.send_packet(slot, payload);
            }
            let (rtt, window) = (
                self.bolt_ns3.senders[slot].rtt_ns as f64,
                self.hosts.qps[slot].window as f64,
            );
            let pause = (rtt * mtu as f64 / window) as u64;
            let until = self.core.now + pause * 1000;
            self.bolt_ns3.senders[slot].resume_at = until;
            return self.set_clock(slot, until);
        }
        self.send_packet(slot, payload);
        let qp = &self.hosts.qps[slot];
        if qp.snd_una + qp.window > qp.snd_nxt && qp.snd_nxt < qp.size {
            let wire = payload as u32 + u32::from(qp.data_header);
            let gap = ns3::whole_time_to_send(qp.path.line_rate, wire);
            self.set_clock(slot, self.core.now + gap.as_ps());
        }
    }

    fn set_clock(&mut self, slot: QpId, at: u64) {
        let sender = &mut self.bolt_ns3.senders[slot];
        sender.ticking = true;
        sender.setting = sender.setting.wrapping_add(1);
        let event = Event::Timer {
            flow: self.hosts.qps[slot].flow,
            slot: CLOCK,
            generation: sender.setting,
        };
        self.schedule(LaneId::WHEEL, at, event);
    }

    /// A flow's clock.
    pub(crate) fn clock(&mut self, flow: FlowId, setting: u8) {
        let Some(slot) = self.hosts.sender_of(flow) else {
            return;
        };
        let sender = &mut self.bolt_ns3.senders[slot];
        if sender.ticking && sender.setting == setting {
            sender.ticking = false;
            self.send_down(slot);
        }
    }

    fn send_packet(&mut self, slot: QpId, payload: u64) {
        let qp = &self.hosts.qps[slot];
        let packet = Outgoing {
            seq: qp.snd_nxt,
            payload,
            snd_una: qp.snd_una,
            end: qp.size,
        };
        let mut tag = 0;
        self.hosts
            .call_scheme(&self.world, &mut self.core, slot, |scheme, cx| {
                tag = scheme.tag(cx, &packet)
            });
        let qp = &mut self.hosts.qps[slot];
        if qp.snd_nxt + payload >= qp.size {
            tag |= FIN;
        }
        let (seq, port) = (qp.snd_nxt, qp.port);
        let id = self.core.packets.insert(Packet {
            flow: qp.flow,
            qp: slot,
            path: qp.route,
            seq,
            sent_at: self.core.now,
            wire: payload as u16 + qp.data_header,
            payload: payload as u16,
            epoch: qp.data_epoch,
            kind: PacketKind::Data,
            class: qp.class,
            tag,
            ..Packet::EMPTY
        });
        self.device_enqueue(port, id);
        let qp = &mut self.hosts.qps[slot];
        qp.snd_nxt = seq + payload;
        if qp.snd_nxt > qp.max_sent {
            qp.max_sent = qp.snd_nxt;
        } else {
            qp.retransmitted += payload;
            self.core.counters.retransmitted_bytes += payload;
        }
    }

    /// An acknowledgement, positive or negative, arrived at the sender.
    pub(super) fn message_ack(&mut self, id: PacketId) {
        let packet = *self.core.packets.get(id);
        let slot = packet.qp;
        let rtt = self.core.now - packet.sent_at;
        self.bolt_ns3.senders[slot].rtt_ns = rtt / 1000;
        let nack = packet.kind == PacketKind::Nack;
        let qp = &mut self.hosts.qps[slot];
        qp.hears();
        let before = qp.snd_una;
        qp.snd_una = if nack { packet.seq } else { before.max(packet.seq) };
        let mut info = AckInfo {
            seq: packet.seq,
            newly_acked: qp.snd_una.saturating_sub(before),
            snd_nxt: qp.snd_nxt,
            rtt: Span::from_ps(rtt),
            mark: Mark::None,
            hops: &[],
            way: 0,
            pint_power: 0,
            nack: false,
            tag: packet.tag,
            congested: self.world.congested_port(&packet),
            endpoint_delay: Span::ZERO,
        };
        self.hosts.record_rtt(
            &self.world,
            &mut self.core,
            slot,
            packet.seq,
            rtt,
            info.newly_acked,
        );
        self.core.packets.remove(id);
        let lost_at = &mut self.bolt_ns3.senders[slot].before_loss;
        let qp = &mut self.hosts.qps[slot];
        if nack {
            info.newly_acked = 0;
            info.nack = *lost_at == 0 || packet.seq < before;
            if info.nack {
                *lost_at = (*lost_at).max(qp.snd_nxt);
                qp.snd_nxt = packet.seq;
            }
        } else {
            self.complete_messages(slot);
        }
        let qp = &self.hosts.qps[slot];
        if !nack && qp.snd_una >= qp.size {
            return self.rest(slot, Some(&info));
        }
        self.hosts
            .call_scheme(&self.world, &mut self.core, slot, |scheme, cx| {
                scheme.on_ack(cx, &info)
            });
        self.send_down(slot);
        let sender = &mut self.bolt_ns3.senders[slot];
        if !nack && self.hosts.qps[slot].snd_nxt >= sender.before_loss {
            sender.before_loss = 0;
        }
    }

    /// Sets the retransmission timer.
    pub(super) fn arm_timeout(&mut self, slot: QpId, offset: u64) {
        let Some(rto) = self.world.nic.rto else {
            return;
        };
        let at = self.core.now + rto.as_ps();
        let sender = &mut self.bolt_ns3.senders[slot];
        (sender.timeout_at, sender.timeout_offset) = (at, offset);
        let flow = self.hosts.qps[slot].flow;
        self.schedule(LaneId::WHEEL, at, Event::Timeout { flow });
    }

    /// The retransmission timer, of one period whatever happens: without progress beyond what had been
    /// sent when it was set, everything after the last acknowledgement is sent again.
    pub(crate) fn message_timeout(&mut self, flow: FlowId) {
        let Some(slot) = self.hosts.sender_of(flow) else {
            return;
        };
        let sender = &mut self.bolt_ns3.senders[slot];
        let qp = &mut self.hosts.qps[slot];
        if sender.timeout_at != self.core.now {
            return;
        }
        sender.timeout_at = u64::MAX;
        if qp.snd_una > sender.timeout_offset {
            sender.strikes = 0;
        } else {
            qp.snd_nxt = qp.snd_una;
            sender.strikes += 1;
            self.core.counters.timeouts += 1;
            self.hosts
                .call_scheme(&self.world, &mut self.core, slot, |scheme, cx| {
                    scheme.on_timeout(cx)
                });
            self.send_down(slot);
        }
        if self.bolt_ns3.senders[slot].strikes < self.world.spec.bolt_ns3.strikes {
            return self.arm_timeout(slot, self.hosts.qps[slot].max_sent);
        }
        self.give_up(slot);
    }

    /// The messages of a flow that are not acknowledged will not be.
    fn give_up(&mut self, slot: QpId) {
        let sender = &mut self.bolt_ns3.senders[slot];
        let (mut start, messages) = (sender.message_start, std::mem::take(&mut sender.messages));
        let flow = self.hosts.qps[slot].flow;
        let expected = self.hosts.receivers.arrived_of(flow).unwrap_or(0);
        let mut retransmitted = std::mem::take(&mut self.hosts.qps[slot].retransmitted);
        for message in messages {
            let record = &mut self.traffic.flows[message.flow];
            record.status = FlowStatus::GivenUp;
            // What was sent again was the first message's.
            record.retransmitted = Bytes::new(std::mem::take(&mut retransmitted));
            record.delivered = Bytes::new(expected.clamp(start, message.end) - start);
            let (sent, unheard) = self.hosts.qps[slot].sent_within(start, message.end);
            (record.sent, record.sent_unheard) = (sent, unheard);
            start = message.end;
        }
        self.rest(slot, None);
    }

    /// The acknowledged messages of a flow are complete.
    fn complete_messages(&mut self, slot: QpId) {
        let acked = self.hosts.qps[slot].snd_una;
        while let Some(&message) = self.bolt_ns3.senders[slot].messages.front()
            && message.end <= acked
        {
            let sender = &mut self.bolt_ns3.senders[slot];
            sender.messages.pop_front();
            let start = std::mem::replace(&mut sender.message_start, message.end);
            let (sent, unheard) = self.hosts.qps[slot].sent_within(start, message.end);
            let record = &mut self.traffic.flows[message.flow];
            (record.sent, record.sent_unheard) = (sent, unheard);
            self.complete_message(slot, message.flow, Bytes::new(message.end - start));
        }
    }

    /// What was sent of messages that are not acknowledged when the run ends.
    pub(crate) fn record_sent_messages(&mut self, slot: QpId) {
        let Some(sender) = self.bolt_ns3.senders.get(slot) else {
            return;
        };
        let mut start = sender.message_start;
        for message in &sender.messages {
            let record = &mut self.traffic.flows[message.flow];
            (record.sent, record.sent_unheard) = self.hosts.qps[slot].sent_within(start, message.end);
            start = message.end;
        }
    }

    /// A flow has nothing to send any more, or has been given up: it ends, or waits for further messages.
    fn rest(&mut self, slot: QpId, ack: Option<&AckInfo<'_>>) {
        let sender = &mut self.bolt_ns3.senders[slot];
        (sender.ticking, sender.timeout_at) = (false, u64::MAX);
        if !sender.keep {
            self.leave_table(slot);
            self.hosts.end_message_flow(slot);
            return;
        }
        *sender = Sender {
            keep: true,
            key: sender.key,
            first_window: sender.first_window,
            known: true,
            resume_at: sender.resume_at,
            setting: sender.setting,
            timeout_at: u64::MAX,
            ..Sender::default()
        };
        if let Some(ack) = ack {
            self.hosts
                .call_scheme(&self.world, &mut self.core, slot, |scheme, cx| {
                    scheme.on_idle(cx, ack)
                });
        }
        let qp = &mut self.hosts.qps[slot];
        (qp.size, qp.snd_una, qp.snd_nxt, qp.max_sent) = (0, 0, 0, 0);
        (qp.sample_after, qp.sent_unheard) = (0, 0);
    }

    /// The time, for records.
    pub(super) fn instant(&self) -> Time {
        Time::from_ps(self.core.now)
    }
}
