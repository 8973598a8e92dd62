//! RED at departure, based on the bytes left behind in the queue.

/// Marking curve: nothing up to `kmin` bytes, everything above `kmax`, and a probability that grows to `pmax`
/// in between. With `kmin == kmax` it is a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    kmin: u32,
    kmax: u32,
    pmax: f64,
}

impl Red {
    /// Curve that never marks.
    pub const OFF: Self = Self::new(u32::MAX, u32::MAX, 0.0);

    /// Creates a curve with these thresholds, in bytes.
    pub const fn new(kmin: u32, kmax: u32, pmax: f64) -> Self {
        Self { kmin, kmax, pmax }
    }

    /// Returns true if it can mark at all.
    pub const fn is_on(&self) -> bool {
        self.kmin != u32::MAX
    }

    /// Returns the queue length up to which nothing is marked, in bytes.
    pub const fn kmin(&self) -> u32 {
        self.kmin
    }

    /// Returns true if a packet that leaves `left` bytes behind may be marked. A cheap test for every packet.
    #[inline(always)]
    pub const fn may_mark(&self, left: u32) -> bool {
        left > self.kmin
    }

    /// Returns true if a packet that may be marked is marked; `draw` returns a number from 0 to 1 and is
    /// called only if chance decides.
    #[inline]
    pub fn marks(&self, left: u32, draw: impl FnOnce() -> f64) -> bool {
        left > self.kmax || {
            let p = self.pmax * f64::from(left - self.kmin) / f64::from(self.kmax - self.kmin);
            draw() < p
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_and_a_step() {
        let ramp = Red::new(100, 300, 0.5);
        assert!(!ramp.may_mark(100) && ramp.may_mark(101));
        // Half-way up the ramp: 0.25.
        assert!(ramp.marks(200, || 0.24) && !ramp.marks(200, || 0.25));
        assert!(ramp.marks(301, || unreachable!("above kmax all are marked")));
        let step = Red::new(100, 100, 1.0);
        assert!(!step.may_mark(100) && step.marks(101, || unreachable!()));
        assert!(!Red::OFF.is_on() && !Red::OFF.may_mark(u32::MAX));
    }
}
