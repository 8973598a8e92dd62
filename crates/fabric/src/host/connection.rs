//! Persistent connections: queue pairs that carry one message after another, and whose scheme lives on between them.
//!
//! A message is a range of its connection's sequence numbers, and packets belong to one message. What is counted are
//! packets, as RoCE's packet sequence numbers count them: each message begins at a multiple of the MTU, and a last packet
//! that is shorter takes the room of a full one, also in the window while it is in flight. Loss recovery knows nothing of
//! messages. A connection is open from its first message until its last is complete.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use paceline_congestion::{TimerBank, TimerSlot};
use paceline_kernel::{Bytes, Span};

use crate::core::Core;
use crate::core::packet::Packet;
use crate::host::qp::{Part, Qp};
use crate::ids::FlowId;
use crate::world::World;
use paceline_run::outcome::FlowRecord;

/// What a queue pair's sender keeps of the messages that it carries.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    messages: Messages,
    /// How many are still to complete, posted or not.
    pub(super) left: u32,
    /// Whether the event of a retransmission timeout is pending.
    pub(super) timeout_runs: bool,
    /// Since when nothing is posted, in ps.
    pub(super) idle_since: u64,
    /// Sequence numbers of complete messages that stand for no payload.
    unfilled: u64,
    /// Payload that recorders know to be acknowledged.
    notified: u64,
    /// The least completion time of messages of the size that was posted last, by the way that there is.
    pub(super) ideal: Option<(Bytes, Span)>,
}

/// A message that is posted and not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: FlowId,
    pub(super) start: u64,
    pub(super) size: u64,
    retransmitted: u64,
    /// Payload of it that recorders know to be acknowledged.
    notified: u64,
}

impl Message {
    /// Where the next one begins.
    const fn end(&self, mtu: u64) -> u64 {
        self.start + self.size.next_multiple_of(mtu)
    }
}

/// Those that are posted and not complete, in order. Most connections have one at a time: it is where they are.
#[derive(Clone, Debug, Default)]
struct Messages {
    first: Option<Message>,
    later: VecDeque<Message>,
}

impl Messages {
    fn iter(&self) -> impl Iterator<Item = &Message> {
        self.first.iter().chain(&self.later)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Message> {
        self.first.iter_mut().chain(&mut self.later)
    }

    fn push(&mut self, message: Message) {
        match self.first {
            None => self.first = Some(message),
            Some(_) => self.later.push_back(message),
        }
    }

    /// Takes the first.
    fn take(&mut self) -> Option<Message> {
        std::mem::replace(&mut self.first, self.later.pop_front())
    }

    /// How many of the later ones begin at this sequence number or before.
    fn begun(&self, seq: u64) -> usize {
        match self.later.is_empty() {
            true => 0,
            false => self.later.partition_point(|message| message.start <= seq),
        }
    }

    /// The message that has this sequence number, which has been posted and is not complete.
    fn at(&self, seq: u64) -> Option<&Message> {
        match self.begun(seq) {
            0 => self.first.as_ref(),
            begun => self.later.get(begun - 1),
        }
    }

    fn at_mut(&mut self, seq: u64) -> Option<&mut Message> {
        match self.begun(seq) {
            0 => self.first.as_mut(),
            begun => self.later.get_mut(begun - 1),
        }
    }
}

impl Connection {
    pub(super) fn of(world: &World, number: NonZeroU32, now: u64) -> Box<Self> {
        Box::new(Self {
            messages: Messages::default(),
            left: world.connections.count(number),
            timeout_runs: false,
            idle_since: now,
            unfilled: 0,
            notified: 0,
            ideal: None,
        })
    }

    /// Those that are posted and not complete, in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }

    /// The packet at this sequence number.
    #[inline(never)]
    pub(super) fn part(&self, seq: u64, mtu: u64) -> Part {
        let message = self.messages.at(seq).expect("what is sent has been posted");
        let left = message.start + message.size - seq;
        let ends = Packet::ENDS_MESSAGE | Packet::ACK_REQUEST;
        Part {
            flow: message.flow,
            payload: mtu.min(left) as u16,
            end: seq + mtu,
            flags: u8::from(left <= mtu) * ends,
        }
    }

