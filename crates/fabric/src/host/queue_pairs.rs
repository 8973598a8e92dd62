//! Lifecycle of queue pairs: flows start, move to other ports, and free their slots.

use paceline_kernel::rng::{Purpose, Rng};

use super::Hosts;
use super::qp::{DataPath, Qp};
use crate::core::Core;
use crate::core::cx::Cx;
use crate::ids::{FlowId, PortId, QpId};
use crate::world::World;
use paceline_congestion::PathInfo;
use paceline_kernel::Bytes;

impl Hosts {
    /// Creates the queue pair of a flow, and returns its slot.
    pub(crate) fn open(&mut self, cx: &Cx<'_>, flow: FlowId, way: DataPath, info: PathInfo) -> QpId {
        let qp = Qp::new(cx, flow, way, info);
        // A quirk hides the product from the scheme; the window of IRN must not shrink to a packet because of that.
        let bdp = match qp.path.bdp {
            Bytes::ZERO => cx.world.bdp,
            bdp => bdp.get(),
        };
        let slot = self.store(cx.world, qp);
        self.scheduler.begin(slot);
        self.note_order(cx, slot);
        self.begin_recovery(cx.world, slot, bdp);
        slot
    }

    /// Notifies recorders of a queue pair that starts, and of the paths that its packets take.
    pub(crate) fn watch_begin(&self, cx: &mut Cx<'_>, slot: QpId, ways: Option<[&[PortId]; 2]>) {
        let qp = &self.qps[slot];
        cx.core.watch.recorder.flows.started(slot, qp, cx.core.now());
        cx.core.open_account(cx.world, qp, ways);
        if cx.core.watch.flow_probes.on() && !qp.is_connection() {
            cx.core.look_begins(qp.flow, slot, qp);
        }
    }

    /// Notifies recorders of a message that was posted to a connection.
    pub(crate) fn watch_post(&self, core: &mut Core, slot: QpId, flow: FlowId) {
        let qp = &self.qps[slot];
        core.open_account_of_message(qp, flow);
        if core.watch.flow_probes.on() {
            core.look_begins(flow, slot, qp);
        }
    }

    /// Stores a queue pair in a free slot.
    fn store(&mut self, world: &World, qp: Qp) -> QpId {
        let Some(slot) = self.free_qps.pop() else {
            let flow = qp.flow;
            let slot = self.qps.push(qp);
            self.senders.set(flow, slot);
            return slot;
        };
        let before = &self.qps[slot];
        // The stream is overwritten below, and with it the sign that something was drawn.
        self.qps_drew |= has_drawn(world, before);
        self.senders.set(qp.flow, slot);
        self.qps[slot] = qp;
        slot
    }

    /// Enters a queue pair in the order of its host's queue pairs ([`super::hash_order`]), if the order matters.
    fn note_order(&mut self, cx: &Cx<'_>, slot: QpId) {
        if let Some(order) = &mut self.hash_order {
            let flow = self.qps[slot].flow;
            order.insert(&cx.world.flow(cx.core, flow), slot);
        }
    }

    /// Lets a queue pair send from now on.
    pub(crate) fn join_nic(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        let qp = &mut self.qps[slot];
        let port = qp.data.port;
        self.scheduler.join(cx.core.ports[port].nic(), slot, qp);
        self.start_timeout(cx, slot);
        self.nic_send(cx, port);
    }

    /// Returns the queue pairs of flows that are not over, in the order of the flows: their slots depend on the flows
    /// of other hosts.
    pub(crate) fn live_senders(&self) -> Vec<QpId> {
        let slots = self.qps.ids().filter(|&slot| !self.qps[slot].done);
        let mut live: Vec<QpId> = slots.collect();
        live.sort_by_key(|&slot| self.qps[slot].flow);
        live
    }

    /// Notes that a flow has no path any more.
    pub(crate) fn lose_path(&mut self, slot: QpId) {
        self.qps[slot].lose_path();
    }

    /// Puts a flow on another path, which may begin at another port.
    pub(crate) fn take_path(&mut self, core: &Core, slot: QpId, way: DataPath, info: PathInfo) {
        let [old_nic, new_nic] = [self.qps[slot].data.port, way.port].map(|port| core.ports[port].nic());
        self.qps[slot].take_path(way, info);
        if old_nic != new_nic {
            // The list that it leaves is cleaned up once for all that leave it: see `look_anew`.
            self.scheduler.move_to(new_nic, slot);
        }
    }

    /// Lets all hosts try to send, after the paths of all flows were found again.
    pub(crate) fn look_anew(&mut self, cx: &mut Cx<'_>) {
        if self.hash_order.is_some() {
            return self.enter_anew(cx);
        }
        for nic in self.scheduler.nics.ids() {
            let (port, qps) = (self.scheduler.nics[nic].port, &self.qps);
            let is_here = |slot: QpId| cx.core.ports[qps[slot].data.port].nic() == nic;
            self.scheduler.retain(nic, |&slot| is_here(slot));
            self.try_send(cx, port);
        }
    }

    /// Enters all queue pairs again as the reference's hosts do, in the order of a hash table, and tries to send after
    /// each.
    fn enter_anew(&mut self, cx: &mut Cx<'_>) {
        for nic in self.scheduler.nics.ids() {
            for slot in self.scheduler.take(nic) {
                // A finished queue pair is no longer in the order, so it is freed here.
                if self.qps[slot].is_finished() {
                    self.free_qps.push(slot);
                }
            }
        }
        let slots = self.hash_order.as_ref().map(|order| order.slots());
        for slot in slots.unwrap_or_default() {
            let port = self.qps[slot].data.port;
            let nic = cx.core.ports[port].nic();
            self.scheduler.put_back(nic, slot);
            self.try_send(cx, port);
        }
    }

    /// Returns true if a scheme or a host's engine has drawn from its stream: see `run/chance.rs`.
    pub(crate) fn have_drawn(&self, world: &World) -> bool {
        let begun = |nic: usize| Rng::stream(world.spec.seed, Purpose::Endpoint, nic as u64);
        self.qps_drew
            || self.qps.iter().any(|qp| has_drawn(world, qp))
            || self.endpoints.as_ref().is_some_and(|endpoints| {
                let mut rngs = endpoints.rngs().enumerate();
                rngs.any(|(nic, rng)| *rng != begun(nic))
            })
    }
}

/// Returns true if a flow's scheme has drawn from its stream.
pub(super) fn has_drawn(world: &World, qp: &Qp) -> bool {
    qp.rng != Rng::stream(world.spec.seed, Purpose::Congestion, u64::from(qp.flow.0))
}
