//! Probes: recorders of packets and pauses at ports, which produce a table.
//!
//! Runs without probes do not pay for them: the engine shows a packet only if something is traced.

use crate::core::lost::Lost;
use crate::core::packet::Packet;
use crate::core::port::Port;
use crate::ids::{FlowId, PacketId, PortId};
use crate::world::World;
use paceline_run::outcome::{PortRef, TraceKind};
use paceline_run::spec::FlowSpec;
use paceline_run::table::Table;
use std::collections::BTreeMap;

/// View of the network for a probe.
pub(crate) trait View {
    /// Returns the constant data of the run.
    fn world(&self) -> &World;
    /// Returns the time, in ps.
    fn now(&self) -> u64;
    fn packet(&self, id: PacketId) -> &Packet;
    fn port(&self, port: PortId) -> &Port;
    /// Returns a port as results name it.
    fn port_ref(&self, port: PortId) -> PortRef;
    fn flow(&self, flow: FlowId) -> FlowSpec;
    /// Returns the flows with bytes in the queue that a pause of a class through `ingress` comes from.
    fn behind_pause(&self, ingress: PortId, class: u8) -> BTreeMap<FlowId, u64>;
}

/// An event at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight {
    /// A packet that arrives, joins a queue or leaves it.
    Packet(PacketId, TraceKind),
    /// A packet that is about to be freed because it will not arrive.
    Lost(PacketId, Lost),
    /// A pause of a class that is about to be sent to the peer.
    PauseSent(u8),
    /// A class that is about to be paused (true) or resumed.
    Pause(u8, bool),
}

/// A recorder of events at ports.
pub(crate) trait Probe: Send + Sync {
    /// Copies the probe, for a fork of the run.
    fn copy(&self) -> Box<dyn Probe>;
    /// Returns true if the probe sees every step of packets ([`Sight::Packet`]). Packets then take no short cuts
    /// through queues.
    fn follows_packets(&self) -> bool;
    /// Sees an event at a port, before it changes the network.
    fn see(&mut self, view: &dyn View, port: PortId, sight: Sight);
    /// Ends the probe, and returns its table.
    fn close(self: Box<Self>, view: &dyn View) -> Table;
}

/// Probes of a run.
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
