//! What switches tell senders in packets of their own, and how it reaches the scheme.

use paceline_congestion::{CongestedPort, Notice};
use paceline_kernel::{Bytes, Span};

use crate::outcome::PacketKind;
use crate::packet::{NO_PORT, Packet};
use crate::sim::Simulation;

impl Simulation {
    /// The port that a packet's note speaks of, if it does of one.
    #[inline]
    pub(crate) fn congested_port(&self, packet: &Packet) -> Option<CongestedPort> {
        (packet.note_port != NO_PORT).then(|| CongestedPort {
            queue: Bytes::new(u64::from(packet.note)),
            rate: self.world.profiles[usize::from(packet.note_port)].rate,
        })
    }

    /// A switch's notice arrived at the sender.
    pub(crate) fn receive_notice(&mut self, id: u32) {
        let packet = *self.core.packets.get(id);
        let slot = packet.qp;
        if self.is_current(id)
            && let Some(notice) = self.read_notice(&packet)
        {
            self.core.counters.notifications += 1;
            self.hosts.qps[slot as usize].hears();
            self.call_scheme(slot, |scheme, cx| scheme.on_notice(cx, &notice));
            self.nic_send(self.hosts.qps[slot as usize].port);
        }
        self.core.packets.remove(id);
    }

    fn read_notice(&self, packet: &Packet) -> Option<Notice> {
        match packet.kind {
            PacketKind::Src => Some(Notice::Congested {
                port: self.congested_port(packet)?,
                rtt: Span::from_ps(self.core.now - packet.sent_at),
            }),
            _ => Some(Notice::Feedback {
                fb: packet.note as u8,
            }),
        }
    }
}
