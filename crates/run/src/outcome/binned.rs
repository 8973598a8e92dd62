//! Samples of a value at equal intervals, in bins that widen when there are too many.

use paceline_kernel::{Span, Time};
use serde::{Deserialize, Serialize};

/// Series of samples at equal intervals, in bins of a power of two samples.
///
/// A bin starts as one sample. When there are too many bins, neighbours are merged in pairs; the smallest,
/// largest and last sample and the sum of a bin stay exact. A bin in which the value stays at the last sample
/// of the previous bin is not stored, because it follows from that one. Before the first stored bin the value
/// is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binned {
    /// Time of sample 0, in ps; `period` is the time between two samples.
    origin: u64,
    period: u64,
    /// Logarithm of the bin size: bin `n` holds the `1 << level` samples from `n << level` on.
    level: u32,
    /// Number of the first sample; `first_at` is its time in ps, `end` the number after the last one.
    first: u64,
    first_at: u64,
    end: u64,
    /// Last value; `since` is the first sample with it. The last cell's sum covers the samples before that.
    value: u64,
    since: u64,
    cells: Vec<Cell>,
}

/// Stored bin; bins that follow from their predecessor are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Cell {
    number: u64,
    min: u64,
    max: u64,
    last: u64,
    /// Sum of all samples.
    sum: u64,
}

/// Statistics of the samples in a bin. If they differ, it stands for its own width alone; if they are all
/// equal, for all bins up to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Time of its first sample.
    pub at: Time,
    /// Smallest sample in the bin.
    pub min: u64,
    /// Largest sample in the bin.
    pub max: u64,
    /// Last sample in the bin.
    pub last: u64,
    /// Mean of the samples, which are equally far apart and weigh the same.
    pub mean: f64,
}

impl Cell {
    /// Adds `count` samples of `value` to the sum.
    fn add(&mut self, value: u64, count: u64) {
        self.sum = self.sum.saturating_add(value.saturating_mul(count));
    }
}

impl Binned {
    /// Upper limit of the bins of a series.
    pub const BINS_MAX: usize = 1 << 16;

    /// Creates a series for samples at `origin` ps and every `period` ps after it. The first sample has the
    /// number `first` and is taken at `first_at` ps.
    pub const fn new(origin: u64, period: u64, first: u64, first_at: u64) -> Self {
        Self {
            origin,
            period,
            level: 0,
            first,
            first_at,
            end: first,
            value: 0,
            since: first,
            cells: Vec::new(),
        }
    }

    /// Creates a series of these samples, one every `period` from `origin` on.
    pub fn of_samples(origin: Time, period: Span, samples: impl IntoIterator<Item = u64>) -> Self {
        let (origin, period) = (origin.as_ps(), period.as_ps());
        let mut series = Self::new(origin, period, 0, origin);
        let mut count = 0;
        for value in samples {
            series.sample(count, value, Self::BINS_MAX);
            count += 1;
        }
        series.finish(count);
        series
    }

    /// Reserves memory for `bins` bins.
    pub fn reserve(&mut self, bins: usize) {
        self.cells.reserve_exact(bins);
    }

    /// Returns true if all samples were 0.
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the time between two samples.
    pub const fn period(&self) -> Span {
        Span::from_ps(self.period)
    }

    /// Returns the width of a bin: [`Self::period`] times a power of two.
    pub const fn width(&self) -> Span {
        Span::from_ps(self.period.saturating_mul(1 << self.level))
    }

    /// Returns the last value.
    #[inline]
    pub(super) const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the number of stored bins.
    pub(super) const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Adds sample `number`, which must follow all earlier ones; the value is constant in between. Limits the
    /// bins to `most`.
    pub(super) fn sample(&mut self, number: u64, value: u64, most: usize) {
        if value != self.value {
            self.change(number, value, most);
        }
    }

    fn change(&mut self, number: u64, value: u64, most: usize) {
        // A sample in the open cell needs no room; only a new cell may force wider bins, and wider bins may
        // put the sample into the open cell.
        while self.open(number).is_none() && self.cells.len() >= most {
            self.widen();
        }
        let held = std::mem::replace(&mut self.value, value);
        let since = std::mem::replace(&mut self.since, number);
        if let Some(cell) = self.open(number) {
            cell.add(held, number - since);
            (cell.min, cell.max, cell.last) = (cell.min.min(value), cell.max.max(value), value);
            return;
        }
        // The old value held until the end of the last cell; bins after it follow from it and are not stored.
        if let Some(cell) = self.cells.last_mut() {
            let end = (cell.number + 1) << self.level;
            cell.add(held, end.saturating_sub(since));
        }
        // Samples of this bin before `number` had the old value, as far as the series had started.
        let begin = (number >> self.level << self.level).max(self.first);
        let (min, max) = match number > begin {
            true => (held.min(value), held.max(value)),
            false => (value, value),
        };
        self.cells.push(Cell {
            number: number >> self.level,
            min,
            max,
            last: value,
            sum: held.saturating_mul(number - begin),
        });
    }

