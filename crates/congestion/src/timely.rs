//! TIMELY, and its patched version: congestion control from round-trip times.
//!
//! # What it does
//! The sender measures the round trip of its packets. Between two thresholds it follows the gradient of the round-trip
//! time: if it falls or stays level, the rate grows by a step, and if it rises, the rate is cut in proportion. Below
//! the lower threshold the rate always grows; above the upper one it is always cut. TIMELY is for RoCEv2 with PFC or
//! drops (Mittal et al., SIGCOMM 2015).
//!
//! `variant = "patched"` (Zhu et al., CoNEXT 2016) replaces the gradient's branch. Its branch also pulls the
//! round-trip time to a reference, which gives flows a unique fair rate.
//!
//! # Signal it needs
//! The round-trip time of each packet: data packets carry their send time.
//!
//! # Equations
//! Once per round trip, or per `segment` (Algorithm 1 of the paper):
//! ```text
//! diff = (1 - a) diff + a (rtt - rtt_last);  gradient = diff / minRTT
//! rtt < T_low:    R = R + delta
//! rtt > T_high:   R = R (1 - beta (1 - T_high / rtt))
//! gradient <= 0:  R = R + delta, or the larger step after 5 increases in a row
//! otherwise:      R = R max(0, 1 - beta gradient)
//! ```
//! With `tcd`, R stays as it is in the last case if the packet was marked as undetermined.
//!
//! Patched, between the thresholds (Algorithm 2 of Zhu et al.):
//! ```text
//! w = 0 for gradient <= -1/4, 1 for gradient >= 1/4, 2 gradient + 1/2 between
//! error = (rtt - rtt_ref) / rtt_ref
//! R = delta (1 - w) + R (1 - beta w error)
//! ```
//! R stays between `min-rate` and the line rate. Patched, N flows of a bottleneck C come to rest where w = 1/2: at a
//! round trip of `rtt_ref (1 + N delta / (beta C))`.
//!
//! # Parameters
//! [`Params`]. The steps and the lowest rate scale with the line. The steps are the paper's 10 and 50 Mbit/s at 10
//! Gbit/s, scaled as in the launcher of HPCC's public code. The lowest rate is the 1 % of the public code of Zhu et
//! al.
//!
//! The first rate, the update interval and `beta` belong together and depend on the variant. The patched version's
//! small `beta` needs many small steps. It does not control flows that start at line rate and decide once per round
//! trip: their queue is as long as without control.
//!
//! # Where we differ from the paper or public code
//! * Original: it updates once per round trip, and flows start at line rate, as in the public code of HPCC; the paper
//!   updates per completed segment. As in that code, a is 0.875, `min-rtt` is a constant, and the larger step also
//!   applies below T_low. A step in the paper's N δ is a separate parameter, `rate-hai`.
//! * Patched: an update per segment of 16 KB, not sooner than `min-rtt` after the last. This is the interval of its
//!   paper's model, max(seg / R, minRTT). Flows start at a tenth of the line rate, as in its authors' public code.
//!   Below T_low it always takes the small step, as in its paper.
//! * Segments are counted in acknowledged bytes. Packets of a segment are paced one by one; the papers'
//!   implementations send each segment as a burst.
//!
//! # References
//! R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.
//! Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016.
//! Public code: alibaba-edu/High-Precision-Congestion-Control; bobzhuyb/ns3-rdma (of Zhu et al.).

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits};
use crate::params::{Auto, ParamError, Parameters, Range, is};
use crate::rate::{Bounds, in_proportion};
use crate::registry::{Alias, Definition, DelayLimit, Incompatible, NetworkFacts, Scheme, WindowMode};

choice! {
    /// Variant of TIMELY, by its paper.
    pub enum Variant {
        /// As in the SIGCOMM 2015 paper.
        Original = "original",
        /// As in the CoNEXT 2016 paper.
        Patched = "patched",
    }
}

impl Variant {
    /// Returns the default of `beta`.
    const fn beta(self) -> f64 {
        match self {
            Self::Original => 0.8,
            Self::Patched => 0.008,
        }
    }

    /// Returns the default of `start-rate` on a line of this rate.
    fn start_rate(self, line: BitRate) -> BitRate {
        match self {
            Self::Original => line,
            Self::Patched => in_proportion(BitRate::from_gbps(1), PAPER_LINE, line),
        }
    }

    /// Returns the default of `segment`; `None` for the bytes of a round trip.
    const fn segment(self) -> Option<Bytes> {
        match self {
            Self::Original => None,
            Self::Patched => Some(Bytes::new(16_000)),
        }
    }
}

/// Line for which both papers give their numbers.
const PAPER_LINE: BitRate = BitRate::from_gbps(10);

