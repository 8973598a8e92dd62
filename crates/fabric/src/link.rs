//! Links: transmissions, arrivals, pauses.

use paceline_kernel::Time;
use paceline_kernel::queue::{Entry, EventQueue, LaneId};

use crate::event::{Event, Ties};
use crate::outcome::{Counters, PacketKind, PfcEvent, TraceKind};
use crate::packet::Packet;
use crate::port::{LINK_CONTROL, LinkProfile, Port};
use crate::sim::{Core, Simulation, World};
use crate::spec::{FlowControl, NodeId, PfcMode};

/// Transmissions and bytes of each kind of packet.
#[derive(Clone, Copy, Debug, Default)]
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

    /// Of all kinds.
    pub(crate) fn hops(&self) -> u64 {
        self.hops.iter().sum()
    }

    /// Writes them into a run's counters.
    pub(crate) fn write(&self, counters: &mut Counters) {
        let [data, ack, nack, others @ ..] = self.hops;
        (counters.data_hops, counters.ack_hops) = (data, ack + nack);
        counters.control_hops = others.iter().sum();
        counters.control_bytes = self.bytes[1..].iter().sum();
    }
}

/// What is to happen, and what has been sent: all that a transmission adds to.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    pub(crate) queue: EventQueue,
    pub(crate) ties: Ties,
    pub(crate) sent: Sent,
}

impl Agenda {
    /// A packet goes on the wire of a port: the end of its transmission, if `more` waits for that, and its
    /// arrival are to come.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        now: u64,
        profile: &LinkProfile,
        (port, p): (u32, &mut Port),
        (packet, kind, wire): (u32, PacketKind, u16),
        more: bool,
    ) {
        self.sent.count(kind, wire);
        let timing = profile.serialise(wire);
        let done = Event::TxDone { port }.encode();
        let arrive = Event::Arrive { port: p.peer, packet };
        let what = arrive.encode();
        p.tx_bytes += u64::from(wire);
        p.free_at = now + timing.tx;
        p.free_tie = self.ties.next(done);
        p.done_pending = more;
        let tie = self.ties.next(what);
        if more {
            let entry = Entry {
                at: p.free_at,
                tie: p.free_tie,
                what: done,
            };
            self.queue.push(timing.tx_lane, entry);
        }
        let entry = Entry {
            at: p.free_at + profile.delay,
            tie,
            what,
        };
        self.queue.push(timing.arrive_lane, entry);
    }
}

impl Core {
    /// Whether the port is sending, up to the place of the running event within this instant.
    #[inline]
    pub(crate) fn is_busy(&self, port: u32) -> bool {
        self.ports[port as usize].is_busy(self.now, self.tie)
    }

    /// Makes the end of the current transmission an event, now that something waits for it.
    #[inline]
    pub(crate) fn await_transmission(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        if !p.done_pending {
            p.done_pending = true;
            let entry = Entry {
                at: p.free_at,
                tie: p.free_tie,
                what: Event::TxDone { port }.encode(),
            };
            // Not in a lane: it was scheduled when the transmission began, and is pushed only now.
            self.agenda.queue.push(LaneId::WHEEL, entry);
        }
    }

    /// Puts a packet on the wire. The end of its transmission is an event only if `more` waits.
    pub(crate) fn start_transmission(&mut self, world: &World, port: u32, id: u32, more: bool) {
        let p = &mut self.ports[port as usize];
        let profile = &world.profiles[usize::from(p.profile)];
        let packet = self.packets.get(id);
        let (kind, wire) = (packet.kind, packet.wire);
        self.agenda
            .transmit(self.now, profile, (port, p), (id, kind, wire), more);
    }

    /// Whether the link loses the packet: it is down, was down meanwhile, or corrupts it.
    #[cold]
    fn is_lost(&mut self, world: &World, port: u32, id: u32) -> bool {
        let p = &self.ports[port as usize];
        let link = p.link as usize;
        if world.spec.quirks.gentle_failures {
            return self.is_corrupted(world, port, id);
        }
        if !p.up {
            return true;
        }
        let down_at = self.link_down_at[link];
        if down_at != u64::MAX {
            let profile = &world.profiles[usize::from(p.profile)];
            let started = self.now - profile.delay - profile.serialise(self.packets.get(id).wire).tx;
            if started < down_at {
                return true;
            }
        }
        self.is_corrupted(world, port, id)
    }

