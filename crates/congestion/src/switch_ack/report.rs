//! What a port tells a sender that asks.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::signal::{Signal, Words};

/// Of a whole: what shares in reports are counted in.
pub(super) const WHOLE: u64 = 10_000;

/// What a port knows of its last window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTrend {
    /// The share of the line that was used in the last whole window, in ten thousandths.
    pub utilisation: u16,
    /// By how much its queue has grown since that window began, in bytes per microsecond.
    pub growth: i32,
}

/// What a port tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortReport {
    /// Bytes in its queues before the packet that asked.
    pub queue: Bytes,
    /// Its rate.
    pub rate: BitRate,
    /// What went on before.
    pub trend: QueueTrend,
    /// From the start of that packet's transmission until the answer arrived.
    pub after: Span,
}

impl QueueTrend {
    /// The answer of a port with `queue` bytes in its queues.
    #[inline]
    pub(super) fn words(self, queue: u32) -> Words {
        let words = Words::EMPTY.with_u32(0, queue).with_u16(4, self.utilisation);
        words.with_u32(8, self.growth.cast_unsigned())
    }
}

impl PortReport {
    /// What an answer says.
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

    /// How long what is queued takes to leave.
    pub fn drains(&self) -> Span {
        self.rate.time_to_send(self.queue)
    }

    /// The share of the line that was used.
    pub fn utilisation(&self) -> f64 {
        f64::from(self.trend.utilisation) / WHOLE as f64
    }

    /// The queue's growth over the line's rate: 1 where twice as much comes as can leave.
    pub fn growth(&self) -> f64 {
        f64::from(self.trend.growth) * 8e6 / self.rate.as_bps().max(1) as f64
    }
}
