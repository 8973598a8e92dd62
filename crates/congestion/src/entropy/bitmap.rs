//! Selectors that use all values in turn, with or without penalties for congested ones.

use super::{Draw, PathFeedback};

/// Steps through all values, in a new order each round.
#[derive(Clone, Debug)]
pub struct Stepping {
    mask: u16,
    /// Bits above the mask, constant for a flow.
    high: u16,
    /// Number XORed with the step: it makes the order of the round.
    flip: u16,
    step: u32,
}

impl Stepping {
    pub(super) fn new(values: u32, draw: &mut impl Draw) -> Self {
        let mask = (values - 1) as u16;
        let high = (draw.draw() % 65535) as u16;
        Self {
            mask,
            high: high & !mask,
            flip: draw.draw() as u16 & mask,
            step: 0,
        }
    }

    #[inline]
    fn current(&self) -> u16 {
        (self.step as u16 ^ self.flip) & self.mask
    }

    #[inline]
    fn advance(&mut self, draw: &mut impl Draw) {
        self.step += 1;
        if self.step > u32::from(self.mask) {
            self.step = 0;
            self.flip = draw.draw() as u16 & self.mask;
        }
    }

    #[inline]
    pub(super) fn next(&mut self, draw: &mut impl Draw) -> u16 {
        let value = self.current();
        self.advance(draw);
        value | self.high
    }
}

/// Upper limit of a value's penalty.
const MOST: u8 = 15;

/// Steps through all values, and keeps a penalty for each.
#[derive(Clone, Debug)]
pub struct Bitmap {
    stepping: Stepping,
    penalties: Box<[u8]>,
}

impl Bitmap {
    pub(super) fn new(values: u32, draw: &mut impl Draw) -> Self {
        Self {
            stepping: Stepping::new(values, draw),
            penalties: vec![0; values as usize].into(),
        }
    }

    /// Returns the next value without a penalty. Each call takes one point off the first penalised value that
    /// it meets. If all values are penalised, the last one examined is used.
    pub(super) fn next(&mut self, draw: &mut impl Draw) -> u16 {
        let mut skipped = 0;
        let mut value = self.stepping.current();
        while self.penalties[usize::from(value)] > 0 {
            if skipped == 0 {
                self.penalties[usize::from(value)] -= 1;
            }
            skipped += 1;
            if skipped > self.penalties.len() {
                // All values are penalised: sending on some path beats not sending.
                break;
            }
            self.stepping.advance(draw);
            value = self.stepping.current();
        }
        self.stepping.advance(draw);
        value | self.stepping.high
    }

    pub(super) fn on_feedback(&mut self, entropy: u16, feedback: PathFeedback) {
        let points = match feedback {
            PathFeedback::Good => return,
            PathFeedback::Marked => 1,
            PathFeedback::Trimmed => 4,
            PathFeedback::Timeout => MOST,
        };
        let penalty = &mut self.penalties[usize::from(entropy & self.stepping.mask)];
        *penalty = (*penalty + points).min(MOST);
    }
}
