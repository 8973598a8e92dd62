//! The transport of a sending host: each flow has its own clock.
//!
//! A packet leaves when the flow's clock or an acknowledgement finds the window open. Then the flow waits for the
//! packet's transmission time on the host's link. If the window has room for only part of a packet, the flow pauses
//! for a packet's share of the round-trip time, and then sends one packet whether or not the window has grown.

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

/// Timer slot of the transport; schemes use the others.
pub(super) const CLOCK: u8 = u8::MAX;

/// State of a queue pair in addition to the engine's.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    /// Round-trip time of the last acknowledgement, ns; 0 if none.
    pub(super) rtt_ns: u64,
    /// End of the pause, ps.
    resume_at: u64,
    /// True while the clock is set (`ticking`), and the generation of its valid setting (`setting`).
    ticking: bool,
    setting: u8,
    /// During loss recovery: the next byte before the loss; 0 otherwise.
    before_loss: u64,
    /// Expiry of the retransmission timer, ps (`u64::MAX` if it is stopped), and the byte that must be exceeded by
    /// acknowledgements until then.
    timeout_at: u64,
    timeout_offset: u64,
    /// Expiries of the retransmission timer without progress.
    strikes: u32,
    /// Messages that are not acknowledged yet.
    pub(super) messages: VecDeque<Message>,
    /// Start of the first of them.
    pub(super) message_start: u64,
    /// True if the flow stays open for further messages.
    pub(super) keep: bool,
    /// Key in the table of its host's flows.
    pub(super) key: u16,
    /// Initial window of flows, bytes.
    pub(super) first_window: u64,
    /// True if the flow is in that table, which is after its first packet.
    pub(super) known: bool,
}

/// A message within a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: FlowId,
    /// End of the message: the flow's byte after its last.
    pub(super) end: u64,
    pub(super) received: bool,
}

impl BoltNs3 {
    /// Starts a flow, and sends its first window with pacing.
    pub(super) fn begin_messages(&mut self, net: &mut Net<'_>, slot: QpId, own: OwnFlow) {
        net.hosts.begin_receiver(&net.cx, slot);
        let qp = net.hosts.qp(slot);
        let message = Message {
            flow: qp.flow(),
            end: qp.size(),
            received: false,
        };
        let sender = Sender {
            resume_at: net.cx.core.now(),
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
        // The first packet leaves before the flow takes over a window, and before it is known, as in the simulator.
        self.send_down(net, slot);
        self.senders[slot].known = true;
        self.arm_timeout(net, slot, net.hosts.qp(slot).window());
        if let Some(found) = own.found {
            inherit_window(net, slot, found);
        }
    }

    /// Sends a packet of a flow if its clock and window allow it.
    pub(super) fn send_down(&mut self, net: &mut Net<'_>, slot: QpId) {
        let sender = &self.senders[slot];
        if sender.ticking {
            return;
        }
        if net.cx.core.now() < sender.resume_at {
            return self.set_clock(net, slot, sender.resume_at);
        }
        let (mtu, pauses) = (net.cx.world.packet.mtu.get(), self.spec.window_pause);
        let qp = net.hosts.qp(slot);
        let (payload, room) = (qp.next_payload(mtu), qp.room());
        if payload == 0 || room == 0 {
            return;
        }
        // With part of a packet's room, the pause replaces waiting for the window.
        let part = qp.window() < payload || pauses && room < payload;
        if part {
            if net.cx.core.now() == sender.resume_at {
                self.send_packet(net, slot, payload);
            }
            let (rtt, window) = (
                self.senders[slot].rtt_ns as f64,
                net.hosts.qp(slot).window() as f64,
            );
            let pause = (rtt * mtu as f64 / window) as u64;
            let until = net.cx.core.now() + pause * 1000;
            self.senders[slot].resume_at = until;
            return self.set_clock(net, slot, until);
        }
        self.send_packet(net, slot, payload);
        let qp = net.hosts.qp(slot);
        if qp.room() > 0 && qp.next_payload(mtu) > 0 {
            let wire = payload as u32 + u32::from(qp.data_header());
            let gap = ns3::whole_time_to_send(qp.path().line_rate, wire);
            self.set_clock(net, slot, net.cx.core.now() + gap.as_ps());
        }
    }

    fn set_clock(&mut self, net: &mut Net<'_>, slot: QpId, at: u64) {
        let sender = &mut self.senders[slot];
        sender.ticking = true;
        // Earlier events hold the old number, and have no effect any more.
        sender.setting = sender.setting.wrapping_add(1);
        let event = Event::Timer {
            flow: net.hosts.qp(slot).flow(),
            slot: CLOCK,
            generation: sender.setting,
        };
        net.cx.core.schedule(LaneId::WHEEL, at, event);
    }

    /// Handles the flow's clock.
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
        net.hosts
            .call_scheme(&mut net.cx, slot, |scheme, ctx| tag = scheme.tag(ctx, &outgoing));
        if outgoing.seq + payload >= outgoing.end {
            tag |= FIN;
        }
        let qp = net.hosts.qp(slot);
        let packet = qp.data_packet(slot, payload, net.cx.core.now());
        let port = qp.port();
        let id = net.cx.core.packets.insert(Packet { tag, ..packet });
        self.device_enqueue(net, port, id);
        net.cx.core.counters.retransmitted_bytes += net.hosts.qp_mut(slot).advance(payload);
    }

