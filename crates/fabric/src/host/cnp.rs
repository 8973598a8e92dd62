//! Receiver halves of schemes: the only code that calls them, and the packets (CNPs) that they send.

mod format;

pub(crate) use format::read_cnp;
use format::write_cnp;
use paceline_congestion::Mark;
use paceline_congestion::receiver::{Arrived, Reaction};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Time};

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::host::Hosts;
use crate::ids::{FlowId, PacketId, ReceiverId};

impl Hosts {
    /// Shows data packet `id` to the latency recorder, to the receiver half of its scheme and to the host's scheduler
    /// of grants, and chooses the entropy of the answer. Returns the mark that the half wants echoed.
    #[inline(never)]
    pub(super) fn show_data(&mut self, cx: &mut Cx<'_>, index: ReceiverId, id: PacketId) -> Option<Mark> {
        cx.core.record_latency(id);
        let receiver = &self.receivers.list[index];
        let has_parts = receiver.half.is_some() || receiver.granted.is_some();
        let echo = has_parts.then(|| self.notify_half(cx, index, id)).flatten();
        self.receivers.turn(cx, index, id);
        echo
    }

    fn notify_half(&mut self, cx: &mut Cx<'_>, index: ReceiverId, id: PacketId) -> Option<Mark> {
        let packet = cx.core.packets.get(id);
        let receiver = &self.receivers.list[index];
        let arrived = Arrived {
            mark: packet.mark,
            wire: Bytes::new(u64::from(packet.wire)),
            tag: packet.tag,
            words: cx.core.packets.words(id),
            seq: packet.seq,
            payload: Bytes::new(u64::from(packet.payload)),
            left: self.receivers.left(cx.world, index),
            entropy: if receiver.ways.is_some() { packet.pint } else { 0 },
            trimmed: packet.is_trimmed(),
        };
        let sent_at = packet.sent_at;
        if receiver.granted.is_some() {
            self.show_to_scheduler(cx, index, &arrived);
        }
        let half = self.receivers.list[index].half.as_mut()?;
        let reaction = half.on_data(Time::from_ps(cx.core.now()), &arrived);
        self.carry_out(cx, index, sent_at, reaction);
        reaction.echo
    }

    /// Runs the timer of a receiver half.
    pub(crate) fn receiver_timer(&mut self, cx: &mut Cx<'_>, flow: FlowId) {
        let Some(index) = self.receivers.find(flow) else {
            return;
        };
        let receiver = &mut self.receivers.list[index];
        receiver.timer_runs = false;
        let Some(half) = &mut receiver.half else {
            return;
        };
        let reaction = half.on_timer(Time::from_ps(cx.core.now()));
        self.carry_out(cx, index, cx.core.now(), reaction);
        let receiver = &self.receivers.list[index];
        // The receiver of a complete flow was kept only for this timer.
        if receiver.expected >= receiver.path.size {
            self.forget_receiver(cx.world, index);
        }
    }

    /// Carries out the reaction of a half to a packet sent at `sent_at`.
    fn carry_out(&mut self, cx: &mut Cx<'_>, index: ReceiverId, sent_at: u64, reaction: Reaction) {
        let receiver = &mut self.receivers.list[index];
        let (flow, path) = (receiver.flow, receiver.path);
        // Timers of receivers have no generation, so a second one could not be distinguished from the first.
        if let Some(span) = reaction.timer {
            assert!(!receiver.timer_runs, "a receiver has one timer");
            receiver.timer_runs = true;
            let at = cx.core.now() + span.as_ps();
            cx.core.schedule(LaneId::WHEEL, at, Event::ReceiverTimer { flow });
        }
        if let Some(cnp) = reaction.cnp {
            let mut packet = path.control_packet(cx.world, flow, sent_at);
            write_cnp(&cnp, &mut packet);
            let id = cx.core.packets.insert(packet);
            // CNPs take the class of ACKs: feedback that waited behind data would reach the sender too late.
            self.enqueue(cx, path.ack_port, cx.world.ack_queue(path.ack_class), id);
        }
    }
}
