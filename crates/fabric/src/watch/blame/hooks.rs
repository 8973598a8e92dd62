//! Events at ports, as blame accounts follow them.

use super::{Blames, Now, Party};
use crate::core::packet::Packet;
use crate::ids::{FlowId, PacketId, PortId};
use crate::watch::probe::{Probe, Sight, View};
use paceline_kernel::ids::Id;
use paceline_run::outcome::TraceKind;
use paceline_run::spec::Blame;
use paceline_run::table::Table;
use std::collections::BTreeMap;

impl Probe for Blames {
    fn copy(&self) -> Box<dyn Probe> {
        Box::new(self.clone())
    }

    fn follows_packets(&self) -> bool {
        true
    }

    fn see(&mut self, view: &dyn View, port: PortId, sight: Sight) {
        let now = state_of(view, port);
        match sight {
            Sight::Packet(_, TraceKind::Receive | TraceKind::Drop) => {}
            Sight::Packet(id, TraceKind::Enqueue) => self.enqueued(view, now, id),
            Sight::Packet(id, TraceKind::Dequeue) => {
                let flow = flow_of(view.packet(id));
                let party: Party = flow.map(|flow| self.party_of(view, flow));
                // Removed before its transmission is noted: a packet does not wait for itself.
                self.leave(now, id);
                self.transmit(port, flow, party);
            }
            Sight::Lost(id, _) => self.leave(now, id),
            Sight::PauseSent(class) => self.pause_sent(view, port, class),
            Sight::Pause(class, pause) => {
                self.advance(now);
                if pause {
                    self.pause((port, class));
                }
            }
        }
    }

    fn close(mut self: Box<Self>, view: &dyn View) -> Table {
        for port in self.ports.ids() {
            self.advance(state_of(view, port));
        }
        let name = |port| view.port_ref(port);
        Table::new(self.rows(&name, &view.world().spec.labels))
    }
}

impl Blames {
    /// Returns the party that a flow's packets belong to.
    fn party_of(&self, view: &dyn View, flow: FlowId) -> u32 {
        let flow = view.flow(flow);
        match self.of {
            Blame::Off | Blame::Labels => u32::from(flow.label),
            Blame::Hosts => flow.src.0,
        }
    }

    fn enqueued(&mut self, view: &dyn View, now: Now, id: PacketId) {
        let packet = view.packet(id);
        let Some(flow) = flow_of(packet) else { return };
        let victim = self.party_of(view, flow);
        // A host may hold its ACKs back by the pauses of another class.
        let held_by = match view.port(now.port).is_host {
            true => view.world().ack_held_by(packet.class),
            false => packet.class,
        };
        self.join(now, id, flow, (victim, packet.kind.waiting(), held_by));
    }

    /// Notes the owners of the bytes in the queue that a pause comes from.
    fn pause_sent(&mut self, view: &dyn View, ingress: PortId, class: u8) {
        let mut parties: BTreeMap<Party, u64> = BTreeMap::new();
        for (flow, bytes) in view.behind_pause(ingress, class) {
            let party = (flow != FlowId::NONE).then(|| self.party_of(view, flow));
            *parties.entry(party).or_default() += bytes;
        }
        let held = (view.port(ingress).peer, class);
        self.ask(held, parties.into_iter().collect());
    }
}

fn state_of(view: &dyn View, port: PortId) -> Now {
    let p = view.port(port);
    Now {
        port,
        at: view.now(),
        free_at: p.free_at,
        paused: p.paused,
    }
}

/// Returns the flow of a packet that is not link control.
fn flow_of(packet: &Packet) -> Option<FlowId> {
    (packet.flow != FlowId::NONE && !packet.kind.is_pfc()).then_some(packet.flow)
}
