//! Networks of other simulators that are of another make than those of this crate.

pub(crate) mod bolt_ns3;
pub(crate) mod tcd_ns3;

use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::core::port::debit;
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

    /// Takes the first packet of a queue that has one.
    fn take_from(&mut self, port: PortId, class: u8) -> PacketId {
        let queue = &mut self.core.queues[(port, class)];
        let (id, packet) = queue.pop(&self.core.packets);
        let (wire, empty) = (u32::from(packet.wire), queue.head == PacketId::NONE);
        let p = &mut self.core.ports[port];
        p.ready &= !(u16::from(empty) << class);
        debit(&mut p.queued, wire);
        id
    }

    fn discard(&mut self, port: PortId, id: PacketId) {
        self.core.discard(self.world, port, id);
    }
}
