//! The clock, the pending events and the counters of past events.

use paceline_kernel::queue::{Entry, EventQueue, LaneId};

use crate::core::Core;
use crate::core::digest::Digest;
use crate::core::event::Event;
use crate::core::link::Sent;
use crate::core::packet::Packet;
use crate::ids::PortId;
use crate::world::World;
use paceline_run::outcome::Counters;

impl Core {
    /// Returns the time of the next event, in ps.
    #[inline]
    pub fn next_event_at(&self) -> Option<u64> {
        self.agenda.queue.peek_time()
    }

    /// Removes and returns the next event, if it is before `end`. The caller has to `begin` it.
    #[inline(always)]
    pub(crate) fn take_event(&mut self, end: u64) -> Option<Entry> {
        self.agenda.queue.pop_before(end)
    }

    /// Sets the clock to an event that was taken, and counts the event.
    #[inline(always)]
    pub(crate) fn begin(&mut self, event: Entry) {
        let Entry { at, tie, what } = event;
        assert!(at >= self.now, "time never runs back");
        (self.now, self.tie) = (at, tie);
        self.counters.events += 1;
        self.digest.note(at, what);
    }

    /// Sets the clock to the next event, if it is before `end`, without counting the event.
    pub(crate) fn next_uncounted(&mut self, end: u64) -> Option<Event> {
        let Entry { at, tie, what } = self.agenda.queue.pop_before(end)?;
        (self.now, self.tie) = (at, tie);
        Some(Event::decode(what))
    }

    /// Takes the running event out of the counters: it belongs to the simulator, and the number of such events depends
    /// on how the run is arranged.
    #[cold]
    pub(crate) fn discount_event(&mut self, event: Event) {
        self.counters.events -= 1;
        self.digest.forget(self.now, event.encode());
    }

    /// Counts the running event, which is of a program's flow, by its kind alone, or not at all if the flow is over.
    /// Flows have other numbers when a phase is repeated, and events of flows that are over are no part of a phase.
    pub(crate) fn recount_event(&mut self, event: Event, counts: bool) {
        self.discount_event(event);
        if counts {
            self.counters.events += 1;
            self.digest
                .note(self.now, event.encode() >> Event::KIND << Event::KIND);
        }
    }

    /// Returns the digest of all events so far, and starts an empty one.
    pub(crate) fn take_digest(&mut self) -> Digest {
        std::mem::take(&mut self.digest)
    }

    /// Returns all counters so far.
    pub(crate) fn counted(&self) -> (Counters, Sent, Digest) {
        (self.counters, self.agenda.sent, self.digest)
    }

    /// Adds counters of skipped events.
    pub(crate) fn add_counted(&mut self, counters: &Counters, sent: &Sent, digest: &Digest) {
        self.counters.add(counters, 1);
        self.agenda.sent.add(sent, 1);
        self.digest.add(digest);
    }

    /// Swaps the pending events with `other`.
    pub(crate) fn exchange_agenda(&mut self, other: &mut EventQueue) {
        std::mem::swap(&mut self.agenda.queue, other);
    }

    /// Returns an empty queue with the same lanes.
    pub(crate) fn empty_agenda(&self) -> EventQueue {
        self.agenda.queue.emptied()
    }

    /// Sets the position of the running event within its instant.
    pub(crate) fn stand_at(&mut self, tie: u64) {
        self.tie = tie;
    }

    /// Returns the current time, in ps.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the current time, in ps, and the position of the running event among those of that time.
    #[inline(always)]
    pub fn instant(&self) -> (u64, u64) {
        (self.now, self.tie)
    }

    /// Sets the clock to `at`, after all events of that instant.
    pub(crate) fn go_to(&mut self, at: u64) {
        (self.now, self.tie) = (at, u64::MAX);
    }

    /// Sets the clock outside of events.
    pub(crate) fn set_clock(&mut self, at: u64) {
        self.now = at;
    }

    pub(crate) fn end(&mut self) {
        self.done = true;
    }

