//! Schemes without a network: against recorded decisions of other implementations.

mod model;
mod replay;
mod tcd_reference;
