//! The senders of the Bolt authors' simulator (ns-3), Bolt and Swift, for `fidelity = "bolt-ns3"`.
//!
//! Windows are payload in 32-bit whole bytes, and times are whole nanoseconds. Both senders share the time of the
//! last decrease with loss recovery, and nothing is smoothed: the round-trip time is that of the last
//! acknowledgement. The schemes' own files follow the papers; differences are settings of [`BoltNs3Spec`] or have a
//! comment here.

use paceline_congestion::bolt::{DEC, FIRST, INC, LAST};
use paceline_congestion::params::Auto;
use paceline_congestion::registry::{AnyParams, SchemeFactory};
use paceline_congestion::{
    AckInfo, CongestedPort, CongestionControl, Ctx, Outgoing, PathInfo, SendLimits, Signal, bolt, swift,
};
use paceline_kernel::{BitRate, Bytes};

use crate::bolt_ns3::BoltNs3Spec;

/// Tag: this packet's acknowledgement increases the window, and flags the next packet.
pub(super) const AI: u8 = 1 << 4;
/// Tag: the last packet of the data that the flow has so far.
pub(super) const FIN: u8 = 1 << 5;

/// Parameters that both senders need.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Initial window, payload bytes.
    initial_window: u32,
    /// Minimum window, payload bytes.
    min_window: u32,
    /// Maximum window, payload bytes.
    max_window: u32,
    /// Additive increase per round trip, packets.
    ai: f64,
    /// Maximum multiplicative decrease, also used for losses.
    max_md: f64,
}

/// Parameters of Swift's delay target.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Target of a path without links, ns.
    base_ns: u64,
    /// Additional delay per link, ns.
    per_hop_ns: u64,
    /// Maximum of flow scaling, ns.
    range_ns: f64,
    /// Window at which flow scaling reaches its maximum, packets.
    min_packets: f64,
    /// Window at which flow scaling vanishes, packets.
    max_packets: f64,
    /// Factor of the multiplicative decrease.
    md: f64,
}

/// State common to both senders.
#[derive(Clone, Debug)]
struct Sender {
    settings: Settings,
    window: u32,
    /// Round-trip time of the last acknowledgement, ns; 0 before the first.
    rtt_ns: u64,
    /// Time of the last decrease, ns; initially that of the first packet.
    decreased_at: Option<u64>,
    /// True if the next packet carries the AI flag. Exactly one outstanding packet does.
    flag_next: bool,
    /// True once a switch has sent an SRC. From then on, flags in acknowledgements are ignored.
    src_seen: bool,
}

impl Sender {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            window: settings.initial_window,
            rtt_ns: 0,
            decreased_at: None,
            flag_next: true,
            src_seen: false,
        }
    }

    fn since_decrease(&self, now: u64) -> u64 {
        now - self.decreased_at.unwrap_or(now)
    }

    /// Scales the window by `factor`, truncated to whole bytes.
    fn scale(&mut self, factor: f64) {
        self.window = (f64::from(self.window) * factor) as u32;
    }

    fn grow(&mut self, bytes: f64) {
        self.window = (f64::from(self.window) + bytes) as u32;
    }

    fn clamp(&mut self) {
        let Settings {
            min_window,
            max_window,
            ..
        } = self.settings;
        self.window = min_window.max(self.window.min(max_window));
    }

    /// Reduces the window after a gap or timeout, at most once per round-trip time.
    fn lose(&mut self, now: u64) {
        if self.since_decrease(now) >= self.rtt_ns {
            self.scale(1.0 - self.settings.max_md);
            self.decreased_at = Some(now);
        }
    }

    fn tag(&mut self, now: u64, packet: &Outgoing) -> u8 {
        // The interval without a decrease counts from the flow's first packet.
        self.decreased_at.get_or_insert(now);
        let in_window = packet.seq + u64::from(self.window) >= packet.end;
        let mut tag = 0;
        if self.rtt_ns == 0 {
            tag |= FIRST;
        } else if !in_window {
            tag |= INC;
        }
        if in_window || packet.seq + packet.payload >= packet.end {
            tag |= LAST;
        }
        if std::mem::take(&mut self.flag_next) {
            tag |= AI;
        }
        tag
    }

    fn idle(&mut self) {
        self.rtt_ns = 0;
        self.flag_next = true;
    }

    fn limits(&self, path_rate: BitRate) -> SendLimits {
        SendLimits {
            rate: path_rate,
            window: Bytes::new(u64::from(self.window)),
        }
    }
}

/// Returns the time to drain the port's queue, truncated to whole ns.
fn drain_ns(port: &CongestedPort) -> u64 {
    (u128::from(port.queue.get()) * 8_000_000_000 / u128::from(port.rate.as_bps().max(1))) as u64
}

