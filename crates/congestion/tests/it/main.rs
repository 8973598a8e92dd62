//! Schemes without a network, compared with recorded decisions of other implementations.

mod model;
mod replay;
mod tcd_reference;
