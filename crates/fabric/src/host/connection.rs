//! Persistent connections: queue pairs that carry one message after another, and whose scheme lives on between them.
//!
//! A message is a range of its connection's sequence numbers, and packets belong to one message. What is counted are
//! packets, as RoCE's packet sequence numbers count them: each message begins at a multiple of the MTU, and a last packet
//! that is shorter takes the room of a full one, also in the window while it is in flight. Loss recovery knows nothing of
//! messages. A connection is open from its first message until its last is complete.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use paceline_congestion::TimerBank;
use paceline_congestion::TimerSlot;
use paceline_kernel::{Bytes, Span};

use crate::core::Core;
use crate::host::Hosts;
use crate::host::qp::Qp;
use crate::ids::{FlowId, PacketId, QpId};
use crate::outcome::{FlowRecord, FlowStatus};
use crate::spec::{Awaited, Recovery};
use crate::traffic::Traffic;
use crate::world::World;

/// What a queue pair's sender keeps of the messages that it carries.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// Those that are posted and not complete, in order.
    messages: VecDeque<Message>,
    /// How many are still to complete, posted or not.
    left: u32,
    /// Whether the event of a retransmission timeout is pending.
    pub(super) timeout_runs: bool,
    /// Since when nothing is posted, in ps.
    idle_since: u64,
    /// Sequence numbers of complete messages that stand for no payload.
    unfilled: u64,
    /// Payload that recorders know to be acknowledged.
    told: u64,
    /// The least completion time of messages of the size that was posted last, by the way that there is.
    ideal: Option<(Bytes, Span)>,
}

/// A message that is posted and not complete.
#[derive(Clone, Copy, Debug)]
struct Message {
    flow: FlowId,
    start: u64,
    size: u64,
    retransmitted: u64,
}

impl Message {
    /// Where the next one begins.
    const fn end(&self, mtu: u64) -> u64 {
        self.start + self.size.next_multiple_of(mtu)
    }
}

impl Connection {
    pub(super) fn of(world: &World, number: NonZeroU32, now: u64) -> Box<Self> {
        Box::new(Self {
            messages: VecDeque::new(),
            left: world.connections.count(number),
            timeout_runs: false,
            idle_since: now,
            unfilled: 0,
            told: 0,
            ideal: None,
        })
    }

    /// The message that has this sequence number, which has been posted and is not complete.
    fn place(&self, seq: u64) -> usize {
        self.messages.partition_point(|message| message.start <= seq) - 1
    }

    /// The flow of the packet at this sequence number, and how much of it is left from there on.
    pub(super) fn part(&self, seq: u64) -> (FlowId, u64) {
        let message = &self.messages[self.place(seq)];
        (message.flow, message.start + message.size - seq)
    }

    /// So much of the message at this sequence number has been sent again.
    pub(super) fn sent_again(&mut self, seq: u64, payload: u64) {
        let place = self.place(seq);
        self.messages[place].retransmitted += payload;
    }

    /// All before this, in sequence numbers, is acknowledged: how much of that is payload that was not told before.
    pub(super) fn tell(&mut self, acknowledged: u64) -> u64 {
        let newly = (acknowledged - self.unfilled).saturating_sub(self.told);
        self.told += newly;
        newly
    }

    /// Whether nothing is posted.
    pub(super) fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    /// There is another way now.
    pub(super) fn forget_ideal(&mut self) {
        self.ideal = None;
    }
}

impl Qp {
    /// A message is posted.
    fn post(&mut self, flow: FlowId, size: u64, mtu: u64) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let message = Message {
            flow,
            start: self.size,
            size,
            retransmitted: 0,
        };
        self.size = message.end(mtu);
        self.limit = self.size;
        if connection.is_idle() {
            self.whole_at = self.size;
        }
        connection.messages.push_back(message);
    }

    /// The first of the messages whose bytes are all acknowledged, which is complete.
    fn take_whole(&mut self, now: u64, mtu: u64) -> Option<Message> {
        let connection = self.connection.as_mut()?;
        let first = connection.messages.front()?;
        if self.snd_una < first.end(mtu) {
            return None;
        }
        let whole = connection.messages.pop_front()?;
        connection.left -= 1;
        connection.unfilled += whole.end(mtu) - whole.start - whole.size;
        let next = connection.messages.front();
        self.whole_at = next.map_or(u64::MAX, |next| next.end(mtu));
        connection.idle_since = now;
        Some(whole)
    }

    /// Its scheme begins anew: its timers are forgotten, and it allows what it does at its start.
    fn reset(&mut self, world: &World, core: &Core) {
        self.scheme = world.scheme_of(core, self.flow).build(&self.path);
        for timer in 0..TimerBank::SLOTS {
            self.timers.cancel(TimerSlot(timer as u8));
        }
        self.apply(self.scheme.limits());
    }

    /// What has become of a message.
    fn tell_message(&self, message: &Message, record: &mut FlowRecord) {
        record.retransmitted = Bytes::new(message.retransmitted);
        let end = message.start + message.size;
        (record.sent, record.sent_unheard) = self.sent_within(message.start, end);
    }

    /// Messages that are posted follow each other, and the first is the next to be complete.
    pub(super) fn verify_messages(&self, mtu: u64) {
        let Some(connection) = &self.connection else {
            return;
        };
        let flow = self.flow;
        let mut messages = connection.messages.iter().peekable();
        let first = messages.peek().map_or(u64::MAX, |first| first.end(mtu));
        assert_eq!(self.whole_at, first, "connection of flow {flow}: first message");
        assert!(self.snd_una < first, "connection of flow {flow}: it is complete");
        let mut end = None;
        for message in messages {
            let start = end.unwrap_or(message.start);
            assert_eq!(start, message.start, "connection of flow {flow}: a gap");
            end = Some(message.end(mtu));
        }
        assert_eq!(
            end.unwrap_or(self.snd_una),
            self.size,
            "connection of flow {flow}: messages are not all"
        );
        assert!(
            connection.messages.len() <= connection.left as usize,
            "connection of flow {flow}: more messages than flows"
        );
    }
}

