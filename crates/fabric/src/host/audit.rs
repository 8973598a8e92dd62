//! Invariants and fingerprints of senders and receivers, and a sender's next packet as a probe.

use crate::core::Core;
use crate::core::packet::Packet;
use crate::core::print::{Part, StateHash};
use crate::host::Hosts;
use crate::host::qp::Qp;
use crate::host::queue_pairs::has_drawn;
use crate::host::receivers::Receiver;
use crate::ids::{FlowId, NicId, QpId};
use crate::traffic::Traffic;
use crate::world::World;

impl Hosts {
    /// Checks that the bytes that arrived lie between those acknowledged and those sent.
    fn verify_arrived(&self, world: &World, traffic: &Traffic, qp: &Qp) {
        let flow = qp.flow;
        let arrived = self.receivers.arrived_of(flow).unwrap_or_else(|| {
            let record = traffic.record(flow);
            let received = record.filter(|record| record.received.is_some() && !qp.is_connection());
            received.map_or(0, |record| record.delivered.get())
        });
        assert!(
            qp.progress.snd_una <= arrived || world.nic.back_to_chunk.is_some(),
            "flow {flow}: acknowledged beyond what arrived"
        );
        assert!(
            arrived <= qp.progress.max_sent,
            "flow {flow}: arrived beyond what was sent"
        );
    }

    /// Checks that senders and receivers agree: nothing is acknowledged that did not arrive, and nothing arrived that
    /// was not sent.
    pub(crate) fn verify_flows(&self, world: &World, core: &Core, traffic: &Traffic) {
        for (slot, qp) in self.qps.numbered().filter(|(_, qp)| !qp.done) {
            let flow = qp.flow;
            // In a cut run, the receiver may be in another part.
            if core.has(world.flow(core, flow).dst) {
                self.verify_arrived(world, traffic, qp);
            }
            qp.verify();
            qp.verify_messages(world.packet.mtu.get());
            self.verify_recovery(world, slot);
            assert!(
                (qp.progress.snd_una <= qp.progress.snd_nxt || world.quirks.unsigned_in_flight)
                    && qp.progress.snd_nxt <= qp.progress.size,
                "flow {flow}: sequence numbers in order"
            );
        }
    }

    /// Checks the NICs' schedules against their queue pairs.
    pub(crate) fn verify_schedule(&self) {
        self.scheduler.verify(&self.qps);
    }

    /// Notes the state of NICs. Returns false if a flow is under way or a NIC is to wake.
    pub(crate) fn are_at_rest(&self, print: &mut StateHash) -> bool {
        print.begin(Part::Nics);
        self.shared.is_empty()
            && self
                .scheduler
                .nics
                .iter()
                .all(|nic| nic.is_at_rest(&self.qps, print))
    }

    /// Notes NICs, senders and receivers, or returns why they cannot be compared.
    pub(crate) fn note(&self, world: &World, print: &mut StateHash) -> Result<(), &'static str> {
        let reasons = [
            (
                !self.shared.is_empty(),
                "queue pairs share a state of their scheme",
            ),
            (
                !self.receivers.late.is_empty(),
                "receivers forget flows and take their packets again",
            ),
            (
                !self.repeats.is_empty() || !self.ruds.is_empty(),
                "senders remember which packets were acknowledged (selective repeat)",
            ),
        ];
        if let Some((_, why)) = reasons.into_iter().find(|&(is_so, _)| is_so) {
            return Err(why);
        }
        print.begin(Part::Nics);
        for nic in &self.scheduler.nics {
            nic.note(&self.qps, print);
        }
        print.begin(Part::Senders);
        for slot in self.live_senders() {
            let qp = &self.qps[slot];
            if qp.is_connection() {
                return Err("messages share the queue pair of a connection");
            }
            // The positions of senders' streams are not compared, so equal states could draw different numbers.
            if has_drawn(world, qp) {
                return Err("senders draw random numbers");
            }
            qp.note(print);
        }
        // Slots depend on the order in which flows came and went, so receivers are noted by flow.
        let mut receivers: Vec<&Receiver> = self.receivers.iter().collect();
        receivers.sort_unstable_by_key(|receiver| receiver.flow);
        print.begin(Part::Receivers);
        for receiver in receivers {
            receiver.note(print);
        }
        Ok(())
    }

    /// Returns true if this wake-up of a NIC is the one that counts.
    pub(crate) fn is_armed(&self, nic: NicId, generation: u32) -> bool {
        let nic = &self.scheduler.nics[nic];
        nic.wake_generation == generation && nic.wake_at != u64::MAX
    }

    /// Returns the number of slots: the most queue pairs that existed at a time.
    pub(crate) fn queue_pairs(&self) -> usize {
        self.qps.len()
    }

    /// Returns true if packets of a flow are still expected.
    pub(crate) fn is_receiving(&self, flow: FlowId) -> bool {
        self.receivers.find(flow).is_some()
    }

    /// Returns true if idle hosts have no state but what [`Self::are_at_rest`] notes.
    pub(crate) fn forget_what_is_over(&self) -> bool {
        self.endpoints.is_none() && !self.scheduler.has_turns()
    }

    /// Returns the next data packet of a sender, as its NIC would build it; a full one after the last.
    pub(crate) fn probe(&self, world: &World, slot: QpId) -> Packet {
        let qp = &self.qps[slot];
        let mtu = world.packet.mtu.get();
        let payload = match qp.progress.size - qp.progress.snd_nxt {
            0 => mtu,
            left => left.min(mtu),
        } as u16;
        Packet {
            flow: qp.flow,
            qp: slot,
            path: qp.data.route,
            seq: qp.progress.snd_nxt,
            wire: payload + qp.data_header + qp.first_header(world, qp.progress.snd_nxt),
            payload,
            epoch: qp.data.epoch,
            class: qp.class,
            flags: Packet::ACK_REQUEST,
            answers: self.next_number(world, slot),
            ..Packet::EMPTY
        }
    }
}
