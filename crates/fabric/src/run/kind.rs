//! Whose ports and hosts a run's network has: chosen when it is built.
//!
//! What happens at ports and hosts goes through here; the loop, links, failures and records are the same for all.

use paceline_kernel::Bytes;
use paceline_kernel::queue::EventQueue;

use crate::core::Core;
use crate::core::event::Event;
use crate::core::port::Ports;
use crate::ib::{self, InfiniBand};
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::lanes::LaneSwitches;
use crate::outcome::TcdNs3Record;
use crate::outcome::credits::Stalls;
use crate::reference::Net;
use crate::reference::bolt_ns3::{BoltNs3, OwnFlow};
use crate::reference::tcd_ns3::TcdNs3;
use crate::run::simulation::Simulation;
use crate::spec::{PacketFormat, RunSpec};
use crate::world::classes::Classes;
use crate::world::links::Profiles;
use crate::world::routing::Routing;

/// Whose ports and hosts a network has.
#[derive(Clone)]
pub(super) enum Kind {
    /// This crate's.
    Own,
    /// Those of the Bolt authors' simulator.
    BoltNs3(Box<BoltNs3>),
    /// Those of the simulator of TCD's authors.
    TcdNs3(Box<TcdNs3>),
    /// Those of the simulator of RRCC's author, a network under credits.
    Credits(Box<InfiniBand>),
    /// This crate's, but for switches: those of networks under credits.
    Lanes(Box<LaneSwitches>),
}

impl Kind {
    /// Whether a lane of a port, under credits, has ever let a packet go.
    pub(super) fn has_used(&self, core: &Core, port: PortId, lane: u8) -> bool {
        match self {
            Self::Credits(network) => network.has_used(port, lane),
            _ => core.has_used(port, lane),
        }
    }

    /// Under credits: how often and how long ports have waited for some.
    pub(super) fn stalls(&self, core: &Core) -> Stalls {
        match self {
            Self::Credits(network) => network.stalls(core.now()),
            _ => core.stalls(),
        }
    }

    pub(super) fn of(
        spec: &RunSpec,
        ports: &Ports,
        (profiles, classes, routing): (&Profiles, &Classes, &Routing),
        queue: &mut EventQueue,
    ) -> Self {
        if let Some(own) = &spec.tcd_ns3 {
            return Self::TcdNs3(Box::new(TcdNs3::new(spec, own, ports, classes)));
        }
        if let Some(lanes) = &spec.lanes {
            return Self::Lanes(Box::new(LaneSwitches::new(lanes, ports, classes, routing)));
        }
        match &spec.credits {
            Some(credits) => Self::Credits(Box::new(InfiniBand::new(
                (spec, credits),
                ports,
                profiles,
                routing,
                queue,
            ))),
            None if spec.quirks.device_fifo => Self::BoltNs3(Box::new(BoltNs3::new(spec, ports))),
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

    /// What [`crate::spec::Quirks::ideal_by_formula`] counts for each link of a path.
    pub(super) fn formula_packet(&self, packet: &PacketFormat) -> Bytes {
        match self {
            Self::Own | Self::TcdNs3(_) | Self::Lanes(_) => packet.mtu,
            Self::BoltNs3(_) => packet.mtu + packet.data_header + packet.data_header,
            Self::Credits(_) => packet.mtu,
        }
    }

    /// A flow is about to start: what it gets, if it is a queue pair of its own.
    pub(super) fn share(&mut self, net: &mut Net<'_>, flow: FlowId) -> Option<OwnFlow> {
        match self {
            Self::Own | Self::Lanes(_) => Some(OwnFlow::default()),
            Self::BoltNs3(bolt) => bolt.share(net, flow),
            Self::TcdNs3(tcd) => {
                tcd.start(net, flow);
                None
            }
            Self::Credits(_) => None,
        }
    }

    /// A queue pair may send from here on.
    pub(super) fn begin(&mut self, net: &mut Net<'_>, slot: QpId, own: OwnFlow) {
        match self {
            Self::Own | Self::Lanes(_) => net.hosts.join_nic(net.world, net.core, slot),
            Self::BoltNs3(bolt) => bolt.begin(net, slot, own),
            Self::TcdNs3(_) => unreachable!("its flows are no queue pairs"),
            Self::Credits(_) => {}
        }
    }

    /// A packet has arrived that is no pause.
    pub(super) fn receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        match self {
            Self::Own => net.receive(port, id),
            Self::BoltNs3(bolt) => bolt.device_receive(net, port, id),
            Self::TcdNs3(tcd) => tcd.receive(net, port, id),
            Self::Credits(_) => {}
            Self::Lanes(lanes) => net.receive_on_credit(lanes, port, id),
        }
    }

    /// In what order flows enter that start at one instant; `None`: as they are due.
    pub(super) fn order_of_starts(&self, spec: &RunSpec) -> Option<Vec<FlowId>> {
        match self {
            Self::Own | Self::Credits(_) | Self::Lanes(_) => None,
            Self::BoltNs3(_) => Some((0..spec.flows.len() as u32).map(FlowId).collect()),
            Self::TcdNs3(_) => Some(TcdNs3::order_of_starts(spec)),
        }
    }

    /// Whether it draws from streams of the seed for whatever it does.
    pub(super) const fn draws(&self) -> bool {
        matches!(self, Self::TcdNs3(_))
    }

    /// The run is over: what it counted itself.
    pub(super) fn close(&mut self, net: &mut Net<'_>) -> Option<Box<TcdNs3Record>> {
        match self {
            Self::TcdNs3(tcd) => Some(Box::new(tcd.close(net))),
            _ => None,
        }
    }

    /// The run is over: writes down what a queue pair has sent of what is not acknowledged.
    pub(super) fn record_sent(&self, net: &mut Net<'_>, slot: QpId) {
        if let Self::BoltNs3(bolt) = self {
            bolt.record_sent_messages(net, slot);
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
            (Kind::BoltNs3(bolt), mut net) => bolt.handle(&mut net, event),
            (Kind::TcdNs3(tcd), mut net) => tcd.handle(&mut net, event),
            (Kind::Credits(_), _) => {}
            (Kind::Lanes(lanes), mut net) => net.handle_on_credit(lanes, event),
        }
    }

    /// Something happens in a network under credits.
    #[inline(never)]
    pub(super) fn notify_credits(&mut self, event: Event) {
        match self.credits() {
            Some((network, mut net)) => network.handle(&mut net, event),
            None => self.notify_kind(event),
        }
    }

    /// The network under credits, if it is one, and what it is lent.
    #[inline(always)]
    pub(super) fn credits(&mut self) -> Option<(&mut InfiniBand, ib::Net<'_>)> {
        let Kind::Credits(network) = &mut self.kind else {
            return None;
        };
        let net = ib::Net {
            world: &self.world,
            core: &mut self.core,
            traffic: &mut self.traffic,
        };
        Some((network, net))
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