    fn is_corrupted(&mut self, world: &World, port: u32, id: u32) -> bool {
        let link = self.ports[port as usize].link;
        let rate = world.spec.links[link as usize].error_rate;
        // A lost resume would pause for ever what real pauses' timers end: the on/off abstraction
        // needs frames that arrive. (The reference's do get lost.)
        let is_pfc = matches!(self.packets.get(id).kind, PacketKind::Pause | PacketKind::Resume);
        if is_pfc && !world.spec.quirks.ns3_random {
            return false;
        }
        rate > 0.0 && self.link_errors.next_f64(port, link) < rate
    }

    /// Frees a packet that will not arrive.
    #[cold]
    pub(crate) fn discard(&mut self, world: &World, port: u32, id: u32) {
        if self.watch.recorder.tracing {
            self.trace(world, port, TraceKind::Drop, id, 0);
        }
        self.packets.remove(id);
    }

    /// A PFC frame about `class` that is to leave through `port`; `None` where there is nobody to tell.
    #[cold]
    pub(crate) fn pfc_frame(&mut self, world: &World, port: u32, class: u8, pause: bool) -> Option<u32> {
        if pause && self.watch.closeups.on() {
            self.look_at_pause_sent(port, class);
        }
        let p = &mut self.ports[port as usize];
        if pause {
            p.asked |= 1 << class;
        } else {
            p.asked &= !(1 << class);
        }
        if let Some(streams) = &mut self.shared_rng.ns3 {
            // The frame's IP identification is a random number.
            streams.skip();
        }
        if !self.ports[port as usize].up {
            // A packet that came in here before the link failed has left.
            return None;
        }
        let id = self.packets.insert(Packet {
            sent_at: self.now,
            wire: world.spec.packet.pfc_frame.get() as u16,
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
            FlowControl::None => PfcMode::OnOff,
        };
        if let (PfcMode::Quanta { pause: span }, true) = (mode, pause) {
            let at = self.now + span.as_ps() / 2;
            self.renew_at[port as usize * self.class_count + usize::from(class)] = at;
            self.schedule(LaneId::WHEEL, at, Event::PauseRenew { port, class });
        }
        Some(id)
    }

    /// Appends a packet to a port's queue.
    #[inline]
    pub(crate) fn push(&mut self, world: &World, port: u32, class: u8, id: u32) {
        let queue = &mut self.queues[port as usize * self.class_count + usize::from(class)];
        queue.push(&mut self.packets, id);
        let bytes = queue.bytes;
        let p = &mut self.ports[port as usize];
        p.ready |= 1 << class;
        p.queued += u32::from(self.packets.get(id).wire);
        if self.watch.recorder.tracing {
            let is_host = p.is_host;
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

impl Simulation {
    #[inline(always)]
    pub(crate) fn transmission_done(&mut self, port: u32) {
        let p = &mut self.core.ports[port as usize];
        // A link that failed and came back may have started another transmission since.
        if p.free_at != self.core.now || p.free_tie != self.core.tie {
            return;
        }
        p.done_pending = false;
        if self.bolt_ns3.on {
            self.device_done(port);
        } else if p.is_host {
            self.hosts.nic_send(&self.world, &mut self.core, port);
        } else if p.up && p.ready != 0 {
            self.switches.switch_send(&self.world, &mut self.core, port);
        }
    }

    /// The last bit of a packet arrived.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, port: u32, id: u32) {
        let (is_host, fallible) = (
            self.core.ports[port as usize].is_host,
            self.core.ports[port as usize].fallible,
        );
        if fallible && self.core.is_lost(&self.world, port, id) {
            self.core.counters.link_drops += 1;
            return self.discard(port, id);
        }
        let kind = self.core.packets.get(id).kind;
        if matches!(kind, PacketKind::Pause | PacketKind::Resume) {
            return self.receive_pfc(port, id);
        }
        if self.core.watch.recorder.tracing {
            self.trace(port, TraceKind::Receive, id, 0);
        }
        if self.bolt_ns3.on {
            self.device_receive(port, id)
        } else if is_host {
            self.hosts
                .receive(&self.world, &mut self.core, &mut self.traffic, port, id);
        } else {
            self.switches
                .switch_receive(&self.world, &mut self.core, port, id)
        }
    }

    #[cold]
    fn receive_pfc(&mut self, port: u32, id: u32) {
        let packet = *self.core.packets.get(id);
        if self.core.watch.recorder.tracing {
            self.trace(port, TraceKind::Receive, id, 0);
        }
        self.core.packets.remove(id);
        let pause = packet.kind == PacketKind::Pause;
        let p = &self.core.ports[port as usize];
        if !self.world.spec.record.omit_pfc {
            self.core.watch.recorder.pfc.push(PfcEvent {
                at: Time::from_ps(self.core.now),
                node: NodeId(p.node),
                is_switch: !p.is_host,
                interface: self.core.watch.recorder.interface(port),
                class: self.world.classes.priority(packet.class),
                pause,
            });
        }
        if !pause {
            self.core.counters.resumes += 1;
            return self.unpause(port, packet.class);
        }
        self.core.counters.pauses += 1;
        self.settle_port(port, packet.class, true);
        let slot = port as usize * self.core.class_count + usize::from(packet.class);
        let p = &mut self.core.ports[port as usize];
        if p.paused & 1 << packet.class == 0 {
            p.paused |= 1 << packet.class;
            self.core.paused_since[slot] = self.core.now;
            self.core.watch.recorder.ports.paused(port, true, self.core.now);
        }
        if let FlowControl::Pfc(pfc) = self.world.spec.switch.flow_control
            && let PfcMode::Quanta { pause } = pfc.mode
        {
            let until = self.core.now + pause.as_ps();
            self.core.paused_until[slot] = until;
            self.schedule(
                LaneId::WHEEL,
                until,
                Event::PauseEnd {
                    port,
                    class: packet.class,
                },
            );
        }
    }

    /// Ends a pause, if there is one, and sends what waited.
    pub(crate) fn unpause(&mut self, port: u32, class: u8) {
        if self.core.ports[port as usize].paused & 1 << class != 0 {
            self.settle_port(port, class, false);
            let p = &mut self.core.ports[port as usize];
            p.paused &= !(1 << class);
            let still = p.paused != 0;
            self.core.watch.recorder.ports.paused(port, still, self.core.now);
            let slot = port as usize * self.core.class_count + usize::from(class);
            let span = self.core.now - self.core.paused_since[slot];
            self.core.counters.paused_ps += span;
            self.core.watch.accounts.pause_ended(slot, span);
            self.switches
                .count_held_back(&self.world, &self.core, port, class);
        }
        self.kick(port);
    }

    pub(crate) fn pause_end(&mut self, port: u32, class: u8) {
        let slot = port as usize * self.core.class_count + usize::from(class);
        // A later pause frame may have moved the end.
        if self.core.now >= self.core.paused_until[slot] {
            self.unpause(port, class);
        }
    }

    pub(crate) fn pause_renew(&mut self, port: u32, class: u8) {
        // A resume and another pause since have their own renewal.
        let slot = port as usize * self.core.class_count + usize::from(class);
        if self.core.ports[port as usize].asked & 1 << class != 0 && self.core.renew_at[slot] == self.core.now
        {
            self.send_pfc(port, class, true);
        }
    }

    /// Sends a PFC frame about `class` out of `port`.
    pub(crate) fn send_pfc(&mut self, port: u32, class: u8, pause: bool) {
        if let Some(id) = self.core.pfc_frame(&self.world, port, class, pause) {
            self.enqueue(port, LINK_CONTROL, id);
        }
    }

    /// Sends from a port if it is idle and something may go.
    #[inline]
    pub(crate) fn kick(&mut self, port: u32) {
        if self.core.ports[port as usize].is_host {
            self.hosts.nic_send(&self.world, &mut self.core, port);
        } else {
            self.switches.kick(&self.world, &mut self.core, port);
        }
    }

    /// Appends a packet to a port's queue and sends if the port is idle.
    #[inline]
    pub(crate) fn enqueue(&mut self, port: u32, class: u8, id: u32) {
        self.core.push(&self.world, port, class, id);
        self.kick(port);
    }
}
