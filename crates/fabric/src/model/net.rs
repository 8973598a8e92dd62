//! Parts of a run that a model may use, and the records that it may make.

use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::port::debit;
use crate::host::Hosts;
use crate::ids::{FlowId, PacketId, PortId};
use crate::switch::Switches;
use crate::traffic::Traffic;
use paceline_run::outcome::{PacketKind, TraceEvent, TraceKind};

/// Parts of a run that the events at its ports and hosts need.
pub struct Net<'a> {
    /// Constant data, clock, packets and ports.
    pub cx: Cx<'a>,
    /// Buffers of this crate's switches.
    pub switches: &'a mut Switches,
    /// NICs, queue pairs and receivers.
    pub hosts: &'a mut Hosts,
    /// Flows and their results.
    pub traffic: &'a mut Traffic,
}

impl Net<'_> {
    /// Records an event of a packet, if that is requested.
    pub fn trace(&mut self, port: PortId, event: TraceKind, id: PacketId, queue_bytes: u32) {
        self.hosts.trace(&mut self.cx, port, event, id, queue_bytes);
    }

    /// Removes the first packet of a queue, which must have one.
    pub fn take_from(&mut self, port: PortId, class: u8) -> PacketId {
        let queue = &mut self.cx.core.queues[(port, class)];
        let (id, packet) = queue.pop(&self.cx.core.packets);
        let (wire, empty) = (u32::from(packet.wire), queue.head == PacketId::NONE);
        let p = &mut self.cx.core.ports[port];
        p.ready &= !(u16::from(empty) << class);
        debit(&mut p.queued, wire);
        id
    }

    /// Frees a packet that will not arrive.
    pub fn discard(&mut self, port: PortId, id: PacketId) {
        self.cx.core.forget(self.cx.world, port, id);
    }
}

/// Records that models make.
impl Net<'_> {
    /// Returns the number of a port's interface at its node, from 1 in the order of links.
    pub fn interface(&self, port: PortId) -> u32 {
        self.cx.core.watch.recorder.interface(port)
    }

    /// Records that a port has marked a packet.
    #[inline]
    pub fn record_mark(&mut self, port: PortId) {
        self.cx.core.watch.recorder.ports.marked(port);
    }

    /// Records bytes of a flow that have arrived or were acknowledged.
    pub fn record_rate(&mut self, flow: FlowId, bytes: u64) {
        let now = self.cx.core.now();
        self.cx.core.watch.recorder.record_rate(flow, now, bytes);
    }

    /// Records that a port waits from now on, for credits or because of a pause, or no longer waits.
    pub fn record_wait(&mut self, port: PortId, waits: bool) {
        let now = self.cx.core.now();
        self.cx.core.watch.recorder.ports.paused(port, waits, now);
    }

    /// Returns true if the cause of a port's wait is to be recorded.
    pub fn asks_why(&self, port: PortId) -> bool {
        self.cx.core.watch.recorder.ports.asks_why(port)
    }

    /// Records that a port's packets wait for `output`.
    pub fn record_behind(&mut self, port: PortId, output: PortId) {
        let recorder = &mut self.cx.core.watch.recorder;
        let interface = recorder.interface(output);
        recorder.ports.stands_behind(port, interface);
    }

    /// Records an event of a trace, if events at this port and time are requested.
    pub fn keep_trace(&mut self, port: PortId, event: TraceEvent) {
        let now = self.cx.core.now();
        let recorder = &mut self.cx.core.watch.recorder;
        if recorder.traces(port, now) {
            recorder.trace.push(event);
        }
    }
}

impl Core {
    /// Counts a packet that is sent without [`Core::start_transmission`].
    #[inline(always)]
    pub fn count_packet(&mut self, kind: PacketKind, wire: u16) {
        self.agenda.count(kind, wire);
    }

    /// Reserves positions among the events of an instant, after all that were given so far: see
    /// [`Core::schedule_tied`]. Returns the first of them.
    #[inline]
    pub fn reserve_ties(&mut self, indices: u64) -> u64 {
        self.agenda.reserve(indices)
    }

    /// Returns true if packets are traced.
    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.watch.recorder.tracing
    }

    /// Returns true if accounts alone have to see answers before senders react; a trace would show them too.
    #[inline]
    pub fn accounts_alone(&self) -> bool {
        self.watch.accounts_alone()
    }

    /// Returns the bytes in a queue.
    #[inline]
    pub fn queue_bytes(&self, port: PortId, class: u8) -> u32 {
        self.queues[(port, class)].bytes
    }

    /// Appends a packet to a queue without recording it.
    pub fn append(&mut self, port: PortId, class: u8, id: PacketId) {
        self.queues[(port, class)].push(&mut self.packets, id);
        let p = &mut self.ports[port];
        p.ready |= 1 << class;
        p.queued += u32::from(self.packets.get(id).wire);
    }

    /// Takes the samples of detectors' states that are due before the event at `at`.
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
