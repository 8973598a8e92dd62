//! Receivers that judge their flows periodically and report to the sender (PCN).

use paceline_congestion::{Mark, Notice, Reports};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Span};

use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::host::receiver::Receiver;
use crate::world::World;

/// What a receiver counts of a flow in a period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    /// Whether a period runs.
    runs: bool,
    packets: u32,
    marked: u32,
    /// Bytes that came after the period began.
    bytes: u64,
    /// Bytes of the packet with which it began: they came before.
    first: u32,
}

impl Meter {
    /// Of a flow of which nothing has come.
    pub(crate) const NEW: Self = Self {
        runs: false,
        packets: 0,
        marked: 0,
        bytes: 0,
        first: 0,
    };

    pub(crate) const fn runs(&self) -> bool {
        self.runs
    }
}

impl Receiver {
    /// A receiver that reports counts a data packet.
    pub(crate) fn count(&mut self, core: &mut Core, packet: &Packet, reports: Reports) {
        let meter = &mut self.meter;
        meter.packets += 1;
        meter.marked += u32::from(packet.mark == Mark::Congested);
        if meter.runs {
            meter.bytes += u64::from(packet.wire);
            return;
        }
        (meter.runs, meter.first) = (true, u32::from(packet.wire));
        let at = core.now + reports.every.as_ps();
        core.schedule(LaneId::WHEEL, at, Event::Report { flow: packet.flow });
    }
}

impl Hosts {
    /// A receiver's period is over: it reports, unless nothing came.
    pub(crate) fn report(&mut self, world: &World, core: &mut Core, flow: u32) {
        let Some(place) = self.receivers.find(flow) else {
            return;
        };
        let Receiver {
            path,
            meter,
            expected,
            ..
        } = &mut self.receivers.list[place as usize];
        let Some(reports) = world.needs_of(path.scheme).reports else {
            return;
        };
        if meter.packets == 0 {
            meter.runs = false;
            if *expected >= path.size {
                self.forget_receiver(world, place);
            }
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
            runs: true,
            ..Meter::NEW
        };
        let report = Packet {
            tag: u8::from(congested),
            note: megabits_per_second(bytes, reports.every),
            ..path.control_packet(world, flow, core.now)
        };
        let (port, class) = (path.ack_port, world.ack_queue(path.ack_class));
        let id = core.packets.insert(report);
        let at = core.now + reports.every.as_ps();
        core.schedule(LaneId::WHEEL, at, Event::Report { flow });
        self.enqueue(world, core, port, class, id);
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
