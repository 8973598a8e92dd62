//! IRN: selective repeat for RDMA NICs.
//!
//! Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018: section 3.1 (loss recovery), 3.2 (a bound of the
//! bytes in flight), and the authors' model of the NIC (NetSys/irn-vivado-hls), which settles what the text leaves
//! open.
//!
//! * The receiver takes packets in any order. A packet out of order is answered by a NACK with the cumulative
//!   acknowledgement and the number of the packet.
//! * The sender keeps a bitmap of selective acknowledgements. A packet is lost if one with a higher number was
//!   acknowledged. In recovery, so is the first unacknowledged one, once a retransmission that was sent after it is
//!   acknowledged. Lost packets go before new ones. A packet is retransmitted once. If that is lost too, a timeout starts
//!   again at the cumulative acknowledgement.
//! * Recovery ends when everything is acknowledged that had been sent before the last retransmission.
//! * New packets are sent only as far as one bandwidth-delay product beyond the cumulative acknowledgement (BDP-FC).
//! * The timeout is short while few packets are in flight, when a premature one costs little.
//!
//! Beyond the paper: a packet counts as lost only once one has arrived that is more than `reordering` beyond it, and a
//! NACK for a packet that a switch trimmed reports this packet as lost, at once.
//!
//! A scheme's window counts the bytes that were sent and are not acknowledged in either way. A retransmission takes no
//! window: the packet that it replaces has left the network.

