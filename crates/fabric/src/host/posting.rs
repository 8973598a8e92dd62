//! Messages of persistent connections: posting, completion, and records.

use paceline_kernel::{Bytes, Span};

use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::ids::{FlowId, PacketId, QpId};
use crate::traffic::Traffic;
use paceline_run::outcome::FlowStatus;
use paceline_run::spec::Awaited;

impl Hosts {
    /// Returns the lowest possible completion time of a message of this size over a connection, if it is known.
    pub(crate) fn ideal_of(&self, slot: QpId, size: Bytes) -> Option<Span> {
        let (known, ideal) = self.qps[slot].connection.as_ref()?.ideal?;
        (known == size).then_some(ideal)
    }

    /// Stores the lowest possible completion time of messages of this size.
    pub(crate) fn note_ideal(&mut self, slot: QpId, size: Bytes, ideal: Span) {
        if let Some(connection) = &mut self.qps[slot].connection {
            connection.ideal = Some((size, ideal));
        }
    }

    /// Posts message `flow` to its connection.
    pub(crate) fn post(&mut self, cx: &mut Cx<'_>, slot: QpId, flow: FlowId) {
        if cx.core.watch.is_traced() {
            cx.core.settle(&self.qps[slot]);
        }
        let (now, mtu) = (cx.core.now(), cx.world.packet.mtu.get());
        let size = cx.world.flow(cx.core, flow).size.get();
        let qp = &mut self.qps[slot];
        let idle = qp.connection.as_ref().filter(|connection| connection.is_idle());
        let idle = idle.map(|connection| Span::from_ps(now - connection.idle_since));
        // After a pause that long, the state of the scheme says nothing about the network any more.
        if cx.world.nic.idle_reset.is_some_and(|after| idle >= Some(after)) {
            qp.reset(cx, size);
            self.join_group(cx, slot);
        }
        self.qps[slot].post(flow, size, mtu);
        self.extend_recovery(cx.world, slot);
        self.qps[slot].recompute_bound();
        self.scheduler.update(cx.core, slot, &self.qps);
    }

    /// Sends from an open connection to which messages were posted.
    pub(crate) fn resume(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        let connection = self.qps[slot].connection.as_ref();
        if connection.is_some_and(|connection| !connection.timeout_runs) {
            self.start_timeout(cx, slot);
        }
        self.nic_send(cx, self.qps[slot].data.port);
    }

    /// Completes messages of a connection that acknowledgement `id` covers. Returns true if they were its last.
    pub(super) fn complete_messages(
        &mut self,
        cx: &mut Cx<'_>,
        traffic: &mut Traffic,
        slot: QpId,
        id: PacketId,
    ) -> bool {
        let mtu = cx.world.packet.mtu.get();
        while let Some(message) = self.qps[slot].take_whole(cx.core.now(), mtu) {
            let flow = message.flow;
            if cx.core.watch.recorder.follows_flows
                && let Some(connection) = &mut self.qps[slot].connection
            {
                connection.notify_rest(&message, |flow, bytes| {
                    cx.core.record_goodput(cx.world, flow, bytes)
                });
            }
            let record = traffic.record_mut(flow);
            record.status = FlowStatus::Completed;
            record.fct = Span::from_ps(cx.core.now() - record.start.as_ps());
            self.qps[slot].notify_message(&message, record);
            let fct = record.fct;
            traffic.complete(flow);
            traffic.release(cx, flow, Awaited::Acknowledged);
            if cx.core.packets.get(id).is_accounted() {
                cx.core.close_account(cx.world, flow, fct, id);
            }
            cx.core.look_ends(flow);
        }
        let qp = &mut self.qps[slot];
        // A connection is over with the last of all its messages, posted or not.
        qp.done = qp
            .connection
            .as_ref()
            .is_some_and(|connection| connection.left == 0);
        if qp.done {
            self.senders.take(self.qps[slot].flow);
        }
        self.qps[slot].done
    }

    /// Writes the results so far of the messages of a connection.
    pub(super) fn record_messages(&self, traffic: &mut Traffic, slot: QpId) {
        let qp = &self.qps[slot];
        for message in qp.connection.iter().flat_map(|connection| connection.messages()) {
            let record = traffic.record_mut(message.flow);
            qp.notify_message(message, record);
            if !qp.data.reachable {
                record.status = FlowStatus::Unreachable;
            }
        }
    }

    /// Returns true if the queue pair whose first flow this is has anything under way.
    pub(crate) fn has_work(&self, flow: FlowId) -> bool {
        let connection = |slot: QpId| self.qps[slot].connection.as_ref();
        let sender = self.sender_of(flow);
        sender.is_some_and(|slot| connection(slot).is_none_or(|connection| !connection.is_idle()))
    }

    /// Returns the flows under way in a queue pair: for a connection, the posted messages.
    pub(crate) fn flows_of(&self, slot: QpId) -> Vec<FlowId> {
        let qp = &self.qps[slot];
        match &qp.connection {
            None => vec![qp.flow],
            Some(connection) => connection.messages().map(|message| message.flow).collect(),
        }
    }
}
