//! In-band telemetry (INT), which switches write into departing data packets.

use paceline_congestion::{HopSample, IntFormat};
use paceline_kernel::BitRate;

use crate::core::packet::{Packet, Room, WIRE_HOPS};
use crate::core::port::Port;
use crate::world::links::LinkProfile;

/// Format of telemetry, and the ports' state for PINT.
#[derive(Clone, Debug)]
pub(super) struct Telemetry {
    /// True if any scheme reads INT.
    pub(super) on: bool,
    /// Units of byte counts and queue lengths in the reference's header; `None` for exact values.
    pub(super) wire_units: Option<(u32, u32)>,
    pub(super) format: IntFormat,
    pub(super) pint: Option<crate::switch::pint::PintPorts>,
}

/// Ranges of the reference's header fields: nanoseconds, units of bytes sent, units of queued bytes.
const WIRE_TIME_NS: u64 = 1 << 24;
const WIRE_BYTES: u64 = 1 << 20;
const WIRE_QUEUE: u32 = 1 << 17;

/// Returns the rate in Gbit/s that the reference's sender reads in its header. The reference does not write the code of
/// a rate that it does not know, so the field stays zero, which stands for the first known rate.
pub(super) fn coded_rate(rate: BitRate) -> u32 {
    let known = [25, 50, 100, 200, 400];
    let find = |gbps: &u32| BitRate::from_gbps(u64::from(*gbps)) == rate;
    known.into_iter().find(find).unwrap_or(known[0])
}

