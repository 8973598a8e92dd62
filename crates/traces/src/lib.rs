//! Traces of AI and HPC jobs, and their execution.
//!
//! A reader converts a trace to a [`Program`](program::Program): the operations of each rank and their dependencies.
//! An executor runs a program on a [`Network`](network::Network), which may be the packet network of the engine or a
//! cost model.

pub mod chakra;
pub mod check;
pub mod chunks;
pub mod collective;
mod cycle;
pub mod executor;
pub mod explain;
mod frontier;
pub mod goal;
pub mod graph;
pub mod inside;
pub mod loggops;
pub mod model;
pub mod network;
pub mod open;
pub mod program;
pub mod regular;
pub mod shares;
pub mod simai;
pub mod trouble;
mod waiting;
mod walk;
pub mod wire;