use super::{Acknowledged, Answer, Reliability};
use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::receivers::Receivers;
use crate::ids::{PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::Irn;

pub(in crate::host) mod window;

use window::{Arrived, Sender};

impl Reliability for Irn {
    fn expect(&self, receivers: &mut Receivers, index: ReceiverId) {
        receivers.expect_any_order(index);
    }

    /// Takes a packet in any order, and reports it if it is out of order.
    #[inline(never)]
    fn take_data(
        &self,
        receivers: &mut Receivers,
        cx: &mut Cx<'_>,
        index: ReceiverId,
        id: PacketId,
    ) -> Answer {
        let packet = cx.core.packets.get(id);
        let mtu = cx.world.packet.mtu.get();
        let receiver = &mut receivers.list[index];
        let size = receiver.path.size;
        if packet.ends_message() {
            receiver.note_end(packet.end(mtu), packet.flow);
        }
        let received = &mut receivers.arrived[index];
        // A duplicate is answered, since its sender may lack the ACK of the first copy.
        if packet.seq < receiver.expected {
            receiver.mark = receiver.mark.max(packet.mark);
            return Answer::Ack;
        }
        if packet.is_trimmed() {
            return Answer::Nack;
        }
        let number = packet.answers;
        // Marks of such packets go back in their own NACKs, so they are not kept for the next ACK.
        if packet.seq > receiver.expected {
            let first = (receiver.expected / mtu) as u32;
            received.add(first, number);
            return Answer::Nack;
        }
        receiver.mark = receiver.mark.max(packet.mark);
        // The sender retransmitted into a gap: an ACK at once tells it how far the gap is closed.
        let fills_gap = received.count() > 0;
        let end = size.min(u64::from(received.pass(number)) * mtu);
        let asked = packet.asks_for_ack() || fills_gap;
        receiver.take_in_order(end, size, asked, &cx.world.nic, &cx.world.quirks)
    }

    /// Starts the queue pair in `slot`: the window in packets is `bdp`, if BDP-FC is on.
    fn begin(&self, hosts: &mut Hosts, world: &World, slot: QpId, bdp: u64) {
        let mtu = world.packet.mtu.get();
        hosts.repeats.reach(slot, Sender::default);
        let qp = &mut hosts.qps[slot];
        let cap = if self.bdp_cap {
            (bdp / mtu).clamp(1, u64::from(u32::MAX)) as u32
        } else {
            u32::MAX
        };
        qp.limits.limit = qp.progress.size.min(u64::from(cap).saturating_mul(mtu));
        qp.recompute_bound();
        hosts.repeats[slot].begin(qp.progress.size.div_ceil(mtu) as u32, cap);
    }

    /// Extends the flow by messages posted to the connection in `slot`.
    fn extend(&self, hosts: &mut Hosts, world: &World, slot: QpId) {
        let mtu = world.packet.mtu.get();
        let (qp, sender) = (&mut hosts.qps[slot], &mut hosts.repeats[slot]);
        sender.total = (qp.progress.size / mtu) as u32;
        qp.limits.limit = sender.limit(qp.progress.size, mtu);
    }

    /// Takes an acknowledgement: cumulative, and perhaps of one packet beyond.
    #[inline(never)]
    fn acknowledge(&self, hosts: &mut Hosts, cx: &mut Cx<'_>, slot: QpId, id: PacketId) -> Acknowledged {
        let packet = cx.core.packets.get(id);
        let mtu = cx.world.packet.mtu.get();
        let qp = &mut hosts.qps[slot];
        let sender = &mut hosts.repeats[slot];
        let beyond = match (packet.kind, packet.is_trimmed()) {
            (PacketKind::Nack, false) => Some(Arrived::Whole(packet.answers)),
            (PacketKind::Nack, true) => Some(Arrived::Trimmed(packet.answers)),
            _ => None,
        };
        let before = qp.progress.snd_una + qp.progress.sacked;
        if packet.seq > qp.progress.snd_una {
            qp.progress.snd_una = packet.seq;
            qp.progress.last_progress = cx.core.now();
        }
        // Rounded up, since the flow's last packet may be short.
        let una = qp.progress.snd_una.div_ceil(mtu) as u32;
        // The headers of a trimmed packet overtake data that was sent before, so their time proves nothing about it.
        let sent_at = (!packet.is_trimmed()).then_some(packet.sent_at);
        let loss = sender.acknowledge(una, beyond, sent_at, self.reordering);
        qp.progress.sacked = sender.sacked_bytes(mtu, qp.progress.size);
        qp.progress.absent = qp.progress.sacked;
        qp.limits.repairs = sender.lost.count() > 0;
        qp.limits.limit = sender.limit(qp.progress.size, mtu);
        qp.recompute_bound();
        Acknowledged {
            newly: qp.progress.snd_una + qp.progress.sacked - before,
            delivered: qp.progress.snd_una + qp.progress.sacked,
            highest: qp
                .progress
                .snd_una
                .max(qp.progress.size.min(u64::from(sender.high) * mtu)),
            loss,
        }
    }

    fn next_number(&self, hosts: &Hosts, slot: QpId) -> u32 {
        hosts.repeats.get(slot).map_or(0, |sender| sender.next)
    }

    /// Returns the number and first byte of the next packet to send, lost ones first.
    #[inline(never)]
    fn next(&self, hosts: &mut Hosts, cx: &Cx<'_>, slot: QpId) -> (u32, u64) {
        let mtu = cx.world.packet.mtu.get();
        let qp = &mut hosts.qps[slot];
        let sender = &mut hosts.repeats[slot];
        let again = if qp.limits.repairs {
            sender.resend(cx.core.now())
        } else {
            None
        };
        qp.limits.repairs = sender.lost.count() > 0;
        qp.recompute_bound();
        let Some(packet) = again else {
            sender.next += 1;
            return (sender.next - 1, qp.progress.snd_nxt);
        };
        if packet == sender.una {
            // The wait for this packet's acknowledgement starts again, or the timer would expire before that can come.
            qp.progress.last_progress = cx.core.now();
        }
        (packet, u64::from(packet) * mtu)
    }

    fn due(&self, hosts: &mut Hosts, _world: &World, slot: QpId) -> u64 {
        hosts.qps[slot].progress.last_progress + hosts.repeats[slot].timeout(self)
    }

    fn time_out(&self, hosts: &mut Hosts, _cx: &Cx<'_>, slot: QpId) {
        hosts.repeats[slot].time_out(self.reordering);
        let qp = &mut hosts.qps[slot];
        qp.limits.repairs = true;
        qp.recompute_bound();
    }

    /// Checks that the sender's and the receiver's state of packets agree.
    fn verify(&self, hosts: &Hosts, world: &World, slot: QpId) {
        let mtu = world.packet.mtu.get();
        let (qp, sender) = (&hosts.qps[slot], &hosts.repeats[slot]);
        let flow = qp.flow;
        // A complete flow has no receiver any more: nothing is left to compare.
        let Some(index) = hosts.receivers.find(flow) else {
            return;
        };
        let receiver = &hosts.receivers.list[index];
        let received = &hosts.receivers.arrived[index];
        let number = |byte: u64| byte.div_ceil(mtu) as u32;
        assert_eq!(
            sender.una,
            number(qp.progress.snd_una),
            "flow {flow}: first unacknowledged packet"
        );
        assert_eq!(
            sender.next,
            number(qp.progress.snd_nxt),
            "flow {flow}: next new packet"
        );
        assert!(
            sender.next <= sender.total && sender.in_flight() <= sender.cap,
            "flow {flow}: packets in flight"
        );
        assert_eq!(
            qp.limits.repairs,
            sender.lost.count() > 0,
            "flow {flow}: lost packets"
        );
        let expected = number(receiver.expected);
        // Counted packet by packet, and compared with the counts that are kept.
        let (mut sacked, mut lost, mut arrived) = (0, 0, 0);
        for packet in sender.una..sender.next {
            let is_sacked = sender.sacked.has(sender.una, packet);
            let is_here = packet < expected || received.has(expected, packet);
            assert!(
                !is_sacked || is_here,
                "flow {flow}: packet {packet} acknowledged that did not arrive"
            );
            assert!(
                !(is_sacked && sender.lost.has(sender.una, packet)),
                "flow {flow}: packet {packet} both lost and arrived"
            );
            sacked += u32::from(is_sacked);
            lost += u32::from(sender.lost.has(sender.una, packet));
            arrived += u32::from(packet >= expected && is_here);
        }
        let counts = [sender.sacked.count(), sender.lost.count(), received.count()];
        assert_eq!(
            counts,
            [sacked, lost, arrived],
            "flow {flow}: bits outside the window"
        );
        assert_eq!(
            qp.progress.sacked,
            sender.sacked_bytes(mtu, qp.progress.size),
            "flow {flow}: bytes beyond a gap"
        );
    }
}
