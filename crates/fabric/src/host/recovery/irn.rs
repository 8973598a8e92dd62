//! IRN: selective repeat as RDMA NICs can have it.
//!
//! Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018: section 3.1 (loss recovery),
//! 3.2 (a bound on what is in flight), and the authors' model of the NIC (NetSys/irn-vivado-hls), which
//! says what the text leaves open.
//!
//! * The receiver takes packets in any order. One that is out of order is answered by a NACK with the
//!   cumulative acknowledgement and the number of the packet.
//! * The sender keeps a bitmap of what was acknowledged selectively. A packet is lost if one with a
//!   higher number was; in recovery also the first unacknowledged one, once a retransmission is
//!   acknowledged that was sent after it. Lost packets go before new ones. A packet is sent again
//!   once; if that is lost too, a timeout starts over at the cumulative acknowledgement.
//! * Recovery ends when everything is acknowledged that had been sent before the last retransmission.
//! * New packets are sent only as far as one bandwidth-delay product beyond the cumulative
//!   acknowledgement (BDP-FC).
//! * The timeout is short while few packets are in flight, where it costs little if it was too short.
//!
//! Beyond the paper: a packet counts as lost only once one has arrived that is more than `reordering`
//! beyond it; and a NACK for a packet that a switch trimmed says
//! that this one is lost, at once.
//!
//! Against a scheme's window counts what was sent and is acknowledged neither way. A retransmission
//! needs no room in it: the packet that it replaces has left the network.

use super::bits::Bits;
use super::{Acknowledged, Answer};
use crate::core::Core;
use crate::host::Hosts;
use crate::host::receivers::Receivers;
use crate::ids::{PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::{Irn, Recovery};

#[cfg(test)]
mod tests;

/// What a sender knows of its packets, by their numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Sender {
    /// The first that is not acknowledged cumulatively; the next new one; how many there are.
    una: u32,
    next: u32,
    total: u32,
    /// How many may be in flight.
    cap: u32,
    /// Behind the highest that was acknowledged in any way.
    high: u32,
    /// Up to here gaps have been judged to be losses.
    judged: u32,
    recovering: bool,
    /// Recovery ends when all before this one are acknowledged.
    until: u32,
    /// When the last retransmission was sent; none in this recovery: the end of time.
    resent_at: u64,
    /// No lost packet is before this one.
    lost_from: u32,
    /// Whether any bit below is set, or recovery lasts.
    dirty: bool,
    /// Acknowledged selectively.
    sacked: Bits,
    /// To be sent again.
    lost: Bits,
    /// Sent again since the last timeout.
    resent: Bits,
}

/// What a NACK says of the packet that it answers.
#[derive(Clone, Copy, Debug)]
enum Arrived {
    Whole(u32),
    Trimmed(u32),
}

impl Sender {
    /// A flow of `total` packets begins, of which `cap` may be in flight. Keeps its memory.
    fn begin(&mut self, total: u32, cap: u32) {
        let (mut sacked, mut lost, mut resent) = (
            std::mem::take(&mut self.sacked),
            std::mem::take(&mut self.lost),
            std::mem::take(&mut self.resent),
        );
        sacked.reset();
        lost.reset();
        resent.reset();
        *self = Self {
            total,
            cap,
            sacked,
            lost,
            resent,
            ..Self::default()
        };
    }

    fn in_flight(&self) -> u32 {
        self.next - self.una
    }

    /// An acknowledgement of all packets before `una`, and perhaps of one beyond, whose data packet was
    /// sent at `sent_at`, after which nothing arrived that was sent before. Says whether it tells of a loss that was not known.
    fn acknowledge(
        &mut self,
        una: u32,
        beyond: Option<Arrived>,
        sent_at: Option<u64>,
        reordering: u32,
    ) -> bool {
        let advanced = una > self.una;
        if !self.dirty && beyond.is_none() {
            self.una = self.una.max(una);
            return false;
        }
        self.dirty = true;
        self.make_room();
        if advanced {
            self.advance(una);
        }
        let mut loss = false;
        match beyond {
            Some(Arrived::Whole(packet)) if packet >= self.una => {
                self.sacked.set(packet);
                self.lost.clear(packet);
                self.high = self.high.max(packet + 1);
            }
            Some(Arrived::Trimmed(packet)) if packet >= self.una && !self.sacked.get(packet) => {
                self.resent.clear(packet);
                loss |= self.lose(packet);
            }
            _ => {}
        }
        if self.una >= self.until {
            self.recovering = false;
        }
        // What was sent before the retransmission that has arrived, and has not arrived, is lost.
        let after_resent = self.recovering && advanced && sent_at >= Some(self.resent_at);
        if after_resent && !self.resent.get(self.una) && !self.sacked.get(self.una) {
            loss |= self.lose(self.una);
        }
        loss |= self.judge(reordering);
        self.dirty = self.recovering || self.sacked.count() > 0 || self.lost.count() > 0;
        loss
    }

    fn make_room(&mut self) {
        let packets = self.in_flight().max(1);
        for bits in [&mut self.sacked, &mut self.lost, &mut self.resent] {
            bits.reserve(self.una, packets);
        }
    }

