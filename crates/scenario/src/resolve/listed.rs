//! What a run's list of flows is made of.

use paceline_kernel::Bytes;

/// A collective operation of several hosts, or of several groups of as many at a time, and the flows that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// The label of its flows.
    pub label: String,
    /// How many hosts take part; of several groups, in each.
    pub hosts: u32,
    /// The bytes by which its bandwidth is counted: those that a host has in all.
    pub size: Bytes,
    /// What a host's link carries for each of these bytes.
    pub bus_factor: f64,
    /// The flows of each iteration: indices in the run's flows.
    pub iterations: Vec<Vec<u32>>,
}