    /// Returns true if the run is over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.done
    }

    /// Returns true if no event is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.agenda.queue.is_empty()
    }

    /// Returns true if the network is larger than the processor's cache, so that it pays to fetch early what events
    /// touch.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        /// Events in a lane of a network that the cache holds; the parts of a run share the cache.
        const CACHE_HOLDS: usize = 8192;
        self.agenda.queue.longest_lane() * self.agenda.outboxes.len().max(1) > CACHE_HOLDS
    }

    /// Prefetches what events that are soon to run will touch. Each look follows the addresses that the one before has
    /// fetched. `at_host` prefetches for packets that come to a host, and `at_switch` for those that will leave by a
    /// port.
    #[inline(always)]
    pub(crate) fn fetch_upcoming(
        &self,
        world: &World,
        at_host: impl Fn(&Packet),
        soon_at_host: impl Fn(&Packet),
        at_switch: impl Fn(PortId),
    ) {
        // Far ahead only numbers in the event itself are of use: following a pointer would miss the cache.
        let far = |what| {
            let (port, packet) = match Event::arrival(what) {
                Some((port, packet)) => (port, Some(packet)),
                None => match Event::sent(what) {
                    Some(port) => (port, None),
                    None => return,
                },
            };
            self.ports.prefetch(port);
            self.queues.prefetch(port);
            if let Some(packet) = packet {
                self.packets.prefetch(packet);
            }
        };
        let near = |what| match Event::arrival(what) {
            Some((port, id)) => {
                let (at, packet) = (&self.ports[port], self.packets.get(id));
                if at.is_host {
                    at_host(packet);
                // A packet of another epoch has no path of the present topology.
                } else if packet.epoch == world.epoch {
                    let index = world.routing.follow(0, &mut { packet.path });
                    let egress = world.routing.port_at(at.ways, index);
                    self.ports.prefetch(egress);
                    self.queues.prefetch(egress);
                    at_switch(egress);
                }
            }
            None => {
                // The next packet of the queue leaves then.
                if let Some(port) = Event::sent(what)
                    && let Some(class) = self.ports[port].next_class()
                {
                    self.packets.prefetch(self.queues[(port, class)].head);
                }
            }
        };
        let next = |what| {
            if let Some((port, id)) = Event::arrival(what)
                && self.ports[port].is_host
            {
                soon_at_host(self.packets.get(id));
            }
        };
        self.agenda.queue.for_upcoming(far, near, next);
    }
}

impl Core {
    /// Schedules `event` for `at`, in `lane`. Every run stops before the end of time, so later events are scheduled
    /// there.
    #[inline]
    pub fn schedule(&mut self, lane: LaneId, at: u64, event: Event) {
        let at = at.min(EventQueue::END_OF_TIME - 1);
        let what = event.encode();
        let tie = self.agenda.ties.next(at, what);
        self.agenda.queue.push(lane, Entry { at, tie, what });
    }

    /// Schedules `event` at a reserved position among those of its instant (see `EventSchedule::reserve`).
    #[inline]
    pub fn schedule_tied(&mut self, at: u64, tie: u64, event: Event) {
        let at = at.min(EventQueue::END_OF_TIME - 1);
        let what = event.encode();
        self.agenda.queue.push(LaneId::WHEEL, Entry { at, tie, what });
    }

    /// Visits all pending events, in no order.
    pub(crate) fn for_each_pending(&self, mut look: impl FnMut(Event)) {
        self.agenda
            .queue
            .for_each(|entry| look(Event::decode(entry.what)));
    }

    /// Returns the number of packet-hops so far.
    pub(crate) fn hops(&self) -> u64 {
        self.agenda.sent.hops()
    }

    /// Adds packets that another network model has sent.
    pub fn count_packets(&mut self, kind: paceline_run::outcome::PacketKind, packets: u64, bytes: u64) {
        self.agenda.sent.count_many(kind, packets, bytes);
    }

    /// Writes hops and bytes of each kind of packet into the counters.
    pub(crate) fn count_sent(&mut self) {
        self.agenda.sent.write(&mut self.counters);
    }

    /// Returns the counters, and the digest of all events.
    pub(crate) fn counts(&self) -> (Counters, u64) {
        (self.counters, self.digest.finish())
    }
}
