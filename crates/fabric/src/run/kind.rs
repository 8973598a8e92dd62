//! Kind of network that a run has, chosen when it is built.
//!
//! Everything that happens at ports and hosts goes through here. The loop, links, failures and records are the same for
//! all kinds.

use paceline_kernel::Bytes;
use paceline_kernel::ids::List;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::lanes::LaneSwitches;
use crate::model::{Builder, Net, NetworkModel, Site, Starts};
use crate::run::simulation::Simulation;
use paceline_run::outcome::account::FlowAccount;
use paceline_run::outcome::credits::Stalls;
use paceline_run::outcome::{ModelOutcome, PortRef};
use paceline_run::spec::{PacketFormat, RunSpec};

/// Ports and hosts of a network.
pub(super) enum NetworkKind {
    /// Ports and hosts of this crate.
    Own,
    /// Hosts of this crate, with switches for credits.
    Lanes(Box<LaneSwitches>),
    /// Ports and hosts of another simulator.
    Foreign(Box<dyn NetworkModel>),
}

impl Clone for NetworkKind {
    fn clone(&self) -> Self {
        match self {
            Self::Own => Self::Own,
            Self::Lanes(lanes) => Self::Lanes(lanes.clone()),
            Self::Foreign(model) => Self::Foreign((**model).copy()),
        }
    }
}

impl NetworkKind {
    /// Returns true if a lane of a port, under credits, has ever sent a packet.
    pub(super) fn has_used(&self, core: &Core, port: PortId, lane: u8) -> bool {
        match self {
            Self::Foreign(model) => model.has_used(port, lane),
            _ => core.has_used(port, lane),
        }
    }

    /// Returns how often and how long ports have waited for credits.
    pub(super) fn stalls(&self, core: &Core) -> Stalls {
        match self {
            Self::Foreign(model) => model.stalls(core.now()),
            _ => core.stalls(),
        }
    }

    /// Creates the kind that a run's description names.
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

    /// Returns true for this crate's ports and hosts: buffers are accounted for, each flow is one message, and events
    /// of one instant are ordered by what they are.
    pub(super) const fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// Returns true if the hosts are this crate's.
    pub(super) const fn has_own_hosts(&self) -> bool {
        matches!(self, Self::Own | Self::Lanes(_))
    }

    /// Returns the packet size that [`paceline_run::spec::Quirks::ideal_by_formula`] counts for each link of a path.
    pub(super) fn formula_packet(&self, packet: &PacketFormat) -> Bytes {
        match self {
            Self::Own | Self::Lanes(_) => packet.mtu,
            Self::Foreign(model) => model.formula_packet(packet),
        }
    }

    /// Starts a flow. Returns true if it is to have a queue pair.
    pub(super) fn start(&mut self, net: &mut Net<'_>, flow: FlowId) -> bool {
        match self {
            Self::Own | Self::Lanes(_) => true,
            Self::Foreign(model) => model.start(net, flow),
        }
    }

    /// Lets a queue pair send from now on.
    pub(super) fn begin(&mut self, net: &mut Net<'_>, slot: QpId) {
        match self {
            Self::Own | Self::Lanes(_) => net.hosts.join_nic(&mut net.cx, slot),
            Self::Foreign(model) => model.open(net, slot),
        }
    }

    /// Handles the arrival of a packet that is no pause frame.
    pub(super) fn receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        match self {
            Self::Own => net.receive(port, id),
            Self::Lanes(lanes) => net.receive_on_credit(lanes, port, id),
            Self::Foreign(model) => model.receive(net, port, id),
        }
    }

    /// Returns the order in which flows start.
    pub(super) fn starts(&self, spec: &RunSpec) -> Starts {
        match self {
            Self::Own | Self::Lanes(_) => Starts::AsDue,
            Self::Foreign(model) => model.starts(spec),
        }
    }

    /// Returns true if samples of queues are events when events of an instant run in the order in which they were
    /// scheduled.
    pub(super) fn samples_are_events(&self) -> bool {
        match self {
            Self::Foreign(model) => model.samples_are_events(),
            _ => true,
        }
    }

    /// Returns true if the model draws from streams of the seed.
    pub(super) fn draws(&self) -> bool {
        match self {
            Self::Foreign(model) => model.draws(),
            _ => false,
        }
    }

    /// Ends the run, and returns what the model has counted.
    pub(super) fn close(&mut self, net: &mut Net<'_>) -> Option<ModelOutcome> {
        match self {
            Self::Foreign(model) => model.close(net),
            _ => None,
        }
    }

    /// Ends the run, and returns the accounts of flows if the model has them.
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

    /// Records the unacknowledged bytes that a queue pair has sent, at the end of the run.
    pub(super) fn record_sent(&self, net: &mut Net<'_>, slot: QpId) {
        if let Self::Foreign(model) = self {
            model.record_sent(net, slot);
        }
    }
}

/// Handlers of events at this crate's ports and hosts.
impl Net<'_> {
    pub(super) fn handle(&mut self, event: Event) {
        let Self { cx, hosts, .. } = self;
        match event {
            Event::Timeout { flow } => hosts.retransmission_timeout(cx, flow),
            Event::Timer {
                flow,
                slot,
                generation,
            } => hosts.scheme_timer(cx, flow, slot, generation),
            _ => {}
        }
    }

    #[inline(always)]
    pub(super) fn receive(&mut self, port: PortId, id: PacketId) {
        let cx = &mut self.cx;
        if cx.core.ports[port].is_host {
            self.hosts.receive(cx, self.traffic, port, id);
        } else {
            self.switches.switch_receive(cx, port, id);
        }
    }
}

impl Simulation {
    /// Handles an event that differs between kinds: a timer, or a port that may send.
    #[inline(never)]
    pub(super) fn notify_kind(&mut self, event: Event) {
        match self.split() {
            (NetworkKind::Own, mut net) => net.handle(event),
            (NetworkKind::Lanes(lanes), mut net) => net.handle_on_credit(lanes, event),
            (NetworkKind::Foreign(model), mut net) => model.handle(&mut net, event),
        }
    }

    /// Returns the network's kind, and the parts of the run that it may use.
    #[inline(always)]
    pub(super) fn split(&mut self) -> (&mut NetworkKind, Net<'_>) {
        let net = Net {
            cx: Cx::new(&self.world, &mut self.core),
            switches: &mut self.switches,
            hosts: &mut self.hosts,
            traffic: &mut self.traffic,
        };
        (&mut self.kind, net)
    }
}
