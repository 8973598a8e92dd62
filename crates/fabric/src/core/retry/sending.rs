//! Sending on links with retry: new frames, outstanding ones again, or nothing; and the timers that decide it.

use paceline_kernel::queue::{EventQueue, LaneId};

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::core::retry::sender::{Expired, Sending};
use crate::core::retry::state::End;
use crate::core::retry::{AGAIN, ALARM, Control};
use crate::ids::PortId;
use crate::world::World;
use crate::world::classes::LINK_CONTROL;
use paceline_run::outcome::{PacketKind, TraceKind};
use paceline_run::spec::LinkRetry;

impl Core {
    /// Numbers and stores a frame whose transmission starts now.
    #[inline(never)]
    pub(crate) fn frame_left(&mut self, port: PortId, kind: PacketKind, wire: u16) {
        // The end of each transmission is where retry decides what comes next.
        self.await_transmission(port);
        if kind.is_link_control() {
            return;
        }
        let now = self.now;
        let End {
            limits,
            sender,
            counts,
            ..
        } = self.end_of(port);
        sender.store(limits, now, wire);
        counts.tx_ok += 1;
        counts.outstanding_max = counts.outstanding_max.max(sender.outstanding() as u64);
        self.set_alarm(port);
    }

    /// Decides what a port with retry does at the end of a transmission: it sends a frame again, waits, or leaves the
    /// line to the layers above.
    pub(crate) fn line_is_free(&mut self, world: &World, port: PortId) {
        if !self.ports[port].is_up() {
            return;
        }
        // Link control goes first, as ahead of all else.
        if self.ports[port].ready & 1 << LINK_CONTROL != 0 {
            return;
        }
        let now = self.now;
        let retry = self.retry.as_mut().expect("a link with retry");
        let longest = retry.longest;
        let End { limits, sender, .. } = retry.end(port);
        if let Some((number, wire)) = sender.next_again(limits, now) {
            return self.send_again(world, port, number, wire);
        }
        let may_send = sender.has_room(limits, longest);
        self.set_alarm(port);
        match may_send {
            true => self.release_line(port),
            false => self.hold_line(port),
        }
    }

    /// Keeps a port whose line is free from sending new frames.
    fn hold_line(&mut self, port: PortId) {
        let now = self.now;
        self.end_of(port).held_since.get_or_insert(now);
        let p = &mut self.ports[port];
        // Busy for ever, with an end that is awaited: nothing asks for it again.
        (p.free_at, p.free_tie, p.done_pending) = (EventQueue::END_OF_TIME, u64::MAX, true);
    }

    /// Notes that the port may send new frames.
    pub(super) fn release_line(&mut self, port: PortId) {
        let now = self.now;
        let End {
            held_since, counts, ..
        } = self.end_of(port);
        if let Some(since) = held_since.take() {
            counts.held_ps += now - since;
        }
        self.open_line(port);
    }

    /// Makes the line of a held port free, for link control alone or for all.
    fn open_line(&mut self, port: PortId) {
        let now = self.now;
        let p = &mut self.ports[port];
        if p.free_at == EventQueue::END_OF_TIME {
            (p.free_at, p.free_tie, p.done_pending) = (now, 0, false);
        }
    }

    /// Lets link control that is about to queue pass a port that is held.
    pub(crate) fn let_control_pass(&mut self, port: PortId) {
        if self.has_retry(port) {
            self.open_line(port);
        }
    }

    /// Has the port look for what to send: now, or at the end of its transmission.
    pub(super) fn look_for_work(&mut self, world: &World, port: PortId) -> bool {
        self.open_line(port);
        if self.is_busy(port) {
            self.await_transmission(port);
            return false;
        }
        self.line_is_free(world, port);
        !self.is_busy(port)
    }

    /// Puts an outstanding frame on the wire again.
    fn send_again(&mut self, world: &World, port: PortId, number: u64, wire: u16) {
        let now = self.now;
        let End {
            counts, held_since, ..
        } = self.end_of(port);
        counts.tx_ok += 1;
        counts.replayed_frames += 1;
        counts.replayed_bytes += u64::from(wire);
        held_since.get_or_insert(now);
        let id = self.packets.insert(Packet {
            kind: PacketKind::Llr,
            tag: AGAIN,
            note: (number % u64::from(LinkRetry::NUMBERS)) as u32,
            sent_at: now,
            wire,
            epoch: world.epoch,
            ..Packet::EMPTY
        });
        if self.watch.recorder.tracing {
            self.trace(world, port, TraceKind::Dequeue, id, 0);
        }
        let p = &mut self.ports[port];
        let profile = &world.profiles[p.profile];
        self.agenda
            .transmit(now, profile, (port, p), (id, PacketKind::Llr, wire), true);
    }

    /// Schedules the next look at a port's timers, if none is pending that comes before.
    pub(super) fn set_alarm(&mut self, port: PortId) {
        let End {
            limits,
            sender,
            alarm,
            ..
        } = self.end_of(port);
        let at = sender.deadline(limits);
        if at < *alarm {
            *alarm = at;
            let what = Event::Special {
                kind: ALARM,
                a: port.0,
                b: 0,
            };
            self.schedule(LaneId::WHEEL, at, what);
        }
    }

    pub(super) fn alarm(&mut self, world: &World, port: PortId) -> bool {
        let now = self.now;
        let End {
            limits,
            sender,
            counts,
            alarm,
            ..
        } = self.end_of(port);
        if *alarm != now {
            return false;
        }
        *alarm = u64::MAX;
        match sender.expire(limits, now) {
            Expired::Nothing => {
                self.set_alarm(port);
                false
            }
            Expired::Replay => {
                sender.replay();
                counts.tx_replay += 1;
                self.set_alarm(port);
                self.look_for_work(world, port)
            }
            Expired::GivesUp => self.give_up(world, port),
            Expired::AsksAgain => {
                self.ask(world, port);
                false
            }
        }
    }

    /// Gives up all outstanding frames of a port, and asks the other end to begin again.
    pub(super) fn give_up(&mut self, world: &World, port: PortId) -> bool {
        let End {
            limits,
            sender,
            counts,
            ..
        } = self.end_of(port);
        counts.flushes += 1;
        counts.given_up_frames += sender.give_up(limits);
        if sender.state == Sending::Init {
            self.ask(world, port);
        }
        self.look_for_work(world, port)
    }

    fn ask(&mut self, world: &World, port: PortId) {
        let now = self.now;
        let End { limits, sender, .. } = self.end_of(port);
        sender.asks(limits, now);
        let number = (sender.next() % u64::from(LinkRetry::NUMBERS)) as u32;
        self.control(world, port, Control::Init, number);
        self.set_alarm(port);
    }
}