    /// Handles an ACK or NACK at the sender.
    pub(super) fn message_ack(&mut self, net: &mut Net<'_>, id: PacketId) {
        let packet = *net.cx.core.packets.get(id);
        let slot = packet.qp;
        let rtt = net.cx.core.now() - packet.sent_at;
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
            congested: net.cx.world.congested_port(&packet),
            endpoint_delay: Span::ZERO,
        };
        net.hosts
            .record_rtt(&mut net.cx, slot, packet.seq, rtt, info.newly_acked);
        net.cx.core.packets.remove(id);
        let lost_at = &mut self.senders[slot].before_loss;
        let qp = net.hosts.qp_mut(slot);
        if nack {
            info.newly_acked = 0;
            // Further NACKs of a loss that is being repaired would send the same packets once more.
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
            .call_scheme(&mut net.cx, slot, |scheme, ctx| scheme.on_ack(ctx, &info));
        self.send_down(net, slot);
        let sender = &mut self.senders[slot];
        if !nack && net.hosts.qp(slot).snd_nxt() >= sender.before_loss {
            sender.before_loss = 0;
        }
    }

    /// Sets the retransmission timer. `offset` is the byte that acknowledgements must exceed.
    pub(super) fn arm_timeout(&mut self, net: &mut Net<'_>, slot: QpId, offset: u64) {
        let Some(rto) = net.cx.world.nic.rto else {
            return;
        };
        let at = net.cx.core.now() + rto.as_ps();
        let sender = &mut self.senders[slot];
        (sender.timeout_at, sender.timeout_offset) = (at, offset);
        let flow = net.hosts.qp(slot).flow();
        net.cx.core.schedule(LaneId::WHEEL, at, Event::Timeout { flow });
    }

    /// Handles the retransmission timer, which always runs a full period. Without progress beyond `timeout_offset`,
    /// everything after the last acknowledgement is sent again.
    pub(super) fn message_timeout(&mut self, net: &mut Net<'_>, flow: FlowId) {
        let Some(slot) = net.hosts.sender_of(flow) else {
            return;
        };
        let sender = &mut self.senders[slot];
        let qp = net.hosts.qp_mut(slot);
        // The timer has been set again since, and only its latest event counts.
        if sender.timeout_at != net.cx.core.now() {
            return;
        }
        sender.timeout_at = u64::MAX;
        if qp.snd_una() > sender.timeout_offset {
            sender.strikes = 0;
        } else {
            qp.go_back_to(qp.snd_una());
            sender.strikes += 1;
            net.cx.core.counters.timeouts += 1;
            net.hosts
                .call_scheme(&mut net.cx, slot, |scheme, ctx| scheme.on_timeout(ctx));
            self.send_down(net, slot);
        }
        if self.senders[slot].strikes < self.spec.strikes {
            return self.arm_timeout(net, slot, net.hosts.qp(slot).max_sent());
        }
        self.give_up(net, slot);
    }

    /// Gives up the unacknowledged messages of a flow.
    fn give_up(&mut self, net: &mut Net<'_>, slot: QpId) {
        let sender = &mut self.senders[slot];
        let (mut start, messages) = (sender.message_start, std::mem::take(&mut sender.messages));
        let flow = net.hosts.qp(slot).flow();
        let expected = net.hosts.arrived_of(flow).unwrap_or(0);
        let mut retransmitted = net.hosts.qp_mut(slot).take_retransmitted();
        for message in messages {
            let record = net.traffic.record_mut(message.flow);
            record.status = FlowStatus::GivenUp;
            // Retransmitted bytes count for the first message.
            record.retransmitted = Bytes::new(std::mem::take(&mut retransmitted));
            record.delivered = Bytes::new(expected.clamp(start, message.end) - start);
            let (sent, unheard) = net.hosts.qp(slot).sent_within(start, message.end);
            (record.sent, record.sent_unscheduled) = (sent, unheard);
            start = message.end;
        }
        self.rest(net, slot, None);
    }

    /// Completes the acknowledged messages of a flow.
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

    /// Records the sent bytes of unacknowledged messages at the end of the run.
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

    /// Handles a flow without data to send, or one that was given up: it ends, or waits for further messages.
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
                .call_scheme(&mut net.cx, slot, |scheme, ctx| scheme.on_idle(ctx, ack));
        }
        net.hosts.qp_mut(slot).begin_anew();
    }
}

/// Passes the window of the flow that was found for sharing to a new flow.
fn inherit_window(net: &mut Net<'_>, slot: QpId, found: QpId) {
    let window = Bytes::new(net.hosts.qp(found).window());
    net.hosts
        .call_scheme(&mut net.cx, slot, |scheme, _| scheme.inherit(window));
}
