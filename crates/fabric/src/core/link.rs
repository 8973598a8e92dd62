//! Transmissions, arrivals and losses on links, and pause frames.

use crate::core::Core;
use crate::core::credits::COUNTS;
use crate::core::event::{Event, Ties};
use crate::core::lost::Lost;
use crate::core::noise::{Carried, Fate};
use crate::core::packet::Packet;
use crate::core::port::{LinkState, Port};
use crate::ids::{PacketId, PortId};
use crate::watch::probe::Sight;
use crate::world::World;
use crate::world::links::LinkProfile;
use paceline_kernel::merge::merge_runs;
use paceline_kernel::queue::{Entry, EventQueue, LaneId};
use paceline_run::outcome::{Counters, PacketKind, TraceKind};
use paceline_run::spec::{FlowControl, PfcMode};
use serde::{Deserialize, Serialize};

/// Transmissions and bytes, by kind of packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    hops: [u64; PacketKind::COUNT],
    bytes: [u64; PacketKind::COUNT],
}

impl Sent {
    #[inline]
    fn count(&mut self, kind: PacketKind, wire: u16) {
        self.hops[kind as usize] += 1;
        self.bytes[kind as usize] += u64::from(wire);
    }

    /// Adds packets that were sent elsewhere.
    pub(crate) fn count_many(&mut self, kind: PacketKind, packets: u64, bytes: u64) {
        self.hops[kind as usize] += packets;
        self.bytes[kind as usize] += bytes;
    }

    /// Adds the counts of `other`, `times` over: [`paceline_run::outcome::Counters::MINUS_ONE`] subtracts them.
    pub(crate) fn add(&mut self, other: &Self, times: u64) {
        for kind in 0..PacketKind::COUNT {
            self.hops[kind] = self.hops[kind].wrapping_add(other.hops[kind].wrapping_mul(times));
            self.bytes[kind] = self.bytes[kind].wrapping_add(other.bytes[kind].wrapping_mul(times));
        }
    }

    /// Returns the transmissions of all kinds.
    pub(crate) fn hops(&self) -> u64 {
        self.hops.iter().sum()
    }

    /// Writes the counts into a run's counters.
    pub(super) fn write(&self, counters: &mut Counters) {
        let [data, ack, nack, others @ ..] = self.hops;
        (counters.data_hops, counters.ack_hops) = (data, ack + nack);
        counters.control_hops = others.iter().sum();
        counters.control_bytes = self.bytes[1..].iter().sum();
    }
}

/// Pending events and counts of sent packets: the parts of [`Core`] that a transmission changes.
#[derive(Clone, Debug)]
pub(crate) struct EventSchedule {
    pub(super) queue: EventQueue,
    pub(super) ties: Ties,
    pub(super) sent: Sent,
    /// Packets bound for each other part of the run; empty if the run has one part.
    pub(super) outboxes: Vec<Vec<Crossing>>,
    /// Packets from other parts, not yet in order.
    pub(super) trays: Vec<Inbox>,
    /// Scratch memory for the merge in [`EventSchedule::empty_trays`].
    pub(super) spare: Vec<(u64, u64)>,
}

/// A packet on a link to another part of the run: its arrival time, port, and lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(super) at: u64,
    pub(super) port: PortId,
    pub(super) packet: PacketId,
    pub(super) lane: LaneId,
}

/// Packets from other parts that would share a lane if they were from here. Those of one window come before those of
/// the next, so that they can have a lane too once they are in order.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    pub(super) of: LaneId,
    pub(super) lane: LaneId,
    /// Time and encoded event of each arrival.
    arrivals: Vec<(u64, u64)>,
    /// Ends of the runs in `arrivals`: each part's packets are in order.
    ends: Vec<usize>,
}

impl EventSchedule {
    /// Counts a packet that was sent.
    #[inline(always)]
    pub(crate) fn count(&mut self, kind: PacketKind, wire: u16) {
        self.sent.count(kind, wire);
    }

    /// Reserves positions among the events of an instant, after all that were given so far, for
    /// [`Core::schedule_tied`]. Returns the first of them.
    pub(crate) fn reserve(&mut self, indices: u64) -> u64 {
        self.ties.reserve(indices)
    }

