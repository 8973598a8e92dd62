//! Traces compared with the results of the programs that define them.

mod chakra;
mod chakra_damaged;
mod chakra_meaning;
mod check;
// These measure costs and need a release build.
#[cfg(not(debug_assertions))]
mod costs;
mod encode;
mod executor;
mod goal;
mod goal_mutated;
mod goal_random;
mod loggops;
mod model;
#[cfg(not(debug_assertions))]
mod scale;
mod simai;
