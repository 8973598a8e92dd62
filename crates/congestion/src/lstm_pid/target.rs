//! Target round-trip time, and its adaptation (RTTch).

choice! {
    /// Distance by which RTTch moves the target.
    pub enum Shift {
        /// Mean deviation of all samples from the targets of their times, as (27) and (28) of the thesis are
        /// printed. Deviations from early targets count again in every move.
        Deviations = "deviations",
        /// To the flow's mean round-trip time, as if the target had never moved.
        Mean = "mean",
    }
}

/// Settings of RTTch, which moves the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The target moves after more consecutive samples on one side of it than this.
    pub after: u32,
    /// Distance of a move.
    pub shift: Shift,
    /// Highest target, in us.
    pub max: f64,
    /// True to count samples as in table 2 of the thesis: see the scheme's page.
    pub printed_counter: bool,
}

/// Target of a flow. RTTch moves it to the flow's mean round-trip time if samples stay on one side of it:
/// §3.5.4, table 2.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    now: f64,
    /// Configured target, the lower bound.
    low: f64,
    /// Settings of RTTch; `None` if the target is fixed.
    change: Option<Change>,
    samples: f64,
    /// Sum of the samples.
    sum: f64,
    /// Sum of the samples' deviations from the targets of their times.
    deviations: f64,
    /// Consecutive samples on one side: positive above the target, negative otherwise.
    run: i64,
}

impl Target {
    /// Creates a constant target.
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

    /// Creates a target that RTTch moves.
    pub fn adaptive(target: f64, change: Change) -> Self {
        Self {
            change: Some(change),
            ..Self::fixed(target)
        }
    }

    /// Returns the present target.
    pub fn get(&self) -> f64 {
        self.now
    }

    /// Adds a sample, and moves the target if RTTch applies.
    pub fn observe(&mut self, rtt: f64) {
        let Some(change) = self.change else { return };
        self.samples += 1.0;
        self.sum += rtt;
        self.deviations += rtt - self.now;
        let side = if rtt > self.now { 1 } else { -1 };
        self.run = if change.printed_counter {
            // As printed the count is never negative, so samples below the target only reset it.
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
