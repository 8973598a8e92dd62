//! Networks under credits: events at the ports of switches and hosts.

use crate::core::credits::{FREED, READY, TELL};
use crate::core::event::Event;
use crate::ids::{PacketId, PortId};
use crate::lanes::{self, LaneSwitches};
use crate::model::Net;
use crate::world::classes::STRICT;
use paceline_run::outcome::PacketKind;

impl Net<'_> {
    /// Calls `what` with the parts of the run that switches need.
    pub(super) fn with_lanes(&mut self, what: impl FnOnce(&mut lanes::Net<'_, '_>)) {
        what(&mut lanes::Net {
            cx: &mut self.cx,
            switches: self.switches,
        });
    }

    /// Lets a port try to send.
    fn try_send(&mut self, lanes: &mut LaneSwitches, port: PortId) {
        if self.cx.core.ports[port].is_host {
            self.hosts.try_send(&mut self.cx, port);
        } else {
            self.with_lanes(|net| lanes.try_send(net, port));
        }
    }

    /// Handles an event of a network under credits.
    pub(super) fn handle_on_credit(&mut self, lanes: &mut LaneSwitches, event: Event) {
        self.act_on_credit(lanes, event);
        self.explain_stalls(lanes);
    }

    /// Handles the arrival of a packet.
    pub(super) fn receive_on_credit(&mut self, lanes: &mut LaneSwitches, port: PortId, id: PacketId) {
        self.take_in(lanes, port, id);
        self.explain_stalls(lanes);
    }

    /// Records the causes of missing credit that recorders have asked for.
    #[inline(always)]
    fn explain_stalls(&mut self, lanes: &LaneSwitches) {
        // Done after the event, when all queues are in their final state.
        while let Some((port, class)) = self.cx.core.take_unexplained() {
            lanes.notify_why(self.cx.core, port, class);
        }
    }

    fn act_on_credit(&mut self, lanes: &mut LaneSwitches, event: Event) {
        match event {
            Event::TxDone { port } if self.cx.core.ports[port].is_host => {
                self.hosts.nic_send(&mut self.cx, port);
            }
            Event::TxDone { port } => self.with_lanes(|net| lanes.sent(net, port)),
            Event::Special { kind: TELL, a, b } => {
                self.cx.core.notify_credits(self.cx.world, PortId(a), b);
                self.try_send(lanes, PortId(a));
            }
            Event::Special { kind: FREED, a, b } => {
                let came = self.cx.core.hear_freed(self.cx.world, PortId(a), PacketId(b));
                self.credit_came(lanes, PortId(a), came);
            }
            Event::Special { kind: READY, a, b } => {
                self.with_lanes(|net| lanes.may_leave(net, PortId(a), PacketId(b)));
            }
            _ => self.handle(event),
        }
    }

    fn take_in(&mut self, lanes: &mut LaneSwitches, port: PortId, id: PacketId) {
        let packet = self.cx.core.packets.get(id);
        let (kind, class, wire) = (packet.kind, packet.class, packet.wire);
        if kind == PacketKind::Credit {
            // Handled at the port: a flow-control packet has no sender's queue pair.
            let came = self.cx.core.hear_credits(self.cx.world, port, id);
            return self.credit_came(lanes, port, came);
        }
        if !self.cx.core.ports[port].is_host {
            return self.with_lanes(|net| lanes.receive(net, port, id));
        }
        if class > STRICT {
            // Hosts take packets as they arrive, so the space is free at once and the credit goes back.
            self.cx.core.take_room(port, class, wire);
            self.cx.core.give_room(self.cx.world, port, class, wire);
        }
        self.receive(port, id);
        self.hosts.try_send(&mut self.cx, port);
    }

    /// Resumes those lanes, a class bit each, whose packets lacked credit and have it now.
    fn credit_came(&mut self, lanes: &mut LaneSwitches, port: PortId, mut came: u16) {
        came &= self.cx.core.ports[port].paused;
        let mut is_any = false;
        while came != 0 {
            let class = came.trailing_zeros() as u8;
            came &= came - 1;
            if self.cx.core.may_resume(port, class) {
                self.hosts.settle_port(self.cx.core, port, class, false);
                self.cx.core.resume(port, class);
                self.switches.pause_ended(&self.cx, port, class);
                is_any = true;
            }
        }
        if is_any {
            self.try_send(lanes, port);
        }
    }
}
