//! Traces against the answers of the programs that define them.

mod chakra;
mod chakra_damaged;
mod chakra_meaning;
mod check;
mod encode;
mod executor;
mod goal;
mod goal_mutated;
mod loggops;
mod scale;
mod simai;
