//! Loss recovery: answers of receivers, retransmissions of senders, and timeouts. Each kind of recovery is a
//! [`Reliability`] in a separate file; this file has what they share. Only `with_recovery!` distinguishes between the
//! kinds.

pub(crate) mod bits;
mod go_back_n;
pub(in crate::host) mod irn;
mod late;
mod lost;
pub(in crate::host) mod rud;

use paceline_kernel::queue::LaneId;

use go_back_n::GoBackN;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::host::Hosts;
use crate::host::receivers::{Receiver, Receivers};
use crate::ids::{FlowId, PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_run::spec::{AckPolicy, NicSpec, Quirks, Recovery};

/// Answer of a receiver to a data packet.
pub(in crate::host) enum Answer {
    Ack,
    Nack,
    Nothing,
}

/// Result of an acknowledgement at the sender.
pub(in crate::host) struct Acknowledged {
    /// Bytes that this acknowledgement is the first to acknowledge.
    pub(in crate::host) newly: u64,
    /// End of the highest byte that is known to have arrived.
    pub(in crate::host) highest: u64,
    /// Number of bytes that are known to have arrived.
    pub(in crate::host) delivered: u64,
    /// True if the acknowledgement reveals a loss.
    pub(in crate::host) loss: bool,
}

/// A kind of loss recovery, at both ends of a flow. Where packets have numbers, they count from 0.
pub(in crate::host) trait Reliability {
    /// Prepares the receiver in slot `index` for a new flow.
    fn expect(&self, _receivers: &mut Receivers, _place: ReceiverId) {}
    /// Takes the new data of a packet at the receiver, and returns the answer.
    fn take_data(
        &self,
        receivers: &mut Receivers,
        cx: &mut Cx<'_>,
        index: ReceiverId,
        id: PacketId,
    ) -> Answer;
    /// Prepares the sender of a flow whose path has the bandwidth-delay product `bdp`, in bytes.
    fn begin(&self, _hosts: &mut Hosts, _world: &World, _slot: QpId, _bdp: u64) {}
    /// Extends the flow by messages posted to its connection.
    fn extend(&self, _hosts: &mut Hosts, _world: &World, _slot: QpId) {}
    /// Takes an acknowledgement at the sender.
    fn acknowledge(&self, hosts: &mut Hosts, cx: &mut Cx<'_>, slot: QpId, id: PacketId) -> Acknowledged;
    /// Returns the number and first byte of the packet to send now.
    fn next(&self, hosts: &mut Hosts, cx: &Cx<'_>, slot: QpId) -> (u32, u64);
    /// Notes the entropy value with which a packet leaves.
    fn sent(&self, _hosts: &mut Hosts, _slot: QpId, _packet: u32, _entropy: u16) {}
    /// Returns the number of the next new packet; 0 if packets have no numbers.
    fn next_number(&self, _hosts: &Hosts, _slot: QpId) -> u32 {
        0
    }
    /// Returns the time at which the sender gives up waiting, in ps, if no feedback comes.
    fn due(&self, hosts: &mut Hosts, world: &World, slot: QpId) -> u64;
    /// Declares lost what was due. Other packets may be due next, and sooner than a whole timeout from now.
    fn time_out(&self, hosts: &mut Hosts, cx: &Cx<'_>, slot: QpId);
    /// Checks that the states of sender and receiver agree.
    fn verify(&self, _hosts: &Hosts, _world: &World, _slot: QpId) {}
}

/// Evaluates an expression with the run's kind of recovery.
macro_rules! with_recovery {
    ($world:expr, $kind:ident => $body:expr) => {
        match &$world.nic.recovery {
            Recovery::GoBackN => {
                let $kind = &GoBackN;
                $body
            }
            Recovery::SelectiveRepeat($kind) => $body,
            Recovery::Rud($kind) => $body,
        }
    };
}

impl Receiver {
    /// Returns true if an acknowledgement is due for the packets since the last one.
    fn owes_ack(&self, nic: &NicSpec) -> bool {
        match nic.ack {
            AckPolicy::EveryBytes(interval) => self.unacked_bytes >= interval.get(),
            AckPolicy::EveryPackets(n) => self.unacked_packets >= n,
        }
    }

    /// Counts a packet of in-order data up to `end`. Returns an ACK if one is due.
    #[inline]
    fn take_in_order(&mut self, end: u64, size: u64, asked: bool, nic: &NicSpec, quirks: &Quirks) -> Answer {
        self.unacked_packets += 1;
        self.unacked_bytes += end - self.expected;
        self.expected = end;
        let due = match nic.ack {
            AckPolicy::EveryBytes(interval) if quirks.ack_threshold => {
                let chunk = nic.ack_chunk.get();
                self.expected >= interval.get() || chunk > 0 && self.expected.is_multiple_of(chunk)
            }
            _ => self.owes_ack(nic),
        };
        // At the end of a flow no further packets would bring the counters to their limits. (The reference's receiver
        // does not know the end.)
        let wanted = self.expected >= size || asked;
        if due || wanted && !quirks.ack_threshold {
            self.unacked_packets = 0;
            self.unacked_bytes = 0;
            return Answer::Ack;
        }
        Answer::Nothing
    }
}

impl Receiver {
    /// Returns a NACK for a gap, unless this gap was reported a short while ago.
    fn report_gap(&mut self, now: u64, nic: &NicSpec) -> Answer {
        // Every packet behind a gap would cause a NACK, and each NACK sends the sender back.
        if now < self.nack_until && self.last_nack == self.expected {
            return Answer::Nothing;
        }
        self.nack_until = now + nic.nack_interval.as_ps();
        self.last_nack = self.expected;
        if let Some(chunk) = nic.back_to_chunk {
            self.expected -= self.expected % chunk.get().max(1);
        }
        Answer::Nack
    }
}

impl Receivers {
    /// Takes the new data of packet `id` at its receiver, and returns the answer.
    #[inline(always)]
    pub(in crate::host) fn take_data(&mut self, cx: &mut Cx<'_>, index: ReceiverId, id: PacketId) -> Answer {
        with_recovery!(cx.world, kind => kind.take_data(self, cx, index, id))
    }

    /// Prepares the receiver in slot `index` for packets in any order.
    fn expect_any_order(&mut self, index: ReceiverId) {
        self.arrived.reach(index, bits::Bits::default);
        self.arrived[index].reset();
    }

    /// Prepares the receiver in slot `index` for a new flow.
    pub(in crate::host) fn expect(&mut self, world: &World, index: ReceiverId) {
        with_recovery!(world, kind => kind.expect(self, index));
    }
}

impl Hosts {
    /// Takes acknowledgement `id` at its sender.
    #[inline(always)]
    pub(in crate::host) fn take_acknowledgement(
        &mut self,
        cx: &mut Cx<'_>,
        slot: QpId,
        id: PacketId,
    ) -> Acknowledged {
        with_recovery!(cx.world, kind => kind.acknowledge(self, cx, slot, id))
    }

    /// Prepares the sender of a flow whose path has the bandwidth-delay product `bdp`, in bytes.
    pub(in crate::host) fn begin_recovery(&mut self, world: &World, slot: QpId, bdp: u64) {
        with_recovery!(world, kind => kind.begin(self, world, slot, bdp));
    }

    /// Extends a flow by messages posted to its connection.
    pub(in crate::host) fn extend_recovery(&mut self, world: &World, slot: QpId) {
        with_recovery!(world, kind => kind.extend(self, world, slot));
    }

    /// Returns the number and first byte of the packet to send now.
    #[inline(always)]
    pub(in crate::host) fn next_packet(&mut self, cx: &Cx<'_>, slot: QpId) -> (u32, u64) {
        with_recovery!(cx.world, kind => kind.next(self, cx, slot))
    }

    /// Notes the entropy value with which a packet leaves.
    pub(in crate::host) fn packet_sent(&mut self, world: &World, slot: QpId, packet: u32, entropy: u16) {
        with_recovery!(world, kind => kind.sent(self, slot, packet, entropy));
    }

    /// Returns the number of the next new packet; 0 if packets have no numbers.
    pub(in crate::host) fn next_number(&self, world: &World, slot: QpId) -> u32 {
        with_recovery!(world, kind => kind.next_number(self, slot))
    }

    /// Checks that the states of sender and receiver agree.
    pub(in crate::host) fn verify_recovery(&self, world: &World, slot: QpId) {
        with_recovery!(world, kind => kind.verify(self, world, slot));
    }

    /// Starts the retransmission timer of a new queue pair.
    pub(in crate::host) fn start_timeout(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        if let Some(rto) = cx.world.nic.recovery.shortest_timeout(&cx.world.nic) {
            if let Some(connection) = &mut self.qps[slot].connection {
                connection.timeout_runs = true;
            }
            self.schedule_timeout(cx.core, slot, cx.core.now() + rto);
        }
    }

    fn schedule_timeout(&mut self, core: &mut Core, slot: QpId, at: u64) {
        let flow = self.qps[slot].flow;
        core.schedule(LaneId::WHEEL, at, Event::Timeout { flow });
    }

    /// Handles the expiry of a queue pair's retransmission timer: one event, put off as long as there is progress. An
    /// event for every packet would cost more than all else.
    pub(crate) fn retransmission_timeout(&mut self, cx: &mut Cx<'_>, flow: FlowId) {
        let Some(slot) = self.sender_of(flow) else {
            return;
        };
        let Some(shortest) = cx.world.nic.recovery.shortest_timeout(&cx.world.nic) else {
            return;
        };
        let qp = &mut self.qps[slot];
        if let Some(connection) = &mut qp.connection
            && connection.is_idle()
        {
            // Started again with the next message.
            connection.timeout_runs = false;
            return;
        }
        let due = with_recovery!(cx.world, kind => kind.due(self, cx.world, slot));
        let qp = &self.qps[slot];
        if qp.progress.snd_nxt <= qp.progress.snd_una {
            // Nothing is in flight, so the timeout of what is sent next is at least this far away.
            return self.schedule_timeout(cx.core, slot, cx.core.now() + shortest);
        }
        if cx.core.now() < due {
            // By then fewer packets may be in flight, and the shorter timeout may apply.
            return self.schedule_timeout(cx.core, slot, due.min(cx.core.now() + shortest));
        }
        if cx.core.watch.is_traced() {
            cx.core.settle(&self.qps[slot]);
            cx.core.account_timeout(&self.qps[slot]);
            cx.core
                .observe_timer(&self.qps[slot], paceline_run::outcome::flow_probe::Cause::Timeout);
        }
        // The next timeout counts from here, or it would be due again at once.
        self.qps[slot].progress.last_progress = cx.core.now();
        with_recovery!(cx.world, kind => kind.time_out(self, cx, slot));
        if self.planes.is_some() {
            self.await_probe(cx, slot);
        }
        cx.core.counters.timeouts += 1;
        self.call_scheme(cx, slot, |scheme, ctx| scheme.on_timeout(ctx));
        // Not simply a timeout from now: under RUD every packet has a timer, and they are due one after another.
        // Otherwise n losses would cost n timeouts.
        let due = with_recovery!(cx.world, kind => kind.due(self, cx.world, slot));
        self.schedule_timeout(cx.core, slot, due.clamp(cx.core.now(), cx.core.now() + shortest));
        self.nic_send(cx, self.qps[slot].data.port);
    }
}
