//! RUD: reliable unordered delivery, as in Ultra Ethernet.
//!
//! Ultra Ethernet Specification 1.0, section 3.5 (packet delivery sublayer), as far as uet-htsim makes it public.
//!
//! * The receiver takes packets in any order. An acknowledgement has the cumulative number, and a bitmap of the 64
//!   packets around the one that it answers. It stands for several packets; it is sent at once for a packet that is
//!   marked, asks for it, is a duplicate, or is the first or last of its flow.
//! * A packet that a switch trimmed is answered by a NACK with its number. The sender retransmits it.
//! * Nothing else reveals a loss, since packets overtake each other on their many paths: a packet without feedback for
//!   a timeout is retransmitted. The time runs for each packet from its last transmission.
//! * Lost packets go before new ones, and the window limits both: a packet known to be lost is not in flight.

use super::bits::Bits;
use super::{Acknowledged, Answer, Reliability};
use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::receivers::Receivers;
use crate::ids::{PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_congestion::entropy::PathFeedback;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::Rud;

pub(in crate::host) mod window;

use window::Sender;

/// Returns the first packet in the bitmap of an acknowledgement: of the 64 up to the one that it answers, the first
/// that may be missing.
fn map_from(answers: u32, expected: u32) -> u32 {
    answers.saturating_sub(63).max(expected + 1)
}

impl Reliability for Rud {
    fn expect(&self, receivers: &mut Receivers, index: ReceiverId) {
        receivers.expect_any_order(index);
    }

    #[inline(never)]
    fn take_data(
        &self,
        receivers: &mut Receivers,
        cx: &mut Cx<'_>,
        index: ReceiverId,
        id: PacketId,
    ) -> Answer {
        let packet = *cx.core.packets.get(id);
        let mtu = cx.world.packet.mtu.get();
        let receiver = &mut receivers.list[index];
        let received = &mut receivers.arrived[index];
        let size = receiver.path.size;
        if packet.ends_message() {
            receiver.note_end(packet.end(mtu), packet.flow);
        }
        let number = packet.answers;
        let first = receiver.expected.div_ceil(mtu) as u32;
        let known = packet.seq < receiver.expected || received.has(first, number);
        // Trimming is the only early sign of a loss here, so it is reported at once, and the packet stays missing.
        if packet.is_trimmed() && !known {
            return Answer::Nack;
        }
        receiver.mark = receiver.mark.max(packet.mark);
        let begins = receiver.expected == 0 && received.count() == 0;
        let mut whole = false;
        if !known {
            receiver.unacked_packets += 1;
            receiver.unacked_bytes += u64::from(packet.payload);
            if number == first {
                receiver.expected = size.min(u64::from(received.pass(number)) * mtu);
                whole = receiver.expected >= receiver.end_seq;
            } else {
                received.add(first, number);
            }
        }
        // The sender needs marks early to slow down, and the first ACK to learn its round trip. A duplicate means that
        // it lacks an ACK.
        let at_once = known || begins || whole || packet.mark.is_set() || packet.asks_for_ack();
        if !at_once && !receiver.owes_ack(&cx.world.nic) {
            return Answer::Nothing;
        }
        (receiver.unacked_packets, receiver.unacked_bytes) = (0, 0);
        let expected = receiver.expected.div_ceil(mtu) as u32;
        let from = map_from(number, expected);
        let arrived = (0..64).filter(|bit| received.has(expected, from + bit));
        receiver.sack = arrived.fold(0, |map, bit| map | 1 << bit);
        Answer::Ack
    }

    fn begin(&self, hosts: &mut Hosts, world: &World, slot: QpId, _bdp: u64) {
        let mtu = world.packet.mtu.get();
        hosts.ruds.reach(slot, Sender::default);
        let (qp, sender) = (&hosts.qps[slot], &mut hosts.ruds[slot]);
        sender.sacked.reset();
        sender.lost.reset();
        sender.waiting.clear();
        // The memory of the slot's last flow is used again.
        *sender = Sender {
            total: qp.progress.size.div_ceil(mtu) as u32,
            sacked: std::mem::take(&mut sender.sacked),
            lost: std::mem::take(&mut sender.lost),
            sent: std::mem::take(&mut sender.sent),
            waiting: std::mem::take(&mut sender.waiting),
            ..Sender::default()
        };
    }

    fn extend(&self, hosts: &mut Hosts, world: &World, slot: QpId) {
        let (qp, sender) = (&mut hosts.qps[slot], &mut hosts.ruds[slot]);
        sender.total = (qp.progress.size / world.packet.mtu.get()) as u32;
        qp.limits.limit = qp.progress.size;
    }

    #[inline(never)]
    fn acknowledge(&self, hosts: &mut Hosts, cx: &mut Cx<'_>, slot: QpId, id: PacketId) -> Acknowledged {
        let packet = cx.core.packets.get(id);
        let mtu = cx.world.packet.mtu.get();
        let (qp, sender) = (&mut hosts.qps[slot], &mut hosts.ruds[slot]);
        let before = qp.progress.snd_una + qp.progress.sacked;
        qp.progress.snd_una = qp.progress.snd_una.max(packet.seq);
        sender.make_room();
        let told = packet.seq.div_ceil(mtu) as u32;
        sender.advance(told);
        let number = packet.answers;
        // Several packets arrive out of order without any loss, so a gap in the bitmap is no reason to retransmit.
        let loss = if packet.kind == PacketKind::Nack {
            sender.lose(number)
        } else {
            let from = map_from(number, told);
            let mut map = cx.core.packets.words(id);
            while map != 0 {
                sender.take(from + map.trailing_zeros());
                map &= map - 1;
            }
            false
        };
        sender.settle(qp, mtu);
        let delivered = qp.progress.snd_una + qp.progress.sacked;
        if delivered > before {
            qp.progress.last_progress = cx.core.now();
        }
        Acknowledged {
            newly: delivered - before,
            highest: qp
                .progress
                .snd_una
                .max(qp.progress.size.min(u64::from(number) * mtu)),
            delivered,
            loss,
        }
    }

    #[inline(never)]
    fn next(&self, hosts: &mut Hosts, cx: &Cx<'_>, slot: QpId) -> (u32, u64) {
        let mtu = cx.world.packet.mtu.get();
        let (qp, sender) = (&mut hosts.qps[slot], &mut hosts.ruds[slot]);
        // Lost packets first: without them the flow cannot complete, however many new ones arrive.
        let (packet, seq) = match sender.lost.take(sender.una, sender.next) {
            Some(packet) => (packet, u64::from(packet) * mtu),
            None => {
                sender.next += 1;
                sender.make_room();
                (sender.next - 1, qp.progress.snd_nxt)
            }
        };
        sender.note_sent(packet, cx.core.now());
        sender.settle(qp, mtu);
        (packet, seq)
    }

    fn sent(&self, hosts: &mut Hosts, slot: QpId, packet: u32, entropy: u16) {
        let sender = &mut hosts.ruds[slot];
        let index = sender.index(packet);
        sender.sent[index].1 = entropy;
    }

    fn next_number(&self, hosts: &Hosts, slot: QpId) -> u32 {
        hosts.ruds.get(slot).map_or(0, |sender| sender.next)
    }

    fn due(&self, hosts: &mut Hosts, _world: &World, slot: QpId) -> u64 {
        let oldest = hosts.ruds[slot].oldest();
        oldest.map_or(u64::MAX, |(at, _)| at + self.rto.as_ps())
    }

    /// Declares the packet lost that was sent longest ago. The timer then waits for the next one.
    fn time_out(&self, hosts: &mut Hosts, cx: &Cx<'_>, slot: QpId) {
        let (qp, sender) = (&mut hosts.qps[slot], &mut hosts.ruds[slot]);
        let Some((_, packet)) = sender.oldest() else {
            return;
        };
        sender.lose(packet);
        let (_, entropy) = sender.sent[sender.index(packet)];
        // The path may have failed, and only its packets can tell the selector.
        if let Some(ways) = &mut qp.ways {
            ways.on_feedback(cx.core.now(), entropy, PathFeedback::Timeout);
        }
        sender.settle(qp, cx.world.packet.mtu.get());
    }

    fn verify(&self, hosts: &Hosts, world: &World, slot: QpId) {
        let mtu = world.packet.mtu.get();
        let (qp, sender) = (&hosts.qps[slot], &hosts.ruds[slot]);
        let flow = qp.flow;
        let number = |byte: u64| byte.div_ceil(mtu) as u32;
        let Sender { una, next, total, .. } = *sender;
        assert_eq!(
            una,
            number(qp.progress.snd_una),
            "flow {flow}: first unacknowledged packet"
        );
        assert_eq!(next, number(qp.progress.snd_nxt), "flow {flow}: next new packet");
        assert!(next <= total, "flow {flow}: packets sent");
        let (sacked, lost) = (&sender.sacked, &sender.lost);
        let in_window = |bits: &Bits| (una..next).filter(|&packet| bits.has(una, packet)).count();
        assert_eq!(
            sacked.count() as usize,
            in_window(sacked),
            "flow {flow}: acknowledged"
        );
        assert_eq!(lost.count() as usize, in_window(lost), "flow {flow}: lost");
        let both = |packet: &u32| sacked.has(una, *packet) && lost.has(una, *packet);
        assert_eq!((una..next).find(both), None, "flow {flow}: lost and acknowledged");
        let in_flight = |packet: &u32| !sacked.has(una, *packet) && !lost.has(una, *packet);
        let sent_at = |packet: u32| (sender.sent[sender.index(packet)].0, packet);
        // The first valid entry has to be the oldest packet in flight, or a timeout would come too late.
        let oldest = (una..next).filter(in_flight).map(sent_at).min();
        let is_current = |&(at, packet): &(u64, u32)| {
            (una..next).contains(&packet) && in_flight(&packet) && sent_at(packet).0 == at
        };
        let next_due = sender.waiting.iter().copied().find(is_current);
        assert_eq!(next_due, oldest, "flow {flow}: the packet that times out next");
        assert_eq!(qp.limits.repairs, lost.count() > 0, "flow {flow}: repairs");
        assert_eq!(
            (qp.progress.sacked, qp.progress.absent - qp.progress.sacked),
            sender.bytes(mtu, qp.progress.size),
            "flow {flow}: bytes"
        );
        let Some(index) = hosts.receivers.find(flow) else {
            return;
        };
        let expected = number(hosts.receivers.list[index].expected);
        let received = &hosts.receivers.arrived[index];
        let is_here = |packet: u32| packet < expected || received.has(expected, packet);
        let missing = (una..next).find(|&packet| sacked.has(una, packet) && !is_here(packet));
        assert_eq!(missing, None, "flow {flow}: acknowledged that did not arrive");
    }
}
