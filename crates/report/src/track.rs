//! Tracks: values over time on a page, as equal bins, packed as finely as their size allows.
//!
//! The page's script merges bins to the resolution of the screen, and shows finer ones on zooming, down to those that
//! are packed here: see `assets/track.js`.

use serde::Serialize;

use super::bytes::{base64, varint};
use paceline_lab::files::Series;

/// Number of levels if values have no common unit.
const LEVELS: f64 = (1u64 << 20) as f64;
/// Largest integer if values are multiples of a unit.
const EXACT_MAX: u64 = 1 << 24;

/// Largest number of bins for samples at arbitrary times: as many as a run keeps of a series.
const SAMPLE_BINS_MAX: u64 = 1 << 16;

/// Consecutive bins with the same content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    /// Number of the first bin; the next field is the number of bins.
    pub number: u64,
    pub count: u64,
    /// Smallest and largest value in each of the bins, and the mean.
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// Covered share of a bin: less than 1 if the data begins or ends in it.
    pub share: f64,
}

impl Run {
    /// Creates a bin with one value.
    const fn of(number: u64, value: f64) -> Self {
        Self {
            number,
            count: 1,
            min: value,
            max: value,
            mean: value,
            share: 1.0,
        }
    }
}

/// Value over time in equal bins.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Start of bin 0, and start of the data within the first bin, in ps.
    pub(super) origin_ps: u64,
    pub(super) begin_ps: u64,
    /// Width of a bin.
    pub(super) width_ps: u64,
    /// Resolution of the record, and resolution that was kept.
    pub(super) recorded_ps: u64,
    pub(super) kept_ps: u64,
    /// True for counts, whose sum is the value of a wider bin.
    pub(super) counts: bool,
    /// Bins in the order of time, possibly with gaps.
    pub(super) runs: Vec<Run>,
}

/// Track in the page's format.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Packed {
    /// Start of bin 0, start of the data, and width of a bin, in the axis's unit.
    pub origin: f64,
    /// Start of the data: see `origin`.
    pub begin: f64,
    /// Width of a bin: see `origin`.
    pub width: f64,
    /// Width of a bin in ps; then the resolution of the record, and the one kept in the run's folder.
    pub width_ps: u64,
    /// Resolution of the record: see `width_ps`.
    pub recorded_ps: u64,
    /// Resolution that was kept: see `width_ps`.
    pub kept_ps: u64,
    /// True if values are counts.
    pub counts: bool,
    /// Value that the number 1 represents.
    pub step: f64,
    /// True if bins have a smallest and a largest value in addition to the mean.
    pub ranges: bool,
    /// Covered share of the last bin.
    pub last: f64,
    /// Bins in base64: see `Track::bytes`.
    pub data: String,
}

impl Track {
    /// Creates a track from a series, whose values hold until the next.
    pub(super) fn of(series: &Series) -> Self {
        let width = match series.bin_ps {
            0 => common_step(&series.points),
            known => known,
        };
        let last = series.points.last().map_or(0, |point| point.0);
        // The first sample may have been taken between two ends of bins, but not the last one.
        let phase = last % width;
        let number = |at: u64| (at + width - phase) / width;
        let mut track = Self {
            origin_ps: 0,
            begin_ps: 0,
            width_ps: width,
            recorded_ps: if series.period_ps == 0 {
                width
            } else {
                series.period_ps
            },
            kept_ps: width,
            counts: false,
            runs: Vec::with_capacity(series.points.len()),
        };
        let Some(&(first, _)) = series.points.first() else {
            return track;
        };
        let base = number(first);
        (track.origin_ps, track.begin_ps) = (
            base.saturating_mul(width)
                .saturating_add(phase)
                .saturating_sub(width),
            first,
        );
        let nexts = series.points.iter().skip(1).map(|point| number(point.0));
        let nexts = nexts.chain([number(last).saturating_add(1)]);
        // A value holds until the next sample, so its run extends to that bin.
        for ((i, &(at, mean)), next) in series.points.iter().enumerate().zip(nexts) {
            let range = series.range(i);
            let number = number(at);
            track.push(Run {
                number: number.saturating_sub(base),
                count: next.saturating_sub(number).max(1),
                min: range.min,
                max: range.max,
                mean,
                share: 1.0,
            });
        }
        track
    }

