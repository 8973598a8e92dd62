//! Hosts: NICs, the senders and receivers of their queue pairs, and the delays in hosts. Nothing here knows a switch: a
//! host learns about the network from packets.

mod arrivals;
mod audit;
mod cnp;
mod connection;
mod control_packets;
mod decisions;
mod engine;
mod flow_path;
mod granting;
mod grants;
mod hash_order;
mod messages;
mod nic;
mod observe;
mod on_credit;
mod planes;
mod posting;
mod probes;
mod qp;
mod queue_pairs;
mod receiver;
mod receivers;
mod recovery;
mod scheduler;
mod sender;
mod sharing;
mod signal;
mod ways;

use std::collections::BTreeMap;

use paceline_congestion::Shared;
use paceline_kernel::Bytes;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::flow_table::FlowTable;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::traffic::Traffic;
use crate::world::World;
use paceline_kernel::ids::List;
use paceline_run::outcome::{FlowStatus, PacketKind};
use paceline_run::spec::RunSpec;

pub(crate) use arrivals::Arrivals;
pub(crate) use cnp::read_cnp;
use decisions::DecisionBank;
pub use decisions::Question;
use engine::Endpoints;
use grants::Grants;
use hash_order::HashOrder;
use planes::Planes;
pub use qp::Qp;
pub(crate) use qp::{Blocked, DataPath};
use receivers::Receivers;
use recovery::irn::window::Sender as SelectiveSender;
use recovery::rud::window::Sender as UnorderedSender;
use scheduler::QpScheduler;

/// NICs, queue pairs and receivers of all hosts.
#[derive(Clone)]
pub struct Hosts {
    scheduler: QpScheduler,
    /// Receive engines of hosts that take time before they answer; `None` if they take none.
    endpoints: Option<Box<Endpoints>>,
    decisions: DecisionBank,
    /// Senders by queue pair, and the queue pairs of flows that are not over.
    qps: List<QpId, Qp>,
    senders: FlowTable<QpId>,
    receivers: Receivers,
    /// Order of queue pairs after a failure, see [`hash_order`]; `None` if it does not matter.
    hash_order: Option<Box<HashOrder>>,
    /// State of selective repeat for each sender; empty without it.
    repeats: List<QpId, SelectiveSender>,
    /// State of reliable unordered delivery for each sender; empty without it.
    ruds: List<QpId, UnorderedSender>,
    /// Schedulers of grants, by host and scheme.
    grants: Grants,
    /// Queue pairs whose flows are over, to be used again.
    free_qps: Vec<QpId>,
    /// Links of NICs that have several, or choose among paths by their state.
    planes: Option<Box<Planes>>,
    /// State that queue pairs of a group share.
    shared: BTreeMap<qp::Group, Shared>,
    /// True if the scheme of a flow whose queue pair was used again had drawn: see `run/chance.rs`.
    qps_drew: bool,
}

impl Hosts {
    /// Creates the hosts whose NICs have these ports.
    pub(crate) fn new(spec: &RunSpec, nics: &[Vec<PortId>]) -> Self {
        let ports: Vec<PortId> = nics.iter().map(|ports| ports[0]).collect();
        Self {
            planes: Planes::of(spec, nics),
            endpoints: Endpoints::of(spec, &ports),
            decisions: DecisionBank::default(),
            scheduler: QpScheduler::of(spec, ports),
            qps: List::new(),
            senders: FlowTable::default(),
            receivers: Receivers::default(),
            hash_order: HashOrder::of(spec),
            repeats: List::new(),
            ruds: List::new(),
            grants: Grants::default(),
            free_qps: Vec::new(),
            shared: BTreeMap::new(),
            qps_drew: false,
        }
    }

    /// Returns a copy without senders: receivers, and NICs that send their answers.
    pub(crate) fn without_senders(&self) -> Self {
        Self {
            planes: self.planes.clone(),
            endpoints: self.endpoints.clone(),
            decisions: DecisionBank::default(),
            scheduler: self.scheduler.without_queue_pairs(),
            qps: List::new(),
            senders: FlowTable::default(),
            receivers: self.receivers.clone(),
            hash_order: None,
            repeats: List::new(),
            ruds: List::new(),
            grants: Grants::default(),
            free_qps: Vec::new(),
            shared: BTreeMap::new(),
            qps_drew: false,
        }
    }

    #[inline(always)]
    pub(crate) fn receive(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, port: PortId, id: PacketId) {
        let packet = cx.core.packets.get(id);
        match packet.kind {
            // Only data passes through the host's receive engine; feedback is handled by the NIC.
            PacketKind::Data if self.endpoints.is_some() => self.enter_host(cx, port, id),
            PacketKind::Data => self.receive_data(cx, traffic, id),
            PacketKind::Ack | PacketKind::Nack => self.receive_ack(cx, traffic, id),
            PacketKind::Cnp => self.receive_cnp(cx, id),
            PacketKind::Signal => self.receive_signal(cx, id),
            PacketKind::Grant => self.receive_grant(cx, id),
            PacketKind::Probe => self.receive_probe(cx, traffic, id),
            PacketKind::Pause
            | PacketKind::Resume
            | PacketKind::Credit
            | PacketKind::Llr
            | PacketKind::Isolate => {
                unreachable!("what links tell each other ends at the port")
            }
        }
    }

    /// Returns true if the packet's flow still holds its queue pair.
    pub fn is_current(&self, world: &World, core: &Core, id: PacketId) -> bool {
        let packet = core.packets.get(id);
        self.qps[packet.qp].is_of(world, packet.flow)
    }

    /// Returns the queue pair of a flow that is under way.
    #[inline]
    pub fn sender_of(&self, flow: FlowId) -> Option<QpId> {
        self.senders.get(flow)
    }

    /// Writes the results so far of the flow that holds queue pair `slot`.
    pub(crate) fn record_unfinished(&self, traffic: &mut Traffic, slot: QpId) {
        let qp = &self.qps[slot];
        if qp.done {
            return;
        }
        if qp.is_connection() {
            return self.record_messages(traffic, slot);
        }
        let record = traffic.record_mut(qp.flow);
        if record.status == FlowStatus::Unfinished {
            record.retransmitted = Bytes::new(qp.progress.retransmitted);
            (record.sent, record.sent_unscheduled) = qp.sent_within(0, qp.progress.size);
            if !qp.data.reachable {
                record.status = FlowStatus::Unreachable;
            }
        }
    }

    /// Returns the queue pair in a slot.
    #[inline]
    pub fn qp(&self, slot: QpId) -> &Qp {
        &self.qps[slot]
    }

    /// Returns the queue pair in a slot, to be changed.
    pub fn qp_mut(&mut self, slot: QpId) -> &mut Qp {
        &mut self.qps[slot]
    }

    /// Returns all slots, in use or free.
    pub(crate) fn slots(&self) -> impl Iterator<Item = QpId> + use<> {
        self.qps.ids()
    }
}
