//! A value that is sampled at equal times, kept in bins that widen when there are too many.

use paceline_kernel::{Span, Time};

/// Samples of a value at equal times, in bins of a power of two of them.
///
/// A bin begins as one sample. When there are too many bins, each two neighbours become one; what a
/// bin then says (smallest, largest and last sample, sum of all) is exact about the samples in it.
/// A bin in which the value stood still at the last sample of the bin before is not kept: it follows.
/// Before the first bin that is kept the value is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Binned {
    /// Time of sample 0, and between two, in ps.
    origin: u64,
    period: u64,
    /// A bin has `1 << level` samples: bin `n` those from `n << level` on.
    level: u32,
    /// The first sample, when it was taken, and the number after the last one's.
    first: u64,
    first_at: u64,
    end: u64,
    /// The last value, and the sample since which it holds: the last cell's sum is of those before.
    value: u64,
    since: u64,
    cells: Vec<Cell>,
}

/// A bin that is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    number: u64,
    min: u64,
    max: u64,
    last: u64,
    /// Of all samples.
    sum: u64,
}

/// What the samples in a bin were. If they differ it tells of its own width alone; if they do not,
/// of all bins up to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// When the first sample in it was taken.
    pub at: Time,
    /// Smallest sample.
    pub min: u64,
    /// Largest sample.
    pub max: u64,
    /// Last sample.
    pub last: u64,
    /// Mean of the samples, each of the same weight: they are equally far apart.
    pub mean: f64,
}

impl Cell {
    /// `value` was sampled so often.
    fn add(&mut self, value: u64, count: u64) {
        self.sum = self.sum.saturating_add(value.saturating_mul(count));
    }
}

impl Binned {
    /// Bins that a series has at most.
    pub const BINS_MAX: usize = 1 << 16;

    /// Samples that will be taken at `origin` ps and every `period` ps after, the first of them,
    /// number `first`, at `first_at` ps.
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

    /// A series of these samples, one every `period` from `origin` on.
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

    /// Room for so many bins.
    pub fn reserve(&mut self, bins: usize) {
        self.cells.reserve_exact(bins);
    }

    /// Whether nothing but 0 was sampled.
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Time between two samples.
    pub const fn period(&self) -> Span {
        Span::from_ps(self.period)
    }

    /// Width of a bin: [`Self::period`] times a power of two.
    pub const fn width(&self) -> Span {
        Span::from_ps(self.period.saturating_mul(1 << self.level))
    }

    /// The last value.
    #[inline]
    pub(super) const fn value(&self) -> u64 {
        self.value
    }

    /// Bins that are kept.
    pub(super) const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Takes sample `number`, later than all before; between them the value stood still. There will be no more
    /// than `most` bins.
    pub(super) fn sample(&mut self, number: u64, value: u64, most: usize) {
        if value != self.value {
            self.change(number, value, most);
        }
    }

    fn change(&mut self, number: u64, value: u64, most: usize) {
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
        if let Some(cell) = self.cells.last_mut() {
            let end = (cell.number + 1) << self.level;
            cell.add(held, end.saturating_sub(since));
        }
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

    /// The last cell, if the sample is in it.
    fn open(&mut self, number: u64) -> Option<&mut Cell> {
        let bin = number >> self.level;
        self.cells.last_mut().filter(|cell| cell.number == bin)
    }

    /// Says that sample `end` was not taken, and none after.
    pub const fn finish(&mut self, end: u64) {
        self.end = if end > self.since { end } else { self.since + 1 };
    }

    /// Makes one bin of every two.
    pub fn widen(&mut self) {
        let width = 1u64 << self.level;
        let (mut kept, mut at, mut held) = (0, 0, 0);
        while at < self.cells.len() {
            let mut cell = self.cells[at];
            let next = self.cells.get(at + 1).copied();
            at += 1;
            if !cell.number.is_multiple_of(2) {
                // The first half, as far as there were samples, is what held before.
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
            } else if next.is_some() {
                cell.add(cell.last, width);
            }
            // Of the last cell, the sum is still open.
            cell.number /= 2;
            held = cell.last;
            self.cells[kept] = cell;
            kept += 1;
        }
        self.cells.truncate(kept);
        self.level += 1;
    }

    /// The bins, in order of time. Each tells of all up to the next: where samples differ the next
    /// follows at once. The last that has samples is always there.
    pub fn bins(&self) -> impl Iterator<Item = Bin> {
        let last = (self.end.max(self.first + 1) - 1) >> self.level;
        let nexts = self.cells.iter().skip(1).map(|cell| cell.number);
        let nexts = nexts.chain([last + 1]);
        self.cells.iter().zip(nexts).flat_map(move |(cell, next)| {
            let still = |number: u64| self.still(number, cell.last);
            let after = (cell.min != cell.max && cell.number + 1 < next).then(|| still(cell.number + 1));
            let counted = cell.number + u64::from(after.is_some());
            let end = (next == last + 1 && counted < last).then(|| still(last));
            [Some(self.bin(cell)), after, end].into_iter().flatten()
        })
    }

    fn bin(&self, cell: &Cell) -> Bin {
        let begin = (cell.number << self.level).max(self.first);
        let end = ((cell.number + 1) << self.level).min(self.end);
        // The last cell's sum is not closed.
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

    /// A bin in which the value stood still.
    fn still(&self, number: u64, value: u64) -> Bin {
        Bin {
            at: self.time_of(number),
            min: value,
            max: value,
            last: value,
            mean: value as f64,
        }
    }

    /// When the first sample of a bin was taken.
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
