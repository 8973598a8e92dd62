//! RRCC as in its author's simulator: the receiver reports the arrival rate to senders.
//!
//! A receiver examines the packets of each sender in windows. If nearly all packets of a window are marked,
//! it reports their arrival rate, and the sender goes slightly below that. Otherwise it reports no
//! congestion, and the sender goes half-way back to its target. The target grows after several such notices
//! in a row.

use paceline_kernel::{Span, Time};
use serde::{Deserialize, Serialize};

/// Settings of receivers and senders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Length of a receiver's window.
    pub window: Span,
    /// Share of marked packets above which a window is congested.
    pub threshold: f64,
    /// Factor by which a sender goes below the arrival rate of its packets.
    pub undershoot: f64,
    /// Step of the target, in Gbit/s.
    pub increase: f64,
    /// Consecutive notices without congestion from which on the target grows.
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

/// Notice from a receiver to a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// The packets of a window met congestion and arrived at this rate (Gbit/s).
    Congested(f64),
    /// The packets of a window met no congestion.
    Uncongested,
}

/// Receiver's state of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    packets: u32,
    marked: u32,
    /// Start of the window, `None` before the first packet. The very first packet counts in the window that
    /// it starts; later windows start after the packet that ended the previous one.
    since: Option<Time>,
}

impl Receiver {
    /// Counts a packet of `bits` on a link of `line` (Gbit/s), and returns the notice to send, if any.
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
        // A rate of the line's or above leaves nothing to reduce.
        (rate < line).then_some(Notice::Congested(rate))
    }
}

/// State of a sending host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sender {
    /// Time from one packet to the next, in ns.
    interval_ns: f64,
    /// Target rate, in Gbit/s.
    target: f64,
    line: f64,
    /// Consecutive notices without congestion.
    calm: u32,
}

impl Sender {
    /// Creates the state of a host on a link of `line` Gbit/s, where a packet takes `packet_ns`.
    pub const fn new(line: f64, packet_ns: f64) -> Self {
        Self {
            interval_ns: packet_ns,
            target: line,
            line,
            calm: 0,
        }
    }

    /// Handles a notice; packets have `bits`.
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

    /// Returns the time from one packet to the next, in ns.
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
        // 17 packets in the time of 16 exceed line rate, which is not reported; then 16 packets are line
        // rate.
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
