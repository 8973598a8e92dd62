//! Inputs of HPCC's ns-3 simulator, and of that of TCD's authors: `config.txt`, topology, flow and trace files.
//!
//! A configuration becomes the same [`crate::schema::Scenario`] that a TOML file does, so both kinds
//! of input share every check.

pub(crate) mod config;
pub(crate) mod flows;
mod keys;
mod parameters;
pub(crate) mod quantities;
mod tcd;
mod tokens;
pub(crate) mod topology;
pub(crate) mod trace;

pub(crate) use tokens::Tokens;
