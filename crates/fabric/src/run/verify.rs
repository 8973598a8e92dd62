//! Invariants, checked while a run goes when it asks for that.

use crate::host::qp::Qp;
use crate::ids::{FlowId, PacketId, SwitchId};
use crate::outcome::FlowStatus;
use crate::run::simulation::Simulation;
use crate::spec::Awaited;
use crate::world::classes::STRICT;
use paceline_kernel::ids::{Id, List};

impl Simulation {
    /// Checks every invariant of the present state; of one part of a run that is cut, those that it can know.
    ///
    /// # Panics
    /// If one is broken: a defect of the simulator, never of its input.
    pub fn verify(&self) {
        self.verify_queues();
        // Nothing accounts for buffers there, and flows carry several messages.
        if self.kind.is_own() {
            if !self.world.quirks.lost_bytes_stay || self.world.changes.is_empty() {
                self.verify_buffers();
            }
            self.verify_flows();
        }
        self.switches.verify_assists(&self.core);
        self.hosts.verify_crowds();
        self.hosts.verify_decisions();
        if self.core.agenda.queue.is_empty() && self.core.share.is_none() {
            assert_eq!(
                self.core.packets.live(),
                self.packets_in_standstill(),
                "packets that nothing will ever move, not behind a pause that never ends"
            );
        }
    }

    /// Each queue holds the bytes that it says, and the ports' masks and sums agree.
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
                assert_eq!(
                    queue.head != PacketId::NONE,
                    port.ready >> class & 1 == 1,
                    "port {id} class {class}: ready bit"
                );
                total += bytes;
            }
            assert_eq!(total, port.queued, "port {id}: bytes of all queues");
        }
    }

    /// What came in and has not gone out is in the queues, and the pool knows its share.
    fn verify_buffers(&self) {
        let mut held: List<SwitchId, u64> = List::of(self.switches.buffers.len(), 0);
        let (mut counted, mut shared) = (held.clone(), held.clone());
        for (id, port) in self.core.ports.numbered().filter(|(_, port)| !port.is_host) {
            let switch = port.switch();
            for queue in &self.core.queues.row(id)[usize::from(STRICT) + 1..] {
                held[switch] += u64::from(queue.bytes);
                counted[switch] += u64::from(queue.ingress) + u64::from(queue.headroom);
                shared[switch] += u64::from(self.switches.rules.shared_of(queue));
            }
        }
        for switch in self.switches.buffers.ids() {
            assert_eq!(
                held[switch], counted[switch],
                "switch {switch}: bytes held against bytes counted at ingress"
            );
            assert_eq!(
                shared[switch],
                u64::from(self.switches.buffers[switch].shared_used),
                "switch {switch}: shared pool"
            );
        }
    }

    /// What has arrived of a flow lies between what was acknowledged and what was sent.
    fn verify_arrived(&self, qp: &Qp) {
        let flow = qp.flow;
        let arrived = self.hosts.receivers.arrived_of(flow).unwrap_or_else(|| {
            let record = self.traffic.flows.get(flow);
            record.map_or(0, |record| record.received.map_or(0, |_| record.delivered.get()))
        });
        assert!(
            qp.snd_una <= arrived || self.world.nic.back_to_chunk.is_some(),
            "flow {flow}: acknowledged beyond what arrived"
        );
        assert!(
            arrived <= qp.max_sent,
            "flow {flow}: arrived beyond what was sent"
        );
    }

    /// Senders and receivers agree on what can be known: nothing is acknowledged that did not
    /// arrive, nothing arrived that was not sent.
    fn verify_flows(&self) {
        for (slot, qp) in self.hosts.qps.numbered().filter(|(_, qp)| !qp.done) {
            let flow = qp.flow;
            if self.core.has(self.world.flow(&self.core, flow).dst) {
                self.verify_arrived(qp);
            }
            qp.verify();
            self.hosts.verify_selective_repeat(&self.world, slot);
            assert!(
                (qp.snd_una <= qp.snd_nxt || self.world.quirks.unsigned_in_flight) && qp.snd_nxt <= qp.size,
                "flow {flow}: sequence numbers in order"
            );
        }
        for dependency in &self.world.spec.dependencies {
            let (record, before) = (
                &self.traffic.flows[FlowId(dependency.flow)],
                &self.traffic.flows[FlowId(dependency.after)],
            );
            let happened = match dependency.awaited {
                Awaited::Started => (before.status != FlowStatus::NotStarted).then_some(before.start),
                Awaited::Received => before.received,
                Awaited::Acknowledged => {
                    (before.status == FlowStatus::Completed).then(|| before.start + before.fct)
                }
            };
            assert!(
                record.status == FlowStatus::NotStarted
                    || happened.is_some_and(|at| at + dependency.delay <= record.start),
                "flow {}: it started before what it waits for",
                dependency.flow
            );
        }
        for (i, record) in self.traffic.flows.listed().iter().enumerate() {
            if record.status == FlowStatus::Completed && self.core.share.is_none() {
                assert_eq!(
                    record.delivered, self.world.spec.flows[i].size,
                    "flow {i}: every byte delivered, none twice"
                );
                assert!(
                    record.fct >= record.ideal || !self.bounds_completion(),
                    "flow {i}: done after {}, sooner than alone after {}",
                    record.fct,
                    record.ideal
                );
            }
        }
    }
}
