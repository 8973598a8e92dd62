//! PowerTCP: a window from the power of the path's busiest link, its arrival rate times its data in flight and in the
//! queue.
//!
//! # What it does
//! A link's current is the rate at which data arrives; its voltage is the data that it holds, the bandwidth-delay
//! product and the queue. Their product, power, shows both the extent and the trend of congestion. The sender divides
//! its window by the smoothed power and adds a step. `variant = "theta"` computes the same power from the round-trip
//! time and its gradient, once per round trip. PowerTCP is for networks with telemetry, its variant for any network
//! (Addanki et al., NSDI 2022).
//!
//! The arrival rate is the rate at which the link sends plus the growth of its queue.
//!
//! # Signal it needs
//! `int`: in-band telemetry of every hop, as for HPCC. `theta`: the round-trip time of each packet.
//!
//! # Equations
//! For each hop of rate b, between this ACK's telemetry and the last one's, dt apart; T is the base RTT:
//! ```text
//! lambda = dq/dt + txBytes/dt                                               current    (1)
//! nu     = q + b T                                                          voltage    (2)
//! Gamma' = lambda nu / (b^2 T),  the largest of all hops                    power      (3)
//! Gamma  = (Gamma (T - dt) + Gamma' dt) / T                                            (4)
//! W      = gamma (W_old / Gamma + beta) + (1 - gamma) W                                (5)
//! ```
//! `theta`, with dt the time since the last ACK, (4) for every ACK and (5) once per round trip:
//! ```text
//! Gamma' = (dRTT/dt + 1) RTT / T                                                       (6)
//! ```
//! The rate is `W / T`, between `min-rate` and the line rate. At rest `Gamma = 1 + q / (b T)`, so that the queue is
//! the sum of all flows' β.
//!
//! # Parameters
//! [`Params`]. β is the bandwidth-delay product of the sender's link over `flows`, the number of flows that may share
//! it.
//!
//! # Where we differ from the paper or public code
//! * `W_old` is the window when the acknowledged packet was sent. It is stored once per round trip, as HPCC's
//!   reference is; the Linux module keeps a list of all.
//! * The window counts bytes on the wire; the NIC counts payload and gets the payload's share. The window is at most
//!   `max-window`, which the paper leaves open.
//! * dt is at most T in (4). An ACK whose telemetry has a different number of hops than the last one's, or the same
//!   time, is only recorded.
//! * A current below half of the link's rate counts as half, in (1) and in the bracket of (6). After windows have been
//!   cut, senders wait for ACKs and nothing arrives at the link for a while. Without the bound, power would be near
//!   zero and all windows would open at once; for a flow that had stopped, (6) is even negative. With the bound the
//!   queue comes to rest where the paper has it; without it the queue oscillates.
//! * Losses change nothing, as in the paper.
//!
//! # References
//! V. Addanki, O. Michel, S. Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter Networks",
//! NSDI 2022, §3 and Algorithms 1 and 2.
//! Public code: inet-tub/powertcp-linux.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, CongestionControl, Ctx, HopSample, PathInfo, Requirements, SendLimits};
use crate::params::{Parameters, Range};
use crate::rate::Bounds;
use crate::registry::{Alias, Definition, Scheme, SendFloor, WindowMode};

/// Lower bound of the current, as a share of the link's rate.
const LEAST_CURRENT: f64 = 0.5;

choice! {
    /// Source of the power in PowerTCP.
    pub enum Variant {
        /// Power from telemetry of every hop.
        Int = "int",
        /// Power from round-trip times alone (θ-PowerTCP).
        Theta = "theta",
    }
}

