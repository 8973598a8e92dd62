//! The target round-trip time, and its adaptation (RTTch).

choice! {
    /// How far RTTch moves the target.
    pub enum Shift {
        /// By the mean of what every sample was off the target of its time, as (27) and (28) of the thesis
        /// are printed. What samples were off early targets counts again in every move.
        Deviations = "deviations",
        /// To the mean round-trip time of the flow: the same, had the target never moved.
        Mean = "mean",
    }
}

/// When and how RTTch moves the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The target moves after more samples in a row on one side of it than this.
    pub after: u32,
    /// How far.
    pub shift: Shift,
    /// The highest target, in us.
    pub max: f64,
    /// Whether samples are counted as table 2 of the thesis counts them: see the scheme's page.
    pub printed_counter: bool,
}

/// Moves the target to the mean round-trip time of the flow when its samples stay on one side of the
/// target: §3.5.4, table 2.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    now: f64,
    /// The target as it was set: it never goes below.
    low: f64,
    /// None if it never moves.
    change: Option<Change>,
    samples: f64,
    /// Of the samples.
    sum: f64,
    /// Of what each sample was above the target of its time.
    deviations: f64,
    /// The samples in a row: above the target if positive, not above it if negative.
    run: i64,
}

impl Target {
    /// A target that stays.
    pub fn fixed(target: f64) -> Self {
        Self {
            now: target,
            low: target,
            change: None,
            samples: 0.0,
            sum: 0.0,
            deviations: 0.0,
            run: 0,
        }
    }

    /// A target that moves.
    pub fn adaptive(target: f64, change: Change) -> Self {
        Self {
            change: Some(change),
            ..Self::fixed(target)
        }
    }

    /// The target.
    pub fn get(&self) -> f64 {
        self.now
    }

    /// The next sample.
    pub fn observe(&mut self, rtt: f64) {
        let Some(change) = self.change else { return };
        self.samples += 1.0;
        self.sum += rtt;
        self.deviations += rtt - self.now;
        let side = if rtt > self.now { 1 } else { -1 };
        self.run = if change.printed_counter {
            // The count is never negative, so samples that are not above the target only stop it.
            if self.run * side >= 0 { self.run + 1 } else { 0 }
        } else if self.run * side > 0 {
            self.run + side
        } else {
            side
        };
        if self.run.abs() > i64::from(change.after) {
            // Equation (7).
            let moved = match change.shift {
                Shift::Deviations => self.now + self.deviations / self.samples,
                Shift::Mean => self.sum / self.samples,
            };
            self.now = moved.min(change.max).max(self.low);
            self.run = 0;
        }
    }
}
