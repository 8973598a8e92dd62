//! View of the core for probes.

use super::probe::{Sight, View};
use crate::core::Core;
use crate::core::packet::Packet;
use crate::core::port::Port;
use crate::ids::{FlowId, PacketId, PortId};
use crate::world::World;
use paceline_run::outcome::PortRef;
use paceline_run::spec::FlowSpec;
use paceline_run::table::Tables;
use std::collections::BTreeMap;

struct Network<'a> {
    core: &'a Core,
    world: &'a World,
}

impl View for Network<'_> {
    fn world(&self) -> &World {
        self.world
    }
    fn now(&self) -> u64 {
        self.core.now()
    }
    fn packet(&self, id: PacketId) -> &Packet {
        self.core.packets.get(id)
    }
    fn port(&self, port: PortId) -> &Port {
        &self.core.ports[port]
    }
    fn port_ref(&self, port: PortId) -> PortRef {
        self.core.port_ref(port)
    }
    fn flow(&self, flow: FlowId) -> FlowSpec {
        self.world.flow(self.core, flow)
    }
    fn behind_pause(&self, ingress: PortId, class: u8) -> BTreeMap<FlowId, u64> {
        self.core.origin(ingress, class).flows
    }
}

impl Core {
    /// Shows the probes an event at a port.
    #[cold]
    pub(crate) fn show(&mut self, world: &World, port: PortId, sight: Sight) {
        let mut probes = std::mem::take(&mut self.watch.probes);
        let view = Network { core: self, world };
        for probe in &mut probes.0 {
            probe.see(&view, port, sight);
        }
        self.watch.probes = probes;
    }

    /// Ends the probes, and returns their tables.
    pub(crate) fn close_probes(&mut self, world: &World) -> Tables {
        let probes = std::mem::take(&mut self.watch.probes);
        let view = Network { core: self, world };
        let mut tables = Tables::default();
        for probe in probes.0 {
            tables.add(probe.close(&view));
        }
        tables
    }
}
