//! Queue pairs and receivers as seen by a transport of another network model ([`crate::model`]): the model decides what
//! is sent when, and the state is kept here.

use paceline_congestion::Outgoing;
use paceline_kernel::ids::Id;

use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::host::qp::Qp;
use crate::ids::{FlowId, PortId, QpId};
use paceline_run::outcome::PacketKind;

impl Qp {
    /// Returns the end of all data that the flow has to carry.
    pub fn size(&self) -> u64 {
        self.progress.size
    }
    /// Returns the next byte to be sent.
    pub fn snd_nxt(&self) -> u64 {
        self.progress.snd_nxt
    }
    /// Returns the first byte that is not acknowledged.
    pub fn snd_una(&self) -> u64 {
        self.progress.snd_una
    }
    /// Returns the byte after the last that was ever sent.
    pub fn max_sent(&self) -> u64 {
        self.progress.max_sent
    }
    /// Returns the payload of the next packet: zero if nothing is left.
    pub fn next_payload(&self, mtu: u64) -> u64 {
        mtu.min(self.progress.size - self.progress.snd_nxt.min(self.progress.size))
    }
    /// Returns the bytes for which the window has room.
    pub fn room(&self) -> u64 {
        (self.progress.snd_una + self.limits.window).saturating_sub(self.progress.snd_nxt)
    }

    /// Returns the view of the next packet for its scheme.
    pub fn outgoing(&self, payload: u64) -> Outgoing {
        Outgoing {
            seq: self.progress.snd_nxt,
            payload,
            snd_una: self.progress.snd_una,
            end: self.progress.size,
        }
    }

    /// Builds the next packet; `slot` is this queue pair's.
    pub fn data_packet(&self, slot: QpId, payload: u64, now: u64) -> Packet {
        Packet {
            flow: self.flow,
            qp: slot,
            path: self.data.route,
            seq: self.progress.snd_nxt,
            sent_at: now,
            wire: payload as u16 + self.data_header,
            payload: payload as u16,
            epoch: self.data.epoch,
            kind: PacketKind::Data,
            class: self.class,
            ..Packet::EMPTY
        }
    }

    /// Advances by a packet that was sent. Returns how many of its bytes were sent before.
    pub fn advance(&mut self, payload: u64) -> u64 {
        self.progress.snd_nxt += payload;
        // Bytes below the highest one sent are retransmissions, no matter why they are sent again.
        if self.progress.snd_nxt > self.progress.max_sent {
            self.progress.max_sent = self.progress.snd_nxt;
            return 0;
        }
        self.progress.retransmitted += payload;
        payload
    }

    /// Acknowledges all bytes before `seq`; a NACK may also take acknowledged bytes back. Returns the value before.
    pub fn acknowledge(&mut self, seq: u64, nack: bool) -> u64 {
        self.on_feedback();
        let before = self.progress.snd_una;
        self.progress.snd_una = if nack { seq } else { before.max(seq) };
        before
    }

    /// Goes back to byte `seq`, from which on all is to be sent again.
    pub fn go_back_to(&mut self, seq: u64) {
        self.progress.snd_nxt = seq;
    }

    /// Adds `size` bytes to the flow, and returns their end.
    pub fn extend(&mut self, size: u64) -> u64 {
        self.progress.size += size;
        self.progress.end_seq = self.progress.size;
        self.progress.size
    }

    /// Returns the bytes that were retransmitted since the last call.
    pub fn take_retransmitted(&mut self) -> u64 {
        std::mem::take(&mut self.progress.retransmitted)
    }

    /// Resets all sequence numbers to zero, after all data was acknowledged or given up.
    pub fn begin_anew(&mut self) {
        (self.progress.size, self.progress.end_seq) = (0, 0);
        (
            self.progress.snd_una,
            self.progress.snd_nxt,
            self.progress.max_sent,
        ) = (0, 0, 0);
        (self.progress.sample_after, self.progress.sent_unscheduled) = (0, 0);
    }
}

impl Hosts {
    /// Creates the receiver of a flow whose data will come.
    pub fn begin_receiver(&mut self, cx: &Cx<'_>, slot: QpId) {
        self.receivers.begin(cx, self.qps[slot].flow, slot);
    }

    /// Returns how many of a flow's bytes have arrived in order, if it has a receiver.
    pub fn arrived_of(&self, flow: FlowId) -> Option<u64> {
        self.receivers.arrived_of(flow)
    }

    /// Returns the answer to a data packet, and the port by which it leaves: an ACK of all that has arrived if the
    /// packet is the expected one, else a NACK. Tag, note and time stamp stay. `None` if the flow has no receiver.
    pub fn answer_in_order(&mut self, packet: &Packet) -> Option<(PortId, Packet)> {
        let receiver = self.receivers.of(packet.flow)?;
        let kind = match packet.seq == receiver.expected {
            true => PacketKind::Ack,
            false => PacketKind::Nack,
        };
        if kind == PacketKind::Ack {
            receiver.expected += u64::from(packet.payload);
        }
        let mut answer = Packet {
            kind,
            seq: receiver.expected,
            wire: receiver.path.ack_wire,
            payload: 0,
            ingress: PortId::NONE,
            ..*packet
        };
        receiver.path.send_back(&mut answer);
        Some((receiver.path.ack_port, answer))
    }

    /// Resets a flow's receiver to byte zero.
    pub fn receive_anew(&mut self, flow: FlowId) {
        if let Some(receiver) = self.receivers.of(flow) {
            receiver.expected = 0;
        }
    }

    /// Ends the flow of a queue pair.
    pub fn end_message_flow(&mut self, slot: QpId) {
        let qp = &mut self.qps[slot];
        qp.done = true;
        self.senders.take(qp.flow);
        self.receivers.end(qp.flow);
        self.free_qps.push(slot);
    }
}