    fn advance(&mut self, una: u32) {
        for bits in [&mut self.sacked, &mut self.lost, &mut self.resent] {
            bits.clear_range(self.una, una);
        }
        self.una = una;
        self.high = self.high.max(una);
        self.judged = self.judged.max(una);
    }

    /// Takes gaps below what has arrived for losses, each once.
    fn judge(&mut self, reordering: u32) -> bool {
        let until = self.high.saturating_sub(reordering.saturating_add(1));
        let (mut packet, mut loss) = (self.judged.max(self.una), false);
        while packet < until {
            packet = self.sacked.first_clear(packet, until);
            if packet < until && !self.resent.get(packet) {
                loss |= self.lose(packet);
            }
            packet += 1;
        }
        self.judged = self.judged.max(until);
        loss
    }

    /// The packet is to be sent again; says whether that is new.
    fn lose(&mut self, packet: u32) -> bool {
        self.lost_from = if self.lost.count() == 0 {
            packet
        } else {
            self.lost_from.min(packet)
        };
        if !self.recovering {
            self.recovering = true;
            self.until = self.next;
            self.resent_at = u64::MAX;
        }
        self.lost.set(packet)
    }

    /// The first lost packet is sent again.
    fn resend(&mut self, now: u64) -> Option<u32> {
        let packet = self.lost.first_set(self.lost_from.max(self.una), self.next)?;
        self.lost.clear(packet);
        self.resent.set(packet);
        self.lost_from = packet + 1;
        self.until = self.next;
        self.resent_at = now;
        Some(packet)
    }

    /// Nothing came for too long: starts over with the first packet that is not acknowledged, and with
    /// every gap.
    fn time_out(&mut self, reordering: u32) {
        self.dirty = true;
        self.make_room();
        self.resent.reset();
        self.judged = self.una;
        self.recovering = false;
        self.lose(self.una);
        self.judge(reordering);
    }
}

impl Sender {
    /// How long the sender waits for progress now.
    pub(crate) fn timeout(&self, irn: &Irn) -> u64 {
        if self.in_flight() < irn.low_packets {
            irn.rto_low.as_ps()
        } else {
            irn.rto_high.as_ps()
        }
    }
}

impl Receivers {
    /// A flow begins at `place`. Keeps the memory of the one before.
    pub(in crate::host) fn expect_any_order(&mut self, world: &World, place: ReceiverId) {
        if !matches!(world.nic.recovery, Recovery::SelectiveRepeat(_)) {
            return;
        }
        self.arrived.reach(place, Bits::default);
        self.arrived[place].reset();
    }

    /// The receiver takes a packet in any order; what is out of order it reports.
    #[inline(never)]
    pub(super) fn take_in_any_order(
        &mut self,
        world: &World,
        core: &Core,
        place: ReceiverId,
        id: PacketId,
    ) -> Answer {
        let packet = core.packets.get(id);
        let mtu = world.packet.mtu.get();
        let receiver = &mut self.list[place];
        let size = receiver.path.size;
        if packet.ends_message() {
            receiver.note_end(packet.end(mtu), packet.flow);
        }
        let received = &mut self.arrived[place];
        if packet.seq < receiver.expected {
            receiver.mark = receiver.mark.max(packet.mark);
            return Answer::Ack;
        }
        if packet.is_trimmed() {
            return Answer::Nack;
        }
        let number = packet.answers;
        if packet.seq > receiver.expected {
            let first = (receiver.expected / mtu) as u32;
            received.reserve(first, number - first + 1);
            received.set(number);
            return Answer::Nack;
        }
        receiver.mark = receiver.mark.max(packet.mark);
        let mut next = number + 1;
        let fills_gap = received.count() > 0;
        if fills_gap {
            let behind = received.first_clear(next, next + received.count());
            received.clear_range(next, behind);
            next = behind;
        }
        let end = size.min(u64::from(next) * mtu);
        let asked = packet.asks_for_ack() || fills_gap;
        receiver.take_in_order(end, size, asked, &world.nic, &world.quirks)
    }
}

impl Hosts {
    /// A queue pair in `slot` begins: its window in packets is `bdp`, if that bounds it.
    pub(in crate::host) fn begin_selective_repeat(&mut self, world: &World, slot: QpId, irn: &Irn, bdp: u64) {
        let mtu = world.packet.mtu.get();
        self.repeats.reach(slot, Sender::default);
        let qp = &mut self.qps[slot];
        let cap = if irn.bdp_cap {
            (bdp / mtu).clamp(1, u64::from(u32::MAX)) as u32
        } else {
            u32::MAX
        };
        qp.limit = qp.size.min(u64::from(cap).saturating_mul(mtu));
        qp.recompute_bound();
        self.repeats[slot].begin(qp.size.div_ceil(mtu) as u32, cap);
    }

    /// More was posted to the connection in `slot`.
    pub(in crate::host) fn extend_selective_repeat(&mut self, world: &World, slot: QpId) {
        let mtu = world.packet.mtu.get();
        let (qp, sender) = (&mut self.qps[slot], &mut self.repeats[slot]);
        sender.total = (qp.size / mtu) as u32;
        qp.limit = sender.limit(qp.size, mtu);
    }

