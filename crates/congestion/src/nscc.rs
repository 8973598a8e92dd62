//! NSCC: Ultra Ethernet's network-signal congestion control.
//!
//! # What it does
//! The sender keeps a window. Two signals of each acknowledgement select one of four reactions: the ECN mark, and a
//! round trip longer than the empty network's by a target. QuickAdapt sets the window in one step when a round trip
//! delivered much less than expected. NSCC is for Ethernet that drops or trims packets and sprays them over many paths
//! (Ultra Ethernet Specification 1.0, 2025).
//!
//! MNSCC (the alias `mnscc`) takes the median of the last delays in place of the last one, so that some late packets on a
//! congested path do not count (Gerstein et al., 2026).
//!
//! # Signal it needs
//! ECN marks, round-trip times, and the packets that switches trimmed. It is designed for packets on many paths
//! (`network.load-balancing = "mixed"`), for receivers that take them in any order (`network.recovery = "rud"`) and
//! for switches that trim (`network.drop.trim = true`). It works without them.
//!
//! # Equations
//! With the window `W`, the target `T`, the delay `d` of an acknowledgement beyond the base RTT, and `n` newly
//! acknowledged bytes:
//! ```text
//! unmarked, d >= T    inc = inc + fair n                                     fair increase
//! unmarked, d < T     inc = inc + alpha n (T - d)                            proportional increase
//! unmarked, d < 1 us  W = W + fast n, once a window of them came in a row    fast increase
//! marked, d >= T      W = W max(1 - 0.8 (D - T) / D, 1/2), if D > T          multiplicative decrease, once per base RTT
//! marked, d < T       nothing
//! ```
//! `D` is the average delay, with weight 0.0125. Once eight packets or a base RTT are acknowledged,
//! ```text
//! W = W + inc / W,  inc = 0;  once per base RTT also  W = W + eta
//! ```
//! A trimmed packet takes its size off the window. QuickAdapt acts if something was trimmed or `d > 4 T`, and less
//! than `W_max / 2^gate` arrived in a round trip and `T`. It sets `W` to the bytes that arrived, and ignores marks of
//! the bytes in flight. `W` stays from one packet to `W_max`, 1.5 bandwidth-delay products; it starts there.
//! ```text
//! a = BDP / 150 kB    b = T / 12 us
//! alpha = 4 MTU a b / T    fair = 5 MTU a    eta = 0.15 MTU a    fast = 0.25 a
//! ```
//! With `median`, `d` is the median of the last `H = max(min(floor(W / 2), median-of), 1)` delays, with `W` in packets,
//! also in the average `D`. Marks stay those of the last acknowledgement.
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! `fidelity = "uet-htsim"` is the public simulator, packet for packet. This scheme runs on Paceline's own engine and
//! differs from it:
//! * The window counts payload bytes, and a packet may be sent while the window is not full.
//! * Increments do not wrap at 32 bits. In the public code they do, in almost every flow at 800 Gbit/s.
//! * Only acknowledgements lower the base RTT. In the public code NACKs do, too: they return early, as headers
//!   overtake data.
//! * Round trips of retransmitted packets count, because packets carry their send time.
//! * A loss that trimming did not report counts as a trimmed packet.
//! * The publication of MNSCC leaves open the median of an even number: the key `median` selects the lower or the upper
//!   of the two. With four delays of which 9 % are late, the lower is late in 0.27 % of cases, the upper in 4.3 %.
//!
//! # References
//! Ultra Ethernet Specification 1.0, 2025, section 3.6 (congestion control).
//! B. Gerstein, M. Silberstein, I. Keslassy, "Congestion Control for Spraying with Congested Paths",
//! arXiv 2509.07907v2, 2026: MNSCC, equation (9).
//! Public code: ultraethernet/uet-htsim at 40ccb05.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits, TrimmedAt};
use crate::median::{Median, Middle};
use crate::params::{Auto, Parameters, Range, is};
use crate::registry::{Alias, Definition, Incompatible, Marking, NetworkFacts, Scheme, WindowMode};

pub mod window;

use window::{Constants, Feedback, Window};

