//! Causes of events: the critical path of a run, backwards from its end.
//!
//! Everything that takes time ends in a call from the network: a computation or a delay in `woken`, a message in
//! `received` or `acknowledged`. Anything requested during that call is caused by it. So each event and each message
//! holds a link to the activity that ended when it began, and the links backwards from the end of the last rank are
//! the critical path. A link is removed as soon as nothing in progress depends on it. Memory therefore grows with the
//! path, not with the run, so the path can always be recorded.

use std::collections::VecDeque;

use paceline_kernel::Time;

use super::slab::Slab;
use crate::network::{Message, MessageId};
use crate::program::{OperationId, Rank};

/// Link of an event without a cause.
const NONE: u32 = u32::MAX;

/// Critical path of an iteration: segments without gaps from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// Start of the job, or the end of the previous iteration at its last rank.
    pub start: Time,
    /// End of the iteration at its last rank.
    pub end: Time,
    /// Segments in the order of time.
    pub segments: Vec<Segment>,
}

/// Segment of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Start, which equals the end of the segment before.
    pub start: Time,
    /// End of the segment.
    pub end: Time,
    /// Activity that took the time.
    pub activity: Activity,
    /// True if it began when a lane became free and had waited for nothing else.
    pub waited_for_lane: bool,
}

/// Activity that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Computation of an operation.
    Compute(Rank, OperationId),
    /// Overhead of a send or receive in its lane.
    Overhead(Rank, OperationId),
    /// Wait of a send for the gap of its NIC.
    Gap(Rank, OperationId),
    /// Delay within the collective with this label.
    Delay(u32),
    /// Message, up to an event that something waited for.
    Message(Carried, Until),
}

/// Message on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Rank that sends it.
    pub from: Rank,
    /// Rank that receives it.
    pub to: Rank,
    /// Size of the payload in bytes.
    pub bytes: u64,
    /// Label of its collective; 0 for none.
    pub label: u32,
    /// Operation that sent it, if it belongs to no collective.
    pub send: OperationId,
    /// True if it is the request of a send, without its data.
    pub is_request: bool,
    /// Departure, which may be before the start of its segment if that is the iteration's.
    pub left: Time,
}

/// Event of a message that something waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Departure of its last packet.
    Sent,
    /// Arrival of the whole message.
    Received,
    /// Arrival of the acknowledgement at the sender.
    Acknowledged,
}

/// Ended activity, linked to the one that ended when it began.
#[derive(Clone, Copy, Debug)]
struct Link {
    end: Time,
    activity: Activity,
    since: Since,
    /// Number of references; the link is removed at 0.
    uses: u32,
}

/// Cause of an activity's start.
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

/// Subject of the current call.
#[derive(Clone, Copy, Debug)]
enum Current {
    /// Start of the job.
    Start,
    /// Activity that has just ended; it becomes a link when something depends on it.
    Ended(Activity, Since),
    /// Same activity as a link, to which this holds a reference.
    Linked(u32),
}

/// Links that something in progress depends on.
#[derive(Clone, Debug)]
pub(super) struct Trail {
    links: Slab<Link>,
    now: Time,
    current: Current,
    /// True if the operation that starts now waited for a lane.
    pub(super) waited_for_lane: bool,
    /// Causes of events, by token.
    wakes: Vec<Since>,
    /// Causes of messages, by number.
    messages: Vec<(Since, Carried)>,
    /// Start of the oldest iteration that some ranks have not completed.
    start: Time,
    iteration: u32,
    ranks: u32,
    /// Number of ranks that have completed that iteration, the next one, and so on.
    ended: VecDeque<u32>,
    /// Path of the requested iteration, or of the slowest one that all ranks have completed.
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

    /// Sets the start of the job.
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

    /// Returns the cause for an activity requested now.
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
                    // One for the current call, one for the requested activity.
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
        // A loop, since a chain of links may be as long as the path.
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

    /// Records the cause of a scheduled event.
    pub(super) fn asked(&mut self, token: u32, since: Since) {
        *place(&mut self.wakes, token, Since::NOTHING) = since;
    }

    /// Handles a scheduled event, which ends an activity.
    pub(super) fn woken(&mut self, token: u32, activity: Activity, now: Time) {
        let since = std::mem::replace(place(&mut self.wakes, token, Since::NOTHING), Since::NOTHING);
        self.now_ended(activity, since, now);
    }

    /// Records the departure of a message.
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

    /// Handles an event of a message.
    pub(super) fn message(&mut self, id: MessageId, until: Until, now: Time) {
        let Some((since, carried)) = self.messages.get_mut(id.0 as usize) else {
            return;
        };
        let (held, carried) = (*since, *carried);
        // The acknowledgement is the last event of a message, which gives up its reference.
        match until {
            Until::Acknowledged => *since = Since::NOTHING,
            Until::Sent | Until::Received => self.hold(held.link),
        }
        self.now_ended(Activity::Message(carried, until), held, now);
    }

    /// Counts a rank that has completed an iteration.
    pub(super) fn iteration_over(&mut self, iteration: u32) {
        // Ranks may be iterations apart, so each iteration has a count until all ranks are through.
        let index = (iteration - self.iteration) as usize;
        if self.ended.len() <= index {
            self.ended.resize(index + 1, 0);
        }
        self.ended[index] += 1;
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
        // The next iteration starts here, so links that end earlier are in no path any more.
        self.cut();
    }

    /// Returns the segments from the start of the iteration to now.
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
            // Activities without a length explain no time.
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

    /// Removes links that lead to the start of the iteration.
    fn cut(&mut self) {
        // Older links are in no path of this iteration, and would accumulate during the run.
        for link in 0..self.links.places() {
            let Some(old) = self.links.get_mut(link).filter(|old| old.end <= self.start) else {
                continue;
            };
            let before = std::mem::replace(&mut old.since.link, NONE);
            self.release(before);
        }
    }

    /// Returns the number of links.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns the largest number of links so far.
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
