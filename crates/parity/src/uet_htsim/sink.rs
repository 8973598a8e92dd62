//! A flow's receiver, which sends ACKs, NACKs and pulls.

use super::counters::LogLine;
use super::packet::{Packet, PacketType, Report, bit};
use super::sim::{Event, Sim};
use super::source::HEADER;

/// Number of packets in an ACK's bitmap.
const BITMAP: u32 = 64;

impl Sim {
    /// Returns true if the packet has arrived before.
    pub(super) fn is_duplicate(&self, flow: u32, seq: u32) -> bool {
        let sink = &self.sinks[flow as usize];
        seq < sink.expected || sink.held.has(seq, sink.expected)
    }

    /// Returns the first sequence number of a bitmap that ends with this packet.
    fn first_bit(&self, flow: u32, seq: u32) -> u32 {
        (seq.saturating_sub(BITMAP - 1)).max(self.sinks[flow as usize].expected + 1)
    }

    /// Records a new packet. Returns true if an ACK was owed until no packet is missing, and now none is.
    fn accept(&mut self, flow: u32, seq: u32) -> bool {
        let sink = &mut self.sinks[flow as usize];
        if seq != sink.expected {
            sink.held.insert(seq, sink.expected);
            sink.out_of_order += 1;
            return false;
        }
        sink.expected += 1;
        while sink.held.take(sink.expected) {
            sink.expected += 1;
            sink.out_of_order -= 1;
        }
        sink.out_of_order == 0 && std::mem::take(&mut sink.owes_ack)
    }

    /// Counts an arrival for the adaptation to oversubscribed networks.
    fn observe(&mut self, packet: &Packet) {
        let dst = self.packets.dst(packet);
        if let Some(host) = self.adaptions.get_mut(dst as usize) {
            host.all += 1;
            if packet.has(bit::TRIMMED) {
                host.trimmed_here += u64::from(packet.has(bit::LAST_HOP));
                host.trimmed_inside += u64::from(!packet.has(bit::LAST_HOP));
            } else {
                // The simulator ignores the marks of probes.
                host.marked += u64::from(packet.has(bit::MARKED) && !packet.has(bit::PROBE));
            }
        }
    }

    /// Takes over a packet's pull target, and requests a pull if that raises it.
    #[inline]
    fn raise_target(&mut self, packet: &Packet) {
        if self.spec.options.receiver_cc && self.sinks[packet.conn as usize].wishes.raise(packet.word) {
            self.request_pull(packet.conn, self.packets.dst(packet));
        }
    }

    fn ask_for_pull(&mut self, packet: &Packet) {
        if self.spec.options.receiver_cc && self.sinks[packet.conn as usize].wishes.ask() {
            self.request_pull(packet.conn, self.packets.dst(packet));
        }
    }

    fn request_pull(&mut self, flow: u32, host: u32) {
        if self.pacers[host as usize].request(flow) {
            self.after(0, Event::Pacer(host));
        }
    }

    /// Handles a data packet.
    pub(super) fn receive_data(&mut self, data: &Packet) {
        let (flow, seq) = (data.conn, data.seq);
        let marked = data.has(bit::MARKED);
        self.observe(data);
        let sink = &mut self.sinks[flow as usize];
        sink.accepted = sink.accepted.wrapping_add(data.size);
        if self.spec.options.messages {
            self.note_message(flow, seq);
        }
        self.raise_target(data);
        // A duplicate is always acknowledged: its first ACK may be lost, and the sender would go on retransmitting.
        if self.is_duplicate(flow, seq) {
            self.counters.duplicates += 1;
            self.say(LogLine::Spurious(self.packets.flow(data), seq));
            let first = if marked { seq } else { self.first_bit(flow, seq) };
            self.sinks[flow as usize].accepted = 0;
            self.acknowledge_packet(data, first, 0);
            return;
        }
        let sink = &mut self.sinks[flow as usize];
        let asks = data.has(bit::ASKS);
        let mut force = sink.payload == 0 || asks;
        sink.payload = sink
            .payload
            .wrapping_add_signed(i64::from(data.size) - i64::from(HEADER));
        sink.received += u64::from(data.size);
        sink.owes_ack |= asks;
        force |= self.accept(flow, seq);
        let sink = &mut self.sinks[flow as usize];
        // Marked packets are acknowledged at once, so that the sender sees congestion without the delay of ACK
        // coalescing.
        if marked || u32::from(sink.accepted) >= self.spec.options.sack_threshold || force {
            sink.accepted = 0;
            let first = match marked || asks {
                true => seq,
                false => self.first_bit(flow, seq),
            };
            self.acknowledge_packet(data, first, 0);
        }
    }

