//! Origin of a run's flows: collectives.

use paceline_kernel::Bytes;

/// Collective operation of one group of hosts, or of several groups of equal size at a time, with its flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Label of its flows.
    pub label: String,
    /// Number of participating hosts, per group.
    pub hosts: u32,
    /// Bytes on which its bandwidth is based: the total per host.
    pub size: Bytes,
    /// Bytes that a host's link carries for each byte of `size`.
    pub bus_factor: f64,
    /// Flows of each iteration, as indices into the run's flows.
    pub iterations: Vec<Vec<u32>>,
}
