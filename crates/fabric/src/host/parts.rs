//! How the hosts of the parts of a run become one again ([`crate::run::cut`]).

use crate::core::Core;
use crate::core::packet::NONE;
use crate::core::parts::exchange;
use crate::host::Hosts;
use crate::world::World;

impl Hosts {
    /// Takes over the hosts of another part, whose `core` it is; `mine` is the core that takes over.
    pub(crate) fn take_over(&mut self, mut other: Self, world: &World, mine: &mut Core, core: &mut Core) {
        self.qps_drew |= other.have_drawn(world);
        self.crowds |= other.crowds;
        let slots = self.qps.len() as u32;
        for nic in 0..self.nics.len() {
            let port = other.nics[nic].port;
            if !core.has(core.ports[port].node) {
                continue;
            }
            exchange(&mut self.nics, &mut other.nics, [nic]);
            self.nics[nic].qps.iter_mut().for_each(|slot| *slot += slots);
            if let (Some(own), Some(endpoints)) = (&mut self.endpoints, &mut other.endpoints) {
                own.take_over(endpoints, nic, mine, core);
            }
        }
        self.decisions.take_over(&mut other.decisions, |nic| {
            core.has(core.ports[self.nics[nic].port].node)
        });
        for (slot, qp) in (slots..).zip(&other.qps) {
            if !qp.done {
                self.senders.set(qp.flow, slot);
            }
        }
        if !other.repeats.is_empty() || !self.repeats.is_empty() {
            self.repeats.resize_with(slots as usize, Default::default);
            self.repeats.append(&mut other.repeats);
        }
        self.qps.append(&mut other.qps);
        self.free_qps
            .extend(other.free_qps.iter().map(|slot| slot + slots));
        self.receivers.take_over(other.receivers);
    }

    /// Queue pairs have got other places: tells packets and receivers.
    pub(crate) fn tell_places(&mut self, core: &mut Core) {
        let senders = &self.senders;
        let place = |flow: u32| senders.get(flow).unwrap_or(0);
        for packet in core.packets.iter_mut().filter(|packet| packet.flow != NONE) {
            packet.qp = place(packet.flow);
        }
        for receiver in self.receivers.iter_mut() {
            receiver.path.qp = place(receiver.flow);
        }
    }
}
