//! The ways of flows, so that packets write down only where they waited.
//!
//! Where nothing is lost on links, all of a flow's packets go one way, and so do their acknowledgements: which, is known
//! when the flow starts, and how long each port takes a packet that does not wait. So packets of the usual size are
//! *quiet*: they write down the ports where they waited, and where nothing is written they left when they came. What
//! ends before it comes back, or goes on where the way is not known, is *told*: all of it is written down.

use super::Accounts;
use super::journal::{ARRIVED, LONG, PAUSED, Step, key_of, port_of};
use super::totals::Totals;
use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::host::sender::Qp;
use crate::ids::{PacketId, PortId};
use crate::outcome::PacketKind;
use crate::spec::{LoadBalancing, RunSpec};
use crate::world::World;
use paceline_kernel::ids::Id;

/// A port of a flow's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    key: u32,
    /// Its place among the flow's ports.
    place: usize,
    /// From the beginning of its transmission to the next port.
    flight: u64,
}

/// How far a packet has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upto {
    /// It left this port: see [`key_of`].
    Left(u32),
    /// It reached the receiver.
    Receiver,
    /// Its acknowledgement reached the sender.
    Sender,
}

/// Whether all packets of a flow go one way, and none is lost on it.
pub(super) fn are_fixed(spec: &RunSpec) -> bool {
    let lossless = spec.links.iter().all(|link| link.error_rate == 0.0);
    lossless
        && spec.failures.is_empty()
        && spec.load_balancing == LoadBalancing::Ecmp
        && spec.nic.endpoint.is_none()
}

impl Totals {
    /// The flow's packets are going to leave this port, after those before.
    fn add_hop(&mut self, key: u32, flight: u64) {
        let place = self.place(key);
        self.way.push(Hop { key, place, flight });
    }

    /// Adds a packet that has gone the whole way and begun to do so at `start`.
    #[inline]
    pub(super) fn add_quiet(&mut self, start: u64, steps: &[Step]) {
        self.quiet += 1;
        let (mut ready, mut paused) = (start, 0);
        let mut hops = self.way.iter();
        for step in steps {
            if step.key >= ARRIVED {
                paused = if step.key == PAUSED { step.left } else { paused };
                continue;
            }
            for hop in hops.by_ref() {
                if hop.key == step.key & !LONG {
                    let port = &mut self.ports[hop.place];
                    port.add_queueing(step.left - ready - paused);
                    if paused > 0 {
                        port.add_pause(std::mem::take(&mut paused));
                    }
                    ready = step.left + hop.flight;
                    break;
                }
                ready += hop.flight;
            }
        }
    }

    /// Quiet packets were at every port of the way: so does each port count.
    pub(super) fn count_quiet(&mut self) {
        let packets = std::mem::take(&mut self.quiet);
        for hop in &self.way {
            self.ports[hop.place].packets += packets;
        }
    }
}

impl Accounts {
    /// Writes down all that a quiet packet met.
    fn tell(&mut self, packet: PacketId, upto: Upto) {
        let journal = self.journals.get_mut(packet);
        let Some((head, _)) = journal.read().filter(|(head, _)| head.is_quiet) else {
            return;
        };
        let (mut ready, way) = (head.start, &self.totals[head.place].way);
        let steps = journal.begin_anew();
        let mut steps = steps.iter().filter(|step| step.key != ARRIVED).peekable();
        let (mut paused, mut last) = (0, PAUSED);
        for hop in way {
            let beyond = match upto {
                Upto::Left(end) => last == end,
                Upto::Receiver => port_of(hop.key).1,
                Upto::Sender => false,
            };
            if beyond {
                break;
            }
            if let Some(pause) = steps.next_if(|step| step.key == PAUSED) {
                paused = pause.left;
            }
            let waited = steps.next_if(|step| step.key & !LONG == hop.key);
            if waited.is_some() && paused > 0 {
                journal.push(Step::other(PAUSED, std::mem::take(&mut paused)));
            }
            let left = waited.map_or(ready, |step| step.left);
            ready = left + hop.flight;
            journal.leave(hop.key, left, ready);
            last = hop.key;
        }
    }
}

impl Core {
    /// A flow starts that goes these ways.
    pub(super) fn foresee_way(&mut self, world: &World, qp: &Qp, [forward, back]: [&[PortId]; 2]) {
        let accounts = &mut self.watch.accounts;
        if !accounts.fixed_ways || self.watch.recorder.tracing {
            return;
        }
        let wire = world.packet.mtu.get() as u16 + qp.data_header;
        accounts.senders[qp.account].known_wire = wire;
        let ways = [
            (forward, wire, true),
            (back, world.packet.ack_wire(&qp.needs), false),
        ];
        for (ports, wire, is_data) in ways {
            for &port in ports {
                let profile = &world.profiles[self.ports[port].profile];
                let flight = profile.serialise(wire).tx + profile.delay;
                accounts.totals[qp.account].add_hop(key_of(port, is_data), flight);
            }
        }
    }

    /// All that a packet met has to be known from here on: it has come so far.
    #[cold]
    pub(crate) fn tell(&mut self, id: PacketId, upto: Upto) {
        let packet = self.packets.get_mut(id);
        if packet.is_accounted() && !packet.is_told() {
            packet.flags |= Packet::TOLD;
            self.watch.accounts.tell(id, upto);
        }
    }

    /// The same of a packet that came in by `ingress`.
    #[cold]
    pub(crate) fn tell_before(&mut self, ingress: PortId, id: PacketId) {
        self.tell(id, self.came_by(ingress, id));
    }

    /// A data packet ends where it was sent to, without an answer.
    #[inline(never)]
    pub(crate) fn end_at_receiver(&mut self, id: PacketId) {
        self.tell(id, Upto::Receiver);
        self.packets.remove(id);
    }

    /// How far a packet has come that is at the end of a link.
    fn came_by(&self, ingress: PortId, id: PacketId) -> Upto {
        let is_data = self.packets.get(id).kind == PacketKind::Data;
        match self.ports.get(ingress) {
            Some(port) => Upto::Left(key_of(port.peer, is_data)),
            // It began there.
            None => Upto::Left(PAUSED),
        }
    }

    /// All that the packets under way met has to be known from here on.
    pub(crate) fn tell_all(&mut self) {
        if !self.watch.accounts.on() {
            return;
        }
        let mut under_way = Vec::new();
        self.agenda.queue.for_each(|entry| {
            if let Event::Arrive { port, packet } = Event::decode(entry.what) {
                under_way.push((packet, self.came_by(port, packet)));
            }
        });
        for ((port, _), queue) in self.queues.numbered() {
            let mut id = queue.head;
            while id != PacketId::NONE {
                let packet = self.packets.get(id);
                let upto = match self.ports[port].is_host {
                    true => Upto::Receiver,
                    false => self.came_by(packet.ingress, id),
                };
                under_way.push((id, upto));
                id = packet.next;
            }
        }
        for (id, upto) in under_way {
            self.tell(id, upto);
        }
    }
}
