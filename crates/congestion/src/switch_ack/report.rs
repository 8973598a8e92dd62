//! Contents of a port's reply.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::signal::{Signal, Words};

/// Denominator of shares in reports.
pub(super) const WHOLE: u64 = 10_000;

/// Utilisation and queue growth of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTrend {
    /// Utilisation of the link in the last whole window, in ten thousandths.
    pub utilisation: u16,
    /// Growth of the queue since the start of that window, in bytes per microsecond.
    pub growth: i32,
}

/// Report of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortReport {
    /// Bytes in its queues ahead of the packet that asked.
    pub queue: Bytes,
    /// Rate of the port.
    pub rate: BitRate,
    /// Recent utilisation and growth.
    pub trend: QueueTrend,
    /// Time from the start of that packet's transmission to the arrival of the reply.
    pub after: Span,
}

impl QueueTrend {
    /// Encodes the reply of a port with `queue` bytes in its queues.
    #[inline]
    pub(super) fn words(self, queue: u32) -> Words {
        let words = Words::EMPTY.with_u32(0, queue).with_u16(4, self.utilisation);
        words.with_u32(8, self.growth.cast_unsigned())
    }
}

impl PortReport {
    /// Decodes the report in a signal.
    pub fn read(signal: &Signal) -> Self {
        let words = signal.words;
        Self {
            queue: Bytes::new(u64::from(words.u32(0))),
            rate: signal.port_rate,
            trend: QueueTrend {
                utilisation: words.u16(4),
                growth: words.u32(8).cast_signed(),
            },
            after: signal.after,
        }
    }

    /// Returns the time in which the queue drains.
    pub fn drains(&self) -> Span {
        self.rate.time_to_send(self.queue)
    }

    /// Returns the utilisation as a number from 0 to 1.
    pub fn utilisation(&self) -> f64 {
        f64::from(self.trend.utilisation) / WHOLE as f64
    }

    /// Returns the queue's growth as a share of the link's rate: 1 if twice as much arrives as can leave.
    pub fn growth(&self) -> f64 {
        f64::from(self.trend.growth) * 8e6 / self.rate.as_bps().max(1) as f64
    }
}
