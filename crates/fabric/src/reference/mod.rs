//! Networks of other simulators that are of another make than those of this crate.

pub(crate) mod bolt_ns3;
pub(crate) mod tcd_ns3;
