//! Sending hosts: messages become packets, which queue for the host's arbiter.
//!
//! Without congestion control, a host creates a packet whenever it can. With it, a host creates packets at its pace,
//! and a turn is lost if there is no message or no room in the queue.

use paceline_congestion::rrcc::omnet as rrcc;
use paceline_fabric::model::{FlowId, Net, NicId, Packet, PacketId, PortId};
use paceline_fabric::outcome::PacketKind;
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span, Time};

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::host::Pace;
use crate::ib_omnet::outcome::CreditStep;
use crate::ib_omnet::spec::Control;
use crate::ib_omnet::step::Step;

impl InfiniBand {
    /// Starts a source. Its first message follows after the gap.
    pub(super) fn start(&mut self, net: &mut Net<'_>, source: u32) {
        self.made(net, source);
    }

    /// Schedules the next message after the gap, once all packets of the previous one have been created.
    pub(super) fn made(&mut self, net: &mut Net<'_>, source: u32) {
        let spec = self.spec.sources[source as usize];
        let next = self.sources[source as usize].next;
        let at = net.cx.core.now() + spec.gap.as_ps();
        if next >= spec.count || spec.until.is_some_and(|until| at >= until.as_ps()) {
            // Messages that are never sent must not keep the run going.
            self.open -= u64::from(spec.count - next);
            self.sources[source as usize].next = spec.count;
            return;
        }
        self.after(net, LaneId::WHEEL, spec.gap.as_ps(), Step::Message { source });
    }

    /// Starts the next message of a source.
    pub(super) fn message(&mut self, net: &mut Net<'_>, number: u32) {
        let source = &mut self.sources[number as usize];
        let (message, host) = (source.next, source.host);
        let flow = FlowId(self.spec.sources[number as usize].first + message);
        let size = net.cx.world.flow(net.cx.core, flow).size;
        source.next += 1;
        (source.current, source.made) = (Some(flow), 0);
        source.packets = size.get().div_ceil(net.cx.world.packet.mtu.get()) as u32;
        let is_first = !std::mem::replace(&mut source.begun, true);
        let (packets, switches) = (u64::from(source.packets), u64::from(source.switches.unwrap_or(0)));
        net.traffic.start(&mut net.cx, flow);
        net.traffic.record_mut(flow).ideal = self.alone(net, host, packets, switches);
        let (port, making) = (self.hosts[host].port, self.hosts[host].making);
        if self.accounts.is_on() {
            self.accounts.starts(flow, port, net.cx.core.now());
        }
        if self.record.is_on() {
            self.write(net, port, CreditStep::Message { flow: flow.0 });
        }
        if !self.hosts[host].controlled {
            if !making {
                self.make(net, host);
            }
        } else if is_first {
            self.pace(net, host);
        }
    }

    /// Returns the latency of a message in an empty network, without flow control.
    fn alone(&self, net: &Net<'_>, host: NicId, packets: u64, switches: u64) -> Span {
        let port = &net.cx.core.ports[self.hosts[host].port];
        let wire = net.cx.world.profiles[port.profile]
            .rate
            .time_to_send(net.cx.world.packet.mtu);
        let hop = self.spec.input_delay.as_ps() + self.spec.output_delay.as_ps();
        let packet = self.spec.host_packet.max(wire).as_ps();
        Span::from_ps(self.spec.host_packet.as_ps() + (packets - 1) * packet + switches * hop)
    }

    /// Creates the next packet of a host without congestion control.
    pub(super) fn make_again(&mut self, net: &mut Net<'_>, host: NicId) {
        self.hosts[host].making = false;
        self.make(net, host);
    }

    /// Creates a packet at the host's pace, and schedules the next turn.
    pub(super) fn pace(&mut self, net: &mut Net<'_>, host: NicId) {
        self.make(net, host);
        if self.open > 0 {
            let delay = ps(self.hosts[host].interval_ns);
            self.after(net, LaneId::WHEEL, delay, Step::Pace { host });
        }
    }

    /// Creates a packet if the host has a message and room in its queue.
    fn make(&mut self, net: &mut Net<'_>, number: NicId) {
        let host = &self.hosts[number];
        let Some(source) = self.sources.get_mut(host.source as usize) else {
            return;
        };
        let Some(flow) = source.current else { return };
        // Without room, a host with a pace loses its turn; others try again after the next grant.
        if host.queue.len() >= self.spec.host_queue as usize {
            return;
        }
        let packet = Packet {
            flow,
            seq: u64::from(source.made),
            note: number.0,
            answers: source.to.0,
            ..full_packet(net, PacketKind::Data)
        };
        source.made += 1;
        let is_last = source.made == source.packets;
        if is_last {
            source.current = None;
        }
        let number_of_source = host.source;
        let id = net.cx.core.packets.insert(packet);
        self.queue(net, number, id);
        if is_last {
            self.hand_on(Step::Made {
                source: number_of_source,
            });
        }
        let packet_time = self.spec.host_packet;
        let host = &mut self.hosts[number];
        match (&host.pace, self.spec.control) {
            _ if !host.controlled => {
                host.making = true;
                let events = self.events.host_packet;
                self.after(net, events, packet_time.as_ps(), Step::Make { host: number });
            }
            (Pace::Ibcc(sender), Control::Ibcc(params)) => {
                host.interval_ns = sender.interval_ns(&params, packet_time.as_ns_f64());
            }
            _ => {}
        }
    }