params! {
    /// Parameters of TIMELY; `variant` selects the paper that the defaults follow.
    pub struct Params {
        /// Original algorithm, or the patched version with a unique fixed point.
        variant: Variant = Variant::Original, in Range::Any, from "SIGCOMM 2015 and CoNEXT 2016";
        /// Weight of a new sample in the average of round-trip time differences.
        ewma: f64 = 0.875, in Range::AboveUpTo(0.0, 1.0), from "public code";
        /// Factor of decreases; the default depends on the variant.
        beta: Option<f64> = None,
            shown format!("{} (original), {} (patched)", Variant::Original.beta(), Variant::Patched.beta()),
            in Range::AboveUpTo(0.0, 1.0), from "the papers";
        /// Round-trip time below which the rate grows.
        t_low: Span = Span::from_us(50), in Range::AtLeast(0.0), from "the papers";
        /// Round-trip time above which the rate is cut.
        t_high: Span = Span::from_us(500), in Range::Above(0.0), from "the papers";
        /// Divisor that turns differences of round-trip times into a gradient.
        min_rtt: Span = Span::from_us(20), in Range::Above(0.0), from "the paper and public code";
        /// Target round-trip time of the patched version. The default is `t-low`.
        rtt_ref: Option<Span> = None, shown "t-low".to_string(), in Range::Above(0.0), from "CoNEXT 2016", only(&[&[is(".variant", &["patched"])]]);
        /// First rate of a flow. `auto`: the line rate (original), a tenth of it (patched).
        start_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "public code of HPCC; of the CoNEXT 2016 paper's authors: 1 of 10 Gbit/s";
        /// Acknowledged bytes between two updates, which are also at least `min-rtt` apart. `auto`: those of a round
        /// trip of any length (original), 16 KB (patched).
        segment: Auto<Bytes> = Auto::Auto, in Range::Above(0.0), from "public code of HPCC; CoNEXT 2016";
        /// Step of an increase. `auto`: 10 Mbit/s per 10 Gbit/s of the line.
        rate_ai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "the papers, scaled as by the launcher of HPCC's public code";
        /// Step of an increase after `hai-after` others in a row. `auto`: 50 Mbit/s per 10 Gbit/s of the line.
        rate_hai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "the paper's N = 5 steps, scaled as by the launcher of HPCC's public code";
        /// Variant original: hold the rate between the thresholds if the round-trip time rises and the packet is
        /// marked undetermined (ternary detection).
        tcd: bool = false, in Range::Any, from "Zhang et al., SIGCOMM 2021";
        /// Increases in a row after which the step is `rate-hai`.
        hai_after: u32 = 5, in Range::AtLeast(0.0), from "paper §4.3";
        /// Lowest rate. `auto`: 1 % of the line rate.
        min_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "public code of the CoNEXT 2016 paper's authors; launcher of HPCC's at 100 Gbit/s: 1 Gbit/s";
    }
}

impl Params {
    fn min_rate_on(&self, line: BitRate) -> BitRate {
        self.min_rate
            .or(in_proportion(BitRate::from_bps(100_000_000), PAPER_LINE, line))
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "timely",
        aliases: &[
            Alias {
                name: "timely-win",
                help: "with the bytes in flight bounded by a window that follows the rate",
                settings: &[],
                window: Some(WindowMode::Variable),
            },
            Alias {
                name: "timely-patched",
                help: "with the fixed point of Zhu et al., CoNEXT 2016, and its start rate and segments",
                settings: &[("variant", "patched")],
                window: None,
            },
            Alias {
                name: "timely-tcd",
                help: "with ternary detection: an undetermined flow's rate stays as round trips grow",
                settings: &[("tcd", "true")],
                window: None,
            },
        ],
        title: "TIMELY",
        paper: crate::papers::TIMELY.citation,
        summary: "Follows the gradient of the round-trip time between two thresholds.",
        scope: "RoCEv2 with PFC or drops, where round trips are measured well.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("timely.rs"),
    };

