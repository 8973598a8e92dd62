//! Recovery of what was lost: what a receiver answers, what a sender sends again, and when it stops
//! waiting. One file for each kind of recovery; here is what they share.

pub(crate) mod bits;
mod go_back_n;
pub(crate) mod irn;
mod late;

use paceline_kernel::queue::LaneId;

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

impl Receiver {
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
            AckPolicy::EveryBytes(interval) => u64::from(self.unacked_bytes) >= interval.get(),
            AckPolicy::EveryPackets(n) => self.unacked_packets >= n,
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
        core: &Core,
        place: ReceiverId,
        id: PacketId,
    ) -> Answer {
        match world.nic.recovery {
            Recovery::GoBackN => self.take_in_sequence(world, core, place, id),
            Recovery::SelectiveRepeat(_) => self.take_in_any_order(world, core, place, id),
        }
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
        match world.nic.recovery {
            Recovery::GoBackN => self.acknowledge_up_to(world, core, slot, id),
            Recovery::SelectiveRepeat(irn) => self.acknowledge_selectively(world, core, slot, id, &irn),
        }
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
        let rto = match &world.nic.recovery {
            Recovery::GoBackN => shortest,
            Recovery::SelectiveRepeat(irn) => self.repeats[slot].timeout(irn),
        };
        let due = qp.last_progress + rto;
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
        match world.nic.recovery {
            Recovery::GoBackN => self.go_back(slot),
            Recovery::SelectiveRepeat(irn) => self.resend_after_timeout(slot, &irn),
        }
        core.counters.timeouts += 1;
        self.call_scheme(world, core, slot, |scheme, cx| scheme.on_timeout(cx));
        self.schedule_timeout(core, slot, core.now() + shortest);
        self.nic_send(world, core, self.qps[slot].port);
    }
}