params! {
    /// Parameters of NSCC; all other constants follow from the network, see the equations.
    pub struct Params {
        /// Target queueing delay. `auto`: 0.75 base RTTs.
        target_delay: Auto<Span> = Auto::Auto, in Range::Above(0.0), from "public code";
        /// Largest window, in bandwidth-delay products; flows start with it.
        max_window: f64 = 1.5, in Range::Above(0.0), from "public code";
        /// QuickAdapt acts if fewer bytes arrived than the largest window divided by two to this power.
        quick_gate: u32 = 3, in Range::Between(0.0, 30.0), from "public code";
        /// Delay that counts: the last one, or the median of the last ones.
        median: Middle = Middle::Off, in Range::Any, from "public code; MNSCC has a median";
        /// Largest number of delays in the median.
        median_of: u32 = 4, in Range::AtLeast(1.0), from "MNSCC", only(&[&[is(".median", &["lower", "upper"])]]);
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "nscc",
        aliases: &[Alias {
            name: "mnscc",
            help: "by the median of the last four delays: a congested path among many does not count",
            settings: &[("median", "lower")],
            window: None,
        }],
        title: "NSCC",
        paper: crate::papers::NSCC.citation,
        summary: "Ultra Ethernet: a window that follows marks and delay, for packets on many paths.",
        scope: "Ethernet that may drop or trim, and many paths (Ultra Ethernet); sound on lossless networks, too.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("nscc.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            timestamp: true,
            ..Requirements::default()
        }
    }

    fn marking(&self) -> Marking {
        Marking::UEC
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        network.chunks.then_some(WITH_CHUNKS).into_iter().collect()
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Nscc::new(self, path, false))
    }
}

/// Incompatibility of NSCC's window with chunk-wise retransmission.
pub const WITH_CHUNKS: Incompatible = Incompatible::with_chunks(
    "NSCC's window may be less than a chunk, which counts as in flight until all of it has arrived",
);

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Nscc {
    constants: Constants,
    state: Window,
    line: BitRate,
    /// Last round trips, if their median counts.
    median: Option<Median>,
    median_of: usize,
}

impl Nscc {
    /// Creates a sender with the largest window; `with_receiver` if a receiver's control is active too.
    pub fn new(params: &Params, path: &PathInfo, with_receiver: bool) -> Self {
        let rtt = path.base_rtt.as_ps().max(1);
        let target = params.target_delay.or(Span::from_ps(rtt / 4 * 3)).as_ps();
        let packet = path.mtu.get() as i64;
        let constants = Constants {
            gate: params.quick_gate,
            with_receiver,
            ..Constants::new(rtt, path.line_rate.as_bps(), packet, packet, target.max(1))
        };
        let mut state = Window::new(&constants, rtt, None);
        let largest = params.max_window * path.bdp.get() as f64;
        state.max_window = (largest as i64).max(packet);
        state.window = state.max_window;
        Self {
            constants,
            state,
            line: path.line_rate,
            median: params.median.filter(),
            median_of: params.median_of as usize,
        }
    }

    /// Returns the window, in bytes.
    pub fn window(&self) -> Bytes {
        Bytes::new(self.state.window as u64)
    }

    /// Returns the base round-trip time.
    pub fn base(&self) -> Span {
        Span::from_ps(self.state.base)
    }
}

impl CongestionControl for Nscc {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.line,
            window: self.window(),
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let (all, state) = (&self.constants, &mut self.state);
        let bytes = ack.newly_acked as i64;
        state.count(bytes);
        let mut feedback = Feedback {
            now: cx.now.as_ps(),
            marked: ack.mark == Mark::Congested,
            delay: 0,
            bytes,
            in_flight: ack.in_flight() as i64,
        };
        // A NACK of a trimmed packet measures no round trip.
        if ack.nack {
            let last_hop = ack.trimmed == Some(TrimmedAt::LastHop);
            return state.on_nack(all, all.packet, last_hop, feedback);
        }
        let raw = ack.rtt.as_ps();
        if raw < state.base {
            // Unlike the simulator's, the largest window depends on the path alone and does not shrink with
            // the base.
            state.base = raw;
        }
        let counts = match &mut self.median {
            None => raw,
            Some(median) => {
                let packets = (state.window / all.packet) as usize;
                // No median is below the base, because the base is the least of all round trips.
                median.push(raw, (packets / 2).min(self.median_of))
            }
        };
        state.update_average(all, counts, feedback.marked);
        feedback.delay = counts - state.base;
        state.on_ack(all, feedback);
    }

    fn on_timeout(&mut self, _cx: &mut Ctx<'_>) {
        self.state.on_timeout(&self.constants, self.constants.packet);
    }
}

#[cfg(test)]
mod tests;
