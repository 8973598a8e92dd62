//! Bolt: switches report congestion straight to senders, and hand out tokens for capacity that is about to become
//! free.
//!
//! # What it does
//! The sender keeps a window and changes it by single packets. A switch whose queue has reached a threshold sends a
//! small packet (SRC) straight back to the sender. The sender then takes one packet off its window, no more often than
//! its share of the queue requires. A packet that asks for more (INC) keeps its flag only if every switch on its path
//! has a token for it; its ACK adds one packet to the window. Bolt is for short messages at high line rates (Arslan et
//! al., NSDI 2023).
//!
//! A token comes from a flow that is about to end (PRU) or from unused capacity (SM).
//!
//! # Signal it needs
//! Switches that run the ingress algorithm below (`[network] assist`), and nine bytes of header in data packets, ACKs
//! and SRCs. Flags: FIRST, no feedback has arrived yet; LAST, the sender has no more than this window; INC, one more
//! packet per round trip is wanted; DEC, the packet has met a congested port.
//!
//! # Equations
//! For every packet that will leave through a port of rate `C`, `gap` after the one before. For data packets the first
//! line of (2) to (5) that applies, in this order:
//! ```text
//! sm = min(sm + C gap - size, 1 packet)                                                (1)
//! queue >= threshold:  SRC(queue, C, t_tx) to the sender unless DEC;  set DEC; clear INC  (2)
//! LAST:                pru = min(pru + 1, pru-max) unless FIRST                         (3)
//! INC and pru > 0:     pru = pru - 1                                                    (4)
//! INC:                 sm >= 1 packet: sm = sm - 1 packet; otherwise clear INC          (5)
//! ```
//! The sender, with `rtt` the latest sample:
//! ```text
//! target = queue (cwnd / rtt) / C, in packets                                          (6)
//! SRC, rtt_src after t_tx: if now - last >= rtt_src / target: cwnd = cwnd - 1 packet; last = now  (7)
//! ACK with INC: cwnd = cwnd + 1 packet                                                 (8)
//! once per round trip: cwnd = cwnd + ai                                                (9)
//! ```
//! `min-window <= cwnd <= max-window`. The first window is sent at line rate. After that, ACKs clock sending, and a
//! pacer of ours spreads packets (not in `bolt-paper`):
//! ```text
//! gap >= base_rtt packet / (pace-gain cwnd)                                            (10)
//! ```
//! Windows below one packet send packets `rtt · packet / cwnd` apart, in both variants.
//!
//! # Parameters
//! [`Params`]. `src`, `pru` and `sm` turn parts off. Without SRC, the report rides on the data packet and its ACK, and
//! (7) uses the whole round trip. `bolt-paper` is (1) to (9) with a threshold of one packet and nothing else; `bolt`
//! has a threshold of two, and (10).
//!
//! # Where we differ from the paper or public code
//! * `bolt` is not the paper's listing; `bolt-paper` is. The listing alone does not reach the paper's numbers when a
//!   flow leaves. The book's findings on Bolt show the lost link time for several thresholds and values of
//!   `pace-gain`.
//! * Reason for (10): clocked by ACKs alone, flows send their windows back to back, one after the other. (1) holds one
//!   packet, so it sees only one packet per round trip of the gap that a flow leaves. The queue also stays at one
//!   packet. Nearly all packets with LAST then meet a congested port and leave no token, because (2) comes before (3).
//! * The pacer uses the round trip of an empty network and is slightly faster. At exactly `cwnd / rtt`, a standing
//!   queue would slow a flow below its window. The pacer spreads packets; the window decides how many there are.
//! * The public code spreads packets, too: it pauses for `rtt · packet / cwnd` whenever less than a packet of the
//!   window is left, which is nearly always. `parity.bolt-ns3.window-pause` turns this pause off in the authors'
//!   simulator, and `paceline reproduce bolt-b2 bolt-b4` runs both.
//! * Reason for two packets: the public code's scripts use two at all packet sizes, and less link time is lost. Its
//!   queue leaves out a packet that ours counts, so its two are nearer to three here.
//! * The paper's text, as far as we know it, leaves some points open; `bolt` and `bolt-paper` decide them alike. It
//!   does not say whether hosts spread the packets of a window. A queue here is the waiting data without the packet on
//!   the wire; the public code leaves out one more. The flow's rate in (6) uses the latest round trip, or the line
//!   rate before the first ACK.
//! * The largest and smallest window are open, too. So is (7) below two packets: there it halves the window, which
//!   then never falls from above one packet to nearly nothing. The public code halves from one packet down, at every
//!   SRC; here (7) spaces these cuts as well. ACKs and SRCs count in (1), as in the public code. `pru-max` has the
//!   public code's value.
//! * For losses the paper says only "as Swift". Here a loss sets the window to `cwnd (1 - max-md)`, at most once per
//!   round trip. After `reset-after` timeouts in a row the window is the smallest. Windows below a packet are paced as
//!   Swift's are.
//! * Windows are in payload bytes, as everywhere in Paceline; (6) counts headers on both sides.
//! * (1) is kept as time on the port, which is exact. The public code adds one byte per packet.
//! * (9) follows sequence numbers, as the paper's listing does. The public code flags a packet, and never increases
//!   again if that packet is lost.
//!
//! # References
//! S. Arslan, Y. Li, G. Kumar, N. Dukkipati, "Bolt: Sub-RTT Congestion Control for Ultra-Low
//! Latency", NSDI 2023. Public code: serhatarslan-hub/bolt_cc_ns3.

