//! Preprocessing: smoothing, and the features K and L of a series of round-trip times.

/// Number of features of a predictor: those of the latest three samples.
pub const STEPS: usize = 3;

/// Equations (1) and (2) applied to one series of samples.
///
/// Running senders and recorded data sets use this same code, so both have the same features.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    smoothing: f64,
    smoothed: f64,
    seen: u32,
    k: [f32; STEPS],
}

impl Features {
    /// Creates an empty series; `smoothing` is the weight σ of a new sample in the average.
    pub fn new(smoothing: f64) -> Self {
        Self {
            smoothing,
            smoothed: 0.0,
            seen: 0,
            k: [0.0; STEPS],
        }
    }

    /// Adds a sample R, in any unit and above zero, and returns its feature K.
    pub fn push(&mut self, rtt: f64) -> f64 {
        // Equation (1).
        self.smoothed = if self.seen == 0 {
            rtt
        } else {
            self.smoothing * rtt + (1.0 - self.smoothing) * self.smoothed
        };
        self.seen = self.seen.saturating_add(1);
        // Equation (2).
        let k = self.relative(rtt);
        self.k = [self.k[1], self.k[2], k as f32];
        k
    }

    /// Returns the smoothed round-trip time S, in the samples' unit.
    pub fn smoothed(&self) -> f64 {
        self.smoothed
    }

    /// Returns K of the last three samples, oldest first; `None` before there are three.
    pub fn window(&self) -> Option<&[f32; STEPS]> {
        (self.seen as usize >= STEPS).then_some(&self.k)
    }

    /// Returns the label L of the last sample, given the next one; equation (2) again.
    pub fn label(&self, next: f64) -> f64 {
        self.relative(next)
    }

    /// Returns the round-trip time whose label is `output`: equation (3).
    pub fn rtt_of(&self, output: f64) -> f64 {
        (1.0 + output) * self.smoothed
    }

    /// Returns the relative distance of a round-trip time from the smoothed one.
    fn relative(&self, rtt: f64) -> f64 {
        (rtt - self.smoothed) / self.smoothed
    }
}
