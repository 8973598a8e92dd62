//! DX: a window that follows the queueing delay, measured to a fraction of a packet.
//!
//! # What it does
//! The sender takes the smallest round-trip time of a flow as that of the empty path. The rest of an ACK's round trip
//! is queueing delay, averaged once per round trip. Without queueing delay, the window grows by a packet. Otherwise it
//! shrinks by its part that waits in the queue, and then grows by a packet. DX is for networks with precise time
//! stamps (Lee et al., USENIX ATC 2015).
//!
//! # Signal it needs
//! The round-trip time of each packet, with an error far below a packet's time on the wire. `noise` adds an error.
//!
//! # Equations
//! Once per round trip, with Q the mean of RTT - min RTT over its ACKs and W the window in packets:
//! ```text
//! Q = 0:  W = W + 1                                                                    (1)
//! Q > 0:  W = W (1 - Q / V) + 1                                                        (2)
//! V = R W / (W - 1),  R the smallest round-trip time                                   (3)
//! ```
//! At rest `Q W = V`, so that `Q = R / (W - 1)`: N flows on a link keep a packet each in its queue.
//! `1 <= W <= max-window`.
//!
//! # Parameters
//! [`Params`]. `noise` is the largest clock error: each measured round-trip time is too short or too long by up to
//! this much, with uniform probability.
//!
//! # Where we differ from the paper or public code
//! * With (3), one step of all flows removes the queue, except for the packet that each adds. The paper updates V by
//!   an estimate of its own; both are of the same order.
//! * Flows start with a window of one bandwidth-delay product, as RDMA does; the paper uses TCP's slow start.
//! * A loss (a NACK, a timeout) halves the window, at most once per round trip, as in TCP.
//! * The NIC's clock drives the window. Half of the paper is about removing the bursts of the host's software from the
//!   measurement; there are none here.
//!
//! # References
//! C. Lee et al., "Accurate Latency-based Congestion Feedback for Datacenters", USENIX ATC 2015, §4.
//! C. Lee et al., "DX: Latency-Based Congestion Control for Datacenters", IEEE/ACM Transactions on
//! Networking 25(1), 2017.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits};
use crate::params::{Parameters, Range};
use crate::registry::{Definition, Scheme, SendFloor, WindowMode};

params! {
    /// Parameters of DX; windows are in packets.
    pub struct Params {
        /// Largest error of a measured round-trip time.
        noise: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours; the paper measures some 100 ns";
        /// First window of a flow, in packets. 0: the bandwidth-delay product.
        initial_window: f64 = 0.0, in Range::AtLeast(0.0), from "ours: as the other schemes";
        /// Largest window, in packets. 0: four bandwidth-delay products, at least 256.
        max_window: f64 = 0.0, in Range::AtLeast(0.0), from "ours";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "dx",
        aliases: &[],
        title: "DX",
        paper: crate::papers::DX.citation,
        summary: "Reduces the window by the queueing delay, once per round trip.",
        scope: "networks with time stamps that are precise to a fraction of a packet.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("dx.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            timestamp: true,
            ..Requirements::default()
        }
    }

    fn least(&self, _line: BitRate) -> Option<SendFloor> {
        Some(SendFloor::Packet)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Dx::new(self, path))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Dx {
    noise: f64,
    max: f64,
    mtu: f64,
    line_rate: BitRate,
    cwnd: f64,
    /// Smallest round-trip time, in ns; `sum` adds up all since the last update, in ns.
    min_rtt: f64,
    sum: f64,
    acks: u32,
    last_update_seq: u64,
    /// Byte whose acknowledgement permits the next reaction to a loss.
    cut_until: u64,
}

impl Dx {
    /// Creates a sender with its initial window.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let bdp = path.bdp_packets();
        let or = |given: f64, auto: f64| if given > 0.0 { given } else { auto };
        let max = or(params.max_window, (4.0 * bdp).max(256.0)).max(1.0);
        Self {
            noise: params.noise.as_ns_f64(),
            max,
            mtu: path.mtu.get().max(1) as f64,
            line_rate: path.line_rate,
            cwnd: or(params.initial_window, bdp).clamp(1.0, max),
            min_rtt: f64::INFINITY,
            sum: 0.0,
            acks: 0,
            last_update_seq: 0,
            cut_until: 0,
        }
    }

    /// Returns the window, in packets.
    pub fn window(&self) -> f64 {
        self.cwnd
    }

    /// Applies equations (1) to (3), for a mean queueing delay `q` in ns.
    fn update(&mut self, q: f64) {
        let w = self.cwnd;
        // W Q / V = (W - 1) Q / R.
        let queued = if q > 0.0 {
            (w - 1.0) * q / self.min_rtt
        } else {
            0.0
        };
        self.cwnd = (w - queued + 1.0).clamp(1.0, self.max);
    }

    fn lose(&mut self) {
        self.cwnd = (self.cwnd / 2.0).max(1.0);
    }

    fn measured(&self, cx: &mut Ctx<'_>, rtt: Span) -> f64 {
        let exact = rtt.as_ns_f64();
        if self.noise > 0.0 {
            (exact + self.noise * (2.0 * cx.rng.next_f64() - 1.0)).max(1.0)
        } else {
            exact
        }
    }
}