params! {
    /// Parameters of PowerTCP; section numbers in sources are the paper's.
    pub struct Params {
        /// Source of the power: telemetry (`int`) or round-trip times (`theta`).
        variant: Variant = Variant::Int, in Range::Any, from "paper, Algorithms 1 and 2";
        /// Weight of the new window in (5).
        gamma: f64 = 0.9, in Range::AboveUpTo(0.0, 1.0), from "paper §3.3";
        /// Number of flows that may share the sender's link; β is the link's bandwidth-delay product divided by it.
        flows: u32 = 10, in Range::AtLeast(1.0), from "public code";
        /// Largest window, in bandwidth-delay products.
        max_window: f64 = 1.0, in Range::AtLeast(1.0), from "ours: the rate, which is W / T, is at most the line's";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "ours: as DCQCN's paper";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "powertcp",
        aliases: &[Alias {
            name: "powertcp-theta",
            help: "from round-trip times and their gradient, without telemetry",
            settings: &[("variant", "theta")],
            window: None,
        }],
        title: "PowerTCP",
        paper: crate::papers::POWERTCP.citation,
        summary: "Divides the window by the power of the busiest link: arrival rate times queued data.",
        scope: "networks whose switches add telemetry; `powertcp-theta` needs round trips alone.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("powertcp.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            int: self.variant == Variant::Int,
            timestamp: self.variant == Variant::Theta,
            repaces: true,
            ..Requirements::default()
        }
    }

    fn least(&self, _line: BitRate) -> Option<SendFloor> {
        Some(SendFloor::Packet)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(PowerTcp::new(self, path))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    variant: Variant,
    gamma: f64,
    bounds: Bounds,
    /// β of (5); `min` and `max` bound the window. All in bytes on the wire.
    beta: f64,
    min: f64,
    max: f64,
    window: f64,
    old: f64,
    /// Smoothed power Γ, 1 at the start.
    power: f64,
    last_update_seq: u64,
    hops: Vec<HopSample>,
    /// Time and round-trip time of the last ACK, for `theta`.
    last: Option<(Time, Span)>,
    /// Share of a packet that is payload.
    payload: f64,
    base_rtt: Span,
}

impl PowerTcp {
    /// Creates a sender at line rate, with a window of the bandwidth-delay product.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let bounds = Bounds::new(params.min_rate, path.line_rate);
        let bdp = (path.bdp.get() as f64).max(1.0);
        let min = bounds.min.as_bps() as f64 / 8.0 * path.base_rtt.as_secs_f64();
        Self {
            variant: params.variant,
            gamma: params.gamma,
            bounds,
            beta: path.line_rate.as_bps() as f64 / 8.0 * path.base_rtt.as_secs_f64()
                / f64::from(params.flows),
            min,
            max: (params.max_window * bdp).max(min),
            window: bdp.max(min),
            old: bdp.max(min),
            power: 1.0,
            last_update_seq: 0,
            hops: Vec::with_capacity(path.hop_rates.len()),
            last: None,
            payload: path.mtu.get() as f64 / path.full_packet.get().max(1) as f64,
            base_rtt: path.base_rtt,
        }
    }

    /// Returns the window in bytes on the wire.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Returns the smoothed power Γ.
    pub fn power(&self) -> f64 {
        self.power
    }

    /// Returns the largest power of all hops by equations (1) to (3), and the time that it covers; `None`
    /// without comparable samples.
    fn power_of_hops(&mut self, path: &PathInfo, samples: &[HopSample]) -> Option<(f64, Span)> {
        // Another number of hops means another path, whose counters cannot be compared.
        let comparable = self.hops.len() == samples.len();
        let mut largest: Option<(f64, Span)> = None;
        if comparable {
            for (i, (now, old)) in samples.iter().zip(&self.hops).enumerate() {
                let dt = path.int.time_between(old.at_ps, now.at_ps);
                // Two samples of one instant define no rate.
                if dt == Span::ZERO {
                    continue;
                }
                let power = power(path, i, old, now, dt);
                if largest.is_none_or(|(most, _)| power > most) {
                    largest = Some((power, dt));
                }
            }
        }
        self.hops.clear();
        self.hops.extend_from_slice(samples);
        largest
    }

    /// Returns the power of equation (6) and the time that it covers; `None` without an earlier ACK.
    fn power_of_rtt(&mut self, now: Time, rtt: Span) -> Option<(f64, Span)> {
        let (before, last_rtt) = self.last.replace((now, rtt))?;
        let dt = now.saturating_since(before);
        if dt == Span::ZERO {
            return None;
        }
        let gradient = (rtt.as_ns_f64() - last_rtt.as_ns_f64()) / dt.as_ns_f64();
        // Arrival rate at the link, as a share of its rate.
        let current = (gradient + 1.0).max(LEAST_CURRENT);
        Some((current * rtt.as_ns_f64() / self.base_rtt.as_ns_f64(), dt))
    }

    /// Applies equation (4) to a power sample that covers `dt`.
    fn smooth(&mut self, power: f64, dt: Span) {
        let dt = dt.min(self.base_rtt);
        let rest = self.base_rtt - dt;
        self.power = (self.power * rest.as_ns_f64() + power * dt.as_ns_f64()) / self.base_rtt.as_ns_f64();
    }

    /// Applies equation (5), and clamps the window.
    fn update(&mut self) {
        let target = self.old / self.power + self.beta;
        let window = self.gamma * target + (1.0 - self.gamma) * self.window;
        self.window = window.clamp(self.min, self.max);
    }
}