    /// Creates a track from samples at arbitrary times, in order. Bins are as narrow as the smallest distance between
    /// samples, so that each has its own bin, unless that exceeds [`SAMPLE_BINS_MAX`]. A value holds until the next.
    pub(super) fn of_samples(samples: &[(u64, f64)]) -> Self {
        let (first, last) = match samples {
            [first, .., last] => (first.0, last.0),
            [only] => (only.0, only.0),
            [] => (0, 0),
        };
        let gaps = samples.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let closest = gaps.filter(|&gap| gap > 0).min().unwrap_or(1);
        let width_ps = closest.max((last - first).div_ceil(SAMPLE_BINS_MAX)).max(1);
        let mut track = Self::of_counts(first, width_ps, []);
        track.counts = false;
        let number = |at: u64| (at - first) / width_ps;
        let (mut end, mut held) = (0, 0.0);
        for bin in samples.chunk_by(|a, b| number(a.0) == number(b.0)) {
            let values = || bin.iter().map(|&(_, value)| value);
            let at = number(bin[0].0);
            // The previous value holds until the next sample.
            if end < at {
                track.push(Run {
                    count: at - end,
                    ..Run::of(end, held)
                });
            }
            track.push(Run {
                min: values().fold(f64::INFINITY, f64::min),
                max: values().fold(f64::NEG_INFINITY, f64::max),
                ..Run::of(at, values().sum::<f64>() / bin.len() as f64)
            });
            (end, held) = (at + 1, bin[bin.len() - 1].1);
        }
        track
    }

    /// Creates a track with counts in bins of `width_ps` from `origin_ps` on.
    pub(super) fn of_counts(origin_ps: u64, width_ps: u64, counts: impl IntoIterator<Item = u32>) -> Self {
        let mut track = Self {
            origin_ps,
            begin_ps: origin_ps,
            width_ps,
            recorded_ps: width_ps,
            kept_ps: width_ps,
            counts: true,
            runs: Vec::new(),
        };
        for (number, count) in (0..).zip(counts) {
            track.push_value(number, f64::from(count));
        }
        track
    }

    /// Adds a bin with one value.
    pub(super) fn push_value(&mut self, number: u64, value: f64) {
        self.push(Run::of(number, value));
    }

