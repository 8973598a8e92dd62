//! Probes: recorders that see packets and pauses at ports, and leave a table.
//!
//! A run without probes does not pay for them: the engine shows a packet only where something is traced.

use crate::core::lost::Lost;
use crate::core::packet::Packet;
use crate::core::port::Port;
use crate::ids::{FlowId, PacketId, PortId};
use crate::world::World;
use paceline_run::outcome::{PortRef, TraceKind};
use paceline_run::spec::FlowSpec;
use paceline_run::table::Table;
use std::collections::BTreeMap;

/// The network as a probe sees it.
pub(crate) trait View {
    /// What does not change.
    fn world(&self) -> &World;
    /// The time, in ps.
    fn now(&self) -> u64;
    fn packet(&self, id: PacketId) -> &Packet;
    fn port(&self, port: PortId) -> &Port;
    /// A port as results name it.
    fn port_ref(&self, port: PortId) -> PortRef;
    fn flow(&self, flow: FlowId) -> FlowSpec;
    /// The flows whose bytes stand in the queue that a pause of a class through `ingress` comes from.
    fn behind_pause(&self, ingress: PortId, class: u8) -> BTreeMap<FlowId, u64>;
}

/// What happened at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight {
    /// A packet came, joined a queue or left it.
    Packet(PacketId, TraceKind),
    /// A packet is about to be freed that will not arrive.
    Lost(PacketId, Lost),
    /// A pause of a class is about to be sent to the peer.
    PauseSent(u8),
    /// A class is about to be paused, or resumed.
    Pause(u8, bool),
}

/// A recorder of what happens at ports.
pub(crate) trait Probe: Send + Sync {
    /// Copies it: a run can be forked.
    fn copy(&self) -> Box<dyn Probe>;
    /// Whether it sees packets step by step ([`Sight::Packet`]): they then take no short cuts through queues.
    fn follows_packets(&self) -> bool;
    /// Sees something happen at a port, before it changes the network.
    fn see(&mut self, view: &dyn View, port: PortId, sight: Sight);
    /// Hands over what it has recorded.
    fn close(self: Box<Self>, view: &dyn View) -> Table;
}

/// The probes of a run.
#[derive(Default)]
pub(crate) struct Probes(pub(super) Vec<Box<dyn Probe>>);

impl Probes {
    pub(crate) fn add(&mut self, probe: impl Probe + 'static) {
        self.0.push(Box::new(probe));
    }

    pub(crate) fn follow_packets(&self) -> bool {
        self.0.iter().any(|probe| probe.follows_packets())
    }

    #[inline]
    pub(crate) fn on(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Clone for Probes {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|probe| probe.copy()).collect())
    }
}
