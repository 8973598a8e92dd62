//! What switches tell senders in packets of their own, and how it reaches the scheme.

use paceline_congestion::switch_ack::{PortReport, QueueTrend};
use paceline_congestion::{CongestedPort, SwitchSignal};
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Span};

use crate::core::Core;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{PacketId, ProfileId};
use crate::world::World;
use paceline_run::outcome::PacketKind;

impl World {
    /// The port that a packet's note speaks of, if it does of one.
    #[inline]
    pub fn congested_port(&self, packet: &Packet) -> Option<CongestedPort> {
        (packet.note_port != ProfileId::NONE).then(|| CongestedPort {
            queue: Bytes::new(u64::from(packet.note)),
            rate: self.profiles[packet.note_port].rate,
        })
    }

    fn read_notice(&self, core: &Core, packet: &Packet) -> Option<SwitchSignal> {
        let after = Span::from_ps(core.now() - packet.sent_at);
        match packet.kind {
            PacketKind::Src => Some(SwitchSignal::Congested {
                port: self.congested_port(packet)?,
                rtt: after,
            }),
            PacketKind::SwitchAck => {
                let CongestedPort { queue, rate } = self.congested_port(packet)?;
                let (utilisation, growth) = (packet.pint, packet.answers.cast_signed());
                Some(SwitchSignal::Report(PortReport {
                    queue,
                    rate,
                    trend: QueueTrend { utilisation, growth },
                    after,
                }))
            }
            _ => Some(SwitchSignal::Feedback {
                fb: packet.note as u8,
            }),
        }
    }
}

impl Hosts {
    /// A switch's notice arrived at the sender.
    pub fn receive_notice(&mut self, world: &World, core: &mut Core, id: PacketId) {
        let packet = *core.packets.get(id);
        let slot = packet.qp;
        if self.is_current(world, core, id)
            && let Some(notice) = world.read_notice(core, &packet)
        {
            if core.watch.accounts_alone() {
                core.settle(&self.qps[slot]);
            }
            core.counters.notifications += 1;
            self.qps[slot].on_feedback();
            self.call_scheme(world, core, slot, |scheme, cx| scheme.on_notice(cx, &notice));
            self.try_send(world, core, self.qps[slot].port);
        }
        core.packets.remove(id);
    }
}
