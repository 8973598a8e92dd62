//! Go-back-N: the receiver takes packets in order only, and the sender goes back to a gap and sends everything again
//! from there.

use super::{Acknowledged, Answer, Reliability};
use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::receivers::Receivers;
use crate::ids::{PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_run::outcome::PacketKind;

/// Go-back-N recovery (see this file).
pub(super) struct GoBackN;

impl Reliability for GoBackN {
    /// Delivers in-order data, reports a gap, and ignores old data.
    #[inline(always)]
    fn take_data(
        &self,
        receivers: &mut Receivers,
        cx: &mut Cx<'_>,
        index: ReceiverId,
        id: PacketId,
    ) -> Answer {
        let packet = cx.core.packets.get(id);
        let (nic, quirks) = (&cx.world.nic, &cx.world.quirks);
        let receiver = &mut receivers.list[index];
        let size = receiver.path.size;
        receiver.mark = receiver.mark.max(packet.mark);
        let end = packet.seq + u64::from(packet.payload);
        // One comparison sends the usual packet down the short path; everything else is sorted out elsewhere.
        if packet.seq != receiver.expected || packet.is_special() || end >= receiver.trimmed {
            return receivers.take_out_of_sequence(cx, index, id);
        }
        receiver.take_in_order(end, size, packet.asks_for_ack(), nic, quirks)
    }

    /// Acknowledges everything up to the packet's sequence number; a NACK makes the sender go back to it.
    #[inline(always)]
    fn acknowledge(&self, hosts: &mut Hosts, cx: &mut Cx<'_>, slot: QpId, id: PacketId) -> Acknowledged {
        let packet = cx.core.packets.get(id);
        let mut seq = packet.seq;
        let qp = &mut hosts.qps[slot];
        let quirks = &cx.world.quirks;
        // The receiver rounds down in the same way, so both ends agree on the byte from which data is sent again.
        if let Some(chunk) = cx.world.nic.back_to_chunk
            && (seq < qp.progress.size || quirks.whole_chunks_only)
        {
            seq -= seq % chunk.get().max(1);
        }
        let newly = seq.saturating_sub(qp.progress.snd_una);
        qp.progress.snd_una += newly;
        if newly > 0 {
            qp.progress.last_progress = cx.core.now();
            // An acknowledgement may arrive after a NACK has set the sender back: what it covers need not be sent
            // again.
            if !quirks.unsigned_in_flight {
                qp.progress.snd_nxt = qp.progress.snd_nxt.max(qp.progress.snd_una);
            }
            qp.recompute_bound();
        }
        let loss = packet.kind == PacketKind::Nack;
        if loss {
            qp.progress.snd_nxt = qp.progress.snd_una;
            qp.recompute_bound();
        }
        Acknowledged {
            newly,
            highest: packet.seq,
            // Less only if the sender goes back to whole chunks; more if acknowledgements overtake each other.
            delivered: packet.seq.max(qp.progress.snd_una),
            loss,
        }
    }

    #[inline(always)]
    fn next(&self, hosts: &mut Hosts, _cx: &Cx<'_>, slot: QpId) -> (u32, u64) {
        (0, hosts.qps[slot].progress.snd_nxt)
    }

    fn due(&self, hosts: &mut Hosts, world: &World, slot: QpId) -> u64 {
        let rto = world.nic.rto.map_or(u64::MAX, |rto| rto.as_ps());
        hosts.qps[slot].progress.last_progress.saturating_add(rto)
    }

    /// Goes back to the first unacknowledged byte.
    fn time_out(&self, hosts: &mut Hosts, _cx: &Cx<'_>, slot: QpId) {
        let qp = &mut hosts.qps[slot];
        qp.progress.snd_nxt = qp.progress.snd_una;
        qp.recompute_bound();
    }
}

impl Receivers {
    /// Takes a packet that is not simply the next one.
    #[inline(never)]
    fn take_out_of_sequence(&mut self, cx: &Cx<'_>, index: ReceiverId, id: PacketId) -> Answer {
        let packet = cx.core.packets.get(id);
        let (nic, quirks) = (&cx.world.nic, &cx.world.quirks);
        let receiver = &mut self.list[index];
        let size = receiver.path.size;
        let end = packet.end(cx.world.packet.mtu.get());
        if packet.ends_message() {
            receiver.note_end(end, packet.flow);
        }
        if packet.is_trimmed() && packet.seq >= receiver.expected {
            return self.take_headers(cx, index, id);
        }
        // After a return to a chunk that is no multiple of the MTU, packets begin at other bytes than before, so that
        // part of one may be new.
        let partly_new = packet.seq < receiver.expected && end > receiver.expected;
        if packet.seq == receiver.expected || partly_new && !quirks.ignore_duplicates {
            let answer = receiver.take_in_order(end, size, packet.asks_for_ack(), nic, quirks);
            if end < receiver.trimmed {
                return answer;
            }
            return self.reach_trimmed(cx, index, answer);
        }
        if packet.seq > receiver.expected {
            return receiver.report_gap(cx.core.now(), nic);
        }
        // Old data. Without an answer, as in the reference, the loss of the last ACK would never be repaired.
        if quirks.ignore_duplicates {
            Answer::Nothing
        } else {
            Answer::Ack
        }
    }

    /// Takes the headers of a trimmed packet. They have overtaken data that was sent before and still waits in queues,
    /// so the gap is reported when that data has arrived.
    #[cold]
    fn take_headers(&mut self, cx: &Cx<'_>, index: ReceiverId, id: PacketId) -> Answer {
        let packet = cx.core.packets.get(id);
        let receiver = &mut self.list[index];
        receiver.trimmed = receiver.trimmed.min(packet.seq);
        if packet.seq > receiver.expected {
            return Answer::Nothing;
        }
        self.reach_trimmed(cx, index, Answer::Nothing)
    }

    /// Answers when the next expected packet was trimmed, or arrived after all. Each transmission is trimmed at most
    /// once, so these NACKs need no minimum interval.
    #[cold]
    fn reach_trimmed(&mut self, cx: &Cx<'_>, index: ReceiverId, answer: Answer) -> Answer {
        let receiver = &mut self.list[index];
        let is_missing = receiver.expected == receiver.trimmed;
        receiver.trimmed = u64::MAX;
        if !is_missing {
            return answer;
        }
        receiver.nack_until = cx.core.now() + cx.world.nic.nack_interval.as_ps();
        receiver.last_nack = receiver.expected;
        Answer::Nack
    }
}

#[cfg(test)]
mod tests {
    use paceline_congestion::registry::WindowMode;

    use crate::common::{add_flow, scheme_with, star};
    use crate::core::packet::Packet;
    use crate::ids::QpId;
    use crate::run::simulation::Simulation;
    use paceline_run::outcome::PacketKind;

    /// Sets a sender back to byte 5000 by a NACK, then acknowledges 8000 bytes. Returns the bound and the next byte to
    /// send.
    fn after_an_overtaking_ack(window: WindowMode, unsigned_in_flight: bool) -> (u64, u64) {
        let mut spec = star(2, scheme_with("none", window, &[]));
        add_flow(&mut spec, 1, 2, 100_000, 0);
        spec.quirks.unsigned_in_flight = unsigned_in_flight;
        let mut simulation = Simulation::new(spec).unwrap();
        while simulation
            .hosts
            .qps
            .get(QpId(0))
            .is_none_or(|qp| qp.progress.snd_nxt < 20_000)
        {
            simulation.advance(1);
        }
        for (kind, seq) in [(PacketKind::Nack, 5000), (PacketKind::Ack, 8000)] {
            let answer = Packet {
                kind,
                seq,
                ..Packet::EMPTY
            };
            let id = simulation.core.packets.insert(answer);
            let Simulation {
                world, core, hosts, ..
            } = &mut simulation;
            hosts.take_acknowledgement(&mut crate::core::cx::Cx::new(world, core), QpId(0), id);
        }
        let qp = &simulation.hosts.qps[QpId(0)];
        (qp.progress.snd_nxt, qp.limits.bound)
    }

    /// The unsigned difference gives 2^64 - 3000 bytes in flight: more than any window.
    #[test]
    fn an_ack_that_overtakes_a_return() {
        assert_eq!(after_an_overtaking_ack(WindowMode::Fixed, true), (5000, 0));
        assert_eq!(after_an_overtaking_ack(WindowMode::Off, true), (5000, 100_000));
        let bound = 8000 + 52_000;
        assert_eq!(after_an_overtaking_ack(WindowMode::Fixed, false), (8000, bound));
    }
}
