//! RRCC: the receiver tells senders at what rate their packets arrive, as its author's simulator has it.
//!
//! A receiver looks at the packets of each sender in windows. If nearly all of a window's were marked, it tells the
//! sender the rate at which they came, and the sender goes a little below that; otherwise it tells that there is no
//! congestion, and the sender goes half the way back to its target, which after some such notices in a row grows.

use paceline_kernel::{Span, Time};
use serde::{Deserialize, Serialize};

/// What an operator sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// How long a receiver looks at packets before it tells.
    pub window: Span,
    /// The share of marked packets above which they met congestion.
    pub threshold: f64,
    /// A sender goes below the rate at which its packets came by this factor.
    pub undershoot: f64,
    /// What the target grows by, in Gbit/s.
    pub increase: f64,
    /// Notices in a row that there is no congestion, from which on it grows.
    pub after: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            window: Span::from_ps(8_192_000),
            threshold: 0.9,
            undershoot: 1.07,
            increase: 0.39,
            after: 3,
        }
    }
}

/// What a receiver tells a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// The packets of a window met congestion, and came at this rate (Gbit/s).
    Congested(f64),
    /// They did not.
    Uncongested,
}

/// What a receiver knows of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    packets: u32,
    marked: u32,
    /// When the window began; the first packet of all begins one and counts, of later windows the packet that ended
    /// the one before does not.
    since: Option<Time>,
}

impl Receiver {
    /// A packet of `bits` has come, marked or not, over a link of `line` (Gbit/s): what is to be told.
    pub fn received(
        &mut self,
        params: &Params,
        now: Time,
        marked: bool,
        bits: f64,
        line: f64,
    ) -> Option<Notice> {
        self.packets += 1;
        self.marked += u32::from(marked);
        let since = *self.since.get_or_insert(now);
        let window = now.saturating_since(since);
        if window < params.window {
            return None;
        }
        let share = f64::from(self.marked) / f64::from(self.packets);
        let rate = f64::from(self.packets) * (bits / 8000.0) * 8.0 / window.as_us_f64();
        *self = Self {
            since: Some(now),
            ..Self::default()
        };
        if share <= params.threshold {
            return Some(Notice::Uncongested);
        }
        (rate < line).then_some(Notice::Congested(rate))
    }
}

/// A host's half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sender {
    /// Nanoseconds from one packet to the next.
    interval_ns: f64,
    /// In Gbit/s.
    target: f64,
    line: f64,
    /// Notices in a row that there is no congestion.
    calm: u32,
}

impl Sender {
    /// Of a host whose link carries `line` Gbit/s, at which a packet takes `packet_ns`.
    pub const fn new(line: f64, packet_ns: f64) -> Self {
        Self {
            interval_ns: packet_ns,
            target: line,
            line,
            calm: 0,
        }
    }

    /// A notice has come; packets have `bits`.
    pub fn notified(&mut self, params: &Params, notice: Notice, bits: f64) {
        let rate = bits / self.interval_ns;
        match notice {
            Notice::Congested(arrived) => {
                self.calm = 0;
                if arrived > 0.0 {
                    self.target = rate;
                    self.interval_ns = params.undershoot * bits / arrived;
                }
            }
            Notice::Uncongested => {
                self.calm += 1;
                if self.calm >= params.after {
                    self.target = (self.target + params.increase).min(self.line);
                }
                self.interval_ns = bits / ((rate + self.target) * 0.5);
            }
        }
    }

    /// Nanoseconds from one packet to the next.
    pub const fn interval_ns(&self) -> f64 {
        self.interval_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: f64 = 16384.0;

    #[test]
    fn a_window_that_was_marked_tells_its_rate_and_the_first_counts_a_packet_more() {
        let (params, mut receiver) = (Params::default(), Receiver::default());
        let mut got = Vec::new();
        for packet in 0..33 {
            let now = Time::from_ns(713 + packet * 512);
            got.extend(receiver.received(&params, now, true, BITS, 32.0));
        }
        // 17 packets in the time of 16 are beyond line rate, of which nothing is told; then 16 are line rate.
        assert_eq!(got, []);
        for packet in 0..9 {
            let now = Time::from_ns(713 + 32 * 512 + (packet + 1) * 1024);
            got.extend(receiver.received(&params, now, packet != 0 || got.is_empty(), BITS, 32.0));
        }
        assert_eq!(got.len(), 1);
        assert!(matches!(got[0], Notice::Congested(rate) if (rate - 16.0).abs() < 1e-9));
    }

    #[test]
    fn a_sender_undershoots_and_comes_back_by_halves() {
        let (params, mut sender) = (Params::default(), Sender::new(32.0, 512.0));
        sender.notified(&params, Notice::Congested(16.0), BITS);
        let rate = |sender: &Sender| BITS / sender.interval_ns();
        assert!((rate(&sender) - 16.0 / 1.07).abs() < 1e-9);
        sender.notified(&params, Notice::Uncongested, BITS);
        assert!((rate(&sender) - (16.0 / 1.07 + 32.0) / 2.0).abs() < 1e-9);
        (0..60).for_each(|_| sender.notified(&params, Notice::Uncongested, BITS));
        assert!((rate(&sender) - 32.0).abs() < 1e-6);
    }
}
