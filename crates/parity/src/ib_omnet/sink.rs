//! Receiving hosts: consume packets one by one, and notify senders of marked packets.

use paceline_congestion::Mark;
use paceline_congestion::rrcc::omnet as rrcc;
use paceline_fabric::model::{Net, NicId, Packet, PacketId, PortId};
use paceline_fabric::outcome::{FlowStatus, PacketKind};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Span, Time};

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::hca::{CONGESTED, bits_of, full_packet};
use crate::ib_omnet::outcome::CreditStep;
use crate::ib_omnet::spec::Control;
use crate::ib_omnet::step::Step;

/// Delay from the end of a stall to the next consumed packet, ps.
const RESUME: u64 = 1000;

impl InfiniBand {
    /// Handles a packet that arrives at a host.
    pub(super) fn receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let number = NicId(self.ports[port].owner);
        let packet = *net.cx.core.packets.get(id);
        if packet.kind != PacketKind::Data {
            self.hand_on(Step::Notified {
                host: number,
                packet: id,
            });
            // A notification leaves the buffer at once: the host takes no time to consume it.
            return self.hand_on(Step::Taken {
                port,
                lane: packet.class,
            });
        }
        net.cx.core.packets.remove(id);
        net.cx.core.counters.data_received += 1;
        let marked = packet.mark == Mark::Congested;
        if self.record.is_on() {
            let (flow, packet) = (packet.flow.0, packet.seq as u32);
            self.write(net, port, CreditStep::Received { flow, packet, marked });
        }
        self.deliver(net, &packet);
        let host = &mut self.hosts[number];
        host.coming += 1;
        if !std::mem::replace(&mut host.taking, true) {
            let (events, delay) = (self.events.host_packet, self.spec.host_packet.as_ps());
            self.after(net, events, delay, Step::Take { host: number });
        }
        if self.hosts[number].controlled {
            self.notify_sender(net, number, &packet, marked);
        }
    }

    /// Counts a received packet, and completes its message if it was the last one.
    fn deliver(&mut self, net: &mut Net<'_>, packet: &Packet) {
        let source = self.hosts[NicId(packet.note)].source as usize;
        let source = &mut self.sources[source];
        source.totals.received += 1;
        source.totals.marked += u64::from(packet.mark == Mark::Congested);
        source.come += 1;
        let size = net.cx.world.flow(net.cx.core, packet.flow).size;
        let packets = size.get().div_ceil(net.cx.world.packet.mtu.get()) as u32;
        let is_whole = source.come == packets;
        let now = Time::from_ps(net.cx.core.now());
        if net.cx.world.spec.record.rate_every.is_some() {
            let bytes = net.cx.world.packet.mtu.get();
            net.record_rate(packet.flow, bytes);
        }
        let record = net.traffic.record_mut(packet.flow);
        record.delivered = Bytes::new(u64::from(source.come) * net.cx.world.packet.mtu.get()).min(size);
        if !is_whole {
            return;
        }
        source.come = 0;
        self.open -= 1;
        record.status = FlowStatus::Completed;
        record.received = Some(now);
        record.fct = Span::from_ps(now.as_ps() - record.start.as_ps());
        record.sent = size;
        net.traffic.complete(packet.flow);
    }

    /// Ends the consumption of a packet, and starts the next.
    pub(super) fn take(&mut self, net: &mut Net<'_>, number: NicId) {
        let stalling = self.stalling;
        let host = &mut self.hosts[number];
        if host.coming == 0 || stalling {
            host.taking = false;
            return;
        }
        host.coming -= 1;
        let port = host.port;
        self.hand_on(Step::Taken { port, lane: 0 });
        let (events, delay) = (self.events.host_packet, self.spec.host_packet.as_ps());
        self.after(net, events, delay, Step::Take { host: number });
    }

    /// Starts or ends the stall of all hosts.
    pub(super) fn stall(&mut self, net: &mut Net<'_>, ends: bool) {
        let Some(stall) = self.spec.stall else { return };
        self.stalling = !ends;
        if ends {
            for number in self.hosts.ids() {
                if !std::mem::replace(&mut self.hosts[number].taking, true) {
                    self.after(net, LaneId::WHEEL, RESUME, Step::Take { host: number });
                }
            }
        }
        let (delay, next) = match ends {
            true => (stall.every, false),
            false => (stall.lasts, true),
        };
        // Once no message is open, only the end of a stall counts: more stalls would keep the run going.
        if self.open > 0 || next {
            self.after(net, LaneId::WHEEL, delay.as_ps(), Step::Stall { ends: next });
        }
    }

    /// Sends a notification to the sender of a packet, if the congestion control asks for one.
    fn notify_sender(&mut self, net: &mut Net<'_>, number: NicId, packet: &Packet, marked: bool) {
        let source = self.hosts[NicId(packet.note)].source as usize;
        if !self.sources[source].is_notified {
            return;
        }
        let (tag, rate) = match self.spec.control {
            Control::Ibcc(_) if marked => (CONGESTED, 0.0),
            Control::Rrcc(params) => {
                let now = Time::from_ps(net.cx.core.now());
                let line = self.line_of(net, number);
                let bits = bits_of(net.cx.world.packet.mtu);
                let window = &mut self.sources[source].window;
                match window.received(&params, now, marked, bits, line) {
                    Some(rrcc::Notice::Congested(rate)) => (CONGESTED, rate),
                    Some(rrcc::Notice::Uncongested) => (0, 0.0),
                    None => return,
                }
            }
            _ => return,
        };
        let notification = Packet {
            flow: packet.flow,
            note: number.0,
            answers: packet.note,
            tag,
            sent_at: f64::to_bits(rate),
            ..full_packet(net, PacketKind::Cnp)
        };
        let id = net.cx.core.packets.insert(notification);
        self.hand_on(Step::Notify {
            host: number,
            packet: id,
        });
    }

    /// Returns the rate of a host's link, Gbit/s.
    pub(super) fn line_of(&self, net: &Net<'_>, number: NicId) -> f64 {
        let port = &net.cx.core.ports[self.hosts[number].port];
        net.cx.world.profiles[port.profile].rate.as_gbps_f64()
    }
}
