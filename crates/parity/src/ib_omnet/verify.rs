//! Invariants of the network's state.

use paceline_fabric::model::{Core, PacketId};
use paceline_kernel::ids::Id;

use crate::ib_omnet::InfiniBand;

impl InfiniBand {
    /// Checks the invariants between two instants.
    ///
    /// # Panics
    /// If one is violated: a defect of the simulator, never of its input.
    pub(super) fn check_state(&self, core: &Core) {
        for ((id, number), lane) in self.lanes.numbered() {
            let peer = &self.lanes[(self.ports[id].peer, number)];
            assert!(
                lane.free <= self.spec.buffer,
                "port {id} lane {number}: places of its buffer"
            );
            assert!(
                lane.granted <= lane.limit,
                "port {id} lane {number}: nothing is let go without a credit"
            );
            assert!(
                lane.granted >= lane.sent && lane.sent >= peer.arrived,
                "port {id} lane {number}: what arrives was sent, what is sent was let go"
            );
            assert!(
                lane.limit <= peer.arrived + peer.free,
                "port {id} lane {number}: no more credits than places"
            );
        }
        for ((id, number), lane) in self
            .lanes
            .numbered()
            .filter(|((id, _), _)| !self.ports[*id].is_host)
        {
            let width = usize::from(self.spec.lanes);
            let inputs = self.slots_of(id).skip(usize::from(number)).step_by(width);
            let mut waiting = 0;
            for (input, slot) in inputs.enumerate() {
                let filled = lane.filled >> input & 1 == 1;
                assert_eq!(
                    slot.held != PacketId::NONE,
                    filled,
                    "port {id}: slot of input {input}"
                );
                let mut next = slot.head;
                while next != PacketId::NONE {
                    waiting += 1;
                    next = core.packets.get(next).next;
                }
            }
            assert_eq!(
                waiting, lane.waiting,
                "port {id} lane {number}: packets that wait in inputs"
            );
        }
    }
}
