//! Rate control: three terms of the error, their gains, and the bounds of one step.

/// Gains K_P, K_I and K_D.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Gain of the error.
    pub p: f64,
    /// Gain of the mean error since the flow started.
    pub i: f64,
    /// Gain of the error's change since the last decision.
    pub d: f64,
}

/// Values of the three terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Error: excess of the predicted round-trip time over the target, relative to the target.
    pub p: f64,
    /// Mean of the error since the flow started.
    pub i: f64,
    /// Change of the error since the last decision.
    pub d: f64,
}

/// Bounds of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamp {
    /// Largest relative rise of the rate.
    pub hi: f64,
    /// Largest relative fall of the rate.
    pub lo: f64,
}

/// Controller of one flow: equations (5) and (6).
#[derive(Clone, Copy, Debug)]
pub struct Pid {
    gains: Gains,
    clamp: Clamp,
    steps: f64,
    sum: f64,
    last: f64,
}

impl Pid {
    /// Creates a controller without history.
    pub fn new(gains: Gains, clamp: Clamp) -> Self {
        Self {
            gains,
            clamp,
            steps: 0.0,
            sum: 0.0,
            last: 0.0,
        }
    }

    /// Returns the present gains.
    pub fn gains(&self) -> Gains {
        self.gains
    }

    /// Replaces the gains; the history of errors is kept.
    pub fn set_gains(&mut self, gains: Gains) {
        self.gains = gains;
    }

    /// Returns the terms for the next error. The first error has no predecessor, so its change is zero.
    pub fn terms(&mut self, error: f64) -> Terms {
        let change = if self.steps == 0.0 { 0.0 } else { error - self.last };
        self.last = error;
        self.sum += error;
        self.steps += 1.0;
        Terms {
            p: error,
            i: self.sum / self.steps,
            d: change,
        }
    }

    /// Returns the relative change of the rate, by equation (6).
    pub fn action(&self, terms: &Terms) -> f64 {
        let Gains { p, i, d } = self.gains;
        (p * terms.p + i * terms.i + d * terms.d).clamp(-self.clamp.lo, self.clamp.hi)
    }
}
