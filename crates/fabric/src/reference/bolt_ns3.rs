//! The network of the Bolt authors' simulator (ns-3): its ports, its queues, its hosts' transport.
//!
//! Three things there are of another make than elsewhere in this crate, so they have files of their own;
//! which of the two a network has is its `Kind` ([`crate::run`]):
//!
//! * [`port`]: behind the queues of a port stands a FIFO of the device for one packet. A packet goes into it
//!   as soon as it is empty and from then on belongs neither to the queue nor to the wire.
//! * [`disc`]: the queues with Bolt's ingress algorithm, at switches and, where the scenario says so, in hosts.
//! * [`sender`], [`receiver`]: each message has its own clock; what it sends goes into the queue of the host's
//!   port, and is never chosen among others.
//!
//! What the transport does between two messages of the same pair of hosts is in [`sharing`].

mod disc;
mod port;
mod receiver;
mod sender;
mod sharing;

use paceline_kernel::ids::{Id, List};
use std::collections::BTreeMap;

use paceline_congestion::registry::AnyParams;

use crate::core::event::Event;
use crate::core::port::{Port, Ports};
use crate::ids::{PacketId, PortId, QpId};
use crate::model::Net;
use crate::spec::{DiscPorts, NodeKind, RunSpec};

use disc::Disc;
use sender::Sender;
use sharing::HashOrder;
pub(crate) use sharing::OwnFlow;

/// State alongside ports and queue pairs.
#[derive(Clone, Debug)]
pub(crate) struct BoltNs3 {
    /// The packet in each port's device FIFO.
    slots: List<PortId, PacketId>,
    /// Queues with Bolt's algorithm, by port; `None`: one FIFO without limit.
    discs: List<PortId, Option<Disc>>,
    /// What queue pairs have alongside what all have, by slot.
    senders: List<QpId, Sender>,
    /// Flows of each host, in the authors' order.
    tables: BTreeMap<u32, HashOrder>,
}

impl BoltNs3 {
    pub(crate) fn new(spec: &RunSpec, ports: &Ports) -> Self {
        let bolt = spec.schemes.iter().find_map(|scheme| {
            let AnyParams::Bolt(params) = scheme.config.params() else {
                return None;
            };
            Some(params)
        });
        let is_switch = |port: &Port| spec.nodes[port.node.index()] == NodeKind::Switch;
        let disc = |port: &Port| {
            let peer = &ports[port.peer];
            let has = spec.bolt_ns3.ports == DiscPorts::All || is_switch(port) && is_switch(peer);
            has.then(|| Disc::new(&spec.bolt_ns3, bolt, &spec.packet))
        };
        Self {
            slots: List::of(ports.len(), PacketId::NONE),
            discs: ports.iter().map(disc).collect(),
            senders: List::new(),
            tables: BTreeMap::new(),
        }
    }

    /// A timer has expired, or a port may send.
    pub(crate) fn handle(&mut self, net: &mut Net<'_>, event: Event) {
        match event {
            Event::TxDone { port } => self.device_done(net, port),
            Event::Refill { port } => self.refill(net, port),
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
            } => net
                .hosts
                .scheme_timer(net.world, net.core, flow, slot, generation),
            _ => {}
        }
    }
}