    /// Passes a packet to the arbiter, or queues it.
    pub(super) fn queue(&mut self, net: &mut Net<'_>, number: NicId, id: PacketId) {
        let port = self.hosts[number].port;
        if self.accounts.is_on() {
            self.account_made(net, port, id);
        }
        let p = &mut net.cx.core.ports[port];
        p.queued += u32::from(net.cx.core.packets.get(id).wire);
        p.queue_max = p.queue_max.max(p.queued);
        if self.hosts[number].queue.is_empty() && self.promise(port) {
            self.inject(net, number, id);
        } else {
            self.hosts[number].queue.push_back(id);
        }
    }

    /// Reserves the arbiter's slot. Returns true if it was free.
    fn promise(&mut self, port: PortId) -> bool {
        let lane = &mut self.lanes[(port, 0)];
        let is_free = lane.filled | lane.promised == 0;
        lane.promised = 1;
        is_free
    }

    /// Sends a packet to the arbiter.
    fn inject(&mut self, net: &mut Net<'_>, number: NicId, id: PacketId) {
        let delay = self.spec.host_packet.as_ps();
        let host = &mut self.hosts[number];
        let port = host.port;
        let is_first = !std::mem::replace(&mut host.has_sent, true);
        let packet = net.cx.core.packets.get(id);
        if packet.kind == PacketKind::Data && packet.seq == 0 {
            let at = Time::from_ps(net.cx.core.now() + delay);
            self.record.injected(packet.flow, at);
        }
        let events = self.events.host_packet;
        self.after(net, events, delay, Step::ToSlot { port, packet: id });
        if is_first && self.hosts[number].controlled {
            self.start_lowering(net, number);
        }
    }

    /// Sends the next packet to the arbiter after a grant.
    #[inline(always)]
    pub(super) fn host_gone(&mut self, net: &mut Net<'_>, number: NicId) {
        let host = &mut self.hosts[number];
        if host.queue.is_empty()
            || self.lanes[(host.port, 0)].filled | self.lanes[(host.port, 0)].promised != 0
        {
            return;
        }
        // Promised at once: no second packet may leave while this one is on its way to the slot.
        self.lanes[(host.port, 0)].promised = 1;
        let Some(id) = host.queue.pop_front() else { return };
        let starts = !host.controlled && !host.making;
        self.inject(net, number, id);
        // The packet has left room in the queue, so an uncontrolled host creates the next one.
        if starts {
            self.hosts[number].making = true;
            let (events, delay) = (self.events.host_packet, self.spec.host_packet.as_ps());
            self.after(net, events, delay, Step::Make { host: number });
        }
    }

    /// Starts the timer that lowers the IBCC index.
    fn start_lowering(&mut self, net: &mut Net<'_>, host: NicId) {
        if let Control::Ibcc(params) = self.spec.control {
            let delay = params.timer.as_ps();
            self.after(net, LaneId::WHEEL, delay, Step::Lower { host });
        }
    }

    /// Lowers the IBCC index at the timer's expiry, and restarts the timer.
    pub(super) fn lower(&mut self, net: &mut Net<'_>, host: NicId) {
        if let Pace::Ibcc(sender) = &mut self.hosts[host].pace {
            sender.expired();
        }
        if self.open > 0 {
            self.start_lowering(net, host);
        }
    }

    /// Applies a notification to a sender's rate.
    pub(super) fn notified(&mut self, net: &mut Net<'_>, number: NicId, id: PacketId) {
        let packet = *net.cx.core.packets.get(id);
        net.cx.core.packets.remove(id);
        net.cx.core.counters.notifications += 1;
        let bits = bits_of(net.cx.world.packet.mtu);
        let packet_ns = self.spec.host_packet.as_ns_f64();
        let host = &mut self.hosts[number];
        let rate = f64::from_bits(packet.sent_at);
        let allowed = match (&mut host.pace, self.spec.control) {
            (Pace::Ibcc(sender), Control::Ibcc(params)) => {
                sender.notified(&params);
                bits / sender.interval_ns(&params, packet_ns)
            }
            (Pace::Rrcc(sender), Control::Rrcc(params)) => {
                let notice = match packet.tag {
                    CONGESTED => rrcc::Notice::Congested(rate),
                    _ => rrcc::Notice::Uncongested,
                };
                sender.notified(&params, notice, bits);
                host.interval_ns = sender.interval_ns();
                bits / host.interval_ns
            }
            _ => bits / packet_ns,
        };
        let port = host.port;
        if let Some(source) = self.sources.get_mut(host.source as usize) {
            source.totals.notified += 1;
        }
        if self.record.is_on() {
            self.write(net, port, CreditStep::Notified { rate, allowed });
        }
    }
}

/// Tag of a notification that reports congestion.
pub(super) const CONGESTED: u8 = 1;

/// Returns a packet's size in bits.
pub(super) fn bits_of(mtu: Bytes) -> f64 {
    mtu.get() as f64 * 8.0
}

/// Returns a packet of full size.
pub(super) fn full_packet(net: &Net<'_>, kind: PacketKind) -> Packet {
    let mtu = net.cx.world.packet.mtu.get() as u16;
    Packet {
        wire: mtu,
        payload: if kind == PacketKind::Data { mtu } else { 0 },
        kind,
        ..Packet::EMPTY
    }
}

/// Converts nanoseconds to picoseconds, rounded to nearest.
fn ps(ns: f64) -> u64 {
    (ns * 1e-9 * 1e12).round() as u64
}
