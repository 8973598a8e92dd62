//! The LogGOPS model of a network, as two programs compute it.
//!
//! A rank has cpus and NICs, which each do one thing at a time; messages have a latency and never meet. The variants are
//! those of LogGOPSim (spcl/LogGOPSim, commit 76451de) and ATLAHS (spcl/atlahs, commit 8837294), to the ns.

mod element;
mod heap;
mod model;
mod outcome;
mod parking;

use crate::program::Program;
use crate::trouble::{Caution, Trouble};

/// Which program is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// LogGOPSim.
    LogGopSim,
    /// ATLAHS.
    Atlahs,
}

/// Parameters of the model. A message of s bytes has s - 1 further bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// L: latency of the network, in ns.
    pub latency: u64,
    /// o: time of a cpu for a message, in ns.
    pub overhead: u64,
    /// g: time of a NIC for a message, in ns.
    pub gap: u64,
    /// G: time of a NIC for each further byte, in ns. A whole number in [`Variant::LogGopSim`].
    pub gap_per_byte: f64,
    /// O: time of a cpu for each further byte, in ns.
    pub overhead_per_byte: u64,
    /// S: the largest message, in bytes, that is sent before its receive is posted.
    pub eager: u64,
}

impl Parameters {
    /// What LogGOPSim takes unless told otherwise.
    pub const LOGGOPSIM: Self = Self {
        latency: 2500,
        overhead: 1500,
        gap: 1000,
        gap_per_byte: 6.0,
        overhead_per_byte: 0,
        eager: 65535,
    };

    /// What ATLAHS takes for Alps, a machine with Slingshot.
    pub const ALPS: Self = Self {
        latency: 3700,
        overhead: 200,
        gap: 5,
        gap_per_byte: 0.04,
        overhead_per_byte: 0,
        eager: 0,
    };

    /// The most ns that a byte takes.
    fn per_byte(&self) -> f64 {
        self.gap_per_byte.max(self.overhead_per_byte as f64)
    }

    /// Whether a message of no byte, which has -1 further bytes, leaves no clock earlier than it was.
    fn keeps_clocks(&self) -> bool {
        let most = self.per_byte();
        self.gap as f64 >= self.gap_per_byte && self.overhead as f64 >= most
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::LOGGOPSIM
    }
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// By rank: when its last cpu was done, in ns.
    pub ends: Vec<u64>,
    /// Operations that are done.
    pub done: u64,
    /// Why the others are not, if any remain.
    pub stuck: Option<Stuck>,
    /// What the user should know.
    pub cautions: Vec<Caution>,
}

impl Outcome {
    /// When the last rank ended, in ns.
    pub fn end(&self) -> u64 {
        self.ends.iter().copied().max().unwrap_or(0)
    }
}

/// Operations remain, and nothing is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// How many operations are not done.
    pub remaining: u64,
    /// The first ten that wait for another rank: who waits for whom.
    pub waits: Vec<String>,
}

/// Carries out a program without collectives.
pub fn run(program: &dyn Program, variant: Variant, parameters: &Parameters) -> Result<Outcome, Trouble> {
    let per_byte = parameters.gap_per_byte;
    if !per_byte.is_finite() || per_byte < 0.0 {
        return Err(Trouble::at(
            "gap per byte (G)",
            format!("{per_byte}: expected a number of ns from 0 on"),
        ));
    }
    if variant == Variant::LogGopSim && per_byte.fract() != 0.0 {
        return Err(Trouble::at(
            "gap per byte (G)",
            format!("{per_byte}: the variant loggopsim takes whole ns only"),
        )
        .help("take the variant atlahs"));
    }
    let spans = [
        ("latency (L)", parameters.latency),
        ("overhead (o)", parameters.overhead),
        ("gap (g)", parameters.gap),
    ];
    if let Some((place, ns)) = spans.into_iter().find(|(_, ns)| *ns > model::LAST) {
        let message = format!("{ns} ns: expected at most {} ns (213 days)", model::LAST);
        return Err(Trouble::at(place, message));
    }
    model::Model::new(program, variant, *parameters).run()
}
