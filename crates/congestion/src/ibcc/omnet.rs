//! InfiniBand congestion control with a quadratic table, as in a published simulator.
//!
//! A host keeps a single index into its table. Every notification (BECN) raises the index by one, every
//! expiry of a timer lowers it. The table holds the time from one packet to the next: a packet's time at line
//! rate plus a term in the square of the index. The specification (InfiniBand Architecture, volume 1, annex
//! A10) has an index per queue pair or service level, and a table of shifts and multipliers that the operator
//! sets.

use paceline_kernel::Span;
use serde::{Deserialize, Serialize};

/// Settings of the table and the timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Largest index of the table: `CCTI_Limit`.
    pub limit: u16,
    /// Time after which the index falls by one: `CCTI_Timer`.
    pub timer: Span,
    /// Extra time between packets at the index `at`.
    pub delay: Span,
    /// Index at which `delay` applies.
    pub at: u16,
}

impl Params {
    /// Returns the published simulator's settings; its scenarios set the timer.
    pub const fn with_timer(timer: Span) -> Self {
        Self {
            limit: 127,
            timer,
            delay: Span::from_ns(3300),
            at: 83,
        }
    }
}

/// State of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    index: u16,
}

impl Sender {
    /// Raises the index for a notification (BECN).
    pub fn notified(&mut self, params: &Params) {
        self.index = (self.index + 1).min(params.limit);
    }

    /// Lowers the index when the timer expires.
    pub fn expired(&mut self) {
        self.index = self.index.saturating_sub(1);
    }

    /// Returns the index into the table.
    pub const fn index(&self) -> u16 {
        self.index
    }

    /// Returns the nanoseconds from one packet to the next, if a packet takes `packet_ns` at line rate.
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
