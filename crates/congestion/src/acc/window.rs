//! ACC's measurement window: equations (1) and (2).

use paceline_kernel::{Span, Time};

use crate::api::{AckInfo, Mark};

/// ACKs counted between two decisions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    first: Time,
    last: Time,
    /// ACKs after the first.
    pub(super) acks: u32,
    bytes: u64,
    gap: Span,
    /// Congested marks, including that of the first ACK.
    pub(super) congested: u32,
    pub(super) undetermined: u32,
    last_mark: Mark,
}

impl Window {
    /// Starts a window at an ACK, whose bytes do not count in (1).
    pub(super) fn at(now: Time, mark: Mark) -> Self {
        let mut window = Self {
            first: now,
            last: now,
            acks: 0,
            bytes: 0,
            gap: Span::ZERO,
            congested: 0,
            undetermined: 0,
            last_mark: mark,
        };
        window.count(mark);
        window
    }

    /// Starts a window that replaces a clumped one, and keeps its marks: they remain valid.
    pub(super) fn again(&self, now: Time) -> Self {
        Self {
            congested: self.congested,
            undetermined: self.undetermined,
            ..Self::at(now, Mark::None)
        }
    }

    fn count(&mut self, mark: Mark) {
        self.congested += u32::from(mark == Mark::Congested);
        self.undetermined += u32::from(mark == Mark::Undetermined);
        self.last_mark = mark;
    }

    pub(super) fn add(&mut self, now: Time, ack: &AckInfo<'_>) {
        self.gap = self.gap.max(now - self.last);
        self.last = now;
        self.acks += 1;
        self.bytes += ack.newly_acked;
        self.count(ack.mark);
    }

    pub(super) fn span(&self) -> Span {
        self.last - self.first
    }

    /// Returns Rack of equation (1), in payload bytes per second.
    pub(super) fn arrival(&self) -> f64 {
        self.bytes as f64 * 1e12 / self.span().as_ps().max(1) as f64
    }

    /// Returns true if equation (2) discards the window.
    pub(super) fn is_clumped(&self, share: f64) -> bool {
        let longest = share * self.span().as_ps() as f64;
        // A pause explains a gap before an undetermined mark.
        self.gap.as_ps() as f64 > longest && self.last_mark != Mark::Undetermined
    }
}
