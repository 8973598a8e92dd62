//! The transport of a sending host: each flow for itself, on a clock of its own.
//!
//! A packet leaves when the flow's clock or an acknowledgement finds that the window lets it. After it
//! the flow waits for as long as its host's link takes for the packet. A window that has room for part of a
//! packet only makes the flow pause for a packet's share of the round-trip time, and at the end of the
//! pause one packet goes whether or not the window has grown meanwhile.

use std::collections::VecDeque;

use paceline_congestion::{AckInfo, Mark};
use paceline_fabric::model::{Event, FlowId, Net, Packet, PacketId, QpId};
use paceline_fabric::outcome::{FlowStatus, PacketKind};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span, ns3};

use crate::bolt_ns3::BoltNs3;
use crate::bolt_ns3::receiver::complete_message;
use crate::bolt_ns3::schemes::FIN;
use crate::bolt_ns3::table::OwnFlow;

/// The timer slot that is the transport's and no scheme's.
pub(super) const CLOCK: u8 = u8::MAX;

/// What a queue pair has alongside what all have.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
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

impl BoltNs3 {
    /// A flow begins: its first window leaves, paced.
    pub(super) fn begin_messages(&mut self, net: &mut Net<'_>, slot: QpId, own: OwnFlow) {
        net.hosts.begin_receiver(net.world, net.core, slot);
        let qp = net.hosts.qp(slot);
        let message = Message {
            flow: qp.flow(),
            end: qp.size(),
            received: false,
        };
        let sender = Sender {
            resume_at: net.core.now(),
            timeout_at: u64::MAX,
            messages: VecDeque::from([message]),
            keep: own.keep,
            key: self.enter_table(net, slot),
            first_window: net.hosts.qp(slot).window(),
            ..Sender::default()
        };
        let senders = &mut self.senders;
        senders.reach(slot, Sender::default);
        senders[slot] = sender;
        self.send_down(net, slot);
        self.senders[slot].known = true;
        self.arm_timeout(net, slot, net.hosts.qp(slot).window());
        if let Some(found) = own.found {
            inherit_window(net, slot, found);
        }
    }

    /// Sends a packet of a flow, if the time has come and the window lets it.
    pub(super) fn send_down(&mut self, net: &mut Net<'_>, slot: QpId) {
        let sender = &self.senders[slot];
        if sender.ticking {
            return;
        }
        if net.core.now() < sender.resume_at {
            return self.set_clock(net, slot, sender.resume_at);
        }
        let (mtu, pauses) = (net.world.packet.mtu.get(), self.spec.window_pause);
        let qp = net.hosts.qp(slot);
        let (payload, room) = (qp.next_payload(mtu), qp.room());
        if payload == 0 || room == 0 {
            return;
        }
        let part = qp.window() < payload || pauses && room < payload;
        if part {
            if net.core.now() == sender.resume_at {
                self.send_packet(net, slot, payload);
            }
            let (rtt, window) = (
                self.senders[slot].rtt_ns as f64,
                net.hosts.qp(slot).window() as f64,
            );
            let pause = (rtt * mtu as f64 / window) as u64;
            let until = net.core.now() + pause * 1000;
            self.senders[slot].resume_at = until;
            return self.set_clock(net, slot, until);
        }
        self.send_packet(net, slot, payload);
        let qp = net.hosts.qp(slot);
        if qp.room() > 0 && qp.next_payload(mtu) > 0 {
            let wire = payload as u32 + u32::from(qp.data_header());
            let gap = ns3::whole_time_to_send(qp.path().line_rate, wire);
            self.set_clock(net, slot, net.core.now() + gap.as_ps());
        }
    }

    fn set_clock(&mut self, net: &mut Net<'_>, slot: QpId, at: u64) {
        let sender = &mut self.senders[slot];
        sender.ticking = true;
        sender.setting = sender.setting.wrapping_add(1);
        let event = Event::Timer {
            flow: net.hosts.qp(slot).flow(),
            slot: CLOCK,
            generation: sender.setting,
        };
        net.core.schedule(LaneId::WHEEL, at, event);
    }

