//! The receiving half of link-level retry: which frame is expected, and what is answered.

use std::collections::VecDeque;

use crate::core::noise::Fate;
use crate::ids::PacketId;
use paceline_run::spec::LinkRetry;

/// State of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answering {
    /// Acknowledges frames that arrive.
    Acks,
    /// Is about to send a negative acknowledgement.
    Nack,
    /// Has sent a negative acknowledgement, and waits for the replay.
    Nacked,
}

/// Verdict on a frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Expected, with a good checksum.
    Deliver,
    /// Expected, and damaged before the link.
    DeliverPoisoned,
    /// Behind the expected one.
    Duplicate,
    /// Ahead of the expected one.
    Missing,
    /// Expected, with a wrong checksum.
    Bad,
    /// A wrong checksum, behind the expected one.
    BadBehind,
    /// Did not arrive at all.
    Gone,
}

/// A packet whose frame was not accepted yet: the frames that bring it again carry its number alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: PacketId,
    /// Arrival of the first frame, in ps.
    pub(super) since: u64,
}

/// Receiver of one port.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    state: Answering,
    /// Number of the expected frame, and of the next one that comes for the first time.
    expected: u64,
    seen: u64,
    /// Packets from `expected` on.
    waiting: VecDeque<Waiting>,
    /// Number after the last frame that was acknowledged.
    acknowledged: u64,
    /// True if the last frames must be acknowledged, although they were before.
    repeats: bool,
    /// True while an acknowledgement is scheduled.
    pub(super) ack_due: bool,
    /// Start of the last control ordered set, in ps; `None` if there was none.
    last_control: Option<u64>,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self {
            state: Answering::Acks,
            expected: 0,
            seen: 0,
            waiting: VecDeque::new(),
            acknowledged: 0,
            repeats: false,
            ack_due: false,
            last_control: None,
        }
    }

    /// Returns the number of packets whose frames were not accepted yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of a frame that comes for the first time.
    pub(super) fn first_time(&mut self) -> u64 {
        self.seen += 1;
        self.seen - 1
    }

    /// Returns the number that a frame with these low bits has.
    pub(super) fn number(&self, low: u32) -> u64 {
        super::sender::whole(self.expected, low)
    }

    /// Returns what becomes of a frame.
    pub(super) fn judge(&mut self, number: u64, fate: Fate) -> Verdict {
        let is_expected = number == self.expected;
        match fate {
            Fate::Gone => Verdict::Gone,
            Fate::Bad if is_expected => Verdict::Bad,
            // Its number counts all the same: the expected frame must be lost.
            Fate::Bad if number > self.expected => Verdict::Missing,
            Fate::Bad => Verdict::BadBehind,
            _ if number < self.expected => Verdict::Duplicate,
            _ if !is_expected => Verdict::Missing,
            Fate::Poisoned => Verdict::DeliverPoisoned,
            Fate::Good => Verdict::Deliver,
        }
    }

    /// Returns true if the frame with this number was accepted or given up.
    pub(super) fn is_behind(&self, number: u64) -> bool {
        number < self.expected
    }

    /// Accepts the expected frame.
    pub(super) fn accept(&mut self) {
        self.expected += 1;
        self.state = Answering::Acks;
    }

    /// Asks for the last acknowledgement once more.
    pub(super) fn repeat_ack(&mut self) {
        self.repeats = true;
    }

    /// Decides whether a frame that was not accepted is to be answered. Returns true if a negative acknowledgement is
    /// due.
    pub(super) fn miss(&mut self, verdict: Verdict, again: bool) -> bool {
        let answers = match self.state {
            Answering::Acks => matches!(verdict, Verdict::Bad | Verdict::Missing),
            Answering::Nack => false,
            Answering::Nacked => again && verdict == Verdict::Bad,
        };
        if answers {
            self.state = Answering::Nack;
        }
        answers
    }

    /// Keeps a packet whose frame was not accepted.
    pub(super) fn keep(&mut self, packet: PacketId, since: u64) {
        self.waiting.push_back(Waiting { packet, since });
    }

    /// Removes and returns the packet of the expected frame, if its first frame was not accepted.
    pub(super) fn take(&mut self) -> Option<Waiting> {
        self.waiting.pop_front()
    }

    /// Returns the time at which a control ordered set may follow the last one after `least` ps.
    pub(super) fn may_answer(&self, now: u64, least: u64) -> u64 {
        now.max(self.last_control.map_or(0, |last| last + least))
    }

    /// Notes that a control ordered set is sent.
    pub(super) fn controls(&mut self, now: u64) {
        self.last_control = Some(now);
    }

    /// Returns the number to acknowledge now, if that says something new.
    pub(super) fn ack(&mut self) -> Option<u32> {
        self.ack_due = false;
        let is_news = self.expected > self.acknowledged || self.repeats;
        if self.state != Answering::Acks || !is_news {
            return None;
        }
        self.repeats = false;
        self.acknowledged = self.expected;
        Some(self.last())
    }

    /// Returns the number of the last accepted frame if a negative acknowledgement is still due.
    pub(super) fn nack(&mut self) -> Option<u32> {
        if self.state != Answering::Nack {
            return None;
        }
        self.state = Answering::Nacked;
        Some(self.last())
    }

    /// Returns the number before the expected one.
    fn last(&self) -> u32 {
        (self.expected.wrapping_sub(1) % u64::from(LinkRetry::NUMBERS)) as u32
    }

    /// Starts again at the sender's next number. Returns the packets that will not come again.
    pub(super) fn begin(&mut self, low: u32) -> impl Iterator<Item = PacketId> + use<> {
        self.expected = self.number(low);
        self.acknowledged = self.expected;
        self.state = Answering::Acks;
        self.repeats = false;
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|waiting| waiting.packet)
    }

    /// Checks that all packets that may come again are kept.
    pub(super) fn verify(&self) {
        let kept = self.seen.saturating_sub(self.expected);
        assert_eq!(self.waiting.len() as u64, kept, "packets that wait for a replay");
    }
}
