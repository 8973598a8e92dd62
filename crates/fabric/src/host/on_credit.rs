//! NICs under credits: what goes next is asked for before it is sent.

use crate::core::Core;
use crate::host::Hosts;
use crate::host::nic::Choice;
use crate::ids::{NicId, PortId, QpId};
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};

impl Hosts {
    /// Sends the next packet of a host port under credits, as [`Hosts::nic_send`] does elsewhere: credit is asked for once
    /// something would go.
    #[inline(never)]
    pub(super) fn nic_send_on_credit(&mut self, world: &World, core: &mut Core, port: PortId) {
        let p = &core.ports[port];
        if !p.is_up() {
            return;
        }
        let (nic, has_acks) = (p.nic(), p.ready != 0);
        if core.is_busy(port) {
            if has_acks || !self.nics[nic].qps.is_empty() {
                core.await_transmission(port);
            }
            return;
        }
        if has_acks && world.next_ack(&core.ports[port]).is_some() {
            return self.send_on_credit(world, core, port);
        }
        match self.choose_qp(world, core, nic) {
            Choice::Now(..) => self.send_on_credit(world, core, port),
            Choice::Later(at) => self.arm_wake(world, core, nic, at),
            Choice::None => {}
        }
    }

    /// Sends the next packet of an idle host port, if there is credit for it: of the link, then of the lane whose turn
    /// it is, its acknowledgements first.
    fn send_on_credit(&mut self, world: &World, core: &mut Core, port: PortId) {
        let strict = core.ports[port].ready & (1 << LINK_CONTROL | 1 << STRICT);
        if strict != 0 {
            return self.send_control(world, core, port, strict.trailing_zeros() as u8);
        }
        loop {
            let ready = self.ready_lanes(world, core, port);
            if ready == 0 {
                return self.wait_for_pace(world, core, port);
            }
            let class = core.arbitrate(port, ready);
            let sent = match core.ports[port].ready >> class & 1 {
                1 => self.send_ack_on_credit(world, core, (port, class), ready),
                _ => self.send_data_on_credit(world, core, (port, class), ready),
            };
            if sent {
                return;
            }
        }
    }

    #[inline(never)]
    fn send_control(&mut self, world: &World, core: &mut Core, port: PortId, class: u8) {
        if class == LINK_CONTROL {
            core.write_update(port);
        }
        self.send_ack::<true>(world, core, port, class);
    }

    /// Lanes that have an acknowledgement, or data that nothing but credit may hold back.
    fn ready_lanes(&mut self, world: &World, core: &Core, port: PortId) -> u16 {
        let p = &core.ports[port];
        let (paused, now, nic) = (p.paused, core.now(), p.nic());
        let mut ready = p.ready & !paused;
        if self.gather(world, nic) {
            return ready | self.nics[nic].pacing_tree.ready(now) & !paused;
        }
        for &slot in &self.nics[nic].qps {
            let qp = &self.qps[slot];
            if !qp.is_blocked(paused) && qp.next_avail <= now {
                ready |= 1 << qp.class;
            }
        }
        ready
    }

    /// Nothing may go now: arms the wake-up for what pacing holds back.
    fn wait_for_pace(&mut self, world: &World, core: &mut Core, port: PortId) {
        let nic = core.ports[port].nic();
        if let Choice::Later(at) = self.choose_qp(world, core, nic) {
            self.arm_wake(world, core, nic, at);
        }
    }

    fn send_ack_on_credit(
        &mut self,
        world: &World,
        core: &mut Core,
        (port, class): (PortId, u8),
        ready: u16,
    ) -> bool {
        let wire = core.packets.get(core.queues[(port, class)].head).wire;
        if !self.may_send(core, (port, class), wire, ready) {
            return false;
        }
        self.send_control(world, core, port, class);
        true
    }

    fn send_data_on_credit(
        &mut self,
        world: &World,
        core: &mut Core,
        (port, class): (PortId, u8),
        ready: u16,
    ) -> bool {
        let nic = core.ports[port].nic();
        let Some((place, slot)) = self.choose_in_lane(world, core, (port, class)) else {
            unreachable!("a lane with data has a queue pair that may send");
        };
        let wire = self.next_wire(world, slot);
        if !self.may_send(core, (port, class), wire, ready) {
            return false;
        }
        let first = self.nics[nic].first;
        let served = &mut self.nics[nic].served_of_lane;
        served.resize(served.len().max(usize::from(class) + 1), first);
        served[usize::from(class)] = place;
        self.send_data::<true>(world, core, port, slot);
        true
    }

    /// The queue pair of a lane whose turn it is: for as long as it is asked for, the other lanes are held back.
    fn choose_in_lane(
        &mut self,
        world: &World,
        core: &mut Core,
        (port, class): (PortId, u8),
    ) -> Option<(usize, QpId)> {
        let nic: NicId = core.ports[port].nic();
        let held = core.ports[port].paused;
        core.ports[port].paused = !(1 << class);
        let n = &mut self.nics[nic];
        n.served = (n.served_of_lane.get(usize::from(class)).copied()).unwrap_or(n.first);
        let choice = self.choose_qp(world, core, nic);
        core.ports[port].paused = held;
        match choice {
            Choice::Now(place, slot) => Some((place, slot)),
            _ => None,
        }
    }

    /// The next data packet of a queue pair on the wire: of what selective repeat may send, the longest.
    fn next_wire(&self, world: &World, slot: QpId) -> u16 {
        let qp = &self.qps[slot];
        let mtu = world.packet.mtu.get();
        let (payload, first) = match self.repeats.is_empty() {
            true => (
                qp.part(qp.snd_nxt, mtu).payload,
                qp.first_header(world, qp.snd_nxt),
            ),
            false => (mtu as u16, world.first_header),
        };
        payload + qp.data_header + first
    }

    /// Whether a lane has credit for a packet; otherwise it waits for that.
    fn may_send(&mut self, core: &mut Core, (port, class): (PortId, u8), wire: u16, ready: u16) -> bool {
        if core.has_credit(port, class, wire) {
            core.arbitrated(port, class, wire, ready);
            return true;
        }
        self.settle_port(core, port, class, true);
        core.await_credit(port, class, wire);
        false
    }
}