    /// A flow's clock.
    pub(super) fn clock(&mut self, net: &mut Net<'_>, flow: FlowId, setting: u8) {
        let Some(slot) = net.hosts.sender_of(flow) else {
            return;
        };
        let sender = &mut self.senders[slot];
        if sender.ticking && sender.setting == setting {
            sender.ticking = false;
            self.send_down(net, slot);
        }
    }

    fn send_packet(&mut self, net: &mut Net<'_>, slot: QpId, payload: u64) {
        let outgoing = net.hosts.qp(slot).outgoing(payload);
        let mut tag = 0;
        net.hosts.call_scheme(net.world, net.core, slot, |scheme, cx| {
            tag = scheme.tag(cx, &outgoing)
        });
        if outgoing.seq + payload >= outgoing.end {
            tag |= FIN;
        }
        let qp = net.hosts.qp(slot);
        let packet = qp.data_packet(slot, payload, net.core.now());
        let port = qp.port();
        let id = net.core.packets.insert(Packet { tag, ..packet });
        self.device_enqueue(net, port, id);
        net.core.counters.retransmitted_bytes += net.hosts.qp_mut(slot).advance(payload);
    }

    /// An acknowledgement, positive or negative, arrived at the sender.
    pub(super) fn message_ack(&mut self, net: &mut Net<'_>, id: PacketId) {
        let packet = *net.core.packets.get(id);
        let slot = packet.qp;
        let rtt = net.core.now() - packet.sent_at;
        self.senders[slot].rtt_ns = rtt / 1000;
        let nack = packet.kind == PacketKind::Nack;
        let qp = net.hosts.qp_mut(slot);
        let before = qp.acknowledge(packet.seq, nack);
        let mut info = AckInfo {
            highest: packet.seq,
            delivered: packet.seq.max(qp.snd_una()),
            newly_acked: qp.snd_una().saturating_sub(before),
            snd_nxt: qp.snd_nxt(),
            rtt: Span::from_ps(rtt),
            mark: Mark::None,
            hops: &[],
            header_bits: 0,
            nack: false,
            packet: 0,
            trimmed: None,
            tag: packet.tag,
            congested: net.world.congested_port(&packet),
            endpoint_delay: Span::ZERO,
        };
        net.hosts
            .record_rtt(net.world, net.core, slot, packet.seq, rtt, info.newly_acked);
        net.core.packets.remove(id);
        let lost_at = &mut self.senders[slot].before_loss;
        let qp = net.hosts.qp_mut(slot);
        if nack {
            info.newly_acked = 0;
            info.nack = *lost_at == 0 || packet.seq < before;
            if info.nack {
                *lost_at = (*lost_at).max(qp.snd_nxt());
                qp.go_back_to(packet.seq);
            }
        } else {
            self.complete_messages(net, slot);
        }
        let qp = net.hosts.qp(slot);
        if !nack && qp.is_finished() {
            return self.rest(net, slot, Some(&info));
        }
        net.hosts
            .call_scheme(net.world, net.core, slot, |scheme, cx| scheme.on_ack(cx, &info));
        self.send_down(net, slot);
        let sender = &mut self.senders[slot];
        if !nack && net.hosts.qp(slot).snd_nxt() >= sender.before_loss {
            sender.before_loss = 0;
        }
    }

    /// Sets the retransmission timer.
    pub(super) fn arm_timeout(&mut self, net: &mut Net<'_>, slot: QpId, offset: u64) {
        let Some(rto) = net.world.nic.rto else {
            return;
        };
        let at = net.core.now() + rto.as_ps();
        let sender = &mut self.senders[slot];
        (sender.timeout_at, sender.timeout_offset) = (at, offset);
        let flow = net.hosts.qp(slot).flow();
        net.core.schedule(LaneId::WHEEL, at, Event::Timeout { flow });
    }

