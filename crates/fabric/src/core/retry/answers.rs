//! Frames that arrive on links with retry, and the control ordered sets that answer them.

use paceline_kernel::queue::LaneId;

use crate::core::Core;
use crate::core::event::Event;
use crate::core::lost::Lost;
use crate::core::noise::Fate;
use crate::core::packet::Packet;
use crate::core::retry::receiver::Verdict;
use crate::core::retry::sender::Sending;
use crate::core::retry::state::End;
use crate::core::retry::{Brought, Control, DUE, HEARD};
use crate::ids::{PacketId, PortId};
use crate::world::World;
use paceline_run::outcome::{PacketKind, TraceKind};
use paceline_run::spec::LinkRetry;

impl Core {
    /// Inserts a control ordered set, within the frame that is being sent if there is one: it arrives at its own time, and
    /// the port is busy for as much longer.
    pub(super) fn control(&mut self, world: &World, port: PortId, control: Control, number: u32) {
        let now = self.now;
        if !self.ports[port].is_up() {
            return;
        }
        let End { receiver, counts, .. } = self.end_of(port);
        receiver.controls(now);
        *match control {
            Control::Ack => &mut counts.tx_ack_ctl_os,
            Control::Nack => &mut counts.tx_nack_ctl_os,
            Control::Init => &mut counts.tx_init_ctl_os,
            Control::Echo => &mut counts.tx_init_echo_ctl_os,
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
        let at = self.insert_ordered_set(world, port, PacketKind::Llr, LinkRetry::CONTROL);
        let p = &self.ports[port];
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

    pub(super) fn answer_now(&mut self, world: &World, port: PortId, which: u32) {
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
    pub(super) fn hear(&mut self, world: &World, port: PortId, control: Control, number: u32) -> bool {
        let now = self.now;
        let lost = self.is_cut_off(world, port, LinkRetry::CONTROL)
            || self.is_control_lost(world, port, control.carried());
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
            Control::Echo => &mut counts.rx_init_echo_ctl_os,
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
        }
    }
}
