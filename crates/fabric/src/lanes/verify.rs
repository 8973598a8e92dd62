//! Invariants of the switches under credits.

use paceline_kernel::ids::Grid;

use crate::core::Core;
use crate::core::port::LinkState;
use crate::ids::PortId;
use crate::lanes::LaneSwitches;
use crate::world::classes::STRICT;

impl LaneSwitches {
    /// Checks the invariants of queues, masks and sums, and of credits.
    ///
    /// # Panics
    /// If one is broken: a defect of the simulator, never of its input.
    pub(crate) fn verify(&self, core: &Core) {
        let mut held = Grid::of(core.ports.len(), self.classes, 0);
        for (id, port) in core.ports.numbered() {
            assert!(port.link != LinkState::Open, "port {id} is under credits");
            let mut total = 0;
            for class in 0..self.classes as u8 {
                let bytes = self.verify_lane(core, id, class, &mut held);
                assert_eq!(
                    bytes,
                    core.queues[(id, class)].bytes,
                    "port {id} class {class}: bytes"
                );
                let ready = port.ready >> class & 1 == 1;
                assert_eq!(bytes > 0, ready, "port {id} class {class}: ready bit");
                total += bytes;
            }
            assert_eq!(total, port.queued, "port {id}: bytes of all queues");
        }
        let leaving = self.leaving.iter().flatten();
        for &(ingress, class, wire) in leaving {
            held[(ingress, class)] += core.units(wire);
        }
        for (index, units) in self.entering.numbered() {
            held[index] += units;
        }
        core.verify_credits(&held);
    }

    /// Returns the bytes of a lane's queues, and adds the units that its packets hold at other ports to `held`.
    fn verify_lane(&self, core: &Core, port: PortId, class: u8, held: &mut Grid<PortId, u32>) -> u32 {
        let mut bytes: u32 = (core.packets.linked(core.queues[(port, class)].head))
            .map(|id| u32::from(core.packets.get(id).wire))
            .sum();
        if class > STRICT && !core.ports[port].is_host {
            for id in self.waiting_at(core, (port, class)) {
                let packet = core.packets.get(id);
                held[(packet.ingress, class)] += core.units(packet.wire);
                bytes += u32::from(packet.wire);
            }
        }
        bytes
    }
}
