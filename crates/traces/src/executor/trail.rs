//! What made each thing happen: the critical path of a run, back from its end.
//!
//! Whatever takes time ends in a call from the network: a computation or a delay in `woken`, a message in `received` or
//! `acknowledged`. What is asked for during that call follows from it. So each wake and each message holds a link to what
//! ended when it began, and the links back from the end of the last rank are the critical path. A link is forgotten as soon
//! as nothing under way follows from it. Memory therefore grows with the path, not with the run, and the path can always be
//! recorded.

use std::collections::VecDeque;

use paceline_kernel::Time;

use super::slab::Slab;
use crate::network::{Message, MessageId};
use crate::program::{OperationId, Rank};

/// The link of what follows from nothing.
const NONE: u32 = u32::MAX;

/// The critical path of an iteration: its segments follow each other without a gap from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Which iteration, from 0.
    pub iteration: u32,
    /// The job's start, or the end of the iteration before at its last rank.
    pub start: Time,
    /// The end of the iteration at its last rank.
    pub end: Time,
    /// In the order of time.
    pub segments: Vec<Segment>,
}

/// A part of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it began: what was before it had just ended.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// What took the time.
    pub activity: Activity,
    /// Whether it began when a lane became free, and had waited for nothing else.
    pub waited_for_lane: bool,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// An operation computes.
    Compute(Rank, OperationId),
    /// A send or receive is charged to its lane.
    Overhead(Rank, OperationId),
    /// A send waits for the gap of its NIC.
    Gap(Rank, OperationId),
    /// A delay within a collective, of which this is the label.
    Delay(u32),
    /// A message, until something becomes of it.
    Message(Carried, Until),
}

/// A message on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Sender.
    pub from: Rank,
    /// Receiver.
    pub to: Rank,
    /// Payload bytes.
    pub bytes: u64,
    /// The collective that it belongs to; 0 for none.
    pub label: u32,
    /// Its send, if it belongs to no collective.
    pub send: OperationId,
    /// Whether it asks for the receive of a send, and carries none of its bytes.
    pub is_request: bool,
    /// When it left: before the start of its segment, if that is the iteration's.
    pub left: Time,
}

/// Until when a message was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Its last packet had left.
    Sent,
    /// It had arrived.
    Received,
    /// Its sender knew that it had arrived.
    Acknowledged,
}

/// Something that has ended, and what ended when it began.
#[derive(Clone, Copy, Debug)]
struct Link {
    end: Time,
    activity: Activity,
    since: Since,
    /// By how many it is held.
    uses: u32,
}

/// Why something began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    link: u32,
    waited_for_lane: bool,
}

impl Since {
    const NOTHING: Self = Self {
        link: NONE,
        waited_for_lane: false,
    };
}

/// What the present call is about.
#[derive(Clone, Copy, Debug)]
enum Current {
    /// The start of the job.
    Start,
    /// What has just ended; it becomes a link when something follows from it.
    Ended(Activity, Since),
    /// The same as a link, which this holds.
    Linked(u32),
}

/// All links that something under way follows from.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    links: Slab<Link>,
    now: Time,
    current: Current,
    /// Whether what starts now had waited for a lane.
    pub(super) waited_for_lane: bool,
    /// By their tokens.
    wakes: Vec<Since>,
    /// By their numbers.
    messages: Vec<(Since, Carried)>,
    /// When the iteration began that some ranks have not ended.
    start: Time,
    iteration: u32,
    ranks: u32,
    /// How many ranks have ended that iteration, the next, and so on.
    ended: VecDeque<u32>,
    /// Of the iteration that was asked for, or of the slowest that all ranks have ended.
    path: Option<Path>,
    asked: Option<u32>,
}

