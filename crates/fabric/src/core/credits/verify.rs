//! Invariants of credits, checked on request.

use paceline_kernel::ids::Grid;

use crate::core::Core;
use crate::ids::PortId;
use crate::world::classes::STRICT;

impl Core {
    /// Checks each lane of each link: the sender's credits, the units under way, those yet to be announced and those in
    /// the buffer add up to the buffer. `held` has the units in the buffer, by ingress port.
    ///
    /// # Panics
    /// If an invariant is broken: a defect of the simulator, never of its input.
    pub(crate) fn verify_credits(&self, held: &Grid<PortId, u32>) {
        let links = self.links();
        let mask = links.numbers - 1;
        for (id, port) in self.ports.numbered() {
            if links.shares_buffer() {
                let taken: u32 = links.classes().map(|class| held[(id, class)]).sum();
                assert!(
                    taken <= links.buffers[0],
                    "port {id}: {taken} taken of a buffer of {}",
                    links.buffers[0]
                );
            }
            for (class, &buffer) in (STRICT + 1..).zip(&links.buffers) {
                let (lane, peer) = (&links.lanes[(id, class)], &links.lanes[(port.peer, class)]);
                assert_eq!(
                    peer.free + held[(port.peer, class)],
                    buffer,
                    "port {id} class {class}: what is free and what is taken of the other end's buffer"
                );
                if !port.is_up() {
                    continue;
                }
                let granted = links.available(lane);
                let under_way = lane.sent.wrapping_sub(peer.arrived) & mask;
                let limit = links.news(peer).0;
                // A link that came back has announced nothing yet.
                let known = lane.limit != 0 || lane.sent != 0;
                let untold = limit.wrapping_sub(lane.limit) & mask;
                assert!(
                    !known || under_way <= buffer && untold <= mask / 2 + 1,
                    "port {id} class {class}: {under_way} under way, {untold} untold, of {buffer}"
                );
                assert!(
                    !known || granted + under_way <= peer.free,
                    "port {id} class {class}: {granted} granted and {under_way} under way, of {} free",
                    peer.free
                );
            }
        }
    }
}