    /// Creates an inbox for packets that share `lane`, if there is room for another lane.
    pub(super) fn add_tray(&mut self, of: LaneId) {
        let is_new = of != LaneId::WHEEL && self.trays.iter().all(|tray| tray.of != of);
        if !is_new {
            return;
        }
        let lane = self.queue.add_lane(1);
        if lane != LaneId::WHEEL {
            self.trays.push(Inbox {
                of,
                lane,
                arrivals: Vec::new(),
                ends: Vec::new(),
            });
        }
    }

    /// Takes in a packet of another part, in its new slot.
    #[inline]
    pub(super) fn receive(&mut self, crossing: &Crossing, packet: PacketId) {
        let Crossing { at, port, lane, .. } = *crossing;
        let what = Event::Arrive { port, packet }.encode();
        match self.trays.iter_mut().find(|tray| tray.of == lane) {
            Some(tray) => tray.arrivals.push((at, what)),
            None => {
                let tie = self.ties.next(at, what);
                self.queue.push(LaneId::WHEEL, Entry { at, tie, what });
            }
        }
    }

    /// Notes that all packets of one part have come.
    pub(super) fn end_run(&mut self) {
        for tray in &mut self.trays {
            tray.ends.push(tray.arrivals.len());
        }
    }

    /// Schedules the packets of a window, once all parts have sent theirs.
    pub(super) fn empty_trays(&mut self) {
        for tray in &mut self.trays {
            // Ties decide the order within an instant, so it does not matter which part's packets come first here.
            merge_runs(&mut tray.arrivals, &mut tray.ends, &mut self.spare, |(at, _)| *at);
            if let Some(mut queue) = self.queue.as_untied() {
                for (at, what) in tray.arrivals.drain(..) {
                    queue.push(tray.lane, at, what);
                }
            }
            for (at, what) in tray.arrivals.drain(..) {
                let tie = self.ties.next(at, what);
                self.queue.push(tray.lane, Entry { at, tie, what });
            }
        }
    }

    /// Puts a packet that leaves by this port into the outbox of the part that it goes to.
    #[inline]
    pub(super) fn cross(&mut self, port: &Port, at: u64, packet: PacketId, lane: LaneId) {
        self.outboxes[usize::from(port.peer_part)].push(Crossing {
            at,
            port: port.peer,
            packet,
            lane,
        });
    }

    /// Puts a packet on the wire of a port, and schedules its arrival, and the end of its transmission if `more`
    /// packets wait for that. Returns the arrival time, in ps.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        now: u64,
        profile: &LinkProfile,
        (port, p): (PortId, &mut Port),
        (packet, kind, wire): (PacketId, PacketKind, u16),
        more: bool,
    ) -> u64 {
        self.sent.count(kind, wire);
        let timing = profile.serialise(wire);
        let done = Event::TxDone { port }.encode();
        let arrive = Event::Arrive { port: p.peer, packet };
        let what = arrive.encode();
        p.tx_bytes += u64::from(wire);
        p.free_at = now + timing.tx;
        p.done_pending = more;
        let arrival = p.free_at + profile.delay;
        // An order that depends on the events alone needs no ties to be drawn: they can be read off the events.
        if let Some(mut queue) = self.queue.as_untied() {
            p.free_tie = done;
            if more {
                queue.push(timing.tx_lane, p.free_at, done);
            }
            if p.crosses() {
                self.cross(p, arrival, packet, timing.arrive_lane);
            } else {
                queue.push(timing.arrive_lane, arrival, what);
            }
            return arrival;
        }
        // Both ties are drawn even if only one is used, or the order of later events would depend on `more`.
        p.free_tie = self.ties.next(p.free_at, done);
        let tie = self.ties.next(arrival, what);
        if more {
            let entry = Entry {
                at: p.free_at,
                tie: p.free_tie,
                what: done,
            };
            self.queue.push(timing.tx_lane, entry);
        }
        if p.crosses() {
            self.cross(p, arrival, packet, timing.arrive_lane);
            return arrival;
        }
        let entry = Entry {
            at: arrival,
            tie,
            what,
        };
        self.queue.push(timing.arrive_lane, entry);
        arrival
    }
}

impl Core {
    /// Returns true if the port is sending, up to the position of the running event within this instant.
    #[inline]
    pub fn is_busy(&self, port: PortId) -> bool {
        self.ports[port].is_busy(self.now, self.tie)
    }

    /// Returns true if the running event is the end of the port's transmission.
    #[inline(always)]
    pub(crate) fn is_end(&self, port: &Port) -> bool {
        port.free_at == self.now && port.free_tie == self.tie
    }