    /// An acknowledgement, cumulative and perhaps of one packet beyond.
    #[inline(never)]
    pub(super) fn acknowledge_selectively(
        &mut self,
        world: &World,
        core: &Core,
        slot: QpId,
        id: PacketId,
        irn: &Irn,
    ) -> Acknowledged {
        let packet = core.packets.get(id);
        let mtu = world.packet.mtu.get();
        let qp = &mut self.qps[slot];
        let sender = &mut self.repeats[slot];
        let beyond = match (packet.kind, packet.is_trimmed()) {
            (PacketKind::Nack, false) => Some(Arrived::Whole(packet.answers)),
            (PacketKind::Nack, true) => Some(Arrived::Trimmed(packet.answers)),
            _ => None,
        };
        let before = qp.snd_una + qp.sacked;
        if packet.seq > qp.snd_una {
            qp.snd_una = packet.seq;
            qp.last_progress = core.now();
        }
        // The last packet ends where the flow does.
        let una = qp.snd_una.div_ceil(mtu) as u32;
        // The headers of a trimmed packet overtake what was sent before.
        let sent_at = (!packet.is_trimmed()).then_some(packet.sent_at);
        let loss = sender.acknowledge(una, beyond, sent_at, irn.reordering);
        qp.sacked = sender.sacked_bytes(mtu, qp.size);
        qp.repairs = sender.lost.count() > 0;
        qp.limit = sender.limit(qp.size, mtu);
        qp.recompute_bound();
        Acknowledged {
            newly: qp.snd_una + qp.sacked - before,
            delivered: qp.snd_una + qp.sacked,
            highest: qp.snd_una.max(qp.size.min(u64::from(sender.high) * mtu)),
            loss,
        }
    }

    /// The number of the next new packet; 0 without selective repeat.
    pub(in crate::host) fn next_number(&self, slot: QpId) -> u32 {
        self.repeats.get(slot).map_or(0, |sender| sender.next)
    }

    /// The number and first byte of the packet that is to be sent next, lost ones first.
    pub(in crate::host) fn next_of_selective_repeat(
        &mut self,
        world: &World,
        core: &Core,
        slot: QpId,
    ) -> (u32, u64) {
        let mtu = world.packet.mtu.get();
        let qp = &mut self.qps[slot];
        let sender = &mut self.repeats[slot];
        let again = if qp.repairs {
            sender.resend(core.now())
        } else {
            None
        };
        qp.repairs = sender.lost.count() > 0;
        qp.recompute_bound();
        let Some(packet) = again else {
            sender.next += 1;
            return (sender.next - 1, qp.snd_nxt);
        };
        if packet == sender.una {
            // The wait for what it repairs starts again.
            qp.last_progress = core.now();
        }
        (packet, u64::from(packet) * mtu)
    }

    pub(super) fn resend_after_timeout(&mut self, slot: QpId, irn: &Irn) {
        self.repeats[slot].time_out(irn.reordering);
        let qp = &mut self.qps[slot];
        qp.repairs = true;
        qp.recompute_bound();
    }

    /// What sender and receiver know of one another's packets agrees.
    pub(in crate::host) fn verify_selective_repeat(&self, world: &World, slot: QpId) {
        if self.repeats.is_empty() {
            return;
        }
        let mtu = world.packet.mtu.get();
        let (qp, sender) = (&self.qps[slot], &self.repeats[slot]);
        let flow = qp.flow;
        let Some(place) = self.receivers.find(flow) else {
            return;
        };
        let receiver = &self.receivers.list[place];
        let received = &self.receivers.arrived[place];
        let number = |byte: u64| byte.div_ceil(mtu) as u32;
        assert_eq!(
            sender.una,
            number(qp.snd_una),
            "flow {flow}: first unacknowledged packet"
        );
        assert_eq!(sender.next, number(qp.snd_nxt), "flow {flow}: next new packet");
        assert!(
            sender.next <= sender.total && sender.in_flight() <= sender.cap,
            "flow {flow}: packets in flight"
        );
        assert_eq!(qp.repairs, sender.lost.count() > 0, "flow {flow}: lost packets");
        let expected = number(receiver.expected);
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
            qp.sacked,
            sender.sacked_bytes(mtu, qp.size),
            "flow {flow}: bytes beyond a gap"
        );
    }
}

impl Sender {
    /// Up to where new packets may be sent, of `size` bytes.
    fn limit(&self, size: u64, mtu: u64) -> u64 {
        size.min((u64::from(self.una) + u64::from(self.cap)) * mtu)
    }

    /// Bytes acknowledged selectively only: the last packet may be short.
    fn sacked_bytes(&self, mtu: u64, size: u64) -> u64 {
        let count = self.sacked.count();
        if count == 0 {
            return 0;
        }
        let has_last = self.high == self.total && self.sacked.get(self.total - 1);
        let missing = if has_last {
            u64::from(self.total) * mtu - size
        } else {
            0
        };
        u64::from(count) * mtu - missing
    }
}