    fn push(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last)
                if last.number + last.count == run.number
                    && (last.min, last.max, last.mean, last.share)
                        == (run.min, run.max, run.mean, run.share) =>
            {
                last.count += run.count;
            }
            _ => self.runs.push(run),
        }
    }

    /// Returns the largest value.
    pub(super) fn largest(&self) -> f64 {
        self.runs.iter().map(|run| run.max).fold(0.0, f64::max)
    }

    /// Returns the end of the last bin, in ps.
    pub(super) fn end_ps(&self) -> u64 {
        let bins = self.runs.last().map_or(0, |run| run.number + run.count);
        self.origin_ps + bins * self.width_ps
    }

    /// Returns the integral of the value over time.
    pub(super) fn area(&self) -> f64 {
        self.runs
            .iter()
            .map(|run| run.mean * run.count as f64)
            .sum::<f64>()
            * self.width_ps as f64
    }

    /// Returns the track with bins of twice the width.
    pub(super) fn wider(&self) -> Self {
        let mut wide = Self {
            width_ps: 2 * self.width_ps,
            runs: Vec::with_capacity(self.runs.len() / 2 + 1),
            ..self.clone()
        };
        // The bin under construction; its mean is still a sum.
        let mut open: Option<Run> = None;
        let close = |wide: &mut Self, open: &mut Option<Run>| {
            if let Some(mut run) = open.take() {
                match self.counts {
                    true => (run.min, run.max) = (run.mean, run.mean),
                    // The last bin may be incomplete, so its sum is divided by what was recorded of it.
                    false => run.mean /= run.share,
                }
                run.share /= 2.0;
                wide.push(run);
            }
        };
        for run in &self.runs {
            let (mut at, end) = (run.number, run.number + run.count);
            while at < end {
                let number = at / 2;
                if open.is_some_and(|open| open.number != number) {
                    close(&mut wide, &mut open);
                }
                // Pairs of equal bins keep their values, so long runs are not processed bin by bin. Counts would add
                // up.
                if open.is_none() && at.is_multiple_of(2) && end - at >= 2 && !self.counts {
                    let count = (end - at) / 2;
                    wide.push(Run {
                        number,
                        count,
                        ..*run
                    });
                    at += 2 * count;
                    continue;
                }
                let bin = open.get_or_insert(Run {
                    number,
                    count: 1,
                    min: f64::INFINITY,
                    max: f64::NEG_INFINITY,
                    mean: 0.0,
                    share: 0.0,
                });
                bin.mean += if self.counts {
                    run.mean
                } else {
                    run.mean * run.share
                };
                (bin.min, bin.max) = (bin.min.min(run.min), bin.max.max(run.max));
                bin.share += run.share;
                at += 1;
            }
        }
        close(&mut wide, &mut open);
        wide
    }

    /// Returns the value that the number 1 represents: a common unit of all values if they are integers and not too
    /// many levels result, otherwise a small fraction of the largest. Values are in units of `unit`.
    fn step(&self, unit: f64) -> f64 {
        let whole = |value: f64| {
            let units = value / unit;
            let near = units.round();
            // Far above that, a float cannot tell whole numbers from others.
            ((units - near).abs() <= 1e-9 * near.abs().max(1.0) && near < 1e15).then_some(near as u64)
        };
        // A bin of several samples has a mean, which is hardly ever a whole number of units.
        let exact = self.runs.iter().all(|run| run.min == run.max);
        let all: Option<u64> = match exact {
            true => self
                .runs
                .iter()
                .try_fold(0, |step, run| Some(gcd(step, whole(run.mean)?))),
            false => None,
        };
        match all {
            Some(0) => unit,
            Some(step) if self.largest() / unit <= step as f64 * EXACT_MAX as f64 => step as f64 * unit,
            _ => (self.largest() / LEVELS).max(f64::MIN_POSITIVE),
        }
    }

    /// Encodes the bins as bytes; each number is a varint. 0 and n: n more bins like the last. 1 and n: a gap of n
    /// bins. More than 1: a bin with a new mean. Its difference from the previous mean is half of the number less 2
    /// if that is even, and otherwise half of one more, downwards. With ranges, two numbers follow: the mean less the
    /// smallest value, and the largest less the mean.
    fn bytes(&self, step: f64, ranges: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (mut mean, mut next) = (0i64, 0);
        for run in &self.runs {
            if run.number > next {
                varint(&mut bytes, 1);
                varint(&mut bytes, run.number - next);
            }
            let value = (run.mean / step).round() as i64;
            let change = value - mean;
            // Zigzag encoding, so that small changes in both directions have few bytes.
            varint(&mut bytes, 2 + ((change << 1) ^ (change >> 63)) as u64);
            if ranges {
                // Rounded outwards, so that bounds stay bounds.
                varint(
                    &mut bytes,
                    (value - near(run.min / step, f64::floor)).max(0) as u64,
                );
                varint(
                    &mut bytes,
                    (near(run.max / step, f64::ceil) - value).max(0) as u64,
                );
            }
            if run.count > 1 {
                varint(&mut bytes, 0);
                varint(&mut bytes, run.count - 1);
            }
            (mean, next) = (value, run.number + run.count);
        }
        bytes
    }

    /// Packs the track for a page whose axes count time in `clock_ps` and values in `scale`; values are integers in
    /// units of `unit`.
    pub(super) fn pack(&self, clock_ps: f64, scale: f64, unit: f64) -> Packed {
        let step = self.step(unit);
        let ranges = self.runs.iter().any(|run| run.min != run.max);
        let at = |ps: u64| ps as f64 / clock_ps;
        Packed {
            origin: at(self.origin_ps),
            begin: at(self.begin_ps),
            width: self.width_ps as f64 / clock_ps,
            width_ps: self.width_ps,
            recorded_ps: self.recorded_ps,
            kept_ps: self.kept_ps,
            counts: self.counts,
            step: step / scale,
            ranges,
            last: self.runs.last().map_or(1.0, |run| run.share),
            data: base64(&self.bytes(step, ranges)),
        }
    }
}

/// Returns the integer that a value equals up to rounding errors, or else the one that `round` returns.
fn near(value: f64, round: fn(f64) -> f64) -> i64 {
    let whole = value.round();
    let is = (value - whole).abs() <= 1e-9 * whole.abs().max(1.0);
    (if is { whole } else { round(value) }) as i64
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the largest time that all differences between points are multiples of; 1 without points.
fn common_step(points: &[(u64, f64)]) -> u64 {
    let times = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
    times.fold(0, gcd).max(1)
}

#[cfg(test)]
#[path = "track_tests.rs"]
mod tests;
#[cfg(test)]
pub(super) use tests::unpack;
