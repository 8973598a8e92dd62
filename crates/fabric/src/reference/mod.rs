//! Networks of other simulators that are of another make than those of this crate.

pub(crate) mod bolt_ns3;

use crate::core::Core;
use crate::host::Hosts;
use crate::ids::{PacketId, PortId};
use crate::outcome::TraceKind;
use crate::switch::Switches;
use crate::traffic::Traffic;
use crate::world::World;

/// What a run lends to its kind of network: what happens at ports and hosts needs no more.
pub(crate) struct Net<'a> {
    pub(crate) world: &'a World,
    pub(crate) core: &'a mut Core,
    pub(crate) switches: &'a mut Switches,
    pub(crate) hosts: &'a mut Hosts,
    pub(crate) traffic: &'a mut Traffic,
}

impl Net<'_> {
    fn trace(&mut self, port: PortId, event: TraceKind, id: PacketId, queue_bytes: u32) {
        self.hosts
            .trace(self.world, self.core, port, event, id, queue_bytes);
    }

    fn discard(&mut self, port: PortId, id: PacketId) {
        self.core.discard(self.world, port, id);
    }
}
