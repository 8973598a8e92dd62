//! What the core shows to those who ask who makes whom wait.

use super::{Blames, Now, Party};
use crate::core::Core;
use crate::core::packet::Packet;
use crate::ids::{FlowId, PacketId, PortId};
use crate::world::World;
use paceline_kernel::ids::Id;
use paceline_run::outcome::blame::Waited;
use paceline_run::outcome::{PortRef, TraceKind};
use paceline_run::spec::Blame;
use std::collections::BTreeMap;

impl Core {
    fn state_of(&self, port: PortId) -> Now {
        let p = &self.ports[port];
        Now {
            port,
            at: self.now(),
            free_at: p.free_at,
            paused: p.paused,
        }
    }

    /// Whose packets a flow's are.
    fn party_of(&self, world: &World, flow: FlowId) -> u32 {
        let flow = world.flow(self, flow);
        match self.watch.blames.of {
            Blame::Off | Blame::Labels => u32::from(flow.label),
            Blame::Hosts => flow.src.0,
        }
    }

    /// Something happened to a packet at a port.
    #[cold]
    pub(in crate::watch) fn blame(&mut self, world: &World, port: PortId, event: TraceKind, id: PacketId) {
        let packet = *self.packets.get(id);
        let now = self.state_of(port);
        let flow = flow_of(&packet);
        match event {
            TraceKind::Receive => {}
            TraceKind::Enqueue => {
                let Some(flow) = flow else { return };
                let victim = self.party_of(world, flow);
                let held_by = match self.ports[port].is_host {
                    true => world.ack_held_by(packet.class),
                    false => packet.class,
                };
                let group = (victim, packet.kind.waiting(), held_by);
                self.watch.blames.join(now, id, flow, group);
            }
            TraceKind::Dequeue => {
                let party: Party = flow.map(|flow| self.party_of(world, flow));
                self.watch.blames.leave(now, id);
                self.watch.blames.transmit(port, flow, party);
            }
            TraceKind::Drop => self.watch.blames.leave(now, id),
        }
    }

    /// A pause of a class goes out of `ingress`: whose bytes stand in the queue that it comes from.
    #[cold]
    pub(crate) fn blame_pause_sent(&mut self, world: &World, ingress: PortId, class: u8) {
        let mut parties: BTreeMap<Party, u64> = BTreeMap::new();
        for (flow, bytes) in self.origin(ingress, class).flows {
            let party = (flow != FlowId::NONE).then(|| self.party_of(world, flow));
            *parties.entry(party).or_default() += bytes;
        }
        let held = (self.ports[ingress].peer, class);
        let origins = parties.into_iter().collect();
        self.watch.blames.ask(held, origins);
    }

    /// A port's class is about to be paused, or resumed.
    #[cold]
    pub(crate) fn blame_pause(&mut self, port: PortId, class: u8, pause: bool) {
        let now = self.state_of(port);
        self.watch.blames.advance(now);
        if pause {
            self.watch.blames.pause((port, class));
        }
    }

    /// Who has made whom wait, up to now.
    pub(crate) fn close_blames(&mut self, name: &dyn Fn(PortId) -> PortRef) -> Vec<Waited> {
        let mut blames: Blames = std::mem::take(&mut self.watch.blames);
        for port in blames.ports.ids() {
            blames.advance(self.state_of(port));
        }
        blames.close(name)
    }
}

/// The flow of a packet that is not link control.
fn flow_of(packet: &Packet) -> Option<FlowId> {
    (packet.flow != FlowId::NONE && !packet.kind.is_pfc()).then_some(packet.flow)
}
