//! Link-level retry (LLR): each end of a link numbers its frames, keeps them until they are acknowledged, and sends them
//! again when the other end misses one.
//!
//! Rules and counters follow the Switch Abstraction Interface's LLR profile and UE 1.0, section 5.1, as far as public
//! texts tell of them. Frames get their numbers after everything above the link is done: a replay obeys neither pauses
//! nor credits. Link control (PFC frames, credit updates) has no numbers, and goes ahead of a replay.
//!
//! A packet crosses the link once. If its frame is not accepted, the packet waits at the receiving end, and the frames
//! that bring it again carry nothing but its number ([`PacketKind::Llr`]): all copies of a frame are equal, so the
//! receiver takes the packet from where it waits. While a port may not send new frames, it counts as busy.

mod counts;
mod receiver;
mod sender;
pub(crate) mod state;

pub use counts::LlrPort;

use paceline_kernel::queue::{Entry, EventQueue, LaneId};

use crate::core::Core;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::core::noise::{Carried, Fate};
use crate::core::packet::Packet;
use crate::core::port::LinkState;
use crate::core::retry::receiver::{Receiver, Verdict};
use crate::core::retry::sender::{Expired, Sender, Sending};
use crate::core::retry::state::End;
use crate::ids::{PacketId, PortId};
use crate::world::World;
use crate::world::classes::LINK_CONTROL;
use paceline_run::outcome::{PacketKind, TraceKind};
use paceline_run::spec::{Fault, LinkRetry, NoiseKind, RunSpec};

/// Kinds of [`Event::Special`] on links with retry: an acknowledgement (0) or a negative one (1) is due, a control
/// ordered set takes effect, a timer may have expired, a link has been dark for too long.
pub(crate) const DUE: u8 = 19;
const HEARD: u8 = 20;
const ALARM: u8 = 21;
pub(crate) const DARK: u8 = 22;

/// Kind of a control ordered set, or of a frame that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::core) enum Control {
    Ack,
    Nack,
    Init,
    Echo,
    Again,
}

impl Control {
    /// Returns true for a packet that is no frame.
    pub(in crate::core) const fn is_in(packet: &Packet) -> bool {
        packet.kind as u8 == PacketKind::Llr as u8 && packet.tag != Self::Again as u8
    }

    const ALL: [Self; 5] = [Self::Ack, Self::Nack, Self::Init, Self::Echo, Self::Again];

    const fn carried(self) -> Carried {
        match self {
            Self::Ack => Carried::Ack,
            Self::Nack => Carried::Nack,
            Self::Init | Self::Echo => Carried::Control,
            Self::Again => Carried::Frame,
        }
    }
}

/// Delivery of a frame that has arrived to the layers above.
pub(crate) enum Brought {
    Nothing,
    /// A packet, and the time for which it has waited for a replay, in ps.
    Packet(PacketId, u64),
    /// A packet that was damaged before the link.
    Poisoned(PacketId),
}

impl Core {
    /// Returns true if a link of the network has retry.
    pub(crate) fn has_retries(&self) -> bool {
        self.retry.is_some()
    }

    /// Returns true if the port's link has retry.
    #[inline]
    pub(crate) fn has_retry(&self, port: PortId) -> bool {
        self.retry.as_ref().is_some_and(|retry| retry.has(port))
    }

    /// Returns one end of a link that has retry.
    #[inline]
    fn end_of(&mut self, port: PortId) -> &mut End {
        self.retry.as_mut().expect("a link with retry").end(port)
    }

