//! The network of the simulator of TCD's authors (ns-3.17, of the family of `ns3-rdma`): switches with a queue per
//! priority, pauses that expire, and hosts whose applications push packets into their NIC.
//!
//! It shares only links and the order of events with the engine's own network:
//!
//! * `app`: a flow is an application that pushes packets as its NIC's backlog allows, with jitter;
//! * `nic`: per-flow queues, round robin with credits for rates, or queues by priority without DCQCN;
//! * `receiver`: acknowledgements, and a timer per flow that sends notifications;
//! * `switch`, `buffer`: queues, scheduling and buffer accounts;
//! * `pfc`: pauses, which are renewed periodically;
//! * `marking`: RED, NP-ECN, TCD;
//! * `ways`: routes, and the ECMP hash.
//!
//! Random numbers are ns-3's, in the order in which that program draws them: a new stream for each draw of RED and
//! for each packet identification of hosts and switches; one stream per flow for its jitter.

mod app;
mod buffer;
mod builder;
pub mod files;
mod flow;
mod keys;
mod log;
mod marking;
mod nic;
mod outcome;
mod pfc;
mod reaction_point;
mod receiver;
pub(crate) mod resolve;
mod spec;
mod switch;
pub(crate) mod tables;
mod ways;

use buffer::Buffers;
use flow::Flow;
use log::Log;
use nic::Nic;
use paceline_congestion::dcqcn;
use paceline_congestion::registry::AnyParams;
use paceline_fabric::model::{
    Classes, Core, Event, FlowId, Net, NetworkModel, NicId, PacketId, PortId, Ports, Starts,
};
use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::RunSpec;
use paceline_kernel::ids::{Grid, Id, List};
use paceline_kernel::rng::Ns3Streams;
use switch::Queue;
use ways::Ways;

use crate::tcd_ns3::reaction_point::Settings;

pub use outcome::{
    Change, FlowMarks, Marks, PortChange, PortEnds, PortMarks, RateChange, TcdNs3Record, alone,
};
pub use resolve::quirks;
pub use spec::TcdNs3Spec;

/// Slots of a flow's timers.
const PUSH: u8 = 0;
const NOTIFY: u8 = 1;
const ALPHA: u8 = 2;
const INCREASE: u8 = 3;

/// State of the network in addition to the engine's ports and queues.
#[derive(Clone)]
pub(super) struct TcdNs3 {
    spec: TcdNs3Spec,
    rules: marking::Rules,
    pauses: pfc::Rules,
    /// State by port and priority class: egress queue and ingress account.
    queues: Grid<PortId, Queue>,
    /// Class that each port served last.
    served: List<PortId, u8>,
    buffers: Buffers,
    rechecks: pfc::Rechecks,
    nics: List<NicId, Nic>,
    flows: List<FlowId, Flow>,
    ways: Ways,
    /// Streams of marking draws and packet identifications.
    streams: Ns3Streams,
    log: Log,
}

/// Kinds of this model's events: a NIC may send (`WAKE`), and an egress port checks an ingress class again
/// (`RECHECK`).
const WAKE: u8 = 14;
const RECHECK: u8 = 16;

/// Returns the event at which a NIC may send.
fn wake_of(port: PortId) -> Event {
    Event::Special {
        kind: WAKE,
        a: port.0,
        b: 0,
    }
}

/// Returns the event at which an egress port checks an ingress class again. `index` is the ingress port's index at
/// its switch.
fn recheck_of(port: PortId, index: u16, class: u8, generation: u16) -> Event {
    Event::Special {
        kind: RECHECK,
        a: port.0,
        b: u32::from(index) << 20 | u32::from(class) << 16 | u32::from(generation),
    }
}

