//! Parts of Paceline that are independent of networks: units, random streams, the event queue.
//!
//! * [`ids`](mod@ids): typed indices, and lists that accept only their own type.
//! * [`format`](mod@format): numbers of the formats of files.
//! * [`memory`]: an allocator with huge pages.
//! * [`units`]: instants and spans in picoseconds, sizes in bytes, rates in bit/s, all integers.
//! * [`rng`]: one random stream per (seed, purpose, entity), and the generators of other simulators for the
//!   fidelity modes.
//! * [`sorted`], [`order`]: maps, sets and sorts of little machine code, for code that runs seldom.
//! * [`queue`]: the pending event set: FIFO lanes for the few constant delays, a timing wheel for the rest,
//!   and a binary heap with the same order as a reference for tests.

pub mod format;
pub mod ids;
pub mod memory;
pub mod merge;
pub mod ns3;
pub mod order;
pub mod prefetch;
pub mod queue;
pub mod rng;
mod slowness;
pub mod sorted;
pub mod units;

pub use slowness::Slowness;
pub use units::{BitRate, Bytes, Span, Time};
