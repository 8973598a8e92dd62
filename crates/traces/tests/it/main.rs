//! Traces against the answers of the programs that define them.

mod chakra;
mod chakra_damaged;
mod chakra_meaning;
mod check;
// What is measured in release only.
#[cfg(not(debug_assertions))]
mod costs;
mod encode;
mod executor;
mod goal;
mod goal_mutated;
mod goal_random;
mod loggops;
#[cfg(not(debug_assertions))]
mod scale;
mod simai;
