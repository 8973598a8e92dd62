//! From round-trip times to features.

/// Weight of a new sample in the smoothed round-trip time.
pub const SMOOTHING: f64 = 0.2;

/// Smooths round-trip times: `S[0] = R[0]`, `S[t] = σ R[t] + (1 - σ) S[t-1]`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Smoother {
    s: Option<f64>,
}

impl Smoother {
    /// `(K[t], S[t])` with `K[t] = (R[t] - S[t]) / S[t]`.
    pub(super) fn push(&mut self, r: f64) -> (f32, f64) {
        let s = self.s.map_or(r, |s| SMOOTHING * r + (1.0 - SMOOTHING) * s);
        self.s = Some(s);
        (((r - s) / s) as f32, s)
    }
}
