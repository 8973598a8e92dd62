//! PCN: marks that spare packets which were paused, and the receivers' reports.

use paceline_congestion::{Notice, Reports, SwitchPart};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Span};

use crate::event::Event;
use crate::outcome::PacketKind;
use crate::packet::{NONE, Packet};
use crate::port::STRICT;
use crate::qcn::takes_part;
use crate::sim::{Core, Simulation, Switches, World};
use crate::spec::RunSpec;

/// What a receiver counts of a flow in a period.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// Whose period it is, of the flows that used the queue pair one after another.
    life: u16,
    /// Whether a period runs.
    runs: bool,
    packets: u32,
    marked: u32,
    /// Bytes that came after the period began.
    bytes: u64,
    /// Bytes of the packet with which it began: they came before.
    first: u32,
}

/// Packets of each (port, class) that were held back by a pause and have not left; empty where marks
/// do not ask for it.
pub(crate) fn held_back(spec: &RunSpec, queues: usize) -> Vec<u32> {
    let asked = |part: Option<SwitchPart>| part == Some(SwitchPart::NonPausedEcn);
    let any = spec
        .schemes
        .iter()
        .any(|scheme| asked(scheme.config.switch_part()));
    vec![0; if any { queues } else { 0 }]
}

impl Core {
    /// Packets of a queue.
    pub(crate) fn queue_length(&self, slot: usize) -> u32 {
        let (mut count, mut next) = (0, self.queues[slot].head);
        while next != NONE {
            count += 1;
            next = self.packets.get(next).next;
        }
        count
    }
}

impl Switches {
    /// A pause of a port's class has ended: what is in the queue now was held back by it.
    #[inline]
    pub(crate) fn count_held_back(&mut self, world: &World, core: &Core, port: u32, class: u8) {
        if !self.held_back.is_empty()
            && takes_part(world.spec.switch.assist, &core.ports[port as usize], &core.ports)
        {
            let slot = port as usize * core.class_count + usize::from(class);
            self.held_back[slot] = core.queue_length(slot);
        }
    }

    /// Whether the packet that leaves a port's class now was held back by a pause.
    #[inline(never)]
    pub(crate) fn was_held_back(&mut self, core: &Core, port: u32, class: u8) -> bool {
        let held = &mut self.held_back[port as usize * core.class_count + usize::from(class)];
        let was = *held > 0;
        *held -= u32::from(was);
        was
    }

    /// What waited in a port's queues is lost.
    pub(crate) fn forget_held_back(&mut self, core: &Core, port: u32) {
        if !self.held_back.is_empty() {
            let first = port as usize * core.class_count;
            self.held_back[first..first + core.class_count].fill(0);
        }
    }
}

impl Simulation {
    /// A receiver that reports counts a data packet.
    pub(crate) fn meter(&mut self, packet: &Packet, reports: Reports) {
        let slot = packet.qp as usize;
        let life = self.hosts.qps[slot].life;
        if self.hosts.meters.len() <= slot {
            self.hosts.meters.resize(slot + 1, Meter::default());
        }
        let meter = &mut self.hosts.meters[slot];
        if meter.life != life {
            *meter = Meter {
                life,
                ..Meter::default()
            };
        }
        meter.packets += 1;
        meter.marked += u32::from(packet.ecn != 0);
        if meter.runs {
            meter.bytes += u64::from(packet.wire);
            return;
        }
        (meter.runs, meter.first) = (true, u32::from(packet.wire));
        let at = self.core.now + reports.every.as_ps();
        self.schedule(LaneId::WHEEL, at, Event::Report { qp: packet.qp, life });
    }

    /// A receiver's period is over: it reports, unless nothing came.
    pub(crate) fn report(&mut self, slot: u32, life: u16) {
        let (qp, meter) = (
            &self.hosts.qps[slot as usize],
            &mut self.hosts.meters[slot as usize],
        );
        if qp.life != life || meter.life != life {
            return;
        }
        let Some(reports) = qp.needs.reports else { return };
        if qp.done || meter.packets == 0 {
            meter.runs = false;
            return;
        }
        let congested = f64::from(meter.marked) >= reports.marked_share * f64::from(meter.packets);
        // A packet that is alone stands for its period.
        let bytes = if meter.bytes == 0 {
            u64::from(meter.first)
        } else {
            meter.bytes
        };
        *meter = Meter {
            life,
            runs: true,
            ..Meter::default()
        };
        let every = reports.every.as_ps();
        let id = self.core.packets.insert(Packet {
            kind: PacketKind::Cnp,
            flow: qp.flow,
            qp: slot,
            sent_at: self.core.now,
            wire: self.world.spec.packet.cnp.get() as u16,
            path: qp.ack_route,
            epoch: qp.epoch,
            class: qp.ack_class,
            tag: u8::from(congested),
            note: megabits_per_second(bytes, reports.every),
            ..Packet::EMPTY
        });
        let (port, class) = (qp.ack_port, self.ack_queue(qp.ack_class));
        self.schedule(
            LaneId::WHEEL,
            self.core.now + every,
            Event::Report { qp: slot, life },
        );
        self.enqueue(port, class, id);
    }

    /// What a report says.
    pub(crate) const fn read_report(packet: &Packet) -> Notice {
        Notice::Report {
            congested: packet.tag != 0,
            rate: BitRate::from_bps(packet.note as u64 * 1_000_000),
        }
    }

    /// No more packets were held back than wait.
    pub(crate) fn verify_held_back(&self) {
        for (slot, &held) in self.switches.held_back.iter().enumerate() {
            let class = (slot % self.core.class_count) as u8;
            assert!(
                held == 0 || class > STRICT && held <= self.core.queue_length(slot),
                "queue {slot}: {held} packets were held back"
            );
        }
    }
}

/// The rate of `bytes` in `span`, cut to whole Mbit/s.
fn megabits_per_second(bytes: u64, span: Span) -> u32 {
    let rate = u128::from(bytes) * 8_000_000 / u128::from(span.as_ps().max(1));
    u32::try_from(rate).unwrap_or(u32::MAX)
}
