//! InfiniBand congestion control with a quadratic table, as a published simulator has it.
//!
//! A host keeps one index into its table for all that it sends. Every notification (BECN) raises the index by one,
//! every expiry of a timer lowers it. What the table holds is the time from one packet to the next: that of a packet
//! at line rate, and the square of the index alongside it. The specification (InfiniBand Architecture, volume 1, annex
//! A10) has an index per queue pair or service level, and a table of shifts and multipliers that are the operator's.

use paceline_kernel::Span;
use serde::{Deserialize, Serialize};

/// What an operator sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// The largest index: `CCTI_Limit`.
    pub limit: u16,
    /// The index is lowered by one so often: `CCTI_Timer`.
    pub timer: Span,
    /// At the index `at` packets are so much further apart than at line rate.
    pub delay: Span,
    /// See `delay`.
    pub at: u16,
}

impl Params {
    /// The published simulator's, but for the timer, which its scenarios set.
    pub const fn with_timer(timer: Span) -> Self {
        Self {
            limit: 127,
            timer,
            delay: Span::from_ns(3300),
            at: 83,
        }
    }
}

/// A host's half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    index: u16,
}

impl Sender {
    /// A notification has come.
    pub fn notified(&mut self, params: &Params) {
        self.index = (self.index + 1).min(params.limit);
    }

    /// The timer has expired.
    pub fn expired(&mut self) {
        self.index = self.index.saturating_sub(1);
    }

    /// The index.
    pub const fn index(&self) -> u16 {
        self.index
    }

    /// Nanoseconds from one packet to the next; one takes `packet_ns` at line rate.
    pub fn interval_ns(&self, params: &Params, packet_ns: f64) -> f64 {
        let square = f64::from(u32::from(self.index) * u32::from(self.index));
        square * params.delay.as_ns_f64() / f64::from(u32::from(params.at) * u32::from(params.at)) + packet_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_stays_in_its_table_and_squares() {
        let params = Params::with_timer(Span::from_us(30));
        let mut sender = Sender::default();
        sender.expired();
        assert_eq!(sender.interval_ns(&params, 512.0), 512.0);
        (0..83).for_each(|_| sender.notified(&params));
        assert_eq!(sender.interval_ns(&params, 512.0), 3812.0);
        (0..83).for_each(|_| sender.notified(&params));
        assert_eq!(sender.index(), 127);
        sender.expired();
        assert_eq!(sender.index(), 126);
    }
}