/// Returns the power of hop `i` between two samples that are `dt` apart, by equations (1) to (3).
fn power(path: &PathInfo, i: usize, old: &HopSample, now: &HopSample, dt: Span) -> f64 {
    let (seconds, t) = (dt.as_secs_f64(), path.base_rtt.as_secs_f64());
    let rate = path.hop_rates.get(i).unwrap_or(&path.line_rate).as_bps() as f64 / 8.0;
    let sent = path.int.bytes_between(old.tx_bytes, now.tx_bytes) as f64;
    let growth = f64::from(now.queue_bytes) - f64::from(old.queue_bytes);
    let current = ((growth + sent) / seconds).max(LEAST_CURRENT * rate);
    let voltage = f64::from(now.queue_bytes) + rate * t;
    current * voltage / (rate * rate * t)
}

impl CongestionControl for PowerTcp {
    fn limits(&self) -> SendLimits {
        let bps = self.window * 8.0 / self.base_rtt.as_secs_f64();
        SendLimits {
            rate: self.bounds.clamp(BitRate::from_bps(bps as u64)),
            window: Bytes::new(((self.window * self.payload) as u64).max(1)),
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let round_ended = ack.highest > self.last_update_seq;
        let sample = match self.variant {
            Variant::Int => self.power_of_hops(cx.path, ack.hops),
            Variant::Theta => self.power_of_rtt(cx.now, ack.rtt),
        };
        if let Some((power, dt)) = sample {
            self.smooth(power, dt);
            // A gradient of round-trip times between two ACKs is noisy: `theta` averages over a round trip
            // (Algorithm 2).
            if self.variant == Variant::Int || round_ended {
                self.update();
            }
        }
        if round_ended {
            // The window of a round trip ago belongs to the packets acknowledged next: (5) divides it by the
            // power that they measured.
            self.old = self.window;
            self.last_update_seq = ack.snd_nxt;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    /// Path with a base RTT of 4 us and a bandwidth-delay product of 50,000 bytes.
    fn path() -> PathInfo {
        PathInfo {
            base_rtt: Span::from_us(4),
            bdp: Bytes::new(50_000),
            ..star_path()
        }
    }

    fn pair(variant: Variant) -> Pair<PowerTcp> {
        let params = Params {
            variant,
            max_window: 2.0,
            ..Params::default()
        };
        Pair::new(path(), |path| PowerTcp::new(&params, path))
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} instead of {b}");
    }

    #[test]
    fn int_by_hand() {
        let mut pair = pair(Variant::Int);
        let mut feed = |seq, snd_nxt, at_ns: u64, tx_bytes, queue_bytes| {
            let hops = [HopSample {
                at_ps: at_ns * 1000,
                tx_bytes,
                queue_bytes,
                rate_gbps: 0,
            }];
            pair.ack(&AckInfo {
                hops: &hops,
                ..ack(seq, snd_nxt)
            });
            (pair.cc.power(), pair.cc.window())
        };
        // The first sample has no predecessor.
        assert_eq!(feed(1000, 50_000, 0, 0, 0), (1.0, 50_000.0));
        // In 1 us 12,500 bytes left and the queue grew by 12,500: twice the rate, with 62,500 bytes held.
        // Gamma' = 2 * 1.25 = 2.5; Gamma = (3 + 2.5) / 4; W = 0.9 (50,000/Gamma + 5000) + 0.1 * 50,000.
        let (power, window) = feed(2000, 51_000, 1000, 12_500, 12_500);
        close(power, 1.375);
        let by_hand = 0.9 * (50_000.0 / 1.375 + 5000.0) + 5000.0;
        close(window, by_hand);
        // The queue is constant: Gamma' = 1.25. Past 50,000 the round ends, and W_old becomes the present
        // window.
        let (power, window) = feed(51_000, 90_000, 2000, 25_000, 12_500);
        close(power, (1.375 * 3.0 + 1.25) / 4.0);
        let next = 0.9 * (50_000.0 / power + 5000.0) + 0.1 * by_hand;
        close(window, next);
        let (power, window) = feed(52_000, 91_000, 2500, 31_250, 12_500);
        close(window, 0.9 * (next / power + 5000.0) + 0.1 * next);
        // A sample of the same instant is ignored.
        assert_eq!(feed(53_000, 92_000, 2500, 31_250, 12_500), (power, window));
    }

    #[test]
    fn theta_by_hand() {
        let mut pair = pair(Variant::Theta);
        let after = |rtt_ns, seq, snd_nxt| AckInfo {
            rtt: Span::from_ns(rtt_ns),
            ..ack(seq, snd_nxt)
        };
        pair.ack(&after(4000, 1000, 50_000));
        assert_eq!(pair.cc.window(), 50_000.0);
        // 400 ns more after 1 us: Gamma' = 1.4 * 1.1; only Gamma moves within the round trip.
        pair.advance(Span::from_us(1));
        pair.ack(&after(4400, 2000, 51_000));
        let power = (3.0 + 1.54) / 4.0;
        close(pair.cc.power(), power);
        assert_eq!(pair.cc.window(), 50_000.0);
        // Constant at 4400 ns for 3 us.
        pair.advance(Span::from_us(3));
        pair.ack(&after(4400, 51_000, 90_000));
        let power = (power + 3.0 * 1.1) / 4.0;
        close(pair.cc.power(), power);
        close(pair.cc.window(), 0.9 * (50_000.0 / power + 5000.0) + 5000.0);
    }

    /// If the queue of all flows is β, W = BDP + q is the fixed point of (5): W / (1 + q/BDP) + q = W.
    #[test]
    fn at_rest_the_queue_is_beta() {
        for variant in [Variant::Int, Variant::Theta] {
            let mut pair = pair(variant);
            for round in 1..200u64 {
                pair.advance(Span::from_us(4));
                let hops = [HopSample {
                    at_ps: pair.now().as_ps(),
                    tx_bytes: 50_000 * round,
                    queue_bytes: 5000,
                    rate_gbps: 0,
                }];
                let seq = 50_000 * round;
                pair.ack(&AckInfo {
                    rtt: Span::from_ns(4400),
                    hops: &hops,
                    ..ack(seq + 1, seq + 50_000)
                });
            }
            assert!((pair.cc.window() - 55_000.0).abs() < 1.0, "{}", pair.cc.window());
            assert_eq!(pair.rate(), BitRate::from_gbps(100));
        }
    }

    #[test]
    fn windows_stay_within_their_bounds() {
        let mut pair = pair(Variant::Theta);
        let mut feed = |rtt_us, times| {
            for i in 0..times {
                pair.advance(Span::from_us(4));
                let seq = pair.now().as_ns() * 100 + i;
                pair.ack(&AckInfo {
                    rtt: Span::from_us(rtt_us),
                    ..ack(seq, seq)
                });
            }
            (pair.cc.window(), pair.rate())
        };
        assert_eq!(feed(1, 50).0, 100_000.0);
        // A window of 50 bytes is 100 Mbit/s over 4 us; beta alone exceeds it.
        let (window, rate) = feed(1_000_000, 50);
        assert!((50.0..10_000.0).contains(&window), "{window}");
        assert!(rate >= BitRate::from_bps(100_000_000));
    }
}
