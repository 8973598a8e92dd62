//! Congestion notifications that switches make for senders: a CNP goes straight back, without the way by the receiver.
//!
//! As in draft-xiao-rtgwg-rocev2-fast-cnp, in vendors' switches that answer packets with a mark, and in THEMIS (near-source
//! notifications). Senders of any scheme take them like the CNPs of receivers.
//!
//! A notification may order its flow to send nothing for a while, under any scheme, as in
//! draft-tian-ccwg-long-haul-cnp, draft-xz-rtgwg-ppfc-notification and IEEE P802.1Qdw. Their formats and times are not
//! public: thresholds and times here are ours.

use paceline_congestion::Mark;
use paceline_congestion::signal::Carrier;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span};
use paceline_run::outcome::PacketKind;
use paceline_run::spec::{FastCnp, NoticePause, NoticeTrigger};

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::core::order::write_order;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::switch::assist::signal;
use crate::switch::notice_table::NOTICE;
use crate::world::classes::STRICT;

impl Switches {
    /// Answers a data packet that this port has just marked, if that is what notifications are about.
    #[cold]
    pub(super) fn notify_of_own_mark(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId) {
        let trigger = self.notices.as_ref().map(|notices| notices.spec.trigger);
        let packet = cx.core.packets.get(id);
        if trigger == Some(NoticeTrigger::Queue) && packet.mark == Mark::Congested {
            let left = cx.core.queues[(egress, packet.class)].bytes;
            self.notify_sender(cx, egress, id, left, 0);
        }
    }

    /// Answers a data packet that leaves `left` bytes behind in its queue, if that or its mark asks for it.
    #[cold]
    pub(super) fn notify_of_departure(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, left: u32) {
        let Some(notices) = &self.notices else { return };
        match notices.spec.trigger {
            NoticeTrigger::Queue => {}
            NoticeTrigger::Mark if cx.core.packets.get(id).mark != Mark::Congested => {}
            NoticeTrigger::Mark => self.notify_sender(cx, egress, id, left, 0),
            NoticeTrigger::Above(threshold) => {
                let profile = &cx.world.profiles[cx.core.ports[egress].profile];
                let of_link = || profile.rate.bytes_in(Span::from_ps(2 * profile.delay));
                let threshold = threshold.unwrap_or_else(of_link).get();
                if u64::from(left) > threshold {
                    self.notify_sender(cx, egress, id, left, threshold);
                }
            }
        }
    }

    /// Notifies the sender of a data packet, unless it was notified a short while ago.
    fn notify_sender(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, queue: u32, threshold: u64) {
        let Some(notices) = &mut self.notices else { return };
        let switch = cx.core.ports[egress].switch();
        let packet = *cx.core.packets.get(id);
        if packet.kind != PacketKind::Data || !notices.notify[switch] {
            return;
        }
        let now = cx.core.now();
        let key = notices.key(cx.world, cx.core, &packet);
        let FastCnp {
            interval,
            delay,
            keep_mark,
            table,
            size,
            pause,
            shown,
            ..
        } = notices.spec;
        let silence = match pause {
            NoticePause::Off => Span::ZERO,
            NoticePause::For(span) => span,
            NoticePause::Drain => {
                let above = u64::from(queue).saturating_sub(threshold);
                let rate = cx.world.profiles[cx.core.ports[egress].profile].rate;
                rate.time_to_send(Bytes::new(above))
            }
        };
        // A flow that is silent for a while needs no second order meanwhile.
        let interval = delay.as_ps() + interval.as_ps() + silence.as_ps();
        let notifies = notices.tables[switch].may_notify(key, now, interval, table as usize);
        if !keep_mark {
            // The receiver is not to notify once more.
            cx.core.packets.get_mut(id).mark = Mark::None;
        }
        // A packet that came by no port of this switch has no way back, nor one that came by a link that has failed since.
        if !notifies || packet.ingress == PortId::NONE || !cx.core.ports[packet.ingress].is_up() {
            return;
        }
        let mut cnp = signal(cx, egress, id, Carrier::Packet);
        cnp.kind = PacketKind::Cnp;
        write_order(&mut cnp, Mark::Congested, silence, shown);
        cnp.wire = size.get() as u16;
        cx.core.counters.notices += 1;
        let cnp = cx.core.packets.insert(cnp);
        if delay.as_ps() == 0 {
            return self.enqueue(cx, packet.ingress, STRICT, cnp);
        }
        let what = Event::Special {
            kind: NOTICE,
            a: packet.ingress.0,
            b: cnp.0,
        };
        cx.core.schedule(LaneId::WHEEL, now + delay.as_ps(), what);
    }

    /// Sends a notification that its switch has finished.
    pub(crate) fn send_notice(&mut self, cx: &mut Cx<'_>, port: PortId, id: PacketId) {
        match cx.core.ports[port].is_up() {
            true => self.enqueue(cx, port, STRICT, id),
            false => cx.core.discard(cx.world, port, id, Lost::Link),
        }
    }
}