/// Rules that differ between the two senders.
trait Rules: std::fmt::Debug + Clone + Send + 'static {
    /// Applies the congestion report of an acknowledgement, also of the one after which the flow is idle.
    fn apply(&mut self, sender: &mut Sender, cx: &Ctx<'_>, ack: &AckInfo<'_>);
    /// Updates the window after an acknowledgement.
    fn update(&mut self, sender: &mut Sender, cx: &Ctx<'_>, ack: &AckInfo<'_>);
    /// Handles an SRC, which Swift ignores.
    fn on_signal(&mut self, _sender: &mut Sender, _cx: &Ctx<'_>, _signal: &Signal) {}
}

/// A flow's sender with its scheme's rules.
#[derive(Clone, Debug)]
pub(super) struct Flow<R> {
    sender: Sender,
    line: BitRate,
    rules: R,
}

/// A flow's sender under Bolt.
pub(super) type Bolt = Flow<BoltRules>;
/// A flow's sender under Swift.
pub(super) type Swift = Flow<SwiftRules>;

impl<R: Rules> CongestionControl for Flow<R> {
    fn limits(&self) -> SendLimits {
        self.sender.limits(self.line)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.sender.rtt_ns = ack.rtt.as_ns();
        if ack.nack {
            return self.sender.lose(cx.now.as_ns());
        }
        self.rules.apply(&mut self.sender, cx, ack);
        self.rules.update(&mut self.sender, cx, ack);
        self.sender.clamp();
    }

    fn on_signal(&mut self, cx: &mut Ctx<'_>, signal: &Signal) {
        self.rules.on_signal(&mut self.sender, cx, signal);
    }

    fn tag(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        self.sender.tag(cx.now.as_ns(), packet)
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.sender.lose(cx.now.as_ns());
    }

    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.sender.rtt_ns = ack.rtt.as_ns();
        self.rules.apply(&mut self.sender, cx, ack);
        self.sender.idle();
    }

    fn inherit(&mut self, window: Bytes) {
        self.sender.window = window.get() as u32;
    }
}

/// Bolt's rules and quirks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoltRules {
    drain_time: bool,
    ungated_halving: bool,
}

impl Bolt {
    /// Creates a sender with an initial window of one bandwidth-delay product.
    fn new(settings: Settings, path: &PathInfo, own: &BoltNs3Spec) -> Self {
        Self {
            sender: Sender::new(settings),
            line: path.line_rate,
            rules: BoltRules {
                drain_time: own.src_drain_time,
                ungated_halving: own.ungated_halving,
            },
        }
    }
}

impl BoltRules {
    /// Reduces the window for a congested port on the path. `rtt_ns` is the report's age.
    fn congested(self, sender: &mut Sender, cx: &Ctx<'_>, port: &CongestedPort, rtt_ns: u64) {
        let now = cx.now.as_ns();
        let packet = cx.path.mtu.get() as u32;
        let gated = sender.window > packet || !self.ungated_halving;
        let share = if sender.rtt_ns > 0 {
            f64::from(sender.window) * 8.0 / sender.rtt_ns as f64
        } else {
            // Before the first sample, the flow counts as one at line rate.
            cx.path.line_rate.as_bps() as f64 * 1e-9
        } / (port.rate.as_bps() as f64 * 1e-9);
        let bits = if self.drain_time {
            drain_ns(port) as f64 * (port.rate.as_bps() / 1_000_000_000) as f64
        } else {
            port.queue.get() as f64 * 8.0
        };
        let queue = bits / (cx.path.full_packet.get() as f64 * 8.0);
        let interval = (rtt_ns as f64 / (queue * share)) as u64;
        if !gated || sender.since_decrease(now) >= interval {
            if sender.window <= packet {
                sender.scale(1.0 - sender.settings.max_md);
            } else {
                sender.window -= packet;
            }
            if gated {
                sender.decreased_at = Some(now);
            }
        }
        // The upper limit is not applied here, as in the authors' code.
        sender.window = sender.window.max(sender.settings.min_window);
    }
}

impl Rules for BoltRules {
    fn apply(&mut self, sender: &mut Sender, cx: &Ctx<'_>, ack: &AckInfo<'_>) {
        if !sender.src_seen
            && ack.tag & DEC != 0
            && let Some(port) = ack.congested
        {
            self.congested(sender, cx, &port, sender.rtt_ns);
        }
    }

    fn update(&mut self, sender: &mut Sender, cx: &Ctx<'_>, ack: &AckInfo<'_>) {
        let packet = cx.path.mtu.get() as f64;
        if ack.tag & AI != 0 {
            sender.flag_next = true;
            sender.grow(sender.settings.ai * packet);
        }
        if ack.tag & (DEC | INC) == INC {
            sender.grow(packet);
        }
    }

    fn on_signal(&mut self, sender: &mut Sender, cx: &Ctx<'_>, signal: &Signal) {
        sender.src_seen = true;
        self.congested(sender, cx, &bolt::port_of(signal), signal.after.as_ns());
    }
}

/// Swift's rules and quirks.
#[derive(Clone, Debug)]
pub(super) struct SwiftRules {
    target: Target,
    double_update: bool,
    /// Factor of flow scaling, and the offset that is added to it, ns.
    alpha: f64,
    beta: f64,
}

