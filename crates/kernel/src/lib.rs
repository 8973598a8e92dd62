//! The part of Paceline that knows nothing of networks: units, random streams, the event queue.
//!
//! * [`ids`](mod@ids): numbers of things with types of their own, and lists that only they index.
//! * [`memory`]: an allocator that asks for huge pages.
//! * [`units`]: instants and spans in picoseconds, sizes in bytes, rates in bit/s, all integers.
//! * [`rng`]: one random stream per (seed, purpose, entity), and the generators of other
//!   simulators, for the fidelity modes.
//! * [`queue`]: the pending event set: FIFO lanes for the few constant delays, a timing wheel for
//!   the rest, and a binary heap with the same interface as their oracle.

pub mod ids;
pub mod memory;
pub mod merge;
pub mod ns3;
pub mod prefetch;
pub mod queue;
pub mod rng;
mod slowness;
pub mod units;

pub use slowness::Slowness;
pub use units::{BitRate, Bytes, Span, Time};