    /// Handles a request to send.
    pub(super) fn receive_request(&mut self, request: &Packet) {
        let (flow, seq) = (request.conn, request.seq);
        self.observe(request);
        self.raise_target(request);
        self.ask_for_pull(request);
        let mut first = seq;
        if self.is_duplicate(flow, seq) {
            first = self.first_bit(flow, seq);
            self.sinks[flow as usize].accepted = 0;
        } else {
            self.accept(flow, seq);
        }
        self.acknowledge_packet(request, first, bit::ANSWERS_RTS);
    }

    /// Handles a probe, which is always acknowledged.
    pub(super) fn receive_probe(&mut self, probe: &Packet) {
        self.observe(probe);
        let first = self.first_bit(probe.conn, probe.seq);
        self.acknowledge_packet(probe, first, bit::PROBE);
    }

    /// Handles a trimmed packet: sends a NACK, or an unmarked ACK if its data has arrived before.
    pub(super) fn receive_trimmed(&mut self, header: &Packet) {
        let (flow, seq) = (header.conn, header.seq);
        self.observe(header);
        if self.is_duplicate(flow, seq) {
            let first = self.first_bit(flow, seq);
            let unmarked = Packet {
                bits: header.bits & !bit::MARKED,
                ..*header
            };
            self.acknowledge_packet(&unmarked, first, 0);
            return;
        }
        self.raise_target(header);
        self.counters.nacks_made += 1;
        let echo = if header.has(bit::MARKED) { bit::ECHO } else { 0 };
        let bits = Packet::bits(PacketType::Nack, echo | (header.bits & bit::LAST_HOP));
        let id = self.packets.add(self.answer(header, bits));
        self.send_control(self.conns[flow as usize].dst, id);
        self.ask_for_pull(header);
    }

    /// Sends an ACK whose bitmap starts at `first`.
    fn acknowledge_packet(&mut self, packet: &Packet, first: u32, bits: u16) {
        self.counters.acks_made += 1;
        let mut bits = bits | (packet.bits & (bit::AGAIN));
        if packet.has(bit::MARKED) {
            bits |= bit::ECHO;
        }
        // A recycled object keeps the flag of a request that it once answered, as in the simulator.
        if self.free_acks.pop().unwrap_or_default() {
            bits |= bit::ANSWERS_RTS;
        }
        let sink = &self.sinks[packet.conn as usize];
        let (cum, received) = (sink.expected, sink.received);
        let (held, bitmap) = (sink.out_of_order, sink.held.bits(first, cum));
        let mut ack = self.answer(packet, Packet::bits(PacketType::Ack, bits));
        ack.held = held.min(u32::from(u16::MAX)) as u16;
        let report = Report {
            cum,
            first,
            bitmap,
            received,
        };
        let id = self.packets.add_ack(ack, report);
        self.send_control(self.conns[packet.conn as usize].dst, id);
    }

    /// Returns a control packet with the entropy value of the packet that it answers.
    fn answer(&self, packet: &Packet, bits: u16) -> Packet {
        Packet {
            conn: packet.conn,
            seq: packet.seq,
            size: HEADER,
            ev: packet.ev,
            bits,
            ..Packet::default()
        }
    }

    /// Grants credit to the next flow of a host's pacer.
    pub(super) fn pace(&mut self, host: u32) {
        let sinks = &mut self.sinks;
        let next = self.pacers[host as usize].next(self.window, |flow| &mut sinks[flow as usize].wishes);
        let Some(pull) = next else {
            return;
        };
        self.counters.pulls_made += 1;
        let sink = &mut self.sinks[pull.flow as usize];
        sink.pull_ev = (sink.pull_ev + 1) % 128;
        let packet = Packet {
            conn: pull.flow,
            size: HEADER,
            ev: u16::from(sink.pull_ev),
            bits: Packet::bits(PacketType::Pull, 0),
            word: pull.number,
            ..Packet::default()
        };
        let id = self.packets.add(packet);
        self.send_control(host, id);
        let delay = self.quantum_times[host as usize] * pull.quanta;
        self.after(delay, Event::Pacer(host));
    }
}