    fn explicit(&self) -> Self {
        Self {
            beta: Some(self.beta.unwrap_or(self.variant.beta())),
            // The original has no reference.
            rtt_ref: match self.variant {
                Variant::Patched => Some(self.rtt_ref.unwrap_or(self.t_low)),
                Variant::Original => self.rtt_ref,
            },
            ..self.clone()
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        if self.t_low > self.t_high {
            return Err(ParamError::new(
                "t-low",
                format!("{} is above t-high, {}", self.t_low, self.t_high),
            ));
        }
        Ok(())
    }

    fn needs(&self) -> Requirements {
        Requirements {
            timestamp: true,
            ..Requirements::default()
        }
    }

    fn ternary_detection(&self) -> bool {
        self.tcd
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        if !self.tcd || network.undetermined {
            return Vec::new();
        }
        vec![Incompatible::Doubtful(
            "`cc.timely.tcd` reacts to undetermined marks, and no port sets any; set `network.detection.kind = \
             \"tcd\"`",
        )]
    }

    fn min_rate(&self, line: BitRate) -> Option<BitRate> {
        Some(self.min_rate_on(line))
    }

    fn delay_limit(&self, _links: usize) -> Option<DelayLimit> {
        Some(DelayLimit {
            param: "t-high",
            rtt: self.t_high,
        })
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Timely::new(self, path))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Timely {
    params: Params,
    beta: f64,
    rtt_ref: Span,
    /// Bytes between updates; `None` for those of a round trip.
    segment: Option<Bytes>,
    rate_ai: BitRate,
    rate_hai: BitRate,
    bounds: Bounds,
    rate: BitRate,
    last_rtt: Span,
    /// Average difference of round-trip times, in ns.
    rtt_diff: f64,
    increases: u32,
    /// Byte beyond which an acknowledgement ends the round trip, or the segment.
    last_update_seq: u64,
    last_update: Time,
}

impl Timely {
    /// Creates a sender that has sent nothing.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let line = path.line_rate;
        let of_paper = |mbps: u64| in_proportion(BitRate::from_bps(mbps * 1_000_000), PAPER_LINE, line);
        let bounds = Bounds::new(params.min_rate_on(line), line);
        Self {
            beta: params.beta.unwrap_or(params.variant.beta()),
            rtt_ref: params.rtt_ref.unwrap_or(params.t_low),
            segment: match params.segment {
                Auto::Is(bytes) => Some(bytes),
                Auto::Auto => params.variant.segment(),
            },
            rate_ai: params.rate_ai.or(of_paper(10)),
            rate_hai: params.rate_hai.or(of_paper(50)),
            bounds,
            rate: bounds.clamp(params.start_rate.or(params.variant.start_rate(line))),
            params: params.clone(),
            last_rtt: Span::ZERO,
            rtt_diff: 0.0,
            increases: 0,
            last_update_seq: 0,
            last_update: Time::ZERO,
        }
    }

    /// Returns the average difference between consecutive round-trip times, in ns.
    pub fn rtt_diff_ns(&self) -> f64 {
        self.rtt_diff
    }

    /// Returns the gradient of the round-trip time.
    pub fn gradient(&self) -> f64 {
        self.rtt_diff / self.params.min_rtt.as_ns_f64()
    }

    /// Returns true if the last update is long enough ago for another segment's.
    fn is_due(&self, now: Time) -> bool {
        now.saturating_since(self.last_update) >= self.params.min_rtt
    }

    fn update(&mut self, rtt: Span, mark: Mark) {
        let new_diff = (rtt.as_ps() as i64 - self.last_rtt.as_ps() as i64) as f64 / 1000.0;
        let a = self.params.ewma;
        self.rtt_diff = (1.0 - a) * self.rtt_diff + a * new_diff;
        let gradient = self.gradient();
        if rtt < self.params.t_low {
            self.increase();
        } else if rtt > self.params.t_high {
            let excess = 1.0 - self.params.t_high.as_ns_f64() / rtt.as_ns_f64();
            self.decrease(1.0 - self.beta * excess);
        } else if self.params.variant == Variant::Patched {
            self.pull(gradient, rtt);
        } else if gradient <= 0.0 {
            self.increase();
        // Pauses alone may have made the round trips longer, which is no reason for this flow to slow down.
        } else if !(self.params.tcd && mark == Mark::Undetermined) {
            self.decrease((1.0 - self.beta * gradient).max(0.0));
        }
    }

    fn increase(&mut self) {
        // The patched version has no hyper increase.
        let hyper = self.params.variant == Variant::Original && self.increases >= self.params.hai_after;
        let step = if hyper { self.rate_hai } else { self.rate_ai };
        self.rate = self.bounds.clamp(self.rate.saturating_add(step));
        self.increases = self.increases.saturating_add(1);
    }

    fn decrease(&mut self, factor: f64) {
        self.rate = self.bounds.clamp(self.rate.scale(factor));
        self.increases = 0;
    }

    /// Applies the patched version's rule between the thresholds.
    fn pull(&mut self, gradient: f64, rtt: Span) {
        // w of the CoNEXT paper: 0 up to a gradient of -1/4, 1 from 1/4 on.
        let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
        let reference = self.rtt_ref.as_ns_f64();
        let error = (rtt.as_ns_f64() - reference) / reference;
        let step = self.rate_ai.scale(1.0 - weight);
        let kept = self.rate.scale((1.0 - self.beta * weight * error).max(0.0));
        self.rate = self.bounds.clamp(kept.saturating_add(step));
        self.increases = 0;
    }
}

impl CongestionControl for Timely {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.highest <= self.last_update_seq {
            return;
        }
        let next = match self.segment {
            None => ack.snd_nxt,
            Some(_) if self.last_update_seq != 0 && !self.is_due(cx.now) => return,
            Some(segment) => (ack.highest + segment.get()).saturating_sub(1),
        };
        // The first round trip has no earlier one with which to compare it.
        if self.last_update_seq != 0 {
            self.update(ack.rtt, ack.mark);
        }
        if next > self.last_update_seq {
            self.last_update_seq = next;
            self.last_update = cx.now;
            self.last_rtt = ack.rtt;
        }
    }
}

#[cfg(test)]
mod tests;
