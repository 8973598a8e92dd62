//! Entropy values: the sender's choice among equal-cost paths, packet by packet.
//!
//! A data packet carries an entropy value (EV) of 16 bits, for example in its UDP source port, and switches
//! hash it alongside the flow. The acknowledgement brings the value back together with the packet's
//! congestion mark, so a sender can avoid paths that are congested or broken without knowing them. Ultra
//! Ethernet Specification 1.0, section 3.6.16 (load balancing); REPS: Bonato et al., "REPS: Recycled Entropy
//! Packet Spraying for Adaptive Load Balancing and Failure Mitigation", 2024 (arXiv:2407.21625).

use serde::{Deserialize, Serialize};

use paceline_kernel::rng::Rng;
use paceline_kernel::{Span, Time};

mod bitmap;
mod mrc;
mod reps;
#[cfg(test)]
mod tests;

use bitmap::Stepping;
use reps::Ring;

/// Settings of entropy selection, common to all senders of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entropy {
    /// Algorithm that chooses values.
    pub selector: Selector,
    /// Number of values that a flow uses, a power of two from 1 to 65536.
    pub values: u32,
    /// Values in use and probes of [`Selector::Mrc`]; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mrc: Option<Mrc>,
}

/// Values in use and probes of [`Selector::Mrc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mrc {
    /// Number of values in use at a time, in each plane; the others are spare.
    pub in_use: u32,
    /// Time between two probes of a value that is assumed to be bad, and before the first.
    pub probe_interval: Span,
}

impl Default for Mrc {
    fn default() -> Self {
        Self {
            in_use: 32,
            probe_interval: Span::from_us(100),
        }
    }
}

/// Algorithm that chooses entropy values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// Uses all values in turn, in a new random order each round, and ignores feedback.
    Oblivious,
    /// As [`Selector::Oblivious`], but skips values with penalties: 1 for a mark, 4 for a trimmed packet, 15
    /// for a timeout.
    Bitmap,
    /// Reuses values that returned without a mark, and draws others at random (REPS).
    Reps,
    /// Reuses values that returned without a mark; if there are none, takes those of `Bitmap`.
    Mixed,
    /// Uses values in turn, passes those over that were marked or trimmed, and replaces those that timed out,
    /// until an answer to a probe comes back (MRC).
    Mrc,
}

/// Fate of a packet on the path of its entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFeedback {
    /// Arrived without a mark.
    Good,
    /// Arrived with a mark.
    Marked,
    /// Trimmed by a switch.
    Trimmed,
    /// No acknowledgement arrived in time.
    Timeout,
}

/// Source of random numbers for selectors.
pub trait Draw {
    /// Returns a uniform number of 31 bits.
    fn draw(&mut self) -> u32;
}

impl Draw for Rng {
    fn draw(&mut self) -> u32 {
        self.next_u31()
    }
}

/// Selector state of one flow.
#[derive(Clone, Debug)]
pub enum PathSelector {
    /// Step counter of [`Selector::Oblivious`].
    Oblivious(Stepping),
    /// Step counter and penalties of [`Selector::Bitmap`].
    Bitmap(bitmap::Bitmap),
    /// Ring of [`Selector::Reps`], with its freeze.
    Reps(Ring),
    /// Queue of good values and bitmap of [`Selector::Mixed`].
    Mixed(reps::Recycled, bitmap::Bitmap),
    /// States of all values of [`Selector::Mrc`].
    Mrc(Box<mrc::ValueSet>),
}

impl Entropy {
    /// Creates the selector of a new flow, in each of `planes` planes: a value belongs to one of them.
    pub fn build(&self, planes: u32, draw: &mut impl Draw) -> PathSelector {
        let values = (self.values / planes).max(1);
        match self.selector {
            Selector::Oblivious => PathSelector::Oblivious(Stepping::new(values, draw)),
            Selector::Bitmap => PathSelector::Bitmap(bitmap::Bitmap::new(values, draw)),
            Selector::Reps => PathSelector::Reps(Ring::new(values)),
            Selector::Mixed => {
                PathSelector::Mixed(reps::Recycled::default(), bitmap::Bitmap::new(values, draw))
            }
            Selector::Mrc => {
                let settings = self.mrc.unwrap_or_default();
                PathSelector::Mrc(Box::new(mrc::ValueSet::new(values, settings, draw)))
            }
        }
    }
}

impl PathSelector {
    /// Returns the entropy value of the next packet.
    #[inline]
    pub fn next(&mut self, draw: &mut impl Draw) -> u16 {
        match self {
            Self::Oblivious(stepping) => stepping.next(draw),
            Self::Bitmap(bitmap) => bitmap.next(draw),
            Self::Reps(ring) => ring.next(draw),
            Self::Mixed(recycled, bitmap) => recycled.take().unwrap_or_else(|| bitmap.next(draw)),
            Self::Mrc(set) => set.next(),
        }
    }

    /// Records the fate of a packet that carried `entropy`.
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
            Self::Mrc(set) => set.on_feedback(now, entropy, feedback),
        }
    }

    /// Returns true unless all values are assumed to be bad.
    #[inline]
    pub fn has_values(&self) -> bool {
        match self {
            Self::Mrc(set) => set.has_values(),
            _ => true,
        }
    }

    /// Returns the time of the next probe of a bad value.
    pub fn next_probe(&self) -> Option<Time> {
        match self {
            Self::Mrc(set) => set.next_probe(),
            _ => None,
        }
    }

    /// Returns a bad value that is to be probed now.
    pub fn probe(&mut self, now: Time) -> Option<u16> {
        match self {
            Self::Mrc(set) => set.probe(now),
            _ => None,
        }
    }
}

/// Time for which REPS keeps reusing its values after a timeout.
pub const FREEZE: Span = Span::from_us(10_000);
