//! Transmission on ports under credits: counting units, and writing flow-control packets.

use paceline_kernel::queue::Entry;

use crate::core::Core;
use crate::core::credits::updates::COUNTS;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::ids::{PacketId, PortId};
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_run::outcome::PacketKind;

impl Core {
    /// Queues a flow-control packet of `wire` bytes. Its values are written when it leaves, so that they are the latest.
    pub(super) fn post_control(&mut self, port: PortId, class: u8, tag: u8, wire: u16) {
        let id = self.packets.insert(Packet {
            kind: PacketKind::Credit,
            sent_at: self.now,
            class,
            tag,
            wire,
            ..Packet::EMPTY
        });
        self.let_control_pass(port);
        let queue = &mut self.queues[(port, LINK_CONTROL)];
        queue.push(&mut self.packets, id);
        let p = &mut self.ports[port];
        p.ready |= 1 << LINK_CONTROL;
        p.queued += u32::from(wire);
    }

    /// Writes the current values of a lane into the flow-control packet that leaves next.
    pub(crate) fn write_update(&mut self, port: PortId) {
        let id = self.queues[(port, LINK_CONTROL)].head;
        if self.packets.get(id).tag == COUNTS {
            return self.write_counts(port, id);
        }
        let class = self.packets.get(id).class;
        // The update may overtake frames that link-level retry sends again: what is not here yet is not lost.
        let counts = !self.has_outstanding(port);
        let links = self.links_mut();
        let news = links.news(&links.lanes[(port, class)]);
        let again = !counts && links.loses[port];
        let lane = &mut links.lanes[(port, class)];
        (lane.announced, lane.telling) = ((!again).then_some(news), false);
        let packet = self.packets.get_mut(id);
        (packet.note, packet.answers) = news;
        packet.tag = u8::from(!counts);
        if again {
            self.has_news(port);
        }
    }

    /// Takes the credits of a packet that leaves.
    fn spend(&mut self, port: PortId, class: u8, wire: u16) {
        let links = self.links_mut();
        let units = links.units(wire);
        assert!(
            units <= links.sendable((port, class)),
            "nothing is sent without credit"
        );
        let mask = links.numbers - 1;
        let lane = &mut links.lanes[(port, class)];
        (lane.sent, lane.used) = ((lane.sent + units) & mask, true);
        self.has_news(port);
    }

    /// Puts a packet on the wire of a port under credits, or with link-level retry: see [`Core::transmit`].
    #[inline(never)]
    pub(crate) fn transmit_checked(
        &mut self,
        world: &World,
        port: PortId,
        id: PacketId,
        more: bool,
        traced: u8,
    ) {
        let packet = self.packets.get(id);
        let (kind, wire, class, accounted) =
            (packet.kind, packet.wire, packet.class, packet.flags & traced != 0);
        if self.credits.is_none() {
            self.transmit(world, port, id, more, traced);
            return self.frame_left(port, kind, wire);
        }
        // Flow-control packets and the strict class have no lane, and go without credit.
        if kind != PacketKind::Credit && class > STRICT {
            self.spend(port, class, wire);
        }
        let p = &self.ports[port];
        let (peer, profile) = (p.peer, &world.profiles[p.profile]);
        let timing = profile.serialise(wire);
        let links = self.links();
        // A cut-through switch decides once it has the headers; hosts and flow-control packets wait for the last bit.
        let reads_headers = links.header.is_some_and(|header| wire > header)
            && kind != PacketKind::Credit
            && !self.ports[peer].is_host;
        let (lane, arrives) = match reads_headers {
            true => {
                let (delay, lane) = links.heads[p.profile];
                (lane, self.now + delay)
            }
            false => (timing.arrive_lane, self.now + timing.tx + profile.delay),
        };
        self.agenda.count(kind, wire);
        let done = Event::TxDone { port }.encode();
        // Drawn even if the end is no event: other events of its instant may have to be ordered against it later.
        let tie = self.agenda.ties.next(self.now + timing.tx, done);
        let p = &mut self.ports[port];
        p.tx_bytes += u64::from(wire);
        (p.free_at, p.free_tie) = (self.now + timing.tx, tie);
        p.done_pending = more;
        if more {
            let (at, what) = (p.free_at, done);
            self.agenda.queue.push(timing.tx_lane, Entry { at, tie, what });
        }
        let arrival = Event::Arrive {
            port: peer,
            packet: id,
        };
        self.schedule(lane, arrives, arrival);
        if accounted {
            self.watch.accounts.step(id, port, kind, self.now, arrives);
        }
        if self.has_retry(port) {
            self.frame_left(port, kind, wire);
        }
    }

    /// Returns the time in ps that a cut-through packet has to wait before it leaves: the rest of the packet must not
    /// arrive later than the egress wire needs it.
    pub(crate) fn tail_of(&self, world: &World, ingress: PortId, egress: PortId, id: PacketId) -> u64 {
        let wire = self.packets.get(id).wire;
        let Some(header) = self.links().header.filter(|&header| wire > header) else {
            return 0;
        };
        let [enters, leaves] = [ingress, egress].map(|port| &world.profiles[self.ports[port].profile]);
        let to_come = enters.serialise(wire).tx - enters.serialise(header).tx;
        to_come.saturating_sub(leaves.serialise(wire).tx)
    }
}
