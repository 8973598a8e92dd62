//! QCN's congestion point: what a switch keeps of a queue, and when it tells a sender.

use paceline_kernel::rng::Rng;

use crate::assist::QcnPart;

/// The largest feedback: six bits.
const LARGEST: f64 = 63.0;

/// What all congestion points of a run share.
#[derive(Clone, Copy, Debug)]
pub struct PointRules {
    q_eq: f64,
    w: f64,
    /// |Fb| that saturates.
    fb_max: f64,
    sample_max: f64,
    /// How much more often samples are taken under the strongest feedback.
    speed_up: f64,
    jitter: f64,
}

impl PointRules {
    /// As a scheme asks for it.
    pub fn new(part: &QcnPart) -> Self {
        let q_eq = part.q_eq.get() as f64;
        let (max, min) = (part.sample_max.get() as f64, part.sample_min.get() as f64);
        Self {
            q_eq,
            w: part.w,
            fb_max: (1.0 + 2.0 * part.w) * q_eq,
            sample_max: max,
            speed_up: max / min.max(1.0),
            jitter: part.jitter,
        }
    }

    /// Equations (1) and (2): the feedback of a queue of `queue` bytes, `old` at the sample before.
    pub fn feedback(&self, queue: u32, old: u32) -> u8 {
        let (queue, old) = (f64::from(queue), f64::from(old));
        let fb = -((queue - self.q_eq) + self.w * (queue - old));
        if fb >= 0.0 {
            return 0;
        }
        (LARGEST * (-fb).min(self.fb_max) / self.fb_max) as u8
    }

    /// Equation (3), with the jitter.
    pub(super) fn interval(&self, fb: u8, rng: &mut Rng) -> i64 {
        let mean = self.sample_max / (1.0 + (self.speed_up - 1.0) * f64::from(fb) / LARGEST);
        (mean * (1.0 + self.jitter * (2.0 * rng.next_f64() - 1.0))) as i64
    }
}

/// One queue's.
#[derive(Clone, Copy, Debug)]
pub struct CongestionPoint {
    /// The queue at the last sample.
    old: u32,
    /// Bytes until the next.
    left: i64,
}

impl CongestionPoint {
    /// Of a queue that is never sampled.
    pub const OFF: Self = Self {
        old: 0,
        left: i64::MAX,
    };

    /// Of an empty queue; its first sample is an interval without feedback away.
    pub fn new(rules: &PointRules, rng: &mut Rng) -> Self {
        Self {
            old: 0,
            left: rules.interval(0, rng),
        }
    }

    /// A frame of `size` bytes joined the queue, which is `queue` bytes with it: the feedback for its
    /// sender, if the frame is a sample and there is any.
    #[inline]
    pub fn arrival(&mut self, rules: &PointRules, queue: u32, size: u32, rng: &mut Rng) -> Option<u8> {
        self.left -= i64::from(size);
        if self.left > 0 {
            return None;
        }
        self.sample(rules, queue, rng)
    }

    #[inline(never)]
    fn sample(&mut self, rules: &PointRules, queue: u32, rng: &mut Rng) -> Option<u8> {
        let fb = rules.feedback(queue, self.old);
        self.old = queue;
        self.left = rules.interval(fb, rng).max(1);
        (fb > 0).then_some(fb)
    }
}
