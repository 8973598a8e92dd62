//! Signals of switches, and their delivery to the scheme that they belong to.

use paceline_congestion::{CongestedPort, Signal};
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Span};

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::host::Hosts;
use crate::ids::{PacketId, ProfileId};
use crate::world::World;

impl World {
    /// Returns the port that a packet's note is about, if there is one.
    #[inline]
    pub fn congested_port(&self, packet: &Packet) -> Option<CongestedPort> {
        (packet.note_port != ProfileId::NONE).then(|| CongestedPort {
            queue: Bytes::new(u64::from(packet.note)),
            rate: self.profiles[packet.note_port].rate,
        })
    }

    /// Returns the signal of a packet; `None` if it belongs to another scheme than the flow's.
    fn signal(&self, core: &Core, packet: &Packet) -> Option<Signal> {
        let scheme = self.flow(core, packet.flow).scheme;
        let is_own = self.signals.of_scheme(scheme) == packet.tag && packet.note_port != ProfileId::NONE;
        is_own.then(|| Signal {
            words: packet.words(),
            port_rate: self.profiles[packet.note_port].rate,
            after: Span::from_ps(core.now() - packet.sent_at),
        })
    }
}

impl Hosts {
    /// Passes a switch's signal that arrived at the sender to its scheme.
    pub fn receive_signal(&mut self, cx: &mut Cx<'_>, id: PacketId) {
        let signal = cx.world.signal(cx.core, cx.core.packets.get(id));
        self.receive_notification(cx, id, |scheme, ctx| {
            if let Some(signal) = signal {
                scheme.on_signal(ctx, &signal);
            }
        });
    }
}
