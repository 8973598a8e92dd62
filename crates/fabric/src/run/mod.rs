//! The loop that runs a simulation, and the code that concerns all its components.

mod barrier;
pub(crate) mod build;
mod chance;
pub(crate) mod check;
pub(crate) mod cut;
pub(crate) mod deadlock;
pub(crate) mod failure;
pub(crate) mod foresight;
pub mod ideal;
mod ideals;
mod kind;
mod lanes;
mod links;
mod memo;
mod parallel;
mod partition;
mod profiles;
pub(crate) mod results;
mod samples;
pub(crate) mod simulation;
mod start;
mod stepping;
pub(crate) mod team;
mod verify;
mod watchdog;
mod ways;
pub(crate) mod windows;
