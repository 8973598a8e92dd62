//! Merging of the hosts of a run's parts ([`crate::run::cut`]).

use crate::core::Core;
use crate::core::cx::Cx;
use paceline_kernel::ids::Id;

use crate::host::Hosts;
use crate::ids::{FlowId, QpId};
use crate::world::World;

impl Hosts {
    /// Takes over the hosts of another part, whose core is `core`, into those of `mine`.
    pub(crate) fn take_over(&mut self, mut other: Self, world: &World, mine: &mut Core, core: &mut Core) {
        self.qps_drew |= other.have_drawn(world);
        let before = self.qps.len();
        for nic in self.scheduler.nics.ids() {
            let port = other.scheduler.nics[nic].port;
            if !core.has(core.ports[port].node) {
                continue;
            }
            self.scheduler.take_nic(&mut other.scheduler, nic, before);
            self.grants.take_over(&mut other.grants, nic, world.schemes.len());
            if let (Some(own), Some(endpoints)) = (&mut self.endpoints, &mut other.endpoints) {
                own.take_over(endpoints, nic, mine, core);
            }
        }
        self.decisions.take_over(&mut other.decisions, |nic| {
            core.has(core.ports[self.scheduler.nics[nic].port].node)
        });
        for (slot, qp) in other.qps.numbered() {
            if !qp.done {
                self.senders.set(qp.flow, slot.plus(before));
            }
        }
        if !other.repeats.is_empty() || !self.repeats.is_empty() {
            // The lists have an entry for each queue pair, in either part, so shorter ones are filled up first.
            self.repeats.resize_with(before, Default::default);
            self.repeats.append(&mut other.repeats);
        }
        if !other.ruds.is_empty() || !self.ruds.is_empty() {
            self.ruds.resize_with(before, Default::default);
            self.ruds.append(&mut other.ruds);
        }
        self.scheduler.take_queue_pairs(&mut other.scheduler, before);
        self.qps.append(&mut other.qps);
        self.free_qps
            .extend(other.free_qps.iter().map(|slot| slot.plus(before)));
        self.receivers.take_over(other.receivers);
    }

    /// Writes the new slots of queue pairs into packets and receivers.
    pub(crate) fn notify_places(&mut self, cx: &mut Cx<'_>) {
        let senders = &self.senders;
        let index = |flow: FlowId| senders.get(flow).unwrap_or(QpId(0));
        for packet in cx
            .core
            .packets
            .iter_mut()
            .filter(|packet| packet.flow != FlowId::NONE)
        {
            packet.qp = index(cx.world.sending_flow(packet.flow));
        }
        for receiver in self.receivers.iter_mut() {
            receiver.path.qp = index(receiver.flow);
        }
    }
}
