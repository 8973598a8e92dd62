//! Congestion notifications that switches make for senders: a CNP goes straight back, without the way by the receiver.
//!
//! As in draft-xiao-rtgwg-rocev2-fast-cnp, in vendors' switches that answer packets with a mark, and in THEMIS (near-source
//! notifications). Senders of any scheme take them like the CNPs of receivers.

use paceline_congestion::Mark;
use paceline_congestion::signal::Carrier;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::FastCnp;

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use crate::switch::assist::signal;
use crate::switch::notice_table::NOTICE;
use crate::world::classes::STRICT;

impl Switches {
    /// Answers a data packet that leaves by `egress` with a mark that this port has given it, or before.
    #[cold]
    pub(super) fn notify_sender(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, here: bool) {
        let Some(notices) = &mut self.notices else { return };
        let switch = cx.core.ports[egress].switch();
        let packet = *cx.core.packets.get(id);
        let is_marked = packet.kind == PacketKind::Data && packet.mark == Mark::Congested;
        let is_asked = here != notices.sees_marks();
        if !is_marked || !is_asked || !notices.notify[switch] {
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
            ..
        } = notices.spec;
        let interval = delay.as_ps() + interval.as_ps();
        let notifies = notices.tables[switch].may_notify(key, now, interval, table as usize);
        if !keep_mark {
            // The receiver is not to notify once more.
            cx.core.packets.get_mut(id).mark = Mark::None;
        }
        // A packet that came by no port of this switch has no way back.
        if !notifies || packet.ingress == PortId::NONE {
            return;
        }
        let mut cnp = signal(cx, egress, id, Carrier::Packet);
        cnp.kind = PacketKind::Cnp;
        cnp.tag = Mark::Congested as u8;
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
