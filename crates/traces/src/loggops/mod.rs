//! LogGOPS model of a network, as computed by two programs.
//!
//! A rank has cpus and NICs, each of which does one thing at a time; messages have a latency and never share
//! anything. The variants are those of LogGOPSim (spcl/LogGOPSim, commit 76451de) and ATLAHS (spcl/atlahs, commit
//! 8837294), to the ns.

mod element;
mod heap;
mod model;
mod outcome;
mod parking;

use crate::program::Program;
use crate::trouble::{Caution, Trouble};

/// Program whose results are reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// LogGOPSim, which breaks ties by number.
    LogGopSim,
    /// ATLAHS, whose heap breaks ties.
    Atlahs,
}

/// Parameters of the model. A message of s bytes has s - 1 further bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Latency L of the network, in ns.
    pub latency: u64,
    /// Overhead o of a cpu per message, in ns.
    pub overhead: u64,
    /// Gap g of a NIC per message, in ns.
    pub gap: u64,
    /// Gap G of a NIC per further byte, in ns. An integer in [`Variant::LogGopSim`].
    pub gap_per_byte: f64,
    /// Overhead O of a cpu per further byte, in ns.
    pub overhead_per_byte: u64,
    /// Eager limit S: the largest message in bytes that is sent before its receive is posted.
    pub eager: u64,
}

impl Parameters {
    /// Default parameters of LogGOPSim.
    pub const LOGGOPSIM: Self = Self {
        latency: 2500,
        overhead: 1500,
        gap: 1000,
        gap_per_byte: 6.0,
        overhead_per_byte: 0,
        eager: 65535,
    };

    /// Parameters that ATLAHS uses for Alps, a machine with Slingshot.
    pub const ALPS: Self = Self {
        latency: 3700,
        overhead: 200,
        gap: 5,
        gap_per_byte: 0.04,
        overhead_per_byte: 0,
        eager: 0,
    };

    /// Returns the largest time per byte, in ns.
    fn per_byte(&self) -> f64 {
        self.gap_per_byte.max(self.overhead_per_byte as f64)
    }

    /// Returns true if a message of 0 bytes, which has -1 further bytes, moves no clock backwards.
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

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// End of each rank's last cpu, in ns.
    pub ends: Vec<u64>,
    /// Number of completed operations.
    pub done: u64,
    /// Explanation of the remaining operations, if any.
    pub stuck: Option<Stuck>,
    /// Notes for the user.
    pub cautions: Vec<Caution>,
}

impl Outcome {
    /// Returns the end of the last rank, in ns.
    pub fn end(&self) -> u64 {
        self.ends.iter().copied().max().unwrap_or(0)
    }
}

/// Deadlock: operations remain, and nothing is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Number of operations that are not completed.
    pub remaining: u64,
    /// Descriptions of the first ten operations that wait for another rank.
    pub waits: Vec<String>,
}

/// Executes a program without collectives.
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
    if let Some((location, ns)) = spans.into_iter().find(|(_, ns)| *ns > model::LAST) {
        let message = format!("{ns} ns: expected at most {} ns (213 days)", model::LAST);
        return Err(Trouble::at(location, message));
    }
    model::Model::new(program, variant, *parameters).run()
}
