//! Observation of hosts: before anything changes the reason why a sender waits, the time until then is accounted.

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{PacketId, PortId, QpId};
use paceline_kernel::prefetch::prefetch_all;
use paceline_run::outcome::{PacketKind, TraceKind};

impl Hosts {
    /// Prefetches the queue pair or receiver of a packet that will arrive.
    #[inline(always)]
    pub(crate) fn prefetch(&self, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => self.receivers.prefetch(packet.flow),
            _ => self.qps.prefetch_all(packet.qp),
        }
    }

    /// Prefetches the state of a scheme to which a packet that is about to arrive brings feedback.
    #[inline(always)]
    pub(crate) fn prefetch_scheme(&self, packet: &Packet) {
        if packet.kind != PacketKind::Data
            && let Some(qp) = self.qps.get(packet.qp)
        {
            prefetch_all(&*qp.scheme);
        }
    }

    /// Takes the sample of flows that is due before the event at `at`.
    pub(crate) fn sample(&self, core: &mut Core, at: u64) {
        core.watch.recorder.flows.sample_until(at, &self.qps);
    }

    /// Traces an event of a packet at a port. At a host's port, the waiting time of senders is accounted first.
    #[cold]
    pub(crate) fn trace(
        &self,
        cx: &mut Cx<'_>,
        port: PortId,
        event: TraceKind,
        id: PacketId,
        queue_bytes: u32,
    ) {
        let (packet, is_host) = (*cx.core.packets.get(id), cx.core.ports[port].is_host);
        match event {
            _ if !is_host => {}
            TraceKind::Receive => self.trace_answer(cx, id),
            TraceKind::Dequeue if cx.core.watch.flow_probes.on() => {
                // The departing packet has kept the other senders of this NIC waiting until now.
                let others: Vec<QpId> = cx.core.watch.flow_probes.others(packet.flow).collect();
                for qp in others.into_iter().map(|slot| &self.qps[slot]) {
                    if qp.data.port == port {
                        cx.core.settle(qp);
                    }
                }
            }
            TraceKind::Dequeue | TraceKind::Enqueue | TraceKind::Drop => {}
        }
        cx.core.trace(cx.world, port, event, id, queue_bytes);
    }

    /// Accounts a sender's time up to now, before feedback changes what it waits for.
    pub fn trace_answer(&self, cx: &mut Cx<'_>, id: PacketId) {
        let packet = cx.core.packets.get(id);
        let answers = matches!(
            packet.kind,
            PacketKind::Ack | PacketKind::Nack | PacketKind::Cnp | PacketKind::Signal
        );
        let Some(qp) = self
            .qps
            .get(packet.qp)
            .filter(|qp| answers && (qp.flow == packet.flow || qp.is_connection()))
        else {
            return;
        };
        if cx.core.watch.accounts.on() {
            cx.core.settle(qp);
        }
        if cx.core.watch.flow_probes.on() {
            cx.core.observe_answer(cx.world, qp, id);
        }
    }

    /// Accounts the time of all flows of a port that is about to be paused or resumed.
    pub(crate) fn settle_port(&self, core: &mut Core, port: PortId, class: u8, pause: bool) {
        if pause {
            core.watch.accounts.pause_begins();
        }
        if core.watch.flow_probes.on() {
            core.observe_pause(port, class, pause);
        }
        // A pause at a switch delays packets, not senders.
        if !core.watch.accounts.on() || !core.ports[port].is_host {
            return;
        }
        let nic = core.ports[port].nic();
        for slot in self.scheduler.live(nic) {
            core.settle(&self.qps[slot]);
        }
    }

    /// Accounts the time of all flows up to now.
    pub(crate) fn settle_all(&self, core: &mut Core) {
        if core.watch.accounts.on() {
            self.qps.iter().for_each(|qp| core.settle(qp));
        }
    }
}
