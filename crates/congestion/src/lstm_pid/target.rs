//! The target round-trip time, and its adaptation (RTTch).

/// Moves the target to the mean round-trip time of the flow when its samples stay on one side of the
/// target: §3.5.4, table 2.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    now: f64,
    /// The target as it was set: it never goes below.
    low: f64,
    high: f64,
    /// Samples in a row on one side after which the target moves; none if it never does.
    after: Option<u32>,
    printed: bool,
    samples: f64,
    sum: f64,
    /// The samples in a row: above the target if positive, not above it if negative.
    run: i64,
}

impl Target {
    /// A target that stays.
    pub fn fixed(target: f64) -> Self {
        Self {
            now: target,
            low: target,
            high: target,
            after: None,
            printed: false,
            samples: 0.0,
            sum: 0.0,
            run: 0,
        }
    }

    /// A target that moves, up to `high`, after more than `after` samples in a row on one side of it.
    /// With `printed` they are counted as table 2 of the thesis counts them: see the scheme's page.
    pub fn adaptive(target: f64, high: f64, after: u32, printed: bool) -> Self {
        Self {
            high: high.max(target),
            after: Some(after),
            printed,
            ..Self::fixed(target)
        }
    }

    /// The target.
    pub fn get(&self) -> f64 {
        self.now
    }

    /// The next sample.
    pub fn observe(&mut self, rtt: f64) {
        let Some(after) = self.after else { return };
        self.samples += 1.0;
        self.sum += rtt;
        let side = if rtt > self.now { 1 } else { -1 };
        self.run = if self.printed {
            // The count is never negative, so samples that are not above the target only stop it.
            if self.run * side >= 0 { self.run + 1 } else { 0 }
        } else if self.run * side > 0 {
            self.run + side
        } else {
            side
        };
        if self.run.abs() > i64::from(after) {
            // Equation (7).
            self.now = (self.sum / self.samples).clamp(self.low, self.high);
            self.run = 0;
        }
    }
}
