//! What of a flow is the same for its whole life, or from one change of topology to the next: all that
//! receivers and switches know of it.

use crate::packet::NONE;
use crate::qp::Qp;
use crate::sim::World;

/// The ways of a flow's packets, by its queue pair's slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPath {
    pub(crate) flow: u32,
    /// See [`crate::sim::Simulation::turn_of`].
    pub(crate) turn: u32,
    /// Bytes of headers of its data packets.
    pub(crate) data_header: u16,
    /// Generation of routes that its data packets carry.
    pub(crate) data_epoch: u16,
}

impl FlowPath {
    /// Of a queue pair that no flow has.
    pub(crate) const NONE: Self = Self {
        flow: NONE,
        turn: 0,
        data_header: 0,
        data_epoch: 0,
    };
}

impl World {
    /// A flow has begun, or has found a new way.
    pub(crate) fn write_flow_path(&mut self, slot: u32, qp: &Qp) {
        let slot = slot as usize;
        if self.flow_paths.len() <= slot {
            self.flow_paths.resize(slot + 1, FlowPath::NONE);
        }
        self.flow_paths[slot] = FlowPath {
            flow: qp.flow,
            turn: qp.turn,
            data_header: qp.data_header,
            data_epoch: qp.data_epoch,
        };
    }
}
