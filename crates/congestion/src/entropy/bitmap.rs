//! All values in turn, and penalties for those that were congested.

use super::{Draw, PathFeedback};

/// Steps through all values; each round has an order of its own.
#[derive(Clone, Debug)]
pub struct Stepping {
    mask: u16,
    /// Bits above the mask: the same for all packets of a flow.
    high: u16,
    /// What the order of this round is made with.
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

/// The largest penalty.
const MOST: u8 = 15;

/// The same, with a penalty for each value.
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

    /// The next value without a penalty; each call forgives one point of the first that has one. If all have some, the
    /// last that was looked at.
    pub(super) fn next(&mut self, draw: &mut impl Draw) -> u16 {
        let mut skipped = 0;
        let mut value = self.stepping.current();
        while self.penalties[usize::from(value)] > 0 {
            if skipped == 0 {
                self.penalties[usize::from(value)] -= 1;
            }
            skipped += 1;
            if skipped > self.penalties.len() {
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
