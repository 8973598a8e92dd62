//! NICs whose links need more than a free line: credit, or a place in the replay buffer of link-level retry.

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::port::LinkState;
use crate::host::Hosts;
use crate::host::scheduler::Choice;
use crate::ids::{PortId, QpId};
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_run::spec::Recovery;

impl Hosts {
    /// Sends the next packet of such a host port, like [`Hosts::nic_send`] elsewhere. Credit is requested only when there is
    /// a packet to send. A port that link-level retry holds is busy.
    #[inline(never)]
    pub(super) fn nic_send_checked(&mut self, cx: &mut Cx<'_>, port: PortId) {
        let p = &cx.core.ports[port];
        if self.planes.is_some() {
            return self.send_over_planes(cx, p.nic());
        }
        if !p.is_up() {
            return;
        }
        let (nic, paused, has_acks) = (p.nic(), p.paused, p.ready != 0);
        if cx.core.is_busy(port) {
            // Otherwise the end of the transmission would be no event, and what waits could stay here.
            if has_acks || !self.scheduler.is_empty(nic) {
                cx.core.await_transmission(port);
            }
            return;
        }
        let on_credit = p.link == LinkState::OnCredit;
        if has_acks && let Some(class) = cx.world.next_ack(&cx.core.ports[port]) {
            return match on_credit {
                true => self.send_on_credit(cx, port),
                false => self.send_ack::<true>(cx, port, class),
            };
        }
        match self.choose_qp(nic, (cx.core.now(), paused)) {
            Choice::Now(..) if on_credit => self.send_on_credit(cx, port),
            Choice::Now(index, slot) => {
                self.scheduler.serve(nic, index);
                self.send_data::<true>(cx, port, slot);
            }
            Choice::Later(at) => self.arm_wake(cx, nic, at),
            Choice::None => {}
        }
    }

    /// Sends the next packet of an idle host port, if there is credit for it: link control first, then the lane whose
    /// turn it is, with its acknowledgements before its data.
    fn send_on_credit(&mut self, cx: &mut Cx<'_>, port: PortId) {
        let strict = cx.core.ports[port].ready & (1 << LINK_CONTROL | 1 << STRICT);
        if strict != 0 {
            return self.send_control(cx, port, strict.trailing_zeros() as u8);
        }
        loop {
            // A lane without credit is paused by the attempt, so each round has fewer lanes and the loop ends.
            let ready = self.ready_lanes(cx.core, port);
            if ready == 0 {
                return self.wait_for_pace(cx, port);
            }
            let class = cx.core.arbitrate(port, ready);
            let sent = match cx.core.ports[port].ready >> class & 1 {
                1 => self.send_ack_on_credit(cx, port, class, ready),
                _ => self.send_data_on_credit(cx, port, class, ready),
            };
            if sent {
                return;
            }
        }
    }

    #[inline(never)]
    fn send_control(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8) {
        if class == LINK_CONTROL {
            // Only now: credit that came free while the packet waited would not be in it otherwise.
            cx.core.write_update(port);
        }
        self.send_ack::<true>(cx, port, class);
    }

    /// Returns the lanes that have an acknowledgement, or data that only missing credit can hold back.
    fn ready_lanes(&mut self, core: &Core, port: PortId) -> u16 {
        let p = &core.ports[port];
        let moment = (core.now(), p.paused);
        p.ready & !p.paused | self.scheduler.ready(p.nic(), moment, &mut self.qps)
    }

    /// Arms the wake-up for a packet that pacing holds back, when none may leave now.
    fn wait_for_pace(&mut self, cx: &mut Cx<'_>, port: PortId) {
        let (nic, paused) = (cx.core.ports[port].nic(), cx.core.ports[port].paused);
        if let Choice::Later(at) = self.choose_qp(nic, (cx.core.now(), paused)) {
            self.arm_wake(cx, nic, at);
        }
    }

    fn send_ack_on_credit(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8, ready: u16) -> bool {
        let wire = cx.core.packets.get(cx.core.queues[(port, class)].head).wire;
        if !self.may_send(cx.core, port, class, wire, ready) {
            return false;
        }
        self.send_control(cx, port, class);
        true
    }

    fn send_data_on_credit(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8, ready: u16) -> bool {
        let nic = cx.core.ports[port].nic();
        let Some((index, slot)) = self.choose_in_lane(cx.core, port, class) else {
            unreachable!("a lane with data has a queue pair that may send");
        };
        let wire = self.next_wire(cx.world, slot);
        if !self.may_send(cx.core, port, class, wire, ready) {
            return false;
        }
        // The turn passes only once the packet leaves, or a queue pair would lose it by waiting for credit.
        self.scheduler.serve_lane(nic, class, index);
        self.send_data::<true>(cx, port, slot);
        true
    }

    /// Returns the queue pair whose turn it is in a lane.
    fn choose_in_lane(&mut self, core: &Core, port: PortId, class: u8) -> Option<(usize, QpId)> {
        let lane = (core.ports[port].nic(), class);
        (self.scheduler).choose_in_lane(lane, core.now(), &mut self.qps, &mut self.free_qps)
    }

    /// Returns the size of a queue pair's next data packet on the wire; under selective repeat, where the choice is not
    /// made yet, the largest possible.
    fn next_wire(&self, world: &World, slot: QpId) -> u16 {
        let qp = &self.qps[slot];
        let mtu = world.packet.mtu.get();
        let (payload, first) = match world.nic.recovery {
            Recovery::GoBackN => (
                qp.part(qp.progress.snd_nxt, mtu).payload,
                qp.first_header(world, qp.progress.snd_nxt),
            ),
            _ => (mtu as u16, world.first_header),
        };
        payload + qp.data_header + first
    }

    /// Returns true if a lane has credit for a packet, and charges its turn; pauses the lane otherwise.
    fn may_send(&mut self, core: &mut Core, port: PortId, class: u8, wire: u16, ready: u16) -> bool {
        if core.has_credit(port, class, wire) {
            core.arbitrated(port, class, wire, ready);
            return true;
        }
        // Accounted before the pause, since the sender waits for something else from now on.
        self.settle_port(core, port, class, true);
        core.await_credit(port, class, wire);
        false
    }
}
