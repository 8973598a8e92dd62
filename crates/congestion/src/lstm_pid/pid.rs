//! Rate control: three terms of the error, their gains, and the bounds of one step.

/// The gains K_P, K_I, K_D.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Of the error itself.
    pub p: f64,
    /// Of its mean since the flow started.
    pub i: f64,
    /// Of its change since the last decision.
    pub d: f64,
}

/// The outputs of the three terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// The error: how far the predicted round-trip time is above the target, relative to it.
    pub p: f64,
    /// The mean of the error since the flow started.
    pub i: f64,
    /// The change of the error.
    pub d: f64,
}

/// What one step may be at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamp {
    /// The largest relative rise of the rate.
    pub hi: f64,
    /// The largest relative fall.
    pub lo: f64,
}

/// The controller of a flow: equations (5) and (6).
#[derive(Clone, Copy, Debug)]
pub struct Pid {
    gains: Gains,
    clamp: Clamp,
    steps: f64,
    sum: f64,
    last: f64,
}

impl Pid {
    /// A controller that has seen nothing.
    pub fn new(gains: Gains, clamp: Clamp) -> Self {
        Self {
            gains,
            clamp,
            steps: 0.0,
            sum: 0.0,
            last: 0.0,
        }
    }

    /// The gains.
    pub fn gains(&self) -> Gains {
        self.gains
    }

    /// Other gains from now on.
    pub fn set_gains(&mut self, gains: Gains) {
        self.gains = gains;
    }

    /// The terms for the next error. The first has no change: there is none before it.
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

    /// The relative change of the rate that the gains make of the terms: equation (6).
    pub fn action(&self, terms: &Terms) -> f64 {
        let Gains { p, i, d } = self.gains;
        (p * terms.p + i * terms.i + d * terms.d).clamp(-self.clamp.lo, self.clamp.hi)
    }
}