    /// Whether a message that is not complete begins at this sequence number.
    pub(super) fn begins(&self, seq: u64) -> bool {
        let message = self.messages.at(seq);
        message.is_some_and(|message| message.start == seq)
    }

    /// So much of the message at this sequence number has been sent again.
    #[inline(never)]
    pub(super) fn sent_again(&mut self, seq: u64, payload: u64) {
        let message = self.messages.at_mut(seq).expect("what is sent has been posted");
        message.retransmitted += payload;
    }

    /// So many bytes, in sequence numbers, are acknowledged: shows how much of each message is payload that was not told
    /// before. Messages are filled in their order, whichever bytes behind a gap were acknowledged.
    #[inline(never)]
    pub(super) fn notify(&mut self, acknowledged: u64, mut show: impl FnMut(FlowId, u64)) {
        let mut newly = (acknowledged - self.unfilled).saturating_sub(self.notified);
        for message in self.messages.iter_mut() {
            if newly == 0 {
                break;
            }
            let part = newly.min(message.size - message.notified);
            if part > 0 {
                message.notified += part;
                self.notified += part;
                newly -= part;
                show(message.flow, part);
            }
        }
    }

    /// A message is complete: shows what of its payload was not told before.
    pub(super) fn notify_rest(&mut self, message: &Message, show: impl FnOnce(FlowId, u64)) {
        let rest = message.size - message.notified;
        if rest > 0 {
            self.notified += rest;
            show(message.flow, rest);
        }
    }

    /// Whether nothing is posted.
    pub(super) fn is_idle(&self) -> bool {
        self.messages.first.is_none()
    }

    /// There is another way now.
    pub(super) fn forget_ideal(&mut self) {
        self.ideal = None;
    }
}

impl Qp {
    /// A message is posted.
    pub(super) fn post(&mut self, flow: FlowId, size: u64, mtu: u64) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let message = Message {
            flow,
            start: self.size,
            size,
            retransmitted: 0,
            notified: 0,
        };
        self.size = message.end(mtu);
        self.limit = self.size;
        if connection.is_idle() {
            self.end_seq = self.size;
        }
        connection.messages.push(message);
    }

    /// The first of the messages whose bytes are all acknowledged, which is complete.
    pub(super) fn take_whole(&mut self, now: u64, mtu: u64) -> Option<Message> {
        let connection = self.connection.as_mut()?;
        let first = connection.messages.first.as_ref()?;
        if self.snd_una < first.end(mtu) {
            return None;
        }
        let whole = connection.messages.take()?;
        connection.left -= 1;
        connection.unfilled += whole.end(mtu) - whole.start - whole.size;
        let next = connection.messages.first.as_ref();
        self.end_seq = next.map_or(u64::MAX, |next| next.end(mtu));
        connection.idle_since = now;
        Some(whole)
    }

    /// Its scheme begins again, with a message of so many bytes: its timers are forgotten, and it allows what it does at
    /// its start.
    pub(super) fn reset(&mut self, world: &World, core: &Core, first: u64) {
        self.path.first_message = Bytes::new(first);
        self.scheme = world.scheme_of(core, self.flow).build(&self.path);
        for timer in 0..TimerBank::SLOTS {
            self.timers.cancel(TimerSlot(timer as u8));
        }
        self.apply(self.scheme.limits());
    }

    /// What has become of a message.
    pub(super) fn notify_message(&self, message: &Message, record: &mut FlowRecord) {
        record.retransmitted = Bytes::new(message.retransmitted);
        let end = message.start + message.size;
        (record.sent, record.sent_unscheduled) = self.sent_within(message.start, end);
    }

    /// Messages that are posted follow each other, and the first is the next to be complete.
    pub(super) fn verify_messages(&self, mtu: u64) {
        let Some(connection) = &self.connection else {
            return;
        };
        let flow = self.flow;
        let mut messages = connection.messages.iter().peekable();
        let first = messages.peek().map_or(u64::MAX, |first| first.end(mtu));
        assert_eq!(self.end_seq, first, "connection of flow {flow}: first message");
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
            connection.messages().count() <= connection.left as usize,
            "connection of flow {flow}: more messages than flows"
        );
    }
}
