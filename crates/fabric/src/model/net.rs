//! What a model is lent, and what it writes down.

use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::core::port::debit;
use crate::host::Hosts;
use crate::ids::{FlowId, PacketId, PortId};
use crate::switch::Switches;
use crate::traffic::Traffic;
use crate::world::World;
use paceline_run::outcome::{PacketKind, TraceEvent, TraceKind};

/// What a run lends to its network: what happens at ports and hosts needs no more.
pub struct Net<'a> {
    /// What does not change.
    pub world: &'a World,
    /// Clock, packets, ports.
    pub core: &'a mut Core,
    /// Switches.
    pub switches: &'a mut Switches,
    /// NICs, queue pairs, receivers.
    pub hosts: &'a mut Hosts,
    /// Flows.
    pub traffic: &'a mut Traffic,
}

impl Net<'_> {
    /// Writes down what happens to a packet, where that is asked for.
    pub fn trace(&mut self, port: PortId, event: TraceKind, id: PacketId, queue_bytes: u32) {
        self.hosts
            .trace(self.world, self.core, port, event, id, queue_bytes);
    }

    /// Takes the first packet of a queue that has one.
    pub fn take_from(&mut self, port: PortId, class: u8) -> PacketId {
        let queue = &mut self.core.queues[(port, class)];
        let (id, packet) = queue.pop(&self.core.packets);
        let (wire, empty) = (u32::from(packet.wire), queue.head == PacketId::NONE);
        let p = &mut self.core.ports[port];
        p.ready &= !(u16::from(empty) << class);
        debit(&mut p.queued, wire);
        id
    }

    /// Frees a packet that will not arrive.
    pub fn discard(&mut self, port: PortId, id: PacketId) {
        self.core.forget(self.world, port, id);
    }
}

/// What is written down of what happens.
impl Net<'_> {
    /// The number of a port's interface at its node, from 1 in the order of links.
    pub fn interface(&self, port: PortId) -> u32 {
        self.core.watch.recorder.interface(port)
    }

    /// A port has marked a packet.
    #[inline]
    pub fn record_mark(&mut self, port: PortId) {
        self.core.watch.recorder.ports.marked(port);
    }

    /// So much of a flow has come, or been acknowledged.
    pub fn record_rate(&mut self, flow: FlowId, bytes: u64) {
        let now = self.core.now();
        self.core.watch.recorder.record_rate(flow, now, bytes);
    }

    /// Whether a port waits for credits, or is paused, from now on.
    pub fn record_wait(&mut self, port: PortId, waits: bool) {
        let now = self.core.now();
        self.core.watch.recorder.ports.paused(port, waits, now);
    }

    /// Whether it is to be told behind which port a port's packets stand.
    pub fn asks_why(&self, port: PortId) -> bool {
        self.core.watch.recorder.ports.asks_why(port)
    }

    /// They stand behind this one.
    pub fn record_behind(&mut self, port: PortId, output: PortId) {
        let recorder = &mut self.core.watch.recorder;
        let interface = recorder.interface(output);
        recorder.ports.stands_behind(port, interface);
    }

    /// Keeps an event of a trace, if such at this port and now are to be kept.
    pub fn keep_trace(&mut self, port: PortId, event: TraceEvent) {
        let now = self.core.now();
        let recorder = &mut self.core.watch.recorder;
        if recorder.traces(port, now) {
            recorder.trace.push(event);
        }
    }
}

impl Core {
    /// Counts a packet that goes on a wire without [`Core::start_transmission`].
    #[inline(always)]
    pub fn count_packet(&mut self, kind: PacketKind, wire: u16) {
        self.agenda.count(kind, wire);
    }

    /// Keeps so many places free among the events of an instant, behind all that were given so far: see
    /// [`Core::schedule_tied`]. Returns the first of them.
    #[inline]
    pub fn reserve_ties(&mut self, places: u64) -> u64 {
        self.agenda.reserve(places)
    }

    /// Whether packets are traced.
    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.watch.recorder.tracing
    }

    /// Whether accounts, and no traces, are to be told what senders are about to learn.
    #[inline]
    pub fn accounts_alone(&self) -> bool {
        self.watch.accounts_alone()
    }

    /// Bytes in a queue.
    #[inline]
    pub fn queue_bytes(&self, port: PortId, class: u8) -> u32 {
        self.queues[(port, class)].bytes
    }

    /// Appends a packet to a queue of which nobody writes down what comes into it.
    pub fn append(&mut self, port: PortId, class: u8, id: PacketId) {
        self.queues[(port, class)].push(&mut self.packets, id);
        let p = &mut self.ports[port];
        p.ready |= 1 << class;
        p.queued += u32::from(self.packets.get(id).wire);
    }

    /// Takes the samples of what detectors find ports to be that are due before the event at `at`.
    pub fn sample_classes(&mut self, at: u64, is_over: bool, state: impl Fn(PortId, u8) -> u64) {
        let recorder = &mut self.watch.recorder.states;
        while recorder.due() <= at {
            recorder.sample(is_over, |port, class, _| state(port, class));
        }
    }

    /// Takes the samples of lanes' credits that are due before the event at `at`.
    pub fn sample_lanes(&mut self, at: u64, is_over: bool, credits: impl Fn(PortId, u8) -> u64) {
        let recorder = &mut self.watch.recorder.credits;
        while recorder.due() <= at {
            recorder.sample(is_over, |port, lane, _| credits(port, lane));
        }
    }
}