impl CongestionControl for Dx {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.line_rate,
            window: Bytes::new((self.cwnd.floor() * self.mtu) as u64),
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.nack {
            // Losses within one round trip are one event.
            if ack.highest >= self.cut_until {
                self.lose();
                self.cut_until = ack.snd_nxt.max(ack.highest + 1);
            }
            return;
        }
        let rtt = self.measured(cx, ack.rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.sum += rtt;
        self.acks += 1;
        if ack.highest > self.last_update_seq {
            let mean = self.sum / f64::from(self.acks);
            // The first ACK has no complete round behind it.
            if self.last_update_seq > 0 {
                self.update(mean - self.min_rtt);
            }
            (self.sum, self.acks) = (0.0, 0);
            self.last_update_seq = ack.snd_nxt;
        }
    }

    fn on_timeout(&mut self, _cx: &mut Ctx<'_>) {
        self.lose();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    fn pair(params: &Params) -> Pair<Dx> {
        Pair::new(star_path(), |path| Dx::new(params, path))
    }

    fn after(ns: u64, seq: u64, snd_nxt: u64) -> AckInfo<'static> {
        AckInfo {
            rtt: Span::from_ns(ns),
            ..ack(seq, snd_nxt)
        }
    }

    #[test]
    fn equations_by_hand() {
        let mut pair = pair(&Params {
            initial_window: 11.0,
            ..Params::default()
        });
        pair.ack(&after(4000, 1000, 11_000)); // the first ACK only starts the round
        assert_eq!(pair.cc.window(), 11.0);
        // A round without queueing: equation (1).
        pair.ack(&after(4000, 11_000, 21_000));
        pair.ack(&after(4000, 12_000, 22_000));
        assert_eq!(pair.cc.window(), 12.0);
        assert_eq!(pair.cc.limits().window, Bytes::new(12_000));
        // Queueing delays of 0, 800 and 1600 ns: Q = 800, V = 4000 * 12/11; 12 (1 - 800/V) + 1 = 10.8.
        pair.ack(&after(4000, 20_000, 23_000));
        pair.ack(&after(4800, 21_000, 24_000));
        pair.ack(&after(5600, 22_500, 25_000));
        assert!((pair.cc.window() - 10.8).abs() < 1e-12, "{}", pair.cc.window());
        // A smaller round-trip time becomes the new base: Q = 4100 - 3900 = 200.
        pair.ack(&after(3900, 24_000, 30_000));
        pair.ack(&after(4300, 26_000, 32_000));
        let by_hand = 10.8 - 9.8 * 200.0 / 3900.0 + 1.0;
        assert!((pair.cc.window() - by_hand).abs() < 1e-12);
    }

    #[test]
    fn at_rest_a_packet_of_each_flow_is_queued() {
        // 52 packets on the wire: with 4 flows W = 13 + 1 and Q = R / 13.
        let mut pair = pair(&Params {
            initial_window: 14.0,
            ..Params::default()
        });
        let queueing = 4160 / 13;
        pair.ack(&after(4160, 1000, 2000));
        for round in 1..20 {
            let seq = 1000 + 1000 * round;
            pair.ack(&after(4160 + queueing, seq + 500, seq + 1000));
        }
        assert!((pair.cc.window() - 14.0).abs() < 1e-9, "{}", pair.cc.window());
    }

    #[test]
    fn losses_halve_once_per_round_trip() {
        let mut pair = pair(&Params::default());
        let nack = |seq, snd_nxt| AckInfo {
            nack: true,
            ..ack(seq, snd_nxt)
        };
        pair.ack(&nack(1000, 50_000));
        pair.ack(&nack(2000, 51_000));
        assert_eq!(pair.cc.window(), 26.0);
        pair.ack(&nack(50_000, 60_000));
        assert_eq!(pair.cc.window(), 13.0);
        for _ in 0..9 {
            pair.timeout();
        }
        assert_eq!(pair.cc.window(), 1.0);
    }

    #[test]
    fn noise_is_the_flows_own_and_bounded() {
        let noisy = Params {
            noise: Span::from_ns(100),
            ..Params::default()
        };
        let run = || {
            let mut pair = pair(&noisy);
            let windows: Vec<f64> = (1..400)
                .map(|i| {
                    pair.ack(&after(4160, 1000 * i, 1000 * i + 10_000));
                    pair.cc.window()
                })
                .collect();
            (windows, pair.cc.min_rtt)
        };
        let (windows, min_rtt) = run();
        assert_eq!(windows, run().0);
        assert!((4060.0..4065.0).contains(&min_rtt), "{min_rtt}");
        // A spurious delay of some 100 ns bounds the window: at rest W - 1 = R / Q = 41.
        let last = windows[windows.len() - 1];
        assert!((30.0..55.0).contains(&last), "{last}");
    }
}
