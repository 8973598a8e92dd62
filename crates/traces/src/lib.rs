//! Traces of AI and HPC jobs, and what carries them out.
//!
//! A reader turns a trace into a [`Program`](program::Program): what each rank does, and what each operation waits for. An
//! executor carries a program out on a [`Network`](network::Network), which may be the packet network of the engine or a cost
//! model.

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
pub mod loggops;
pub mod network;
pub mod open;
pub mod program;
pub mod regular;
pub mod simai;
pub mod trouble;
mod waiting;
mod walk;
pub mod wire;
