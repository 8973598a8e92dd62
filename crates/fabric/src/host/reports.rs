//! Receivers that judge their flows periodically and report to the sender (PCN).

use paceline_congestion::{Mark, Notice, Reports};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Span};

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::host::receiver::Receivers;
use crate::world::World;
use crate::world::flow_path::FlowPath;

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

impl Receivers {
    /// A receiver that reports counts a data packet.
    pub(crate) fn meter(&mut self, core: &mut Core, path: &FlowPath, packet: &Packet, reports: Reports) {
        let (slot, life) = (packet.qp as usize, path.life);
        if self.meters.len() <= slot {
            self.meters.resize(slot + 1, Meter::default());
        }
        let meter = &mut self.meters[slot];
        if meter.life != life {
            *meter = Meter {
                life,
                ..Meter::default()
            };
        }
        meter.packets += 1;
        meter.marked += u32::from(packet.mark == Mark::Congested);
        if meter.runs {
            meter.bytes += u64::from(packet.wire);
            return;
        }
        (meter.runs, meter.first) = (true, u32::from(packet.wire));
        let at = core.now + reports.every.as_ps();
        core.schedule(LaneId::WHEEL, at, Event::Report { qp: packet.qp, life });
    }
}

impl Hosts {
    /// A receiver's period is over: it reports, unless nothing came.
    pub(crate) fn report(&mut self, world: &World, core: &mut Core, slot: u32, life: u16) {
        let path = &world.flow_paths[slot as usize];
        let meter = &mut self.receivers.meters[slot as usize];
        if path.life != life || meter.life != life {
            return;
        }
        let Some(reports) = world.needs_of(path).reports else {
            return;
        };
        if meter.packets == 0 {
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
        let id = core.packets.insert(Packet {
            tag: u8::from(congested),
            note: megabits_per_second(bytes, reports.every),
            ..path.control_packet(world, slot, core.now)
        });
        let at = core.now + reports.every.as_ps();
        core.schedule(LaneId::WHEEL, at, Event::Report { qp: slot, life });
        self.enqueue(world, core, path.ack_port, world.ack_queue(path.ack_class), id);
    }
}

/// What a report says.
pub(crate) const fn read_report(packet: &Packet) -> Notice {
    Notice::Report {
        congested: packet.tag != 0,
        rate: BitRate::from_bps(packet.note as u64 * 1_000_000),
    }
}

/// The rate of `bytes` in `span`, cut to whole Mbit/s.
fn megabits_per_second(bytes: u64, span: Span) -> u32 {
    let rate = u128::from(bytes) * 8_000_000 / u128::from(span.as_ps().max(1));
    u32::try_from(rate).unwrap_or(u32::MAX)
}
