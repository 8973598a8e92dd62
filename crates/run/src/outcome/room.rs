//! Memory limit shared by several series.

use super::Binned;
use serde::{Deserialize, Serialize};

/// Memory limit of several series together. If they have too many bins, the limit of each series is halved,
/// and longer ones get wider bins. The final widths therefore depend on the samples alone, not on their order
/// or on when bins were merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Room {
    /// Upper limit of all bins together; `each` is that of one series.
    most: usize,
    each: usize,
    /// Present number of bins.
    used: usize,
}

impl Room {
    /// Creates a limit of `most` bins for `series` series, or sixteen each if that is more.
    pub fn new(most: usize, series: usize) -> Self {
        Self {
            most: most.max(16 * series),
            each: Binned::BINS_MAX,
            used: 0,
        }
    }

    /// Adds a sample: see `Binned::sample`.
    #[inline]
    pub fn sample(&mut self, series: &mut Binned, number: u64, value: u64) {
        if value != series.value() {
            let before = series.len();
            series.sample(number, value, self.each);
            self.used = self.used + series.len() - before;
        }
    }

    /// Returns true if there are too many bins.
    #[inline]
    pub fn is_exceeded(&self) -> bool {
        self.used > self.most
    }

    /// Halves the limit of each series until all together fit.
    #[cold]
    pub fn thin(&mut self, mut all: Vec<&mut Binned>) {
        // The present limit first: series of other parts may still exceed it.
        self.narrow(&mut all);
        while self.is_exceeded() {
            self.each /= 2;
            self.narrow(&mut all);
        }
    }

    fn narrow(&mut self, all: &mut [&mut Binned]) {
        self.used = 0;
        for one in all {
            while one.len() > self.each {
                one.widen();
            }
            self.used += one.len();
        }
    }

    /// Merges the limit of another part of the run; `all` are the series of both.
    pub fn merge(&mut self, other: &Self, all: Vec<&mut Binned>) {
        self.each = self.each.min(other.each);
        self.thin(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::rng::{Purpose, Rng};
    use paceline_kernel::{Span, Time};

    /// Samples of four series: some change rarely, some start late, some end early.
    fn samples() -> Vec<(usize, u64, u64)> {
        let mut rng = Rng::stream(3, Purpose::Mark, 0);
        let mut all = Vec::new();
        for number in 0..4000 {
            for series in 0..4u64 {
                let is_there = number >= series * 300 && number < 4000 - 700 * (series % 3);
                if is_there && rng.next_u64().is_multiple_of(1 + series * 5) {
                    all.push((series as usize, number, rng.next_u64() % 9));
                }
            }
        }
        all
    }

    fn empty() -> Vec<Binned> {
        vec![Binned::new(0, 10, 0, 0); 4]
    }

    /// Series that shared a limit from the start, those of two merged parts, and those thinned only at the
    /// end.
    #[test]
    fn how_wide_bins_get_does_not_hang_on_when() {
        for most in [100, 700, 2000, 100_000] {
            let mut whole = (Room::new(most, 4), empty());
            let mut late = (Room::new(usize::MAX, 4), empty());
            let mut parts = [(Room::new(most, 4), empty()), (Room::new(most, 4), empty())];
            for (series, number, value) in samples() {
                late.0.sample(&mut late.1[series], number, value);
                for (room, all) in [&mut whole, &mut parts[series % 2]] {
                    room.sample(&mut all[series], number, value);
                    if room.is_exceeded() {
                        room.thin(all.iter_mut().collect());
                    }
                }
            }
            let [mut even, needs_slow_path] = parts;
            let mut all = even.1;
            (all[1], all[3]) = (needs_slow_path.1[1].clone(), needs_slow_path.1[3].clone());
            even.0.merge(&needs_slow_path.0, all.iter_mut().collect());
            let mut room = Room::new(most, 4);
            room.thin(late.1.iter_mut().collect());
            assert_eq!(whole.1, all, "{most}");
            assert_eq!(whole.1, late.1, "{most}");
            assert_eq!((whole.0.each, whole.0.used), (even.0.each, even.0.used));
            assert_eq!((whole.0.each, whole.0.used), (room.each, room.used));
            assert!(whole.0.used <= most && (most > 9000 || whole.0.each < Binned::BINS_MAX));
        }
    }
    #[test]
    fn the_longest_are_thinned() {
        let of =
            |count: u64| Binned::of_samples(Time::ZERO, Span::from_ps(10), (0..count).map(|k| 1 + k % 2));
        let (mut a, mut b, mut c) = (of(4000), of(3000), of(100));
        let mut room = Room::new(4000, 3);
        room.thin(vec![&mut a, &mut b, &mut c]);
        assert_eq!([&a, &b, &c].map(|one| one.width().as_ps() / 10), [2, 2, 1]);
        assert_eq!(room.used, 3600);
        // Each series keeps sixteen bins, regardless of the limit.
        let mut room = Room::new(1, 3);
        room.thin(vec![&mut a, &mut b, &mut c]);
        assert!((24..=48).contains(&room.used), "{}", room.used);
    }
}