    /// Returns the time of `bytes` on the port's link, in ps, without framing.
    fn time_of(&self, world: &World, port: PortId, bytes: u64) -> u64 {
        let rate = world.profiles[self.ports[port].profile].rate;
        rate.time_to_send(paceline_kernel::Bytes::new(bytes)).as_ps()
    }

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
    fn release_line(&mut self, port: PortId) {
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
    fn look_for_work(&mut self, world: &World, port: PortId) -> bool {
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
            tag: Control::Again as u8,
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

    /// Inserts a control ordered set, within the frame that is being sent if there is one: it arrives at its own time, and
    /// the port is busy for as much longer.
    fn control(&mut self, world: &World, port: PortId, control: Control, number: u32) {
        let now = self.now;
        if !self.ports[port].is_up() {
            return;
        }
        let takes = self.time_of(world, port, u64::from(LinkRetry::CONTROL));
        let End { receiver, counts, .. } = self.end_of(port);
        receiver.controls(now);
        *match control {
            Control::Ack => &mut counts.tx_ack_ctl_os,
            Control::Nack => &mut counts.tx_nack_ctl_os,
            Control::Init => &mut counts.tx_init_ctl_os,
            Control::Echo | Control::Again => &mut counts.tx_init_echo_ctl_os,
        } += 1;
        let packet = Packet {
            kind: PacketKind::Llr,
            tag: control as u8,
            note: number,
            sent_at: now,
            wire: LinkRetry::CONTROL,
            epoch: world.epoch,
            ..Packet::EMPTY
        };
        self.trace_control(world, port, TraceKind::Dequeue, packet);
        self.agenda.count(PacketKind::Llr, LinkRetry::CONTROL);
        self.lengthen(port, takes);
        let p = &self.ports[port];
        let at = now + takes + world.profiles[p.profile].delay;
        if p.crosses() {
            let id = self.packets.insert(packet);
            return self.agenda.cross(p, at, id, LaneId::WHEEL);
        }
        self.arrives(p.peer, at, &packet);
    }

    /// Schedules the arrival of a control ordered set, after all frames of its instant: one may arrive in the same instant,
    /// and nothing else tells which of them comes first.
    pub(in crate::core) fn arrives(&mut self, port: PortId, at: u64, packet: &Packet) {
        let what = Event::Special {
            kind: HEARD,
            a: port.0,
            b: u32::from(packet.tag) << 20 | packet.note,
        };
        self.schedule(LaneId::WHEEL, at, what);
    }

    fn trace_control(&mut self, world: &World, port: PortId, what: TraceKind, packet: Packet) {
        if self.watch.recorder.tracing {
            let id = self.packets.insert(packet);
            self.trace(world, port, what, id, 0);
            self.packets.remove(id);
        }
    }

    /// Makes a port busy for `takes` ps more.
    fn lengthen(&mut self, port: PortId, takes: u64) {
        let (now, tie) = (self.now, self.tie);
        let p = &self.ports[port];
        if p.free_at == EventQueue::END_OF_TIME {
            return;
        }
        let was_busy = p.is_busy(now, tie);
        let until = p.free_at.max(now) + takes;
        let what = Event::TxDone { port }.encode();
        let tie = self.agenda.ties.next(until, what);
        let p = &mut self.ports[port];
        // The end that may be pending is ignored when it comes: it is another one.
        let awaited = was_busy && p.done_pending;
        (p.free_at, p.free_tie, p.done_pending) = (until, tie, awaited);
        if awaited {
            self.agenda
                .queue
                .push(LaneId::WHEEL, Entry { at: until, tie, what });
        }
    }

    /// Takes in a frame that has arrived on a link with retry: it brings a packet, or only the number of one.
    pub(crate) fn receive_on_retry(&mut self, world: &World, port: PortId, id: PacketId) -> Brought {
        let Packet { kind, note, wire, .. } = *self.packets.get(id);
        if kind != PacketKind::Llr {
            let number = self.end_of(port).receiver.first_time();
            let fate = self.fate_of(world, port, id, wire);
            return self.judge(world, port, number, fate, Some(id));
        }
        let fate = self.fate_of(world, port, id, wire);
        if self.watch.recorder.tracing {
            let kind = match fate {
                Fate::Good | Fate::Poisoned => TraceKind::Receive,
                Fate::Bad | Fate::Gone => TraceKind::Drop,
            };
            self.trace(world, port, kind, id, 0);
        }
        self.packets.remove(id);
        let number = self.end_of(port).receiver.number(note);
        self.judge(world, port, number, fate, None)
    }

    /// Returns what becomes of a frame of `wire` bytes that has arrived.
    fn fate_of(&mut self, world: &World, port: PortId, id: PacketId, wire: u16) -> Fate {
        let by_share = self.is_corrupted(world, port, id);
        let fate = self.noise_of(world, port, wire);
        match by_share {
            true => fate.max(Fate::Bad),
            false => fate,
        }
    }

    /// Acts on a frame with this number: its packet is `first` if it comes for the first time.
    fn judge(
        &mut self,
        world: &World,
        port: PortId,
        number: u64,
        fate: Fate,
        first: Option<PacketId>,
    ) -> Brought {
        let now = self.now;
        let spacing = self.end_of(port).limits.spacing.get();
        let least = self.end_of(port).limits.min_spacing.get();
        let [ack_after, nack_after] = [spacing, least].map(|bytes| self.time_of(world, port, bytes));
        let End {
            limits,
            receiver,
            counts,
            ..
        } = self.end_of(port);
        let verdict = receiver.judge(number, fate);
        match fate {
            Fate::Good => counts.rx_ok += 1,
            Fate::Poisoned => counts.rx_poisoned += 1,
            Fate::Bad => counts.rx_bad += 1,
            Fate::Gone => {}
        }
        match verdict {
            Verdict::Deliver => counts.rx_expected_seq_good += 1,
            Verdict::DeliverPoisoned => counts.rx_expected_seq_poisoned += 1,
            Verdict::Duplicate => counts.rx_duplicate_seq += 1,
            Verdict::Missing => counts.rx_missing_seq += 1,
            Verdict::Bad => counts.rx_expected_seq_bad += 1,
            Verdict::BadBehind | Verdict::Gone => {}
        }
        let mut brought = Brought::Nothing;
        let mut lost = None;
        let mut acknowledges = false;
        match verdict {
            Verdict::Deliver | Verdict::DeliverPoisoned => {
                let (packet, waited) = match first {
                    Some(packet) => (packet, 0),
                    None => {
                        let waiting = receiver.take().expect("a frame that came before is kept");
                        (waiting.packet, now - waiting.since)
                    }
                };
                receiver.accept();
                acknowledges = true;
                brought = match verdict {
                    Verdict::Deliver => Brought::Packet(packet, waited),
                    _ => Brought::Poisoned(packet),
                };
            }
            Verdict::Duplicate => {
                // Without this, the loss of the last acknowledgement would never be made good.
                receiver.repeat_ack();
                acknowledges = true;
                lost = first;
            }
            _ => {
                match first {
                    // What was sent before the sender gave up comes too late.
                    Some(packet) if receiver.is_behind(number) => lost = Some(packet),
                    Some(packet) => receiver.keep(packet, now),
                    None => {}
                }
                if receiver.miss(verdict, limits.nack_again) {
                    let at = receiver.may_answer(now, nack_after);
                    self.schedule_due(port, at, 1);
                }
            }
        }
        if acknowledges {
            let receiver = &mut self.end_of(port).receiver;
            if !std::mem::replace(&mut receiver.ack_due, true) {
                let at = receiver.may_answer(now, ack_after);
                self.schedule_due(port, at, 0);
            }
        }
        if let Some(packet) = lost {
            self.discard(world, port, packet, Lost::Link);
        }
        brought
    }

    fn schedule_due(&mut self, port: PortId, at: u64, which: u32) {
        let what = Event::Special {
            kind: DUE,
            a: port.0,
            b: which,
        };
        self.schedule(LaneId::WHEEL, at, what);
    }

    /// Handles an event of a link with retry. Returns true if the layers above may send through the port now.
    pub(crate) fn retry_event(&mut self, world: &World, kind: u8, port: PortId, b: u32) -> bool {
        match kind {
            DUE => self.answer_now(world, port, b),
            HEARD => {
                let control = Control::ALL[(b >> 20) as usize];
                return self.hear(world, port, control, b % LinkRetry::NUMBERS);
            }
            ALARM => return self.alarm(world, port),
            DARK => {
                let state = self.end_of(port).sender.state;
                if matches!(state, Sending::Advance | Sending::Replay(_)) {
                    return self.give_up(world, port);
                }
            }
            _ => unreachable!("an event of a link with retry"),
        }
        false
    }

    fn answer_now(&mut self, world: &World, port: PortId, which: u32) {
        let receiver = &mut self.end_of(port).receiver;
        let (control, number) = match which {
            0 => (Control::Ack, receiver.ack()),
            _ => (Control::Nack, receiver.nack()),
        };
        if let Some(number) = number {
            self.control(world, port, control, number);
        }
    }

    /// Takes in a control ordered set, unless the link has lost it.
    fn hear(&mut self, world: &World, port: PortId, control: Control, number: u32) -> bool {
        let now = self.now;
        let sent = now.saturating_sub(world.profiles[self.ports[port].profile].delay);
        let lost = self.is_cut_off(world, port, LinkRetry::CONTROL)
            || (self.noise.as_mut()).is_some_and(|noise| noise.loses(port, sent, control.carried()));
        let what = if lost { TraceKind::Drop } else { TraceKind::Receive };
        let packet = Packet {
            kind: PacketKind::Llr,
            tag: control as u8,
            note: number,
            wire: LinkRetry::CONTROL,
            ..Packet::EMPTY
        };
        self.trace_control(world, port, what, packet);
        if lost {
            return false;
        }
        let End {
            limits,
            sender,
            receiver,
            counts,
            ..
        } = self.end_of(port);
        *match control {
            Control::Ack => &mut counts.rx_ack_ctl_os,
            Control::Nack => &mut counts.rx_nack_ctl_os,
            Control::Init => &mut counts.rx_init_ctl_os,
            Control::Echo | Control::Again => &mut counts.rx_init_echo_ctl_os,
        } += 1;
        match control {
            Control::Init => {
                let lost: Vec<PacketId> = receiver.begin(number).collect();
                for packet in lost {
                    self.discard(world, port, packet, Lost::Link);
                }
                self.control(world, port, Control::Echo, number);
                false
            }
            Control::Echo => sender.answered(number) && self.look_for_work(world, port),
            // A sender that has given up has nothing to be acknowledged.
            Control::Ack | Control::Nack if matches!(sender.state, Sending::Init | Sending::Flushed) => false,
            Control::Ack | Control::Nack => {
                let Some(progress) = sender.acknowledge(limits, now, number) else {
                    counts.rx_ack_nack_seq_error += 1;
                    return false;
                };
                let again = control == Control::Nack && sender.outstanding() > 0;
                if again {
                    sender.replay();
                    counts.tx_replay += 1;
                }
                self.set_alarm(port);
                (progress || again) && self.look_for_work(world, port)
            }
            Control::Again => unreachable!("a frame"),
        }
    }

    /// Schedules the next look at a port's timers, if none is pending that comes before.
    fn set_alarm(&mut self, port: PortId) {
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

    fn alarm(&mut self, world: &World, port: PortId) -> bool {
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
    fn give_up(&mut self, world: &World, port: PortId) -> bool {
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

    /// Forgets all numbers of a port whose link has failed, and loses the packets that wait there.
    pub(crate) fn retry_fails(&mut self, world: &World, port: PortId) {
        if !self.has_retry(port) {
            return;
        }
        let End {
            sender,
            receiver,
            alarm,
            ..
        } = self.end_of(port);
        let mut old = std::mem::replace(receiver, Receiver::new());
        *sender = Sender::new();
        *alarm = u64::MAX;
        while let Some(waiting) = old.take() {
            self.discard(world, port, waiting.packet, Lost::Link);
        }
        self.release_line(port);
    }

    /// Returns the state of a port whose link works.
    pub(crate) fn up_state(&self, port: PortId) -> LinkState {
        match (&self.credits, self.has_retry(port)) {
            (Some(_), _) => LinkState::OnCredit,
            (None, true) => LinkState::Retry,
            (None, false) => LinkState::Open,
        }
    }

    /// Returns true if frames of the port are not acknowledged yet.
    pub(crate) fn has_outstanding(&self, port: PortId) -> bool {
        let Some(retry) = &self.retry else { return false };
        retry.has(port) && retry.ends[retry.number[port] as usize - 1].sender.outstanding() > 0
    }

    /// Returns the number of packets that wait for a replay.
    pub(crate) fn packets_in_retry(&self) -> u32 {
        let ends = self.retry.iter().flat_map(|retry| &retry.ends);
        ends.map(|end| end.receiver.waiting() as u32).sum()
    }

    /// Returns true if a port has given up for good.
    pub(crate) fn has_silent_port(&self) -> bool {
        let ends = self.retry.iter().flat_map(|retry| &retry.ends);
        ends.into_iter().any(|end| end.sender.state == Sending::Flushed)
    }

    /// Checks the replay buffers.
    pub(crate) fn verify_retry(&self) {
        for end in self.retry.iter().flat_map(|retry| &retry.ends) {
            end.sender.verify(&end.limits);
            end.receiver.verify();
        }
    }

    /// Returns the counters of the ports with retry that belong to this part of the run.
    pub(crate) fn retry_counts(&self) -> Vec<LlrPort> {
        let Some(retry) = &self.retry else {
            return Vec::new();
        };
        let with = retry.number.numbered().filter(|(_, number)| **number != 0);
        let own = with.filter(|(port, _)| self.has(self.ports[*port].node));
        let counts = own.map(|(port, number)| {
            let end = &retry.ends[*number as usize - 1];
            let mut counts = end.counts.clone();
            counts.port = self.port_ref(port);
            counts.held_ps += end.held_since.map_or(0, |since| self.now - since);
            counts
        });
        counts.collect()
    }
}

/// Returns the times at which ports have been without light for too long: port, and time in ps.
pub(crate) fn dark_for_too_long(spec: &RunSpec) -> Vec<(PortId, u64)> {
    let limits = |link: usize| {
        let mut found = spec.retries.iter().filter(|(of, _)| *of == link);
        found.next().map(|(_, limits)| limits)
    };
    let scripts = spec
        .noise
        .iter()
        .filter(|noise| matches!(noise.kind, NoiseKind::Script(Fault::Dark, None)));
    let too_long = scripts.filter_map(|noise| {
        let (from, until) = (
            noise.at.as_ps(),
            noise.until.map_or(u64::MAX, |until| until.as_ps()),
        );
        let lost_at = from.saturating_add(limits(noise.link)?.pcs_lost.as_ps());
        (lost_at < until).then(|| (crate::core::noise::port_of(noise), lost_at))
    });
    too_long.collect()
}