mod switch;
#[cfg(test)]
mod tests;

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{
    AckInfo, CongestedPort, CongestionControl, Ctx, Outgoing, PathInfo, Requirements, SendLimits, Signal,
};
use crate::params::{Auto, ParamError, Parameters, Range, is};
use crate::registry::{Alias, Definition, Incompatible, NetworkFacts, Scheme, Setting, WindowMode};
use crate::switch::{EgressPort, PerPort, SwitchHalves, SwitchSupport};

pub use switch::{BoltPort, Threshold, port_of, src};

/// Tag: the packet has Bolt's header. No other scheme sets this bit.
pub const BOLT: u8 = 1 << 7;
/// Tag: the sender has had no feedback yet.
pub const FIRST: u8 = 1;
/// Tag: the sender has no more data after the window that contains this packet.
pub const LAST: u8 = 1 << 1;
/// Tag: the sender asks for one more packet per round trip.
pub const INC: u8 = 1 << 2;
/// Tag: a port on the path was congested.
pub const DEC: u8 = 1 << 3;

/// Bytes of Bolt's header: queue 3, link rate 1, flags 1, time of sending 4.
const HEADER: u8 = 9;

params! {
    /// Parameters of Bolt; section numbers in sources are the paper's.
    pub struct Params {
        /// Let switches report congestion directly to senders (SRC). If off, the report rides on the data packet and
        /// its ACK.
        src: bool = true, in Range::Any, from "paper §3.1";
        /// Let flows that are about to end leave tokens for others (PRU).
        pru: bool = true, in Range::Any, from "paper §3.2";
        /// Hand out tokens for unused capacity (SM).
        sm: bool = true, in Range::Any, from "paper §3.3";
        /// Queue of a port, in bytes, from which it is congested (CCTHRESH). `auto`: `threshold-packets`.
        threshold: Auto<Bytes> = Auto::Auto, in Range::Above(0.0), from "us";
        /// Threshold in full packets, if `threshold` is `auto`.
        threshold_packets: u32 = 2, in Range::AtLeast(1.0), from "public code's scripts; the paper's is 1 (§3.1)", only(&[&[is(".threshold", &["auto"])]]);
        /// PRU tokens that a port can hold.
        pru_max: u32 = 256, in Range::AtLeast(1.0), from "public code", only(&[&[is(".pru", &["true"])]]);
        /// Window of a new flow, in payload. `auto`: the bandwidth-delay product.
        initial_window: Auto<Bytes> = Auto::Auto, in Range::Above(0.0), from "paper §3";
        /// Largest window. `auto`: the bandwidth-delay product.
        max_window: Auto<Bytes> = Auto::Auto, in Range::Above(0.0), from "public code's star and fat-tree";
        /// Smallest window. `auto`: a hundredth of a packet.
        min_window: Auto<Bytes> = Auto::Auto, in Range::Above(0.0), from "public code: 15 B of 1500";
        /// Pace packets (10) instead of sending bursts at line rate when ACKs arrive. Windows below one packet are
        /// always paced.
        pace: bool = true, in Range::Any, from "us: see where we differ";
        /// Speed of the pacer, relative to one window per round trip of an empty network.
        pace_gain: f64 = 1.25, in Range::AtLeast(1.0), from "us: see where we differ", only(&[&[is(".pace", &["true"])]]);
        /// Packets added per round trip, unconditionally.
        ai: f64 = 1.0, in Range::AtLeast(0.0), from "paper §3.3";
        /// Share of the window that a loss removes, at most once per round trip.
        max_md: f64 = 0.5, in Range::Between(0.0, 1.0), from "Swift; public code";
        /// Retransmission timeouts in a row after which the window is the smallest.
        reset_after: u32 = 5, in Range::AtLeast(1.0), from "Swift §3.4 asks for several; public code gives up after 5";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "bolt",
        aliases: &[Alias {
            name: "bolt-paper",
            help: "as listed in its paper: a threshold of one packet, and no pacer",
            settings: &[
                ("threshold", "auto"),
                ("threshold-packets", "1"),
                ("pace", "false"),
            ],
            window: None,
        }],
        title: "Bolt",
        paper: crate::papers::BOLT.citation,
        summary: "Switches answer senders directly when they are congested, and hand out tokens for capacity that will be free.",
        scope: "networks whose switches answer senders; short messages and flows that come and go.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("bolt.rs"),
    };

    fn check(&self) -> Result<(), ParamError> {
        let given = |window| match window {
            Auto::Is(bytes) => Some(bytes),
            Auto::Auto => None,
        };
        let (min, initial, max) = (
            given(self.min_window),
            given(self.initial_window),
            given(self.max_window),
        );
        let above = |name: &str, low: Option<Bytes>, what: &str, high: Option<Bytes>| match (low, high) {
            (Some(low), Some(high)) if low > high => Err(ParamError::new(
                name,
                format!("{low} is more than {what} ({high}): make it at most that"),
            )),
            _ => Ok(()),
        };
        above("initial-window", initial, "max-window", max)?;
        above("min-window", min, "initial-window", initial)?;
        above("min-window", min, "max-window", max)
    }

    fn needs(&self) -> Requirements {
        Requirements {
            tags: true,
            header: HEADER,
            repaces: true,
            ..Requirements::default()
        }
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        let refused = |fits: bool, setting, why, instead| {
            let incompatible = Incompatible::Refused {
                setting,
                why,
                instead,
            };
            (!fits).then_some(incompatible)
        };
        let found = [
            refused(
                network.acks_each_packet,
                Setting::Ack,
                "Bolt's tokens come back packet by packet, and ACKs for several at once lose all but one",
                "write `ack.every-packets = 1`",
            ),
            network.chunks.then_some(Incompatible::with_chunks(
                "Bolt's window may be less than a chunk, which counts as in flight until all of it has arrived",
            )),
            refused(
                network.pacing,
                Setting::Pacing,
                "Bolt keeps windows below one packet by pacing, and pacing is off",
                "write `pacing = true`",
            ),
        ];
        found.into_iter().flatten().collect()
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(self.asks_switches())
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        Some(PerPort::boxed(ports, rngs, |port, _| BoltPort::new(self, port)))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Bolt::new(self, path))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Bolt {
    /// Payload of a full packet; `full` is its size on the wire.
    mtu: u64,
    full: u64,
    line: BitRate,
    min: u64,
    max: u64,
    /// Payload bytes added per round trip, in (9).
    ai: u64,
    max_md: f64,
    reset_after: u32,
    /// Ratio of the pacer's rate to the window's; `None` if only windows below a packet are paced.
    pace_gain: Option<f64>,
    cwnd: u64,
    /// Pacing rate, headers included.
    rate: BitRate,
    /// Latest round-trip sample; `None` before the first.
    rtt: Option<Span>,
    base_rtt: Span,
    /// Time of the last cut; `None` before the first.
    last_cut: Option<Time>,
    /// An ACK beyond this byte ends the round of (9).
    round_end: u64,
    /// Timeouts since the last progress.
    timeouts: u32,
}

impl Bolt {
    /// Creates a sender with its initial window.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let mtu = path.mtu.get().max(1);
        let bdp = path.bdp.max(Bytes::new(mtu));
        let max = params.max_window.or(bdp).get().max(1);
        let min = params.min_window.or(Bytes::new(mtu / 100)).get().clamp(1, max);
        let mut bolt = Self {
            mtu,
            full: path.full_packet.get(),
            line: path.line_rate,
            min,
            max,
            ai: (params.ai * mtu as f64) as u64,
            max_md: params.max_md,
            reset_after: params.reset_after,
            pace_gain: params.pace.then_some(params.pace_gain),
            rate: path.line_rate,
            cwnd: params.initial_window.or(bdp).get().clamp(min, max),
            rtt: None,
            base_rtt: path.base_rtt,
            last_cut: None,
            round_end: 0,
            timeouts: 0,
        };
        bolt.set_rate();
        bolt
    }

    /// Returns the window, in payload bytes.
    pub fn window(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    /// Returns the rate of one window per `rtt`, headers included, in bit/s.
    fn rate_over(&self, rtt: Span) -> f64 {
        let wire = self.cwnd as f64 * self.full as f64 / self.mtu as f64;
        wire * 8e12 / rtt.as_ps().max(1) as f64
    }

    /// Returns the rate of one window per measured round trip, in bit/s.
    fn window_rate(&self) -> f64 {
        self.rate_over(self.rtt.unwrap_or(self.base_rtt))
    }

    /// Sets the pacing rate: line rate for the first window and for unpaced ones, otherwise (10).
    fn set_rate(&mut self) {
        let rate = match (self.pace_gain, self.rtt) {
            _ if self.cwnd < self.mtu => self.window_rate(),
            (Some(gain), Some(_)) => gain * self.rate_over(self.base_rtt),
            _ => {
                self.rate = self.line;
                return;
            }
        };
        self.rate = BitRate::from_bps((rate as u64).max(1)).min(self.line);
    }

    /// Returns the target of equation (6), in packets.
    fn target(&self, port: CongestedPort) -> f64 {
        let rate = match self.rtt {
            Some(_) => self.window_rate(),
            None => self.line.as_bps() as f64,
        };
        let queue = port.queue.get() as f64 / self.full as f64;
        queue * rate / port.rate.as_bps().max(1) as f64
    }

    /// Applies equation (7), with the division moved to the other side: a target of zero then asks for no
    /// cut.
    fn congested(&mut self, now: Time, port: CongestedPort, rtt_src: Span) {
        let since = now.saturating_since(self.last_cut.unwrap_or(Time::ZERO));
        if (since.as_ps() as f64) * self.target(port) < rtt_src.as_ps() as f64 {
            return;
        }
        // Cuts of half a window at most, so that (7) never takes a window of just above a packet to nothing.
        self.last_cut = Some(now);
        self.cut(self.mtu.min(self.cwnd - self.cwnd / 2));
    }

    fn cut(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.saturating_sub(bytes).max(self.min);
        self.set_rate();
    }

    /// Reacts to a loss as Swift does: at most one cut per round trip.
    fn lost(&mut self, now: Time) {
        let rtt = self.rtt.unwrap_or(self.base_rtt);
        // Losses within one round trip are one event, and SRCs may have answered it already.
        if self.last_cut.is_some_and(|last| now.saturating_since(last) < rtt) {
            return;
        }
        self.last_cut = Some(now);
        self.cut((self.cwnd as f64 * self.max_md) as u64);
    }

    /// Applies equations (8) and (9).
    fn grow(&mut self, ack: &AckInfo<'_>) {
        // A port without a token clears INC, and a congested one sets DEC.
        if ack.tag & (INC | DEC) == INC {
            self.cwnd += self.mtu;
        }
        if ack.highest > self.round_end {
            self.round_end = ack.snd_nxt;
            self.cwnd += self.ai;
        }
        self.cwnd = self.cwnd.min(self.max);
    }
}

impl CongestionControl for Bolt {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            // Smaller windows are enforced by the pacing rate alone: a window below a packet would block the
            // flow.
            window: Bytes::new(self.cwnd.max(self.mtu)),
        }
    }

    fn tag(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        // (7) counts from the flow's start until its first cut.
        self.last_cut.get_or_insert(cx.now);
        let first = if self.rtt.is_none() { FIRST } else { 0 };
        // If the window already reaches the end of the data, nothing is sent after this packet's ACK.
        let after = packet.seq + self.cwnd.max(packet.payload);
        let last = if after >= packet.end { LAST } else { 0 };
        // Without feedback the first window is not yet checked, and a flow about to end cannot use another
        // packet: neither may take tokens from others.
        let inc = if first | last == 0 { INC } else { 0 };
        BOLT | first | last | inc
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.rtt = Some(ack.rtt);
        if ack.newly_acked > 0 {
            self.timeouts = 0;
        }
        if let Some(port) = ack.congested {
            self.congested(cx.now, port, ack.rtt);
        }
        if ack.nack {
            self.lost(cx.now);
        } else {
            self.grow(ack);
        }
        self.set_rate();
    }

    fn on_signal(&mut self, cx: &mut Ctx<'_>, signal: &Signal) {
        self.congested(cx.now, port_of(signal), signal.after);
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.timeouts += 1;
        // Several timeouts in a row show that even reduced windows do not get through.
        if self.timeouts >= self.reset_after {
            self.cwnd = self.min;
            self.set_rate();
        } else {
            self.lost(cx.now);
        }
    }
}
