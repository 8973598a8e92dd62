//! Packets, links, switches and NICs of a lossless network, and the loop that runs them.

pub mod outcome;
pub mod sim;
pub mod spec;

pub use outcome::Outcome;
pub use sim::{BuildError, Progress, Simulation};
pub use spec::RunSpec;
