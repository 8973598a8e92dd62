//! Network models: the interface for networks of other simulators that run here.
//!
//! A model replaces the ports and hosts of this crate. It is named in [`RunSpec::model`](paceline_run::RunSpec::model)
//! by a [`ModelSpec`](paceline_run::spec::ModelSpec), whose [`Builder`] creates a [`NetworkModel`]. The loop, clock,
//! links, flows and records are the same for all models. Everything else happens in the model, which may store results
//! in [`Outcome::model`](paceline_run::Outcome::model).

mod net;

use paceline_kernel::Bytes;
use paceline_kernel::ids::List;
use paceline_kernel::queue::EventQueue;

pub use crate::core::Core;
pub use crate::core::cx::Cx;
pub use crate::core::event::Event;
pub use crate::core::packet::{Packet, PacketSlab};
pub use crate::core::port::{Port, Ports, debit};
pub use crate::host::{Hosts, Qp};
pub use crate::ids::{FlowId, LinkId, NicId, PacketId, PortId, ProfileId, QpId, SwitchId};
pub use crate::switch::Switches;
pub use crate::traffic::Traffic;
pub use crate::world::World;
pub use crate::world::classes::{Classes, LINK_CONTROL, STRICT};
pub use crate::world::links::{LinkProfile, Profiles};
pub use crate::world::routing::Routing;
pub use net::Net;
use paceline_run::outcome::account::FlowAccount;
use paceline_run::outcome::credits::Stalls;
use paceline_run::outcome::{ModelOutcome, PortRef};
use paceline_run::spec::{PacketFormat, RunSpec};

/// Data from which a model is built.
pub struct Site<'a> {
    /// Description of the run.
    pub run: &'a RunSpec,
    /// All ports: `2i` and `2i + 1` are the ends of link `i`.
    pub ports: &'a Ports,
    /// Link profiles, shared by ports.
    pub profiles: &'a Profiles,
    /// Priority classes in dense numbers.
    pub classes: &'a Classes,
    /// Routes of the network.
    pub routing: &'a Routing,
    /// Queue of events, to which a model may add lanes.
    pub queue: &'a mut EventQueue,
}

/// Function that creates a model.
#[derive(Clone, Copy)]
pub struct Builder(pub fn(Site<'_>) -> Box<dyn NetworkModel>);

/// Order in which flows start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Each when its time has come and its dependencies are met, as in other networks.
    AsDue,
    /// All scheduled before the run, ahead of the model's events, in this order.
    Ahead(Vec<FlowId>),
    /// Started by the model.
    Own,
}

/// Ports and hosts of another simulator's network.
pub trait NetworkModel: CopyModel {
    /// Returns the order in which flows start.
    fn starts(&self, _run: &RunSpec) -> Starts {
        Starts::AsDue
    }

    /// Prepares the model when the run is about to start.
    fn begin(&mut self, _net: &mut Net<'_>) {}

    /// Starts a flow. Returns true if it is to have a queue pair, which is passed to [`Self::open`].
    fn start(&mut self, _net: &mut Net<'_>, _flow: FlowId) -> bool {
        false
    }

    /// Lets a queue pair send from now on.
    fn open(&mut self, _net: &mut Net<'_>, _slot: QpId) {}

    /// Handles the arrival of a packet that is no pause frame.
    fn receive(&mut self, _net: &mut Net<'_>, _port: PortId, _id: PacketId) {}

    /// Handles a frame that pauses or resumes a class now.
    fn receive_frame(&mut self, _net: &mut Net<'_>, _port: PortId, _class: u8, _pause: bool) {}

    /// Handles another event: the end of a transmission or of a pause, a timer, an event of the model.
    fn handle(&mut self, net: &mut Net<'_>, event: Event);

    /// Takes the samples of states and credits that are due before the event at `at`.
    fn sample(&self, _core: &mut Core, _at: u64, _is_over: bool) {}

    /// Returns true if samples of queues are events.
    fn samples_are_events(&self) -> bool {
        true
    }

    /// Returns true if the model stores queues and packets itself, so that only [`Self::verify`] can check them.
    fn keeps_queues(&self) -> bool {
        false
    }

    /// Checks the model's invariants.
    ///
    /// # Panics
    /// If one is broken: a defect of the simulator, never of its input.
    fn verify(&self, _core: &Core) {}

    /// Returns true if the model draws from streams of the seed.
    fn draws(&self) -> bool {
        false
    }

    /// Returns how often and how long ports have waited for credits.
    fn stalls(&self, _now: u64) -> Stalls {
        Stalls::default()
    }

    /// Returns true if a lane of a port, under credits, has ever sent a packet.
    fn has_used(&self, _port: PortId, _lane: u8) -> bool {
        false
    }

    /// Returns the packet size that [`paceline_run::spec::Quirks::ideal_by_formula`] counts for each link of a path.
    fn formula_packet(&self, packet: &PacketFormat) -> Bytes {
        packet.mtu
    }

    /// Records the unacknowledged bytes that a queue pair has sent, at the end of the run.
    fn record_sent(&self, _net: &mut Net<'_>, _slot: QpId) {}

    /// Ends the run, and returns the accounts of flows if the model has them.
    fn accounts(&mut self, _net: &Net<'_>, _ports: &List<PortId, PortRef>) -> Option<Vec<FlowAccount>> {
        None
    }

    /// Ends the run, and returns what the model has counted.
    fn close(&mut self, _net: &mut Net<'_>) -> Option<ModelOutcome> {
        None
    }
}

/// Copying of models; implemented for all types that can be cloned.
pub trait CopyModel: Send + Sync {
    /// Returns a copy, for a fork of the run.
    fn copy(&self) -> Box<dyn NetworkModel>;
}

impl<T: NetworkModel + Clone + Send + Sync + 'static> CopyModel for T {
    fn copy(&self) -> Box<dyn NetworkModel> {
        Box::new(self.clone())
    }
}
