//! The clock, what is to happen, and what has.

use paceline_kernel::queue::{Entry, EventQueue, LaneId, Look};

use crate::core::Core;
use crate::core::digest::Digest;
use crate::core::event::Event;
use crate::core::link::Sent;
use crate::core::packet::Packet;
use crate::ids::PortId;
use crate::world::World;
use paceline_run::outcome::Counters;

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

    /// Goes to an event that was taken, and counts it.
    #[inline(always)]
    pub(crate) fn begin(&mut self, event: Entry) {
        let Entry { at, tie, what } = event;
        assert!(at >= self.now, "time never runs back");
        (self.now, self.tie) = (at, tie);
        self.counters.events += 1;
        self.digest.note(at, what);
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
        self.digest.forget(self.now, event.encode());
    }

    /// The event that happens is of a flow of a program: it counts, if the flow is not over, for its kind alone. Flows have
    /// other numbers where a phase comes again, and what is scheduled for flows that are over is no part of it.
    pub(crate) fn recount_event(&mut self, event: Event, counts: bool) {
        self.discount_event(event);
        if counts {
            self.counters.events += 1;
            self.digest
                .note(self.now, event.encode() >> Event::KIND << Event::KIND);
        }
    }

    /// The digest of all events so far, which begins anew.
    pub(crate) fn take_digest(&mut self) -> Digest {
        std::mem::take(&mut self.digest)
    }

    /// What was counted so far.
    pub(crate) fn counted(&self) -> (Counters, Sent, Digest) {
        (self.counters, self.agenda.sent, self.digest)
    }

    /// Adds what was counted elsewhere.
    pub(crate) fn add_counted(&mut self, counters: &Counters, sent: &Sent, digest: &Digest) {
        self.counters.add(counters, 1);
        self.agenda.sent.add(sent, 1);
        self.digest.add(digest);
    }

    /// What is to happen is exchanged for something else.
    pub(crate) fn exchange_agenda(&mut self, other: &mut EventQueue) {
        std::mem::swap(&mut self.agenda.queue, other);
    }

    /// Nothing is to happen, in lanes like those of what is.
    pub(crate) fn empty_agenda(&self) -> EventQueue {
        self.agenda.queue.emptied()
    }

    /// The running event has this place in its instant.
    pub(crate) fn stand_at(&mut self, tie: u64) {
        self.tie = tie;
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

    /// True if the cache does not hold the network, so that it pays to fetch early what events touch.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        /// Events in a lane of a network that the cache holds; the parts of a run share the cache.
        const CACHE_HOLDS: usize = 8192;
        self.agenda.queue.longest_lane() * self.agenda.outboxes.len().max(1) > CACHE_HOLDS
    }

    /// Fetches what events that are soon to run will touch. Each look follows what the one before has fetched; `at_host` does
    /// so for packets that come to a host, and `at_switch` for those that will leave by a port.
    #[inline(always)]
    pub(crate) fn fetch_upcoming(
        &self,
        world: &World,
        at_host: impl Fn(Look, &Packet),
        at_switch: impl Fn(PortId),
    ) {
        self.agenda.queue.for_upcoming(|look, what| {
            let (port, packet) = match Event::arrival(what) {
                Some((port, packet)) => (port, Some(packet)),
                None => match Event::sent(what) {
                    Some(port) => (port, None),
                    None => return,
                },
            };
            if look == Look::First {
                self.ports.prefetch(port);
                self.queues.prefetch(port);
                if let Some(packet) = packet {
                    self.packets.prefetch(packet);
                }
                return;
            }
            let at = &self.ports[port];
            let Some(id) = packet else {
                // The next packet of the queue leaves.
                if look == Look::Second
                    && let Some(class) = at.next_class()
                {
                    self.packets.prefetch(self.queues[(port, class)].head);
                }
                return;
            };
            let packet = self.packets.get(id);
            if at.is_host {
                at_host(look, packet);
            } else if look == Look::Second && packet.epoch == world.epoch {
                let place = world.routing.follow(0, &mut { packet.path });
                let egress = world.routing.port_at(at.ways, place);
                self.ports.prefetch(egress);
                self.queues.prefetch(egress);
                at_switch(egress);
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

    /// A network of another make has sent so many packets.
    pub fn count_packets(&mut self, kind: paceline_run::outcome::PacketKind, packets: u64, bytes: u64) {
        self.agenda.sent.count_many(kind, packets, bytes);
    }

    /// Hops and bytes of each kind of packet become counters.
    pub(crate) fn count_sent(&mut self) {
        self.agenda.sent.write(&mut self.counters);
    }

    /// Adds what has been counted in another part of the network.
    pub(crate) fn merge_counts(&mut self, other: &Self) {
        self.agenda.sent.add(&other.agenda.sent, 1);
        self.counters.add(&other.counters, 1);
        self.digest.add(&other.digest);
    }

    /// Counters, and the digest of all events.
    pub(crate) fn counts(&self) -> (Counters, u64) {
        (self.counters, self.digest.finish())
    }
}