impl Hosts {
    /// The least completion time of a message of this size over a connection, if it is known.
    pub(crate) fn ideal_of(&self, slot: QpId, size: Bytes) -> Option<Span> {
        let (known, ideal) = self.qps[slot].connection.as_ref()?.ideal?;
        (known == size).then_some(ideal)
    }

    /// It is known now.
    pub(crate) fn note_ideal(&mut self, slot: QpId, size: Bytes, ideal: Span) {
        if let Some(connection) = &mut self.qps[slot].connection {
            connection.ideal = Some((size, ideal));
        }
    }

    /// Message `flow` is posted to its connection.
    pub(crate) fn post(&mut self, world: &World, core: &mut Core, slot: QpId, flow: FlowId) {
        if core.watch.is_told() {
            core.settle(&self.qps[slot]);
        }
        let (now, mtu) = (core.now(), world.packet.mtu.get());
        let size = world.flow(core, flow).size.get();
        let qp = &mut self.qps[slot];
        let idle = qp.connection.as_ref().filter(|connection| connection.is_idle());
        let idle = idle.map(|connection| Span::from_ps(now - connection.idle_since));
        if world.nic.idle_reset.is_some_and(|after| idle >= Some(after)) {
            qp.reset(world, core);
        }
        qp.post(flow, size, mtu);
        if let Recovery::SelectiveRepeat(_) = world.nic.recovery {
            self.extend_selective_repeat(world, slot);
        }
        self.qps[slot].reckon();
        self.regard(core, slot);
    }

    /// Something was posted to a connection that is open: sends what may go.
    pub(crate) fn resume(&mut self, world: &World, core: &mut Core, slot: QpId) {
        let connection = self.qps[slot].connection.as_ref();
        if connection.is_some_and(|connection| !connection.timeout_runs) {
            self.start_timeout(world, core, slot);
        }
        self.nic_send(world, core, self.qps[slot].port);
    }

    /// Messages of a connection are complete with acknowledgement `id`. Says whether they were its last.
    #[cold]
    #[inline(never)]
    pub(super) fn complete_messages(
        &mut self,
        world: &World,
        core: &mut Core,
        traffic: &mut Traffic,
        slot: QpId,
        id: PacketId,
    ) -> bool {
        let mtu = world.packet.mtu.get();
        while let Some(message) = self.qps[slot].take_whole(core.now(), mtu) {
            let flow = message.flow;
            let record = traffic.record_mut(flow);
            record.status = FlowStatus::Completed;
            record.fct = Span::from_ps(core.now() - record.start.as_ps());
            self.qps[slot].tell_message(&message, record);
            let fct = record.fct;
            traffic.complete(flow);
            traffic.release(world, core, flow, Awaited::Acknowledged);
            if core.packets.get(id).is_accounted() {
                core.close_account(world, flow, fct, id);
            }
            core.look_ends(flow);
        }
        let qp = &mut self.qps[slot];
        qp.done = qp
            .connection
            .as_ref()
            .is_some_and(|connection| connection.left == 0);
        if qp.done {
            self.senders.take(self.qps[slot].flow);
        }
        self.qps[slot].done
    }

    /// The results so far of messages of a connection.
    pub(super) fn record_messages(&self, traffic: &mut Traffic, slot: QpId) {
        let qp = &self.qps[slot];
        for message in qp.connection.iter().flat_map(|connection| &connection.messages) {
            let record = traffic.record_mut(message.flow);
            qp.tell_message(message, record);
            if !qp.reachable {
                record.status = FlowStatus::Unreachable;
            }
        }
    }

    /// What has arrived of messages of the connection of `flow`, of which `expected` is the next byte.
    pub(super) fn record_arrived(&self, traffic: &mut Traffic, flow: FlowId, expected: u64) {
        let Some(slot) = self.sender_of(flow) else {
            return;
        };
        let posted = self.qps[slot].connection.iter();
        for message in posted.flat_map(|connection| &connection.messages) {
            let end = message.start + message.size;
            let arrived = expected.clamp(message.start, end) - message.start;
            traffic.has_delivered(message.flow, Bytes::new(arrived));
        }
    }

    /// Flows that are under way in a queue pair: of a connection, the messages that are posted.
    pub(crate) fn flows_of(&self, slot: QpId) -> Vec<FlowId> {
        let qp = &self.qps[slot];
        match &qp.connection {
            None => vec![qp.flow],
            Some(connection) => connection.messages.iter().map(|message| message.flow).collect(),
        }
    }
}