    /// Returns the last cell if the sample belongs to it.
    fn open(&mut self, number: u64) -> Option<&mut Cell> {
        let bin = number >> self.level;
        self.cells.last_mut().filter(|cell| cell.number == bin)
    }

    /// Ends the series: sample `end` and later ones were not taken.
    pub const fn finish(&mut self, end: u64) {
        self.end = if end > self.since { end } else { self.since + 1 };
    }

    /// Merges each pair of bins.
    pub fn widen(&mut self) {
        let width = 1u64 << self.level;
        let (mut kept, mut at, mut held) = (0, 0, 0);
        while at < self.cells.len() {
            let mut cell = self.cells[at];
            let next = self.cells.get(at + 1).copied();
            at += 1;
            if !cell.number.is_multiple_of(2) {
                // The first half holds the earlier value, as far as there were samples.
                let end = cell.number << self.level;
                let before = end.saturating_sub(self.first).min(width);
                if before > 0 {
                    (cell.min, cell.max) = (cell.min.min(held), cell.max.max(held));
                    cell.add(held, before);
                }
            } else if let Some(next) = next.filter(|next| next.number == cell.number + 1) {
                (cell.min, cell.max) = (cell.min.min(next.min), cell.max.max(next.max));
                (cell.last, cell.sum) = (next.last, cell.sum.saturating_add(next.sum));
                at += 1;
            // The other half is not stored, so it has this one's last value.
            } else if next.is_some() {
                cell.add(cell.last, width);
            }
            // The last cell's sum is still incomplete.
            cell.number /= 2;
            held = cell.last;
            self.cells[kept] = cell;
            kept += 1;
        }
        self.cells.truncate(kept);
        self.level += 1;
    }

    /// Iterates over the bins in order of time. Each stands for all up to the next; a bin with different
    /// samples is followed by the next one directly. The last bin with samples is always included.
    pub fn bins(&self) -> impl Iterator<Item = Bin> {
        let last = (self.end.max(self.first + 1) - 1) >> self.level;
        let nexts = self.cells.iter().skip(1).map(|cell| cell.number);
        let nexts = nexts.chain([last + 1]);
        self.cells.iter().zip(nexts).flat_map(move |(cell, next)| {
            let still = |number: u64| self.still(number, cell.last);
            // After a bin with different samples only its last value holds, which needs a separate bin.
            let after = (cell.min != cell.max && cell.number + 1 < next).then(|| still(cell.number + 1));
            let counted = cell.number + u64::from(after.is_some());
            let end = (next == last + 1 && counted < last).then(|| still(last));
            [Some(self.bin(cell)), after, end].into_iter().flatten()
        })
    }

    fn bin(&self, cell: &Cell) -> Bin {
        let begin = (cell.number << self.level).max(self.first);
        let end = ((cell.number + 1) << self.level).min(self.end);
        // The last cell's sum is not complete yet.
        let open = match self.since >> self.level == cell.number {
            true => self.value.saturating_mul(end - self.since),
            false => 0,
        };
        Bin {
            at: self.time_of(cell.number),
            min: cell.min,
            max: cell.max,
            last: cell.last,
            mean: cell.sum.saturating_add(open) as f64 / (end - begin) as f64,
        }
    }

    /// Returns a bin with a constant value.
    fn still(&self, number: u64, value: u64) -> Bin {
        Bin {
            at: self.time_of(number),
            min: value,
            max: value,
            last: value,
            mean: value as f64,
        }
    }

    /// Returns the time of a bin's first sample.
    fn time_of(&self, number: u64) -> Time {
        let begin = number << self.level;
        Time::from_ps(match begin <= self.first {
            true => self.first_at,
            false => self.origin.saturating_add(begin.saturating_mul(self.period)),
        })
    }
}

#[cfg(test)]
#[path = "binned_tests.rs"]
mod tests;
