//! The network of the Bolt authors' simulator (ns-3): ports, queues, and the hosts' transport.
//!
//! Three parts differ from the engine's own:
//!
//! * `port`: a device FIFO for one packet follows the queues of a port. A packet enters it as soon as it is empty,
//!   and then belongs neither to the queue nor to the wire.
//! * `disc`: queues with Bolt's ingress algorithm, at switches and, depending on the scenario, in hosts.
//! * `sender`, `receiver`: each message has its own clock, and puts its packets into the queue of the host's port.
//!   There is no scheduling among messages.
//!
//! `sharing` decides which flow carries a message if messages between the same hosts share flows.

mod builder;
mod disc;
mod keys;
mod port;
mod receiver;
pub(crate) mod resolve;
mod schemes;
mod sender;
mod sharing;
mod spec;
mod table;

use std::collections::BTreeMap;

use disc::Disc;
use paceline_congestion::registry::AnyParams;
use paceline_fabric::model::{Event, FlowId, Net, NetworkModel, PacketId, Port, PortId, Ports, QpId, Starts};
use paceline_fabric::spec::{NodeKind, PacketFormat, RunSpec};
use paceline_kernel::Bytes;
use paceline_kernel::ids::{Id, List};
use sender::Sender;
use table::{HashOrder, OwnFlow};

pub use resolve::quirks;
pub use spec::{BoltNs3Spec, DiscPorts, has_scheme};

/// State of the network in addition to the engine's ports and queue pairs.
#[derive(Clone, Debug)]
pub(super) struct BoltNs3 {
    spec: BoltNs3Spec,
    /// Packet in each port's device FIFO.
    slots: List<PortId, PacketId>,
    /// Queues with Bolt's algorithm, by port; `None` for a single FIFO without limit.
    discs: List<PortId, Option<Disc>>,
    /// State of queue pairs in addition to the engine's, by slot.
    senders: List<QpId, Sender>,
    /// Flows of each host, in the authors' order.
    tables: BTreeMap<u32, HashOrder>,
    /// Settings of the flow whose queue pair is about to be opened.
    own: OwnFlow,
}

/// Returns the event at which a device can take a packet.
fn refill_of(port: PortId) -> Event {
    Event::Special {
        kind: REFILL,
        a: port.0,
        b: 0,
    }
}

/// Kind of the refill event.
const REFILL: u8 = 14;

impl BoltNs3 {
    fn new(spec: &RunSpec, own: &BoltNs3Spec, ports: &Ports) -> Self {
        let bolt = spec.schemes.iter().find_map(|scheme| {
            let AnyParams::Bolt(params) = scheme.config.params() else {
                return None;
            };
            Some(params)
        });
        let is_switch = |port: &Port| spec.nodes[port.node.index()] == NodeKind::Switch;
        let disc = |port: &Port| {
            let peer = &ports[port.peer];
            let has = own.ports == DiscPorts::All || is_switch(port) && is_switch(peer);
            has.then(|| Disc::new(own, bolt, &spec.packet))
        };
        Self {
            spec: *own,
            own: OwnFlow::default(),
            slots: List::of(ports.len(), PacketId::NONE),
            discs: ports.iter().map(disc).collect(),
            senders: List::new(),
            tables: BTreeMap::new(),
        }
    }
}

impl NetworkModel for BoltNs3 {
    /// Returns the start order: the authors' scripts schedule all messages before the run.
    fn starts(&self, run: &RunSpec) -> Starts {
        Starts::Ahead((0..run.flows.len() as u32).map(FlowId).collect())
    }

    fn start(&mut self, net: &mut Net<'_>, flow: FlowId) -> bool {
        let own = self.share(net, flow);
        self.own = own.unwrap_or_default();
        own.is_some()
    }

    fn open(&mut self, net: &mut Net<'_>, slot: QpId) {
        let own = self.own;
        self.begin_messages(net, slot, own);
    }

    fn receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        self.device_receive(net, port, id);
    }

    /// Returns the packet size in the authors' formula: a full packet, with its headers counted twice.
    fn formula_packet(&self, packet: &PacketFormat) -> Bytes {
        packet.mtu + packet.data_header + packet.data_header
    }

    fn record_sent(&self, net: &mut Net<'_>, slot: QpId) {
        self.record_sent_messages(net, slot);
    }

    fn handle(&mut self, net: &mut Net<'_>, event: Event) {
        match event {
            Event::TxDone { port } => self.device_done(net, port),
            Event::Special { kind: REFILL, a, .. } => self.refill(net, PortId(a)),
            Event::Timeout { flow } => self.message_timeout(net, flow),
            Event::Timer {
                flow,
                slot: sender::CLOCK,
                generation,
            } => self.clock(net, flow, generation),
            Event::Timer {
                flow,
                slot,
                generation,
            } => net.hosts.scheme_timer(&mut net.cx, flow, slot, generation),
            _ => {}
        }
    }
}
