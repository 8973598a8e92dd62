//! The simulation.

use paceline_kernel::Time;

use crate::outcome::Outcome;
use crate::spec::RunSpec;

/// Why a network cannot be built or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Not yet.
    #[error("not built yet")]
    NotYet,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events so far.
    pub events: u64,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Flows completed.
    pub completed: u64,
    /// Whether the run is over: the stop time reached, or nothing left to happen.
    pub done: bool,
}

/// One run in progress: a value, so that many fit in a process.
pub struct Simulation {}

impl Simulation {
    /// Builds the network.
    pub fn new(_spec: RunSpec) -> Result<Self, BuildError> {
        Err(BuildError::NotYet)
    }
    /// Executes at most `events` events.
    pub fn advance(&mut self, _events: u64) -> Progress {
        Progress {
            now: Time::ZERO,
            events: 0,
            packet_hops: 0,
            completed: 0,
            done: true,
        }
    }
    /// Ends the run, wherever it is.
    pub fn finish(self) -> Outcome {
        unreachable!("no simulation was built")
    }
}
