//! HPCC-PINT in the switch: each port's utilisation, and its digest in departing packets.

use paceline_congestion::pint::Code;
use paceline_kernel::Span;
use paceline_kernel::rng::{Purpose, Rng};

use crate::core::cx::Cx;
use crate::ids::{PacketId, PortId};
use crate::switch::Switches;
use paceline_kernel::ids::List;
use paceline_run::outcome::PacketKind;

/// Utilisation estimate of every port, and the code of its digest.
#[derive(Clone, Debug)]
pub(super) struct PintPorts {
    code: Code,
    ports: List<PortId, PintPort>,
    /// Span of the estimate in ns: the largest round-trip time.
    window_ns: f64,
    /// True under the quirk [`paceline_run::spec::Quirks::pint_approximate_logs`].
    approximate: bool,
    /// Bits of a power that a packet has room for.
    kept: u16,
    /// Random stream of each port's digests.
    rng: List<PortId, Rng>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PintPort {
    /// Departure time of the last packet of any kind, in ps, and its size.
    last_at: u64,
    last_wire: u16,
    utilisation: f64,
}

impl PintPorts {
    /// Returns the streams that round digests.
    pub(super) fn rng(&self) -> &List<PortId, Rng> {
        &self.rng
    }

    pub(super) fn new(code: Code, ports: usize, window: Span, approximate: bool, seed: u64) -> Self {
        Self {
            kept: if approximate && code.bytes() == 1 {
                0xff
            } else {
                u16::MAX
            },
            code,
            ports: List::of(ports, PintPort::default()),
            rng: (0..ports as u64)
                .map(|port| Rng::stream(seed, Purpose::Pint, port))
                .collect(),
            window_ns: window.as_ns_f64(),
            approximate,
        }
    }
}

/// Returns the utilisation by the equation (HPCC-PINT, §4.3): `u = qlen dt / (B T^2) + bytes / (B T) + u (T - dt) / T`,
/// exactly.
fn exact(port: &PintPort, dt_ns: f64, window_ns: f64, bytes_per_ns: f64, queue: u32) -> f64 {
    let per_window = bytes_per_ns * window_ns;
    f64::from(queue) * dt_ns / (per_window * window_ns)
        + f64::from(port.last_wire) / per_window
        + port.utilisation * (window_ns - dt_ns) / window_ns
}

/// Returns the utilisation by the approximate logarithms that a switch's hardware (and the reference) has.
fn approximate(port: &PintPort, dt: u64, window: u64, bytes_per_s: u64, queue: u32, rng: &mut Rng) -> f64 {
    let factor = f64::from(1u32 << LOG_SHIFT);
    let log = |x: f64| libm::log2(x) * factor;
    let (log_window, log_rate, log_1e9) = (log(window as f64), log(bytes_per_s as f64), log(1e9));
    let power = |exponent: f64| libm::exp2(exponent / factor);
    let mut sum = 0.0;
    // Each term is left out when it is zero, which has no logarithm. Queues count in units of 256 bytes, and the
    // utilisation in units of 1/8192, so that both are whole numbers.
    if queue >> 8 > 0 {
        let log_dt = f64::from(log2_approximate(dt as u32, rng));
        let log_queue = f64::from(log2_approximate(queue >> 8, rng));
        sum += power(log_dt + log_queue + log_1e9 - log_rate - 2.0 * log_window) * 256.0;
    }
    if port.last_wire > 0 {
        let log_bytes = f64::from(log2_approximate(u32::from(port.last_wire), rng));
        sum += power(log_bytes + log_1e9 - log_rate - log_window);
    }
    if window > dt && port.utilisation > 0.0 {
        let log_rest = f64::from(log2_approximate((window - dt) as u32, rng));
        let log_u = f64::from(log2_approximate(
            libm::round(port.utilisation * 8192.0) as u32,
            rng,
        ));
        sum += power(log_rest + log_u - log_window) / 8192.0;
    }
    sum
}

/// Fractional bits of the approximate logarithms: results have 20 bits, of which the whole parts of inputs of up to 20
/// bits (logarithms below 32) take 5.
const LOG_SHIFT: u32 = 15;
/// Number of leading input bits that are kept.
const LOG_BITS: u32 = 16;

/// Returns `log2(x)` in fixed point, from the leading 16 bits of `x` rounded at random.
fn log2_approximate(x: u32, rng: &mut Rng) -> i32 {
    let factor = f64::from(1u32 << LOG_SHIFT);
    let bits = u32::BITS - x.leading_zeros();
    let mut kept = x;
    if bits > LOG_BITS {
        let dropped = bits - LOG_BITS;
        let mask = (1 << dropped) - 1;
        kept = x >> dropped << dropped;
        if x & mask > rng.next_u31() & mask {
            kept += 1 << dropped;
        }
    }
    // The reference takes the logarithm of zero all the same: minus infinity, cut to an integer.
    (libm::log2(f64::from(kept)) * factor) as i32
}

impl Switches {
    /// Updates the utilisation of `egress` on a departure, and writes the larger of the port's digest and the packet's
    /// into a data packet.
    pub(super) fn pint_departed(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId) {
        let now = cx.core.now();
        let Some(pint) = &mut self.telemetry.pint else {
            return;
        };
        let port = &mut pint.ports[egress];
        let p = &cx.core.ports[egress];
        let rate = cx.world.profiles[p.profile].rate.as_bps();
        let packet = cx.core.packets.get_mut(id);
        if packet.kind == PacketKind::Data {
            let rng = cx.core.shared_rng.of_schemes().unwrap_or(&mut pint.rng[egress]);
            let utilisation = if pint.approximate {
                let window = pint.window_ns as u64;
                // Longer pauses between packets count as one window, or the last term of the sum would turn negative.
                let dt = ((now - port.last_at) / 1000).min(window);
                approximate(port, dt, window, rate / 8, p.queued, rng)
            } else {
                let dt = ((now - port.last_at) as f64 / 1000.0).min(pint.window_ns);
                exact(port, dt, pint.window_ns, rate as f64 / 8e9, p.queued)
            };
            let power = pint.code.encode(utilisation, rng);
            // The sender has to react to the bottleneck, so the largest utilisation on the path survives.
            if power > packet.pint {
                packet.pint = power & pint.kept;
            }
            port.utilisation = utilisation;
        }
        // Packets of all kinds use the link, so the next departure counts this one, data or not.
        port.last_at = now;
        port.last_wire = packet.wire;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimate at 100 Gbit/s, T = 4160 ns, dt = 84 ns, with 50 KB queued, 1050 B before, u = 0.9.
    #[test]
    fn approximation_is_close_to_the_equation() {
        let port = PintPort {
            last_at: 0,
            last_wire: 1050,
            utilisation: 0.9,
        };
        let by_hand =
            50_000.0 * 84.0 / (12.5 * 4160.0 * 4160.0) + 1050.0 / (12.5 * 4160.0) + 0.9 * 4076.0 / 4160.0;
        let exact = exact(&port, 84.0, 4160.0, 12.5, 50_000);
        assert!((exact - by_hand).abs() < 1e-12);
        let mut rng = Rng::stream(1, Purpose::Pint, 0);
        let near = approximate(&port, 84, 4160, 12_500_000_000, 50_000, &mut rng);
        assert!((near / exact - 1.0).abs() < 0.005, "{near} {exact}");
    }

    /// 1.05^256 units need more than the 8 bits that base 1.05 has; 11 bits of base 1.01 have room.
    #[test]
    fn a_digest_of_one_byte_keeps_the_low_byte() {
        let ports = |base, approximate| PintPorts::new(Code::new(base), 1, Span::from_us(4), approximate, 1);
        assert_eq!(300 & ports(1.05, true).kept, 44);
        assert_eq!(300 & ports(1.05, false).kept, 300);
        assert_eq!(1000 & ports(1.01, true).kept, 1000);
    }

    #[test]
    fn logarithms_are_cut_to_sixteen_leading_bits() {
        let mut rng = Rng::stream(1, Purpose::Pint, 0);
        assert_eq!(log2_approximate(1, &mut rng), 0);
        assert_eq!(log2_approximate(1 << 15, &mut rng), 15 << LOG_SHIFT);
        // 2^17 + 1 has 18 bits: two are dropped, and rounded up in about one of four draws.
        let samples: Vec<i32> = (0..100)
            .map(|_| log2_approximate((1 << 17) + 1, &mut rng))
            .collect();
        assert!(
            samples
                .iter()
                .all(|&s| s == 17 << LOG_SHIFT || s == (libm::log2(131_076.0) * 32768.0) as i32)
        );
    }
}
