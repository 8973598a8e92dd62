//! HPCC-PINT in the switch.

use crate::sim::Simulation;

/// Utilisation estimate of every port.
#[derive(Clone, Debug)]
pub(crate) struct PintPorts {}

impl Simulation {
    pub(crate) fn pint_departed(&mut self, _egress: u32, _id: u32) {}
}