impl Trail {
    pub(super) fn new(ranks: u32, asked: Option<u32>) -> Self {
        Self {
            links: Slab::default(),
            now: Time::ZERO,
            current: Current::Start,
            waited_for_lane: false,
            wakes: Vec::new(),
            messages: Vec::new(),
            start: Time::ZERO,
            iteration: 0,
            ranks,
            ended: VecDeque::new(),
            path: None,
            asked,
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_ref()
    }

    /// The job starts.
    pub(super) fn begin(&mut self, now: Time) {
        (self.now, self.start) = (now, now);
    }

    fn now_ended(&mut self, activity: Activity, since: Since, now: Time) {
        let before = std::mem::replace(&mut self.current, Current::Ended(activity, since));
        self.now = now;
        match before {
            Current::Start => {}
            Current::Ended(_, since) => self.release(since.link),
            Current::Linked(link) => self.release(link),
        }
    }

    /// Why what is asked for now begins.
    pub(super) fn since_now(&mut self) -> Since {
        let link = match self.current {
            Current::Start => NONE,
            Current::Linked(link) => {
                self.hold(link);
                link
            }
            Current::Ended(activity, since) => {
                let link = self.links.insert(Link {
                    end: self.now,
                    activity,
                    since,
                    // Of this and of what is asked for.
                    uses: 2,
                });
                self.current = Current::Linked(link);
                link
            }
        };
        Since {
            link,
            waited_for_lane: self.waited_for_lane,
        }
    }

    fn hold(&mut self, link: u32) {
        if let Some(link) = self.links.get_mut(link) {
            link.uses += 1;
        }
    }

    fn release(&mut self, mut link: u32) {
        while let Some(held) = self.links.get_mut(link) {
            held.uses -= 1;
            if held.uses > 0 {
                return;
            }
            let before = held.since.link;
            self.links.remove(link);
            link = before;
        }
    }

    /// A wake has been asked for.
    pub(super) fn asked(&mut self, token: u32, since: Since) {
        *place(&mut self.wakes, token, Since::NOTHING) = since;
    }

    /// It has come: an activity is over.
    pub(super) fn woken(&mut self, token: u32, activity: Activity, now: Time) {
        let since = std::mem::replace(place(&mut self.wakes, token, Since::NOTHING), Since::NOTHING);
        self.now_ended(activity, since, now);
    }

    /// A message has left.
    pub(super) fn sent(&mut self, message: &Message, send: OperationId, is_request: bool) {
        let carried = Carried {
            from: message.from,
            to: message.to,
            bytes: message.bytes,
            label: message.label,
            send,
            is_request,
            left: self.now,
        };
        let since = self.since_now();
        *place(&mut self.messages, message.id.0, (since, carried)) = (since, carried);
    }

    /// Something has become of it.
    pub(super) fn message(&mut self, id: MessageId, until: Until, now: Time) {
        let Some((since, carried)) = self.messages.get_mut(id.0 as usize) else {
            return;
        };
        let (held, carried) = (*since, *carried);
        match until {
            Until::Acknowledged => *since = Since::NOTHING,
            Until::Sent | Until::Received => self.hold(held.link),
        }
        self.now_ended(Activity::Message(carried, until), held, now);
    }

    /// A rank has ended an iteration.
    pub(super) fn iteration_over(&mut self, iteration: u32) {
        let place = (iteration - self.iteration) as usize;
        if self.ended.len() <= place {
            self.ended.resize(place + 1, 0);
        }
        self.ended[place] += 1;
        if self.ended[0] < self.ranks {
            return;
        }
        self.ended.pop_front();
        let took = self.now.saturating_since(self.start);
        let is_kept = match (self.asked, &self.path) {
            (Some(asked), _) => asked == self.iteration,
            (None, Some(path)) => took > path.end.saturating_since(path.start),
            (None, None) => true,
        };
        if is_kept {
            self.path = Some(Path {
                iteration: self.iteration,
                start: self.start,
                end: self.now,
                segments: self.back(),
            });
        }
        self.iteration += 1;
        self.start = self.now;
        self.cut();
    }

    /// What led to the present, since the iteration began.
    fn back(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        let (mut end, mut activity, mut since) = match self.current {
            Current::Start => return segments,
            Current::Ended(activity, since) => (self.now, activity, since),
            Current::Linked(link) => match self.links.get(link) {
                Some(link) => (link.end, link.activity, link.since),
                None => return segments,
            },
        };
        loop {
            let before = self.links.get(since.link);
            let start = before.map_or(self.start, |before| before.end.max(self.start));
            if start < end {
                segments.push(Segment {
                    start,
                    end,
                    activity,
                    waited_for_lane: since.waited_for_lane,
                });
            }
            match before {
                Some(before) if before.end > self.start => {
                    (end, activity, since) = (before.end, before.activity, before.since);
                }
                _ => break,
            }
        }
        segments.reverse();
        segments
    }

    /// Forgets what led to the start of the iteration.
    fn cut(&mut self) {
        for link in 0..self.links.places() {
            let Some(old) = self.links.get_mut(link).filter(|old| old.end <= self.start) else {
                continue;
            };
            let before = std::mem::replace(&mut old.since.link, NONE);
            self.release(before);
        }
    }

    /// How many links there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// How many there were at most.
    #[cfg(test)]
    pub(super) fn places(&self) -> u32 {
        self.links.places()
    }
}

fn place<T: Clone>(all: &mut Vec<T>, at: u32, fill: T) -> &mut T {
    let at = at as usize;
    if all.len() <= at {
        all.resize(at + 1, fill);
    }
    &mut all[at]
}
