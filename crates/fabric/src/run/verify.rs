//! Invariants, checked during a run on request.

use crate::ids::PacketId;
use crate::run::kind::NetworkKind;
use crate::run::simulation::Simulation;
use paceline_kernel::ids::Id;

impl Simulation {
    /// Checks every invariant of the present state; in one part of a cut run, those that the part can know.
    ///
    /// # Panics
    /// If one is broken: a defect of the simulator, never of its input.
    pub fn verify(&self) {
        if let NetworkKind::Foreign(model) = &self.kind {
            model.verify(&self.core);
            if model.keeps_queues() {
                return;
            }
        }
        match &self.kind {
            NetworkKind::Lanes(lanes) => lanes.verify(&self.core),
            _ => self.verify_queues(),
        }
        // Other hosts have no buffer accounts, and their flows carry several messages.
        if self.kind.has_own_hosts() {
            let keeps = self.world.quirks.lost_bytes_stay && !self.world.changes.is_empty();
            if self.kind.is_own() && !keeps {
                self.switches.verify_buffers(&self.core);
                self.switches.verify_isolated(&self.world, &self.core);
            }
            self.hosts.verify_flows(&self.world, &self.core, &self.traffic);
            self.traffic
                .verify(&self.world, &self.core, self.bounds_completion());
        }
        self.switches.verify_assists(&self.core);
        self.hosts.verify_schedule();
        self.hosts.verify_decisions();
        // With no event left, every packet must have a reason to stay where it is.
        self.core.verify_retry();
        if self.core.is_idle() && self.core.is_whole() && !self.stands() && !self.core.has_silent_port() {
            assert_eq!(
                self.core.packets.live(),
                self.packets_in_deadlock() + self.packets_at_dead_links() + self.core.packets_in_retry(),
                "packets that nothing will ever move, not behind a pause that never ends"
            );
        }
    }

    /// Returns the number of packets at hosts whose link is down. (Answers to packets that arrived before wait there.)
    fn packets_at_dead_links(&self) -> u32 {
        let dead = self
            .core
            .ports
            .numbered()
            .filter(|(_, port)| port.is_host && !port.is_up());
        let queues = dead.flat_map(|(id, _)| self.core.queues.row(id));
        let packets = queues.map(|queue| self.core.packets.linked(queue.head).count() as u32);
        packets.sum()
    }

    /// Checks that each queue holds the bytes that it counts, and that the ports' masks and sums agree.
    fn verify_queues(&self) {
        for (id, port) in self.core.ports.numbered() {
            let mut total = 0;
            for (class, queue) in self.core.queues.row(id).iter().enumerate() {
                let (mut bytes, mut next) = (0, queue.head);
                while next != PacketId::NONE {
                    bytes += u32::from(self.core.packets.get(next).wire);
                    next = self.core.packets.get(next).next;
                }
                assert_eq!(bytes, queue.bytes, "port {id} class {class}: bytes of the queue");
                let is_held = (self.switches).holds_back(&self.world, &self.core, id, class as u8);
                assert_eq!(
                    queue.head != PacketId::NONE && !is_held,
                    port.ready >> class & 1 == 1,
                    "port {id} class {class}: ready bit"
                );
                total += bytes;
            }
            assert_eq!(total, port.queued, "port {id}: bytes of all queues");
        }
    }
}
