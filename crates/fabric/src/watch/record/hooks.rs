//! Events of the core, as recorders follow them.

use paceline_kernel::ids::List;
use paceline_kernel::{Bytes, Time};

use crate::core::Core;
use crate::ids::{FlowId, PacketId, PortId};
use crate::watch::probe::Sight;
use crate::world::World;
use crate::world::classes::STRICT;
use paceline_run::outcome::{PortRef, QueueDump, TraceKind};

impl Core {
    /// Records the latency of a data packet at its receiver, unless it was trimmed.
    pub(crate) fn record_latency(&mut self, id: PacketId) {
        let (packet, now) = (self.packets.get(id), self.now());
        if let Some(latency) = &mut self.watch.recorder.latency
            && !packet.is_trimmed()
        {
            latency.record(now - packet.sent_at);
        }
    }

    /// Traces an event of a packet at a port.
    #[cold]
    pub(crate) fn trace(
        &mut self,
        world: &World,
        port: PortId,
        event: TraceKind,
        id: PacketId,
        queue_bytes: u32,
    ) {
        if self.watch.flow_probes.on() {
            self.look(port, event, id, queue_bytes);
        }
        if self.watch.probes.on() {
            self.show(world, port, Sight::Packet(id, event));
        }
        let node = self.ports[port].node;
        self.watch.recorder.trace(
            self.now(),
            node,
            port,
            event,
            self.packets.get(id),
            queue_bytes,
            &world.classes,
            &world.spec,
        );
    }
}

impl Core {
    /// Takes the samples of the queues that are no events and are due before the event at `at`.
    pub(crate) fn sample_queues_until(&mut self, world: &World, at: u64, all_done: bool) {
        while self.watch.recorder.queues_due <= at {
            let due = self.watch.recorder.queues_due;
            let next = self.sample_queues(world, due, all_done);
            self.watch.recorder.queues_due = next.unwrap_or(u64::MAX);
        }
    }

    /// Samples the queue of every switch port at `at`. Returns the time of the next sample.
    pub(crate) fn sample_queues(&mut self, world: &World, at: u64, all_done: bool) -> Option<u64> {
        let recorder = &mut self.watch.recorder;
        let number = recorder.samples;
        recorder.samples += 1;
        for (record, &port) in recorder.queues.iter_mut().zip(&recorder.sampled) {
            let bytes: u32 = if self.ports[port].queued == 0 {
                0
            } else {
                // Only what the buffer accounts for: no PFC frames, no priority 0.
                self.queues.row(port)[usize::from(STRICT) + 1..]
                    .iter()
                    .map(|q| q.bytes)
                    .sum()
            };
            let bin = bytes as usize / 1000;
            if record.histogram_kb.len() <= bin {
                record.histogram_kb.resize(bin + 1, 0);
            }
            record.histogram_kb[bin] += 1;
            record.max = record.max.max(Bytes::new(u64::from(bytes)));
            record.sum += u128::from(bytes);
            recorder.room.sample(&mut record.series, number, u64::from(bytes));
        }
        // All ports share one memory budget, so the longest series are thinned.
        if recorder.room.is_exceeded() {
            let all = recorder.queues.iter_mut().map(|queue| &mut queue.series);
            recorder.room.thin(all.collect());
        }
        let spec = &world.spec.record;
        if spec
            .queue_dump_every
            .is_some_and(|every| at.is_multiple_of(every.as_ps().max(1)))
        {
            let histograms_kb = recorder
                .queues
                .iter()
                .map(|queue| queue.histogram_kb.clone())
                .collect();
            recorder.queue_dumps.push(QueueDump {
                at: Time::from_ps(at),
                histograms_kb,
            });
        }
        let every = spec.queue_every?.as_ps().max(1);
        let over = all_done && spec.queue_dump_every.is_none();
        (at < spec.queue_window.1.as_ps() && !over).then_some(at + every)
    }
}

impl Core {
    /// Records the round-trip time of an acknowledgement of a queue pair, which is named by its first flow.
    pub(crate) fn record_rtt_of(&mut self, flow: FlowId, rtt: u64) {
        self.watch.recorder.flows.heard(flow, rtt);
    }

    /// Records newly acknowledged bytes of a flow.
    pub(crate) fn record_goodput(&mut self, world: &World, flow: FlowId, newly_acked: u64) {
        if newly_acked > 0 && world.spec.record.rate_every.is_some() {
            self.watch.recorder.record_rate(flow, self.now(), newly_acked);
        }
    }
}

impl Core {
    /// Takes the samples of the ports that are due before the event at `at`. `is_over`: all flows have completed and no
    /// packet is left, so that only timers without a flow remain.
    pub(crate) fn sample_ports_until(&mut self, at: u64, is_over: bool) {
        while self.watch.recorder.ports.due <= at {
            let recorder = &mut self.watch.recorder.ports;
            if is_over {
                let now = recorder.due;
                recorder.close(now, &mut self.ports);
                recorder.due = u64::MAX;
            } else {
                recorder.sample(&mut self.ports);
            }
        }
    }

    /// Closes the current bin. Unless the run `is_over`, it is cut off there.
    pub(crate) fn close_ports(&mut self, is_over: bool) {
        let now = self.now();
        let recorder = &mut self.watch.recorder.ports;
        if recorder.due != u64::MAX {
            recorder.close(now, &mut self.ports);
            if !is_over {
                recorder.scale_last(now);
            }
            recorder.due = u64::MAX;
        }
    }

    /// Returns a port as results name it.
    pub(crate) fn port_ref(&self, port: PortId) -> PortRef {
        PortRef {
            node: self.ports[port].node,
            interface: self.watch.recorder.interface(port),
            peer: self.ports[self.ports[port].peer].node,
        }
    }

    /// Returns every port as results name it.
    pub(crate) fn port_refs(&self) -> List<PortId, PortRef> {
        self.ports.ids().map(|port| self.port_ref(port)).collect()
    }
}
