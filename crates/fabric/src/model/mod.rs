//! Networks of another make: what another simulator's network has to offer to be run here, and what it is lent.
//!
//! A model is what the ports and hosts of a network are, where they are not this crate's. It is told what it is in
//! [`RunSpec::model`](paceline_run::RunSpec::model) by a [`ModelSpec`](paceline_run::spec::ModelSpec), whose [`Builder`] makes a
//! [`NetworkModel`]. The loop, the clock, links, flows and records are the same for all; the rest happens in the model,
//! which leaves behind what it likes in [`Outcome::model`](paceline_run::Outcome::model).

mod net;

use paceline_kernel::Bytes;
use paceline_kernel::ids::List;
use paceline_kernel::queue::EventQueue;

pub use crate::core::Core;
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

/// Where a model is built.
pub struct Site<'a> {
    /// The run.
    pub run: &'a RunSpec,
    /// Its ports: `2i` and `2i + 1` are the ends of link `i`.
    pub ports: &'a Ports,
    /// What links have in common.
    pub profiles: &'a Profiles,
    /// Priorities.
    pub classes: &'a Classes,
    /// Paths.
    pub routing: &'a Routing,
    /// The queue of events, to which a model may add lanes.
    pub queue: &'a mut EventQueue,
}

/// What builds a model.
#[derive(Clone, Copy)]
pub struct Builder(pub fn(Site<'_>) -> Box<dyn NetworkModel>);

/// How flows get to their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// As everywhere: when their time has come and what they wait for has happened.
    AsDue,
    /// All are scheduled before the run, ahead of whatever it makes, in this order.
    Ahead(Vec<FlowId>),
    /// The model starts them.
    Own,
}

/// The ports and hosts of a network of another make.
pub trait NetworkModel: CopyModel {
    /// How flows get to their start.
    fn starts(&self, _run: &RunSpec) -> Starts {
        Starts::AsDue
    }

    /// The run is about to begin.
    fn begin(&mut self, _net: &mut Net<'_>) {}

    /// A flow starts. Returns whether it is to have a queue pair, which comes with [`Self::open`].
    fn start(&mut self, _net: &mut Net<'_>, _flow: FlowId) -> bool {
        false
    }

    /// A queue pair may send from here on.
    fn open(&mut self, _net: &mut Net<'_>, _slot: QpId) {}

    /// A packet has arrived that is no pause.
    fn receive(&mut self, _net: &mut Net<'_>, _port: PortId, _id: PacketId) {}

    /// A frame takes effect that pauses or resumes a class.
    fn receive_frame(&mut self, _net: &mut Net<'_>, _port: PortId, _class: u8, _pause: bool) {}

    /// Something else happens: the end of a transmission or of a pause, a timer, an event of its own.
    fn handle(&mut self, net: &mut Net<'_>, event: Event);

    /// Takes the samples of states and credits that are due before the event at `at`.
    fn sample(&self, _core: &mut Core, _at: u64, _is_over: bool) {}

    /// Whether samples of queues are events among others.
    fn samples_are_events(&self) -> bool {
        true
    }

    /// Whether queues and packets are kept in its own way, so that only [`Self::verify`] knows what holds of them.
    fn keeps_queues(&self) -> bool {
        false
    }

    /// Checks what always holds.
    ///
    /// # Panics
    /// If something does not: a defect of the simulator, never of its input.
    fn verify(&self, _core: &Core) {}

    /// Whether it draws from streams of the seed for whatever it does.
    fn draws(&self) -> bool {
        false
    }

    /// Under credits: how often and how long ports have waited for some.
    fn stalls(&self, _now: u64) -> Stalls {
        Stalls::default()
    }

    /// Whether a lane of a port, under credits, has ever let a packet go.
    fn has_used(&self, _port: PortId, _lane: u8) -> bool {
        false
    }

    /// What [`paceline_run::spec::Quirks::ideal_by_formula`] counts for each link of a path.
    fn formula_packet(&self, packet: &PacketFormat) -> Bytes {
        packet.mtu
    }

    /// The run is over: writes down what a queue pair has sent of what is not acknowledged.
    fn record_sent(&self, _net: &mut Net<'_>, _slot: QpId) {}

    /// The run is over: where the time of flows went, if the model accounts for that itself.
    fn accounts(&mut self, _net: &Net<'_>, _ports: &List<PortId, PortRef>) -> Option<Vec<FlowAccount>> {
        None
    }

    /// The run is over: what it has counted.
    fn close(&mut self, _net: &mut Net<'_>) -> Option<ModelOutcome> {
        None
    }
}

/// What every model has to be able to do; every plain value is.
pub trait CopyModel: Send + Sync {
    /// A copy: a run that is forked.
    fn copy(&self) -> Box<dyn NetworkModel>;
}

impl<T: NetworkModel + Clone + Send + Sync + 'static> CopyModel for T {
    fn copy(&self) -> Box<dyn NetworkModel> {
        Box::new(self.clone())
    }
}