    /// The retransmission timer, of one period whatever happens: without progress beyond what had been
    /// sent when it was set, everything after the last acknowledgement is sent again.
    pub(super) fn message_timeout(&mut self, net: &mut Net<'_>, flow: FlowId) {
        let Some(slot) = net.hosts.sender_of(flow) else {
            return;
        };
        let sender = &mut self.senders[slot];
        let qp = net.hosts.qp_mut(slot);
        if sender.timeout_at != net.core.now() {
            return;
        }
        sender.timeout_at = u64::MAX;
        if qp.snd_una() > sender.timeout_offset {
            sender.strikes = 0;
        } else {
            qp.go_back_to(qp.snd_una());
            sender.strikes += 1;
            net.core.counters.timeouts += 1;
            net.hosts
                .call_scheme(net.world, net.core, slot, |scheme, cx| scheme.on_timeout(cx));
            self.send_down(net, slot);
        }
        if self.senders[slot].strikes < self.spec.strikes {
            return self.arm_timeout(net, slot, net.hosts.qp(slot).max_sent());
        }
        self.give_up(net, slot);
    }

    /// The messages of a flow that are not acknowledged will not be.
    fn give_up(&mut self, net: &mut Net<'_>, slot: QpId) {
        let sender = &mut self.senders[slot];
        let (mut start, messages) = (sender.message_start, std::mem::take(&mut sender.messages));
        let flow = net.hosts.qp(slot).flow();
        let expected = net.hosts.arrived_of(flow).unwrap_or(0);
        let mut retransmitted = net.hosts.qp_mut(slot).take_retransmitted();
        for message in messages {
            let record = net.traffic.record_mut(message.flow);
            record.status = FlowStatus::GivenUp;
            // What was sent again was the first message's.
            record.retransmitted = Bytes::new(std::mem::take(&mut retransmitted));
            record.delivered = Bytes::new(expected.clamp(start, message.end) - start);
            let (sent, unheard) = net.hosts.qp(slot).sent_within(start, message.end);
            (record.sent, record.sent_unscheduled) = (sent, unheard);
            start = message.end;
        }
        self.rest(net, slot, None);
    }

    /// The acknowledged messages of a flow are complete.
    fn complete_messages(&mut self, net: &mut Net<'_>, slot: QpId) {
        let acked = net.hosts.qp(slot).snd_una();
        while let Some(&message) = self.senders[slot].messages.front()
            && message.end <= acked
        {
            let sender = &mut self.senders[slot];
            sender.messages.pop_front();
            let start = std::mem::replace(&mut sender.message_start, message.end);
            let (sent, unheard) = net.hosts.qp(slot).sent_within(start, message.end);
            let record = net.traffic.record_mut(message.flow);
            (record.sent, record.sent_unscheduled) = (sent, unheard);
            complete_message(net, slot, message.flow, Bytes::new(message.end - start));
        }
    }

    /// What was sent of messages that are not acknowledged when the run ends.
    pub(super) fn record_sent_messages(&self, net: &mut Net<'_>, slot: QpId) {
        let Some(sender) = self.senders.get(slot) else {
            return;
        };
        let mut start = sender.message_start;
        for message in &sender.messages {
            let record = net.traffic.record_mut(message.flow);
            (record.sent, record.sent_unscheduled) = net.hosts.qp(slot).sent_within(start, message.end);
            start = message.end;
        }
    }

    /// A flow has nothing to send any more, or has been given up: it ends, or waits for further messages.
    fn rest(&mut self, net: &mut Net<'_>, slot: QpId, ack: Option<&AckInfo<'_>>) {
        let sender = &mut self.senders[slot];
        (sender.ticking, sender.timeout_at) = (false, u64::MAX);
        if !sender.keep {
            self.leave_table(net, slot);
            net.hosts.end_message_flow(slot);
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
            net.hosts
                .call_scheme(net.world, net.core, slot, |scheme, cx| scheme.on_idle(cx, ack));
        }
        net.hosts.qp_mut(slot).begin_anew();
    }
}

/// A new flow takes over the window of the one that its message had been to share.
fn inherit_window(net: &mut Net<'_>, slot: QpId, found: QpId) {
    let window = Bytes::new(net.hosts.qp(found).window());
    net.hosts
        .call_scheme(net.world, net.core, slot, |scheme, _| scheme.inherit(window));
}