impl TcdNs3 {
    fn new(spec: &RunSpec, own: &TcdNs3Spec, ports: &Ports, classes: &Classes) -> Self {
        let params = dcqcn(spec);
        let mut nics: List<NicId, Nic> = List::new();
        for (id, port) in ports.numbered().filter(|(_, port)| port.is_host) {
            let line = spec.links[id.link().index()].rate;
            let heeds = !own.unmanaged.contains(&port.node);
            let managed = params.filter(|_| heeds);
            let settings = managed.map(|params| Settings::of(params, line, own.clamp_after_timer));
            let fixed = own.fixed_rate.iter().find(|(host, _)| *host == port.node);
            let factor = fixed.map(|&(_, factor)| factor);
            nics.push(Nic::new(line, settings, factor, classes.count()));
        }
        Self {
            rules: marking::Rules::of(spec),
            pauses: pfc::Rules::of(spec, own),
            queues: Grid::of(ports.len(), classes.count(), Queue::NEW),
            served: List::of(ports.len(), paceline_fabric::model::STRICT),
            buffers: Buffers::new(spec, ports),
            rechecks: pfc::Rechecks::new(ports, classes.count()),
            nics,
            flows: spec.flows.iter().map(|flow| Flow::new(flow, spec)).collect(),
            ways: Ways::of(spec, own, ports),
            streams: Ns3Streams::of_seed(spec.seed as u32, own.setup_streams),
            log: Log::new(own.log, spec, ports),
            spec: own.clone(),
        }
    }

    /// Returns the order in which flows start at the same instant: the simulator starts the applications node by
    /// node.
    fn order_of_starts(spec: &RunSpec) -> Vec<FlowId> {
        let mut order: Vec<u32> = (0..spec.flows.len() as u32).collect();
        order.sort_by_key(|&flow| spec.flows[flow as usize].src);
        order.into_iter().map(FlowId).collect()
    }
}

impl NetworkModel for TcdNs3 {
    fn starts(&self, run: &RunSpec) -> Starts {
        Starts::Ahead(Self::order_of_starts(run))
    }

    fn start(&mut self, net: &mut Net<'_>, flow: FlowId) -> bool {
        self.start_flow(net, flow);
        false
    }

    fn receive_frame(&mut self, net: &mut Net<'_>, port: PortId, class: u8, pause: bool) {
        self.frame_takes_effect(net, port, class, pause);
    }

    fn sample(&self, core: &mut Core, at: u64, is_over: bool) {
        self.sample_ports(core, at, is_over);
    }

    fn draws(&self) -> bool {
        true
    }

    fn handle(&mut self, net: &mut Net<'_>, event: Event) {
        match event {
            Event::TxDone { port } => self.send(net, port),
            Event::Special { kind: WAKE, a, .. } => self.wake(net, PortId(a)),
            Event::PauseEnd { port, class } => self.pause_expires(net, port, class),
            Event::Special { kind: RECHECK, a, b } => {
                let (index, class) = ((b >> 20) as u16, (b >> 16 & 15) as u8);
                self.recheck(net, PortId(a), index, class, b as u16);
            }
            Event::Timer {
                flow,
                slot,
                generation,
            } => match slot {
                PUSH => self.push(net, flow),
                NOTIFY => self.notify(net, flow),
                ALPHA => self.step_alpha(net, flow, generation),
                _ => self.increase(net, flow, generation),
            },
            _ => {}
        }
    }

    fn receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        if net.cx.core.ports[port].is_host {
            self.host_receive(net, port, id);
        } else {
            self.switch_receive(net, port, id);
        }
    }

    fn close(&mut self, net: &mut Net<'_>) -> Option<ModelOutcome> {
        for (id, flow) in self.flows.numbered() {
            flow.write(net.traffic, id);
        }
        Some(ModelOutcome::new(self.log.close(net.cx.core)))
    }
}

impl TcdNs3 {
    /// Sends the next packet of a port, if one may be sent.
    fn send(&mut self, net: &mut Net<'_>, port: PortId) {
        if net.cx.core.ports[port].is_host {
            self.nic_send(net, port);
        } else {
            self.switch_send(net, port);
        }
    }
}

/// Returns the run's DCQCN parameters, if it uses DCQCN.
fn dcqcn(spec: &RunSpec) -> Option<&dcqcn::Params> {
    spec.schemes
        .iter()
        .find_map(|scheme| match scheme.config.params() {
            AnyParams::Dcqcn(params) => Some(params),
            _ => None,
        })
}