impl Swift {
    /// Creates a sender with an initial window of one bandwidth-delay product.
    fn new(settings: Settings, target: Target, path: &PathInfo, own: &BoltNs3Spec) -> Self {
        let root = |packets: f64| 1.0 / libm::sqrt(packets);
        let alpha = target.range_ns / (root(target.min_packets) - root(target.max_packets));
        let beta = -alpha / libm::sqrt(target.max_packets);
        Self {
            sender: Sender::new(settings),
            line: path.line_rate,
            rules: SwiftRules {
                target,
                double_update: own.swift_double_update,
                alpha,
                beta: if own.swift_beta_sign { -beta } else { beta },
            },
        }
    }
}

impl SwiftRules {
    fn target_ns(&self, packets: f64, links: u64) -> u64 {
        let scaling = self.alpha / libm::sqrt(packets) + self.beta;
        let scaling = scaling.min(self.target.range_ns).max(0.0);
        (self.target.base_ns as f64 + scaling) as u64 + self.target.per_hop_ns * links
    }

    fn by_delay(&self, sender: &mut Sender, cx: &Ctx<'_>, acked: u64) {
        let now = cx.now.as_ns();
        let packets = f64::from(sender.window) / cx.path.mtu.get() as f64;
        let (window, rtt) = (sender.window, sender.rtt_ns);
        let target = self.target_ns(packets, cx.path.links() as u64);
        if rtt < target {
            let mut bytes = sender.settings.ai * acked as f64;
            // Divided by the window, so that a round trip adds about `ai` packets.
            if packets >= 1.0 {
                bytes /= f64::from(window) / cx.path.mtu.get() as f64;
            }
            sender.grow(bytes);
        } else if sender.since_decrease(now) >= rtt {
            let excess = (rtt - target) as f64 / rtt as f64;
            sender.scale(1.0 - (excess * self.target.md).min(sender.settings.max_md));
            sender.decreased_at = Some(now);
        }
    }
}

impl Rules for SwiftRules {
    fn apply(&mut self, sender: &mut Sender, cx: &Ctx<'_>, ack: &AckInfo<'_>) {
        if self.double_update && !sender.src_seen && ack.tag & DEC != 0 {
            self.by_delay(sender, cx, cx.path.full_packet.get());
        }
    }

    fn update(&mut self, sender: &mut Sender, cx: &Ctx<'_>, ack: &AckInfo<'_>) {
        self.by_delay(sender, cx, ack.newly_acked);
    }
}

/// Returns a factory for the senders of a scheme, if the simulator has it.
pub(super) fn factory(params: &AnyParams, own: &BoltNs3Spec) -> Option<SchemeFactory> {
    let own = *own;
    match params {
        AnyParams::Bolt(params) => {
            let params = params.clone();
            Some(SchemeFactory::new(move |path| {
                Box::new(Bolt::new(bolt_settings(&params, path), path, &own))
            }))
        }
        AnyParams::Swift(params) => {
            let params = params.clone();
            Some(SchemeFactory::new(move |path| {
                let (settings, target) = swift_settings(&params, path);
                Box::new(Swift::new(settings, target, path, &own))
            }))
        }
        _ => None,
    }
}

/// Converts Bolt's parameters for its sender.
fn bolt_settings(params: &bolt::Params, path: &PathInfo) -> Settings {
    let bytes = |value: Auto<Bytes>, auto: Bytes| u32::try_from(value.or(auto).get()).unwrap_or(u32::MAX);
    Settings {
        initial_window: bytes(params.initial_window, path.bdp),
        min_window: bytes(params.min_window, Bytes::new(15)),
        max_window: bytes(params.max_window, path.bdp),
        ai: params.ai,
        max_md: params.max_md,
    }
}

/// Converts Swift's parameters for its sender; windows are whole bytes.
fn swift_settings(params: &swift::Params, path: &PathInfo) -> (Settings, Target) {
    let bdp = path.bdp.get() as f64;
    let bytes = |packets: f64, auto: f64| {
        let bytes = if packets > 0.0 {
            packets * path.mtu.get() as f64
        } else {
            auto
        };
        // A window of 0 bytes could never send.
        bytes.round().clamp(1.0, f64::from(u32::MAX)) as u32
    };
    let settings = Settings {
        initial_window: bytes(params.initial_window, bdp),
        min_window: bytes(params.min_window, 0.0),
        max_window: bytes(params.max_window, bdp),
        ai: params.ai,
        max_md: params.max_mdf,
    };
    let target = Target {
        base_ns: params.base_delay.as_ns(),
        per_hop_ns: params.hop_delay.as_ns(),
        range_ns: if params.flow_scaling {
            params.fs_range.as_ns_f64()
        } else {
            0.0
        },
        min_packets: params.fs_min,
        max_packets: params.fs_max,
        md: params.beta,
    };
    (settings, target)
}
