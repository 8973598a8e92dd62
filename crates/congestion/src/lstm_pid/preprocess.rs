//! Preprocessing: smoothing, and the features K and L of a series of round-trip times.

/// The features that a predictor gets: those of this sample and the two before.
pub const STEPS: usize = 3;

/// Equations (1) and (2) over one series of samples.
///
/// Pure: the same code makes the features of a running sender and of a recorded data set.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    smoothing: f64,
    smoothed: f64,
    seen: u32,
    k: [f32; STEPS],
}

impl Features {
    /// Of no sample yet, with the weight σ of a new sample in the average.
    pub fn new(smoothing: f64) -> Self {
        Self {
            smoothing,
            smoothed: 0.0,
            seen: 0,
            k: [0.0; STEPS],
        }
    }

    /// The next sample R, of any unit, above zero. Returns its feature K.
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

    /// The smoothed round-trip time S, in the unit of the samples.
    pub fn smoothed(&self) -> f64 {
        self.smoothed
    }

    /// K of the last three samples, the oldest first; none before there are three.
    pub fn window(&self) -> Option<&[f32; STEPS]> {
        (self.seen as usize >= STEPS).then_some(&self.k)
    }

    /// The label L of the last sample, once the one after it is known; equation (2) again.
    pub fn label(&self, next: f64) -> f64 {
        self.relative(next)
    }

    /// The round-trip time whose label is `output`: equation (3).
    pub fn rtt_of(&self, output: f64) -> f64 {
        (1.0 + output) * self.smoothed
    }

    /// How far a round-trip time is from the smoothed one, relative to that.
    fn relative(&self, rtt: f64) -> f64 {
        (rtt - self.smoothed) / self.smoothed
    }
}
