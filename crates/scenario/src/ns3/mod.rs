//! Inputs of HPCC's ns-3 simulator and of its relatives: `config.txt`, topology, flow and trace files.
//!
//! A configuration becomes the same [`crate::schema::Scenario`] that a TOML file does, so both kinds
//! of input share every check.

pub(crate) mod changes;
pub(crate) mod config;
pub(crate) mod flows;
pub(crate) mod format;
mod hpcc;
pub(crate) mod keys;
mod lists;
mod parameters;
pub(crate) mod quantities;
mod rdma;
mod simai;
mod tcd;
pub(crate) mod tokens;
pub(crate) mod topology;
pub(crate) mod trace;

pub(crate) use tokens::Tokens;
