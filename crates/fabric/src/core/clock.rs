//! The clock, what is to happen, and what has.

use paceline_kernel::queue::{Entry, EventQueue, LaneId};

use crate::core::Core;
use crate::core::event::Event;
use crate::ids::FlowId;
use paceline_run::outcome::Counters;
use paceline_run::spec::TieOrder;

/// What an event adds to a run's digest: it depends on its time, its kind and whose it is. The digest is the sum, so
/// it does not depend on the order of events of the same instant in different places.
#[inline(always)]
const fn mark(at: u64, what: u64) -> u64 {
    let mixed = (at ^ (what >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

/// For the loop.
impl Core {
    /// When the next event is.
    #[inline]
    pub fn next_event_at(&self) -> Option<u64> {
        self.agenda.queue.peek_time()
    }

    /// Takes the next event, if it is before `end`: it is to begin.
    #[inline(always)]
    pub(crate) fn take_event(&mut self, end: u64) -> Option<Entry> {
        self.agenda.queue.pop_before(end)
    }

    /// Goes to an event that was taken, and counts it. In a `large` network what comes after it is fetched early.
    #[inline(always)]
    pub(crate) fn begin(&mut self, event: Entry, large: bool) {
        let Entry { at, tie, what } = event;
        assert!(at >= self.now, "time never runs back");
        (self.now, self.tie) = (at, tie);
        self.counters.events += 1;
        self.digest = self.digest.wrapping_add(mark(at, what));
        if large {
            self.fetch_upcoming();
        }
    }

    /// Goes to the next event, if it is before `end`, without counting it.
    pub(crate) fn next_uncounted(&mut self, end: u64) -> Option<Event> {
        let Entry { at, tie, what } = self.agenda.queue.pop_before(end)?;
        (self.now, self.tie) = (at, tie);
        Some(Event::decode(what))
    }

    /// The event that happens is none of the network's: how many of its kind there are depends on how the run is
    /// arranged.
    #[cold]
    pub(crate) fn discount_event(&mut self, event: Event) {
        self.counters.events -= 1;
        self.digest = self.digest.wrapping_sub(mark(self.now, event.encode()));
    }

    /// The instant, in ps.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The instant, and the place of the running event in it.
    #[inline(always)]
    pub fn instant(&self) -> (u64, u64) {
        (self.now, self.tie)
    }

    /// Goes to an instant, behind all its events.
    pub(crate) fn go_to(&mut self, at: u64) {
        (self.now, self.tie) = (at, u64::MAX);
    }

    /// Sets the clock, where no event happens.
    pub(crate) fn set_clock(&mut self, at: u64) {
        self.now = at;
    }

    /// Ends the run.
    pub(crate) fn end(&mut self) {
        self.done = true;
    }

    /// Whether the run is over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.done
    }

    /// Whether nothing is to happen any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.agenda.queue.is_empty()
    }

    /// Whether it is worth while to fetch early what events touch.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.agenda.queue.is_large()
    }

    /// Fetches what events that are soon to run will touch first.
    #[inline(always)]
    fn fetch_upcoming(&self) {
        self.agenda.queue.for_upcoming(|what| {
            if let Some((port, packet)) = Event::arrival(what) {
                self.packets.prefetch(packet);
                self.ports.prefetch(port);
                self.queues.prefetch(port);
            }
        });
    }
}

impl Core {
    /// Schedules `event` for `at`, in `lane`. Every run stops before the end of time, so what would
    /// come later may as well come there.
    #[inline]
    pub fn schedule(&mut self, lane: LaneId, at: u64, event: Event) {
        let at = at.min(EventQueue::END_OF_TIME - 1);
        let what = event.encode();
        let tie = self.agenda.ties.next(at, what);
        self.agenda.queue.push(lane, Entry { at, tie, what });
    }

    /// The same, at a place among the events of its instant that was kept free (`EventSchedule::reserve`).
    #[inline]
    pub fn schedule_tied(&mut self, at: u64, tie: u64, event: Event) {
        let at = at.min(EventQueue::END_OF_TIME - 1);
        let what = event.encode();
        self.agenda.queue.push(LaneId::WHEEL, Entry { at, tie, what });
    }

    /// The last packet of a program's flow leaves: the program hears of it at this time, where
    /// events are counted right behind this one.
    pub(crate) fn tell_sent(&mut self, flow: FlowId, ties: TieOrder) {
        let (now, tie) = self.instant();
        let sent = Event::Sent { flow };
        match ties {
            TieOrder::Insertion => self.schedule_tied(now, tie, sent),
            _ => self.schedule(LaneId::WHEEL, now, sent),
        }
    }

    /// All that is to happen, in no order.
    pub(crate) fn for_each_pending(&self, mut look: impl FnMut(Event)) {
        self.agenda
            .queue
            .for_each(|entry| look(Event::decode(entry.what)));
    }

    /// Packet-hops so far.
    pub(crate) fn hops(&self) -> u64 {
        self.agenda.sent.hops()
    }

    /// Hops and bytes of each kind of packet become counters.
    pub(crate) fn count_sent(&mut self) {
        self.agenda.sent.write(&mut self.counters);
    }

    /// Adds what has been counted in another part of the network.
    pub(crate) fn merge_counts(&mut self, other: &Self) {
        self.agenda.sent.merge(&other.agenda.sent);
        self.counters.merge(&other.counters);
        self.digest = self.digest.wrapping_add(other.digest);
    }

    /// Counters, and the digest of all events.
    pub(crate) fn counts(&self) -> (Counters, u64) {
        (self.counters, self.digest)
    }
}
