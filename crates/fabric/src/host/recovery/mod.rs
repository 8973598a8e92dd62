//! Recovery of what was lost: what a receiver answers, what a sender sends again, and when it stops
//! waiting. Each kind of recovery is a [`Reliability`] in a file of its own; here is what they share. Which one a run has
//! is asked by `with_recovery!` alone.

pub(crate) mod bits;
mod go_back_n;
pub(in crate::host) mod irn;
mod late;
mod lost;
pub(in crate::host) mod rud;

use paceline_kernel::queue::LaneId;

use go_back_n::GoBackN;

use crate::core::Core;
use crate::core::event::Event;
use crate::host::Hosts;
use crate::host::receivers::{Receiver, Receivers};
use crate::ids::{FlowId, PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_run::spec::{AckPolicy, NicSpec, Quirks, Recovery};

/// What the receiver answers to a data packet.
pub(in crate::host) enum Answer {
    Ack,
    Nack,
    Nothing,
}

/// What an acknowledgement told the sender.
pub(in crate::host) struct Acknowledged {
    /// Bytes that it is the first to acknowledge.
    pub(in crate::host) newly: u64,
    /// Behind the highest byte that is known to have arrived.
    pub(in crate::host) highest: u64,
    /// Bytes that are known to have arrived.
    pub(in crate::host) delivered: u64,
    /// Whether it tells of a loss.
    pub(in crate::host) loss: bool,
}

/// A kind of recovery, at both ends of a flow. Senders and receivers are numbered from 0 packet by packet, where packets
/// have numbers.
pub(in crate::host) trait Reliability {
    /// A flow's first packet has come to its receiver at `place`.
    fn expect(&self, _receivers: &mut Receivers, _place: ReceiverId) {}
    /// The receiver takes what is new of a data packet, and answers.
    fn take_data(
        &self,
        receivers: &mut Receivers,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        id: PacketId,
    ) -> Answer;
    /// A sender begins, on a path with such a bandwidth-delay product.
    fn begin(&self, _hosts: &mut Hosts, _world: &World, _slot: QpId, _bdp: u64) {}
    /// More was posted to its connection.
    fn extend(&self, _hosts: &mut Hosts, _world: &World, _slot: QpId) {}
    /// An acknowledgement reached the sender.
    fn acknowledge(
        &self,
        hosts: &mut Hosts,
        world: &World,
        core: &mut Core,
        slot: QpId,
        id: PacketId,
    ) -> Acknowledged;
    /// The packet that is to be sent now: its number and its first byte.
    fn next(&self, hosts: &mut Hosts, world: &World, core: &Core, slot: QpId) -> (u32, u64);
    /// It leaves with this entropy value.
    fn sent(&self, _hosts: &mut Hosts, _slot: QpId, _packet: u32, _entropy: u16) {}
    /// The number of the next new packet; 0 where packets have none.
    fn next_number(&self, _hosts: &Hosts, _slot: QpId) -> u32 {
        0
    }
    /// Returns when the sender gives up waiting, in ps, if nothing comes.
    fn due(&self, hosts: &mut Hosts, world: &World, slot: QpId) -> u64;
    /// Takes for lost what was due. Something else may be due next, and sooner than a whole timeout from now.
    fn time_out(&self, hosts: &mut Hosts, world: &World, core: &Core, slot: QpId);
    /// Sender and receiver know what they can know of each other.
    fn verify(&self, _hosts: &Hosts, _world: &World, _slot: QpId) {}
}

/// Does the same with the run's kind of recovery, whichever it is.
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
    /// Whether an acknowledgement is due for what has come since the last.
    fn owes_ack(&self, nic: &NicSpec) -> bool {
        match nic.ack {
            AckPolicy::EveryBytes(interval) => u64::from(self.unacked_bytes) >= interval.get(),
            AckPolicy::EveryPackets(n) => self.unacked_packets >= n,
        }
    }

    /// Counts a packet with `new` bytes in order up to `end`, and says whether an acknowledgement is due.
    #[inline]
    fn take_in_order(&mut self, end: u64, size: u64, asked: bool, nic: &NicSpec, quirks: &Quirks) -> Answer {
        self.unacked_packets += 1;
        self.unacked_bytes += (end - self.expected) as u32;
        self.expected = end;
        let due = match nic.ack {
            AckPolicy::EveryBytes(interval) if quirks.ack_threshold => {
                let chunk = nic.ack_chunk.get();
                self.expected >= interval.get() || chunk > 0 && self.expected.is_multiple_of(chunk)
            }
            _ => self.owes_ack(nic),
        };
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
    /// A packet came that is not the next: a NACK, unless one told of this gap a short while ago.
    fn report_gap(&mut self, now: u64, nic: &NicSpec) -> Answer {
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
    /// Data packet `id` reached its receiver: takes what is new of it.
    #[inline(always)]
    pub(in crate::host) fn take_data(
        &mut self,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        id: PacketId,
    ) -> Answer {
        with_recovery!(world, kind => kind.take_data(self, world, core, place, id))
    }

    /// Nothing beyond a gap has arrived of the flow at `place`, whose packets come in any order.
    fn expect_any_order(&mut self, place: ReceiverId) {
        self.arrived.reach(place, bits::Bits::default);
        self.arrived[place].reset();
    }

    /// A flow begins at `place`.
    pub(in crate::host) fn expect(&mut self, world: &World, place: ReceiverId) {
        with_recovery!(world, kind => kind.expect(self, place));
    }
}

impl Hosts {
    /// Acknowledgement `id` reached its sender.
    #[inline(always)]
    pub(in crate::host) fn take_acknowledgement(
        &mut self,
        world: &World,
        core: &mut Core,
        slot: QpId,
        id: PacketId,
    ) -> Acknowledged {
        with_recovery!(world, kind => kind.acknowledge(self, world, core, slot, id))
    }

    /// A sender begins, on a path with such a bandwidth-delay product.
    pub(in crate::host) fn begin_recovery(&mut self, world: &World, slot: QpId, bdp: u64) {
        with_recovery!(world, kind => kind.begin(self, world, slot, bdp));
    }

    /// More was posted to its connection.
    pub(in crate::host) fn extend_recovery(&mut self, world: &World, slot: QpId) {
        with_recovery!(world, kind => kind.extend(self, world, slot));
    }

    /// The number and first byte of the packet that is to be sent now.
    #[inline(always)]
    pub(in crate::host) fn next_packet(&mut self, world: &World, core: &Core, slot: QpId) -> (u32, u64) {
        with_recovery!(world, kind => kind.next(self, world, core, slot))
    }

    /// It leaves with this entropy value.
    pub(in crate::host) fn packet_sent(&mut self, world: &World, slot: QpId, packet: u32, entropy: u16) {
        with_recovery!(world, kind => kind.sent(self, slot, packet, entropy));
    }

    /// The number of the next new packet; 0 where packets have none.
    pub(in crate::host) fn next_number(&self, world: &World, slot: QpId) -> u32 {
        with_recovery!(world, kind => kind.next_number(self, slot))
    }

    /// Sender and receiver know what they can know of each other.
    pub(in crate::host) fn verify_recovery(&self, world: &World, slot: QpId) {
        with_recovery!(world, kind => kind.verify(self, world, slot));
    }

    /// A new queue pair's retransmission timer starts.
    pub(in crate::host) fn start_timeout(&mut self, world: &World, core: &mut Core, slot: QpId) {
        if let Some(rto) = world.nic.recovery.shortest_timeout(&world.nic) {
            if let Some(connection) = &mut self.qps[slot].connection {
                connection.timeout_runs = true;
            }
            self.schedule_timeout(core, slot, core.now() + rto);
        }
    }

    fn schedule_timeout(&mut self, core: &mut Core, slot: QpId, at: u64) {
        let flow = self.qps[slot].flow;
        core.schedule(LaneId::WHEEL, at, Event::Timeout { flow });
    }

    /// A queue pair's retransmission timer expires. It is one event that is put off as long as there
    /// is progress.
    pub(crate) fn retransmission_timeout(&mut self, world: &World, core: &mut Core, flow: FlowId) {
        let Some(slot) = self.sender_of(flow) else {
            return;
        };
        let Some(shortest) = world.nic.recovery.shortest_timeout(&world.nic) else {
            return;
        };
        let qp = &mut self.qps[slot];
        if let Some(connection) = &mut qp.connection
            && connection.is_idle()
        {
            // It begins again with the next message.
            connection.timeout_runs = false;
            return;
        }
        let due = with_recovery!(world, kind => kind.due(self, world, slot));
        let qp = &self.qps[slot];
        if qp.snd_nxt <= qp.snd_una {
            // With nothing in flight, the timeout of what is sent next is more than this away.
            return self.schedule_timeout(core, slot, core.now() + shortest);
        }
        if core.now() < due {
            // By then the shorter timeout may be the one that counts.
            return self.schedule_timeout(core, slot, due.min(core.now() + shortest));
        }
        if core.watch.is_traced() {
            core.settle(&self.qps[slot]);
            core.account_timeout(&self.qps[slot]);
            core.observe_timer(&self.qps[slot], paceline_run::outcome::flow_probe::Cause::Timeout);
        }
        self.qps[slot].last_progress = core.now();
        with_recovery!(world, kind => kind.time_out(self, world, core, slot));
        core.counters.timeouts += 1;
        self.call_scheme(world, core, slot, |scheme, cx| scheme.on_timeout(cx));
        // Not simply a timeout from now: packets that have timers of their own are due one after another, and n losses would
        // cost n timeouts.
        let due = with_recovery!(world, kind => kind.due(self, world, slot));
        self.schedule_timeout(core, slot, due.clamp(core.now(), core.now() + shortest));
        self.nic_send(world, core, self.qps[slot].port);
    }
}
