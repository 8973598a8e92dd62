//! Persistent connections: queue pairs that carry one message after another, with a scheme that keeps its state between
//! them.
//!
//! A message is a range of its connection's sequence numbers, and every packet belongs to one message. Packets are
//! counted, as RoCE's packet sequence numbers do: each message begins at a multiple of the MTU, and a short last packet
//! takes the room of a full one, in the window too. Loss recovery does not know messages. A connection is open from its
//! first message until its last is complete.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use paceline_congestion::{TimerBank, TimerSlot};
use paceline_kernel::{Bytes, Span};

use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::host::qp::{Part, Qp};
use crate::ids::FlowId;
use crate::world::World;
use paceline_run::outcome::FlowRecord;

/// Sender's state of the messages on a connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    messages: Messages,
    /// Messages still to complete, posted or not.
    pub(super) left: u32,
    /// True if the event of a retransmission timeout is pending.
    pub(super) timeout_runs: bool,
    /// Time of the last completion, in ps: the start of the pause if nothing is posted.
    pub(super) idle_since: u64,
    /// Sequence numbers of complete messages that stand for no payload.
    unfilled: u64,
    /// Payload that recorders have seen acknowledged.
    notified: u64,
    /// Lowest possible completion time of messages of the last posted size, on the current path.
    pub(super) ideal: Option<(Bytes, Span)>,
}

/// A message that is posted and not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: FlowId,
    pub(super) start: u64,
    pub(super) size: u64,
    retransmitted: u64,
    /// Payload of the message that recorders have seen acknowledged.
    notified: u64,
}

impl Message {
    /// Returns the sequence number at which the next message begins.
    const fn end(&self, mtu: u64) -> u64 {
        self.start + self.size.next_multiple_of(mtu)
    }
}

/// Messages posted and not complete, in order. Most connections have one at a time, which is stored in line.
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

    /// Removes the first message.
    fn take(&mut self) -> Option<Message> {
        std::mem::replace(&mut self.first, self.later.pop_front())
    }

    /// Returns how many of the later messages begin at or before this sequence number.
    fn begun(&self, seq: u64) -> usize {
        match self.later.is_empty() {
            true => 0,
            false => self.later.partition_point(|message| message.start <= seq),
        }
    }

    /// Returns the message at this sequence number, which must be posted and not complete.
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

    /// Returns the messages posted and not complete, in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }

    /// Returns the packet at this sequence number.
    #[inline(never)]
    pub(super) fn part(&self, seq: u64, mtu: u64) -> Part {
        let message = self.messages.at(seq).expect("what is sent has been posted");
        let left = message.start + message.size - seq;
        // The last packet of a message asks for its ACK, since the next message may be long in coming.
        let ends = Packet::ENDS_MESSAGE | Packet::ACK_REQUEST;
        Part {
            flow: message.flow,
            payload: mtu.min(left) as u16,
            end: seq + mtu,
            flags: u8::from(left <= mtu) * ends,
        }
    }

    /// Returns true if a message that is not complete begins at this sequence number.
    pub(super) fn begins(&self, seq: u64) -> bool {
        let message = self.messages.at(seq);
        message.is_some_and(|message| message.start == seq)
    }

    /// Counts retransmitted payload of the message at this sequence number.
    #[inline(never)]
    pub(super) fn sent_again(&mut self, seq: u64, payload: u64) {
        let message = self.messages.at_mut(seq).expect("what is sent has been posted");
        message.retransmitted += payload;
    }

    /// Distributes acknowledged bytes, which are counted in sequence numbers, over messages: calls `show` with the
    /// newly acknowledged payload of each. Messages are filled in order, even if bytes behind a gap were acknowledged.
    #[inline(never)]
    pub(super) fn notify(&mut self, acknowledged: u64, mut show: impl FnMut(FlowId, u64)) {
        // Padding up to full packets is acknowledged like data, but is no payload.
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

    /// Calls `show` with the payload of a complete message that it has not been called with before.
    pub(super) fn notify_rest(&mut self, message: &Message, show: impl FnOnce(FlowId, u64)) {
        let rest = message.size - message.notified;
        if rest > 0 {
            self.notified += rest;
            show(message.flow, rest);
        }
    }

    /// Returns true if no message is posted.
    pub(super) fn is_idle(&self) -> bool {
        self.messages.first.is_none()
    }

    /// Forgets the lowest completion time, after the path has changed.
    pub(super) fn forget_ideal(&mut self) {
        self.ideal = None;
    }
}

impl Qp {
    /// Posts a message to the connection.
    pub(super) fn post(&mut self, flow: FlowId, size: u64, mtu: u64) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let message = Message {
            flow,
            start: self.progress.size,
            size,
            retransmitted: 0,
            notified: 0,
        };
        // Messages start at multiples of the MTU, so that packet numbers follow from sequence numbers.
        self.progress.size = message.end(mtu);
        self.limits.limit = self.progress.size;
        // Otherwise a message posted earlier is the next to be complete.
        if connection.is_idle() {
            self.progress.end_seq = self.progress.size;
        }
        connection.messages.push(message);
    }

    /// Removes and returns the first message if all its bytes are acknowledged.
    pub(super) fn take_whole(&mut self, now: u64, mtu: u64) -> Option<Message> {
        let connection = self.connection.as_mut()?;
        let first = connection.messages.first.as_ref()?;
        if self.progress.snd_una < first.end(mtu) {
            return None;
        }
        let whole = connection.messages.take()?;
        connection.left -= 1;
        connection.unfilled += whole.end(mtu) - whole.start - whole.size;
        let next = connection.messages.first.as_ref();
        self.progress.end_seq = next.map_or(u64::MAX, |next| next.end(mtu));
        connection.idle_since = now;
        Some(whole)
    }

    /// Restarts the scheme with a message of `first` bytes: cancels its timers, and applies the limits of a new sender.
    pub(super) fn reset(&mut self, cx: &Cx<'_>, first: u64) {
        self.path.first_message = Bytes::new(first);
        self.scheme = cx.world.scheme_of(cx.core, self.flow).build(&self.path);
        // A timer of the old state would change the new one when it expires.
        for timer in 0..TimerBank::SLOTS {
            self.timers.cancel(TimerSlot(timer as u8));
        }
        self.apply(self.scheme.limits());
    }

    /// Writes what was sent of a message into its record.
    pub(super) fn notify_message(&self, message: &Message, record: &mut FlowRecord) {
        record.retransmitted = Bytes::new(message.retransmitted);
        let end = message.start + message.size;
        (record.sent, record.sent_unscheduled) = self.sent_within(message.start, end);
    }

    /// Checks that posted messages follow each other, and that the first is the next to complete.
    pub(super) fn verify_messages(&self, mtu: u64) {
        let Some(connection) = &self.connection else {
            return;
        };
        let flow = self.flow;
        let mut messages = connection.messages.iter().peekable();
        let first = messages.peek().map_or(u64::MAX, |first| first.end(mtu));
        assert_eq!(
            self.progress.end_seq, first,
            "connection of flow {flow}: first message"
        );
        assert!(
            self.progress.snd_una < first,
            "connection of flow {flow}: it is complete"
        );
        let mut end = None;
        for message in messages {
            let start = end.unwrap_or(message.start);
            assert_eq!(start, message.start, "connection of flow {flow}: a gap");
            end = Some(message.end(mtu));
        }
        assert_eq!(
            end.unwrap_or(self.progress.snd_una),
            self.progress.size,
            "connection of flow {flow}: messages are not all"
        );
        assert!(
            connection.messages().count() <= connection.left as usize,
            "connection of flow {flow}: more messages than flows"
        );
    }
}
