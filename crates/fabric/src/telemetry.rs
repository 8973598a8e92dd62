//! What switches write into data packets as they leave: INT.

use paceline_congestion::{HopSample, IntFormat};

use crate::sim::Simulation;

/// How telemetry is written.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry {
    /// Whether any scheme reads INT.
    pub(crate) on: bool,
    /// With the reference's header: units of byte counts and queue lengths.
    pub(crate) wire_units: Option<(u32, u32)>,
    pub(crate) format: IntFormat,
    pub(crate) pint: Option<crate::pint::PintPorts>,
}

/// Hops that the reference's header has room for.
pub(crate) const WIRE_HOPS: usize = 5;
/// Widths of its fields.
const WIRE_TIME_NS: u64 = 1 << 24;
const WIRE_BYTES: u64 = 1 << 20;
const WIRE_QUEUE: u32 = 1 << 17;

impl Telemetry {
    /// `multi` multiplies the units of the reference's header; `None` for exact telemetry.
    pub(crate) fn new(on: bool, multi: Option<u32>, pint: Option<crate::pint::PintPorts>) -> Self {
        let wire_units = multi.map(|multi| (128 * multi.max(1), 80 * multi.max(1)));
        let format = match wire_units {
            None => IntFormat::EXACT,
            Some((unit, _)) => IntFormat {
                time_wrap_ps: WIRE_TIME_NS * 1000,
                bytes_wrap: WIRE_BYTES * u64::from(unit),
            },
        };
        Self {
            on,
            wire_units,
            format,
            pint,
        }
    }
}

impl Simulation {
    /// Stamps a data packet that leaves `egress`: time, bytes sent before it, bytes it leaves behind.
    #[inline]
    pub(crate) fn stamp(&mut self, egress: u32, id: u32) {
        let port = &self.ports[egress as usize];
        let hop = usize::from(self.packets.get(id).hops);
        let (place, sample) = match self.telemetry.wire_units {
            None => (
                hop,
                HopSample {
                    at_ps: self.now,
                    tx_bytes: port.tx_bytes as u32,
                    queue_bytes: port.queued,
                },
            ),
            Some((bytes_unit, queue_unit)) => {
                let sample = HopSample {
                    at_ps: self.now / 1000 % WIRE_TIME_NS * 1000,
                    tx_bytes: ((port.tx_bytes / u64::from(bytes_unit) % WIRE_BYTES) * u64::from(bytes_unit))
                        as u32,
                    queue_bytes: port.queued / queue_unit % WIRE_QUEUE * queue_unit,
                };
                // A sixth hop overwrites the first.
                (hop % WIRE_HOPS, sample)
            }
        };
        self.packets.stamp(id, place, sample);
        self.packets.get_mut(id).hops = (hop + 1).min(usize::from(u8::MAX)) as u8;
    }
}