impl Telemetry {
    /// Creates the format. `multi` multiplies the units of the reference's header; `None` for exact telemetry.
    pub(super) fn new(on: bool, multi: Option<u32>, pint: Option<crate::switch::pint::PintPorts>) -> Self {
        let wire_units = multi.map(|multi| (128 * multi.max(1), 80 * multi.max(1)));
        let format = match wire_units {
            None => IntFormat::EXACT,
            Some((unit, _)) => IntFormat {
                time_wrap_ps: WIRE_TIME_NS * 1000,
                bytes_wrap: WIRE_BYTES * u64::from(unit),
                room: WIRE_HOPS,
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

impl Telemetry {
    /// Stamps a data packet that leaves `port`: time, bytes sent before it, bytes that it leaves queued. A hop beyond
    /// the longest path (after a failure) has no room, and is only counted.
    #[inline(always)]
    pub(super) fn stamp(
        &self,
        now: u64,
        port: &Port,
        profile: &LinkProfile,
        packet: &mut Packet,
        room: Room<'_>,
    ) {
        let hop = usize::from(packet.hops);
        packet.hops = packet.hops.saturating_add(1);
        let Some(units) = self.wire_units else {
            if let Some(sample) = room.sample(hop) {
                *sample = HopSample {
                    at_ps: now,
                    tx_bytes: port.tx_bytes,
                    queue_bytes: port.queued,
                    rate_gbps: 0,
                };
            }
            return;
        };
        // As in the reference, a sixth hop overwrites the first.
        if let Some(sample) = room.sample(hop % WIRE_HOPS) {
            *sample = on_the_wire(units, now, port, profile);
        }
    }
}

/// Returns a sample as the reference's header represents it.
#[inline(never)]
fn on_the_wire((bytes, queue): (u32, u32), now: u64, port: &Port, profile: &LinkProfile) -> HopSample {
    HopSample {
        at_ps: now / 1000 % WIRE_TIME_NS * 1000,
        tx_bytes: port.tx_bytes / u64::from(bytes) % WIRE_BYTES * u64::from(bytes),
        queue_bytes: port.queued / queue % WIRE_QUEUE * queue,
        rate_gbps: coded_rate(profile.rate),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use paceline_congestion::pint::Code;
    use paceline_kernel::Time;

    use super::*;
    use crate::common::{add_flow, natural, scheme, star};
    use crate::core::packet::Packet;
    use crate::run::simulation::Simulation;
    use paceline_run::outcome::{PacketKind, TraceKind};
    use paceline_run::spec::{NodeId, Quirks, RunSpec};

    /// ACKs with their telemetry, by (flow, acknowledged byte).
    type Acks = BTreeMap<(u32, u64), (Packet, Vec<HopSample>)>;

    /// Returns every ACK that was in the network, and the run.
    fn acknowledgements(spec: RunSpec) -> (Acks, Simulation) {
        let mut simulation = Simulation::new(spec).unwrap();
        let mut found = BTreeMap::new();
        while !simulation.advance(1).done {
            for id in simulation.core.packets.slots() {
                let packet = *simulation.core.packets.get(id);
                if packet.kind == PacketKind::Ack {
                    let hops = || (packet, simulation.core.packets.hops(id).to_vec());
                    found.entry((packet.flow.0, packet.seq)).or_insert_with(hops);
                }
            }
        }
        (found, simulation)
    }

    /// Hosts 1 and 2 send four packets of 1090 B each to host 3 from `start` on, at the same time.
    fn two_senders(start: u64) -> RunSpec {
        let mut spec = natural(star(3, scheme("hpcc")));
        add_flow(&mut spec, 1, 3, 4000, start);
        add_flow(&mut spec, 2, 3, 4000, start);
        spec
    }

    /// Packets leave in turn, 87.2 ns apart from 1087.2 ns on. Two arrive for each that leaves.
    fn by_hand(start: u64, order: u64) -> HopSample {
        let left = if order == 0 { 0 } else { (order - 1).min(7 - order) };
        HopSample {
            at_ps: start * 1000 + 1_087_200 + order * 87_200,
            tx_bytes: order * 1090,
            queue_bytes: (left * 1090) as u32,
            rate_gbps: 0,
        }
    }

    #[test]
    fn exact_samples() {
        let (found, _) = acknowledgements(two_senders(0));
        assert_eq!(found.len(), 8);
        for ((flow, seq), (_, hops)) in found {
            let order = 2 * (seq / 1000 - 1) + u64::from(flow);
            assert_eq!(hops, [by_hand(0, order)], "flow {flow} up to {seq}");
        }
    }

    #[test]
    fn rates_without_a_code_are_read_as_25() {
        let read = |gbps| coded_rate(BitRate::from_gbps(gbps));
        assert_eq!([25, 50, 100, 200, 400].map(read), [25, 50, 100, 200, 400]);
        assert_eq!([10, 40, 800].map(read), [25, 25, 25]);
    }

    /// A port that has sent more than 2^32 bytes reports all of them.
    #[test]
    fn exact_byte_counts_do_not_wrap() {
        let mut simulation = Simulation::new(two_senders(0)).unwrap();
        let sent = 10 << 32;
        for port in &mut simulation.core.ports {
            port.tx_bytes = sent;
        }
        let mut seen = 0;
        while !simulation.advance(1).done {
            for id in simulation.core.packets.slots() {
                for hop in simulation.core.packets.hops(id) {
                    assert!(hop.tx_bytes >= sent, "{hop:?}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 0);
    }

    /// Whole nanoseconds modulo 2^24 (the start is 1.4 us short of a wrap), bytes in units of 512 and queues in units
    /// of 320.
    #[test]
    fn samples_in_the_references_header() {
        let start = (1 << 24) - 1400;
        let mut spec = two_senders(start);
        spec.quirks = Quirks {
            int_wire_precision: true,
            ..Quirks::default()
        };
        let (found, _) = acknowledgements(spec);
        assert_eq!(found.len(), 8);
        let mut wrapped = 0;
        for ((flow, seq), (_, hops)) in found {
            let exact = by_hand(start, 2 * (seq / 1000 - 1) + u64::from(flow));
            let coded = HopSample {
                at_ps: exact.at_ps / 1000 % (1 << 24) * 1000,
                tx_bytes: exact.tx_bytes / 512 * 512,
                queue_bytes: exact.queue_bytes / 320 * 320,
                rate_gbps: 100,
            };
            assert_eq!(hops, [coded], "flow {flow} up to {seq}");
            wrapped += u64::from(coded.at_ps < 1_000_000);
        }
        assert_eq!(wrapped, 4);
    }

    /// Each digest is one of the two powers next to the utilisation, as the equation gives it from the packets that
    /// have left the port. Of the many between two powers, some are rounded up and some down.
    #[test]
    fn digests_are_next_to_the_utilisation() {
        let mut spec = natural(star(3, scheme("hpcc-pint")));
        add_flow(&mut spec, 1, 3, 1_000_000, 0);
        add_flow(&mut spec, 2, 3, 1_000_000, 10_000);
        spec.record.trace_nodes = vec![NodeId(0)];
        let (found, simulation) = acknowledgements(spec);
        let outcome = simulation.finish();
        let (code, window) = (Code::new(1.05), outcome.base_rtt.as_ns_f64());
        let per_window = 12.5 * window;
        let (mut utilisation, mut last_wire, mut last_at) = (0.0, 0.0, Time::from_ps(0));
        let (mut up, mut checked, mut queued) = (0, 0, 0u32);
        for event in outcome.trace.iter().filter(|event| event.interface == 3) {
            queued = match event.event {
                TraceKind::Enqueue => queued + event.wire,
                TraceKind::Dequeue => queued - event.wire,
                _ => continue,
            };
            if event.event == TraceKind::Enqueue {
                continue;
            }
            let dt = event.at.saturating_since(last_at).as_ns_f64().min(window);
            utilisation = f64::from(queued) * dt / (per_window * window)
                + last_wire / per_window
                + utilisation * (window - dt) / window;
            (last_wire, last_at) = (f64::from(event.wire), event.at);
            let key = (event.flow, event.seq + u64::from(event.payload));
            let (ack, _) = &found[&key];
            let units = libm::ceil(utilisation * 512.0).max(1.0);
            let power = libm::log(units) / libm::log(1.05);
            assert!(
                (f64::from(ack.pint) - power).abs() < 1.0,
                "{key:?}: {} for {power}",
                ack.pint
            );
            if utilisation > 0.02 {
                let ratio = code.decode(ack.pint) / utilisation;
                assert!(ratio > 1.0 / 1.06 && ratio < 1.25, "{ratio}");
            }
            checked += 1;
            up += u64::from(f64::from(ack.pint) > power);
        }
        assert_eq!(checked, 2000);
        assert!(up > 500 && up < 1500, "{up}");
    }
}
