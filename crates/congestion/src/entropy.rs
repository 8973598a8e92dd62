//! Entropy: which of many equal paths each packet takes, chosen by its sender.
//!
//! A data packet carries an entropy value (EV) of 16 bits, for example in its UDP source port, and switches hash it
//! alongside the flow. The acknowledgement brings the value back together with the packet's congestion mark, so a sender
//! can avoid paths that are congested or broken without knowing them. Ultra Ethernet Specification 1.0, section 3.6.16
//! (load balancing); REPS: Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure
//! Mitigation", 2024 (arXiv:2407.21625).

use serde::{Deserialize, Serialize};

use paceline_kernel::rng::Rng;
use paceline_kernel::{Span, Time};

mod bitmap;
mod reps;
#[cfg(test)]
mod tests;

use bitmap::Stepping;
use reps::Ring;

/// How senders choose entropy values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entropy {
    /// The algorithm.
    pub selector: Selector,
    /// How many values a flow uses, a power of two from 1 to 65536.
    pub values: u32,
}

/// The algorithm that chooses entropy values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// All values in turn, in an order drawn anew for each round. Feedback is ignored.
    Oblivious,
    /// The same, but values with penalties are skipped: 1 for a mark, 4 for a trimmed packet, 15 for a timeout.
    Bitmap,
    /// Values that came back without a mark are used again; others are drawn (REPS).
    Reps,
    /// Values that came back without a mark first; when there are none, those of `Bitmap`.
    Mixed,
}

/// What became of a packet that took a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFeedback {
    /// It arrived without a mark.
    Good,
    /// It arrived with a mark.
    Marked,
    /// A switch trimmed it.
    Trimmed,
    /// Nothing was heard of it.
    Timeout,
}

/// Where selectors draw from.
pub trait Draw {
    /// A uniform number of 31 bits.
    fn draw(&mut self) -> u32;
}

impl Draw for Rng {
    fn draw(&mut self) -> u32 {
        self.next_u31()
    }
}

/// A flow's selector: its state.
#[derive(Clone, Debug)]
pub enum PathSelector {
    /// [`Selector::Oblivious`].
    Oblivious(Stepping),
    /// [`Selector::Bitmap`].
    Bitmap(bitmap::Bitmap),
    /// [`Selector::Reps`].
    Reps(Ring),
    /// [`Selector::Mixed`].
    Mixed(reps::Recycled, bitmap::Bitmap),
}

impl Entropy {
    /// The selector of a new flow.
    pub fn build(&self, draw: &mut impl Draw) -> PathSelector {
        match self.selector {
            Selector::Oblivious => PathSelector::Oblivious(Stepping::new(self.values, draw)),
            Selector::Bitmap => PathSelector::Bitmap(bitmap::Bitmap::new(self.values, draw)),
            Selector::Reps => PathSelector::Reps(Ring::new(self.values)),
            Selector::Mixed => {
                PathSelector::Mixed(reps::Recycled::default(), bitmap::Bitmap::new(self.values, draw))
            }
        }
    }
}

impl PathSelector {
    /// The entropy value of the next packet.
    #[inline]
    pub fn next(&mut self, draw: &mut impl Draw) -> u16 {
        match self {
            Self::Oblivious(stepping) => stepping.next(draw),
            Self::Bitmap(bitmap) => bitmap.next(draw),
            Self::Reps(ring) => ring.next(draw),
            Self::Mixed(recycled, bitmap) => recycled.take().unwrap_or_else(|| bitmap.next(draw)),
        }
    }

    /// What became of a packet with this value.
    #[inline]
    pub fn on_feedback(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        match self {
            Self::Oblivious(_) => {}
            Self::Bitmap(bitmap) => bitmap.on_feedback(entropy, feedback),
            Self::Reps(ring) => ring.on_feedback(now, entropy, feedback),
            Self::Mixed(recycled, bitmap) => {
                recycled.on_feedback(entropy, feedback);
                bitmap.on_feedback(entropy, feedback);
            }
        }
    }
}

/// How long REPS goes on with the values that it has after a timeout.
pub const FREEZE: Span = Span::from_us(10_000);