    /// Makes the end of the current transmission an event, now that something waits for it.
    #[inline]
    pub fn await_transmission(&mut self, port: PortId) {
        let p = &mut self.ports[port];
        if !p.done_pending {
            p.done_pending = true;
            let entry = Entry {
                at: p.free_at,
                tie: p.free_tie,
                what: Event::TxDone { port }.encode(),
            };
            // Not in a lane, where times must not run back: the end was known when the transmission began, and is
            // pushed only now.
            self.agenda.queue.push(LaneId::WHEEL, entry);
        }
    }

    /// Puts a packet on the wire that did not wait in this queue. The end of its transmission is an event only if
    /// `more` packets wait.
    #[inline(always)]
    pub fn start_transmission(&mut self, world: &World, port: PortId, id: PacketId, more: bool) {
        self.transmit(world, port, id, more, Packet::TRACED);
    }

    /// Puts a packet on the wire. Its hop log gets an entry if the packet has one of the flags `traced`.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, world: &World, port: PortId, id: PacketId, more: bool, traced: u8) {
        let p = &mut self.ports[port];
        let profile = &world.profiles[p.profile];
        let packet = self.packets.get(id);
        let (kind, wire, accounted) = (packet.kind, packet.wire, packet.flags & traced != 0);
        let arrives = self
            .agenda
            .transmit(self.now, profile, (port, p), (id, kind, wire), more);
        if accounted {
            self.watch.accounts.step(id, port, kind, self.now, arrives);
        }
    }

    /// Keeps the port from sending for `for_ps` ps after its current transmission.
    pub(crate) fn rest(&mut self, port: PortId, for_ps: u64) {
        let done = Event::TxDone { port }.encode();
        let until = self.ports[port].free_at.max(self.now) + for_ps;
        let tie = self.agenda.ties.next(until, done);
        let p = &mut self.ports[port];
        // An end of transmission that is pending already is ignored when it comes: its tie is another.
        (p.free_at, p.free_tie, p.done_pending) = (until, tie, false);
    }

    /// Notes that the link of a port has failed, or is back.
    pub(crate) fn set_up(&mut self, port: PortId, up: bool) {
        self.ports[port].link = match up {
            false => LinkState::Down,
            true => self.up_state(port),
        };
    }

    /// Returns true if the link loses the packet: it is down, was down while the packet was on it, or corrupts it.
    #[cold]
    pub(crate) fn is_lost(&mut self, world: &World, port: PortId, id: PacketId) -> bool {
        if world.quirks.gentle_failures {
            return self.is_corrupted(world, port, id);
        }
        let wire = self.packets.get(id).wire;
        self.is_cut_off(world, port, wire)
            || self.is_corrupted(world, port, id)
            || self.is_hit(world, port, id)
    }

    /// Returns true if the link is down, or was down while the packet was on it.
    pub(crate) fn is_cut_off(&self, world: &World, port: PortId, wire: u16) -> bool {
        let p = &self.ports[port];
        let link = port.link();
        if !p.is_up() {
            return true;
        }
        // A link may have failed and come back while the packet was on the wire: what began before the failure is lost.
        let down_at = self.link_down_at[link];
        down_at != u64::MAX && world.began(port, self.now, wire) < down_at
    }

    /// Returns true if the link's noise hits a packet that nothing below brings again.
    fn is_hit(&mut self, world: &World, port: PortId, id: PacketId) -> bool {
        let packet = self.packets.get(id);
        let (kind, wire, tag) = (packet.kind, packet.wire, packet.tag);
        match kind {
            // As with corrupted packets: pauses without timers need frames that arrive.
            PacketKind::Pause | PacketKind::Resume | PacketKind::Isolate => false,
            PacketKind::Credit if tag == COUNTS => self.is_control_lost(world, port, Carried::Count),
            PacketKind::Credit => self.is_control_lost(world, port, Carried::Credit),
            _ => self.noise_of(world, port, wire) > Fate::Good,
        }
    }

    /// Returns true if the link's noise loses control that would have arrived now.
    pub(super) fn is_control_lost(&mut self, world: &World, port: PortId, what: Carried) -> bool {
        let sent = self
            .now
            .saturating_sub(world.profiles[self.ports[port].profile].delay);
        (self.noise.as_mut()).is_some_and(|noise| noise.loses(port, sent, what))
    }

    /// Returns what the link's noise makes of a frame of `wire` bytes that has arrived now.
    pub(super) fn noise_of(&mut self, world: &World, port: PortId, wire: u16) -> Fate {
        let Some(noise) = &mut self.noise else {
            return Fate::Good;
        };
        let profile = &world.profiles[self.ports[port].profile];
        let ended = self.now.saturating_sub(profile.delay);
        noise.frame(port, ended.saturating_sub(profile.serialise(wire).tx), ended)
    }

    pub(super) fn is_corrupted(&mut self, world: &World, port: PortId, id: PacketId) -> bool {
        let link = port.link();
        let rate = self.error_rates[link];
        // A lost resume would pause the port forever: pauses without timers (on/off) need frames that arrive. The
        // reference's frames do get lost.
        let is_pfc = self.packets.get(id).kind.is_pfc();
        if is_pfc && !world.quirks.ns3_random {
            return false;
        }
        rate > 0.0 && self.link_errors.next_f64(port, link) < rate
    }

    /// Frees a packet that will not arrive, and counts the loss.
    #[cold]
    pub(crate) fn discard(&mut self, world: &World, port: PortId, id: PacketId, why: Lost) {
        match why {
            Lost::Buffer => self.counters.buffer_drops += 1,
            Lost::Watchdog => {
                self.counters.buffer_drops += 1;
                self.counters.watchdog_drops += 1;
            }
            Lost::Link | Lost::Route => self.counters.link_drops += 1,
        }
        if self.watch.probes.on() {
            self.show(world, port, Sight::Lost(id, why));
        }
        self.forget(world, port, id);
    }

    /// Frees a packet that is counted elsewhere.
    #[cold]
    pub(crate) fn forget(&mut self, world: &World, port: PortId, id: PacketId) {
        if self.watch.recorder.tracing {
            self.trace(world, port, TraceKind::Drop, id, 0);
        }
        self.packets.remove(id);
    }

    /// Creates a PFC frame about `class` that is to leave through `port`; `None` if its link is down.
    #[cold]
    pub(crate) fn pfc_frame(
        &mut self,
        world: &World,
        port: PortId,
        class: u8,
        pause: bool,
    ) -> Option<PacketId> {
        if pause && self.watch.flow_probes.on() {
            self.observe_pause_sent(port, class);
        }
        if pause && self.watch.probes.on() {
            self.show(world, port, Sight::PauseSent(class));
        }
        let p = &mut self.ports[port];
        if pause {
            p.asked |= 1 << class;
        } else {
            p.asked &= !(1 << class);
        }
        if let Some(streams) = self.shared_rng.ns3() {
            // The reference draws the frame's IP identification from the shared stream: without this, later draws would
            // differ.
            streams.skip();
        }
        if !self.ports[port].is_up() {
            // A packet that had come in here before the link failed has left: nobody is there to resume.
            return None;
        }
        self.let_control_pass(port);
        let id = self.packets.insert(Packet {
            sent_at: self.now,
            wire: world.packet.pfc_frame.get() as u16,
            epoch: world.epoch,
            kind: if pause {
                PacketKind::Pause
            } else {
                PacketKind::Resume
            },
            class,
            ..Packet::EMPTY
        });
        let mode = match world.spec.switch.flow_control {
            FlowControl::Pfc(pfc) => pfc.mode,
            FlowControl::None | FlowControl::Credits => PfcMode::OnOff,
        };
        if let (PfcMode::Quanta { pause: span }, true) = (mode, pause) {
            // Renewed at half of the pause, so that the next frame arrives before the pause ends at the other side.
            let at = self.now + span.as_ps() / 2;
            self.pauses.renew_at[(port, class)] = at;
            self.schedule(LaneId::WHEEL, at, Event::PauseRenew { port, class });
        }
        Some(id)
    }

    /// Appends a packet to a port's queue.
    #[inline(always)]
    pub fn push(&mut self, world: &World, port: PortId, class: u8, id: PacketId) {
        let queue = &mut self.queues[(port, class)];
        queue.push(&mut self.packets, id);
        let bytes = queue.bytes;
        let p = &mut self.ports[port];
        p.ready |= 1 << class;
        p.queued += u32::from(self.packets.get(id).wire);
        let is_host = p.is_host;
        if self.watch.accounts.awaits_pauses() {
            self.account_queued(world, port, id);
        }
        if self.watch.recorder.tracing {
            self.trace(
                world,
                port,
                TraceKind::Enqueue,
                id,
                if is_host { 0 } else { bytes },
            );
        }
    }
}
