//! Whose ports and hosts a run's network has: chosen when it is built.
//!
//! What happens at ports and hosts goes through here; the loop, links, failures and records are the same for all.

use paceline_kernel::Bytes;
use paceline_kernel::ids::List;

use crate::core::Core;
use crate::core::event::Event;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::lanes::LaneSwitches;
use crate::model::{Builder, Net, NetworkModel, Site, Starts};
use crate::run::simulation::Simulation;
use paceline_run::outcome::account::FlowAccount;
use paceline_run::outcome::credits::Stalls;
use paceline_run::outcome::{ModelOutcome, PortRef};
use paceline_run::spec::{PacketFormat, RunSpec};

/// Whose ports and hosts a network has.
pub(super) enum Kind {
    /// This crate's.
    Own,
    /// This crate's, but for switches: those of networks under credits.
    Lanes(Box<LaneSwitches>),
    /// Those of another simulator.
    Foreign(Box<dyn NetworkModel>),
}

impl Clone for Kind {
    fn clone(&self) -> Self {
        match self {
            Self::Own => Self::Own,
            Self::Lanes(lanes) => Self::Lanes(lanes.clone()),
            Self::Foreign(model) => Self::Foreign((**model).copy()),
        }
    }
}

impl Kind {
    /// Whether a lane of a port, under credits, has ever let a packet go.
    pub(super) fn has_used(&self, core: &Core, port: PortId, lane: u8) -> bool {
        match self {
            Self::Foreign(model) => model.has_used(port, lane),
            _ => core.has_used(port, lane),
        }
    }

    /// Under credits: how often and how long ports have waited for some.
    pub(super) fn stalls(&self, core: &Core) -> Stalls {
        match self {
            Self::Foreign(model) => model.stalls(core.now()),
            _ => core.stalls(),
        }
    }

    /// That of a run's description.
    pub(super) fn of(site: Site<'_>) -> Self {
        let Site {
            run, ports, classes, ..
        } = site;
        if let Some(model) = &run.model {
            let builder = model.builder().downcast_ref::<Builder>();
            let Builder(build) = builder.expect("what a model names as its builder is one");
            return Self::Foreign(build(site));
        }
        match &run.lanes {
            Some(lanes) => Self::Lanes(Box::new(LaneSwitches::new(lanes, ports, classes, site.routing))),
            None => Self::Own,
        }
    }

    /// Whether it is this crate's: buffers are accounted for, each flow is one message, and events of one instant
    /// are told apart by what they are.
    pub(super) const fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// Whether its hosts are this crate's.
    pub(super) const fn has_own_hosts(&self) -> bool {
        matches!(self, Self::Own | Self::Lanes(_))
    }

    /// What [`paceline_run::spec::Quirks::ideal_by_formula`] counts for each link of a path.
    pub(super) fn formula_packet(&self, packet: &PacketFormat) -> Bytes {
        match self {
            Self::Own | Self::Lanes(_) => packet.mtu,
            Self::Foreign(model) => model.formula_packet(packet),
        }
    }

    /// A flow starts. Returns whether it is to have a queue pair.
    pub(super) fn start(&mut self, net: &mut Net<'_>, flow: FlowId) -> bool {
        match self {
            Self::Own | Self::Lanes(_) => true,
            Self::Foreign(model) => model.start(net, flow),
        }
    }

    /// A queue pair may send from here on.
    pub(super) fn begin(&mut self, net: &mut Net<'_>, slot: QpId) {
        match self {
            Self::Own | Self::Lanes(_) => net.hosts.join_nic(net.world, net.core, slot),
            Self::Foreign(model) => model.open(net, slot),
        }
    }

    /// A packet has arrived that is no pause.
    pub(super) fn receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        match self {
            Self::Own => net.receive(port, id),
            Self::Lanes(lanes) => net.receive_on_credit(lanes, port, id),
            Self::Foreign(model) => model.receive(net, port, id),
        }
    }

    /// How flows get to their start.
    pub(super) fn starts(&self, spec: &RunSpec) -> Starts {
        match self {
            Self::Own | Self::Lanes(_) => Starts::AsDue,
            Self::Foreign(model) => model.starts(spec),
        }
    }

    /// Whether samples of queues are events where events of an instant run in the order in which they were scheduled.
    pub(super) fn samples_are_events(&self) -> bool {
        match self {
            Self::Foreign(model) => model.samples_are_events(),
            _ => true,
        }
    }

    /// Whether it draws from streams of the seed for whatever it does.
    pub(super) fn draws(&self) -> bool {
        match self {
            Self::Foreign(model) => model.draws(),
            _ => false,
        }
    }

    /// The run is over: what it counted itself.
    pub(super) fn close(&mut self, net: &mut Net<'_>) -> Option<ModelOutcome> {
        match self {
            Self::Foreign(model) => model.close(net),
            _ => None,
        }
    }

    /// The run is over: where the time of flows went, if it accounts for that itself.
    pub(super) fn accounts(
        &mut self,
        net: &Net<'_>,
        ports: &List<PortId, PortRef>,
    ) -> Option<Vec<FlowAccount>> {
        match self {
            Self::Foreign(model) => model.accounts(net, ports),
            _ => None,
        }
    }

    /// The run is over: writes down what a queue pair has sent of what is not acknowledged.
    pub(super) fn record_sent(&self, net: &mut Net<'_>, slot: QpId) {
        if let Self::Foreign(model) = self {
            model.record_sent(net, slot);
        }
    }
}

/// Ports and hosts of this crate's make.
impl Net<'_> {
    pub(super) fn handle(&mut self, event: Event) {
        let Self {
            world, core, hosts, ..
        } = self;
        match event {
            Event::Timeout { flow } => hosts.retransmission_timeout(world, core, flow),
            Event::Timer {
                flow,
                slot,
                generation,
            } => hosts.scheme_timer(world, core, flow, slot, generation),
            _ => {}
        }
    }

    #[inline(always)]
    pub(super) fn receive(&mut self, port: PortId, id: PacketId) {
        let Self { world, core, .. } = self;
        if core.ports[port].is_host {
            self.hosts.receive(world, core, self.traffic, port, id);
        } else {
            self.switches.switch_receive(world, core, port, id);
        }
    }
}

impl Simulation {
    /// Something that not all kinds have, or not alike: a timer, or a port that may send.
    #[inline(never)]
    pub(super) fn notify_kind(&mut self, event: Event) {
        match self.split() {
            (Kind::Own, mut net) => net.handle(event),
            (Kind::Lanes(lanes), mut net) => net.handle_on_credit(lanes, event),
            (Kind::Foreign(model), mut net) => model.handle(&mut net, event),
        }
    }

    /// The network's kind, and what it is lent.
    #[inline(always)]
    pub(super) fn split(&mut self) -> (&mut Kind, Net<'_>) {
        let net = Net {
            world: &self.world,
            core: &mut self.core,
            switches: &mut self.switches,
            hosts: &mut self.hosts,
            traffic: &mut self.traffic,
        };
        (&mut self.kind, net)
    }
}
