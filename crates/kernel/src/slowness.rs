//! Periods in which work takes longer.

/// Factors by which work takes longer, each in an interval of time (ps).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slowness {
    /// Intervals in order of time, without overlaps.
    stretches: Vec<(u64, u64, f64)>,
}

impl Slowness {
    /// Returns the slowness for intervals `(from, to, factor)` that do not overlap.
    pub fn new(mut stretches: Vec<(u64, u64, f64)>) -> Self {
        stretches.sort_by_key(|&(from, ..)| from);
        Self { stretches }
    }

    /// Returns true if there are no intervals.
    pub const fn is_none(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Returns the end of work that begins at `from` and takes `takes` ps at full speed.
    ///
    /// ```
    /// # use paceline_kernel::Slowness;
    /// let half = Slowness::new(vec![(100, 300, 2.0)]);
    /// // 50 before it begins; 100, which take 200; and 25 after it.
    /// assert_eq!(half.end(50, 175), 325);
    /// ```
    pub fn end(&self, from: u64, takes: u64) -> u64 {
        let (mut now, mut left) = (from, takes);
        for &(begins, ends, factor) in self.stretches.iter().filter(|stretch| stretch.1 > from) {
            // Until the interval begins, work proceeds at full speed.
            let before = begins.saturating_sub(now).min(left);
            now = now.saturating_add(before);
            left -= before;
            if left == 0 {
                return now;
            }
            let slowed = (left as f64 * factor).round() as u64;
            if now.saturating_add(slowed) <= ends {
                return now.saturating_add(slowed);
            }
            left = left.saturating_sub(((ends - now) as f64 / factor).floor() as u64);
            now = ends;
        }
        now.saturating_add(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two intervals with a gap; a third without an end.
    #[test]
    fn work_is_done_piece_by_piece() {
        let slow = Slowness::new(vec![(1000, 1100, 10.0), (200, 400, 4.0), (2000, u64::MAX, 3.0)]);
        assert_eq!(slow.end(0, 200), 200, "done as the first begins");
        assert_eq!(slow.end(0, 210), 240);
        // 100 up to 200, 50 in 200, 600 up to 1000, 10 in 100, and 5.
        assert_eq!(slow.end(100, 765), 1105);
        assert_eq!(slow.end(400, 600), 1000);
        assert_eq!(slow.end(2000, 7), 2021);
        assert_eq!(Slowness::default().end(5, 7), 12);
    }
}
