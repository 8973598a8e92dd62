//! What parts of a run exchange while it goes, and how they become one again ([`crate::run::cut`]).

use paceline_kernel::ids::{Id, List};
use std::sync::{Arc, MutexGuard};

use paceline_congestion::HopSample;
use paceline_kernel::queue::LaneId;

use crate::core::event::Event;
use crate::core::link::Crossing;
use crate::core::packet::Packet;
use crate::core::port::ClassQueue;
use crate::core::random::LinkErrors;
use crate::core::{Core, Share};
use crate::ids::{PacketId, PortId};
use crate::watch::account::{Head, Step};
use crate::world::World;
use paceline_run::spec::NodeId;

/// Packets on their way to another part, a list for each thing that is to be known of them.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    ways: Vec<Way>,
    packets: Vec<Packet>,
    /// Telemetry of all, one after another.
    samples: Vec<HopSample>,
    /// The words of all, where packets have some.
    words: Vec<u64>,
    /// What is written down of the ways of those that have a journal.
    heads: Vec<Option<Head>>,
    steps: Vec<Step>,
}

/// When a packet arrives, and where.
#[derive(Clone, Copy, Debug)]
struct Way {
    at: u64,
    port: PortId,
    lane: LaneId,
}

/// What a part has sent to others in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) count: u64,
    /// When the first of it arrives; `u64::MAX` for never.
    pub(crate) first: u64,
}

impl Posted {
    pub(crate) const NOTHING: Self = Self {
        count: 0,
        first: u64::MAX,
    };
}

impl Core {
    /// Hands over the packets that have left for other parts, of which there are `parts`; `open` opens the box of one.
    pub(crate) fn post<'a>(&mut self, parts: usize, open: impl Fn(usize) -> MutexGuard<'a, Mail>) -> Posted {
        // Other parts do not know the ways of this one's flows.
        for place in 0..self.agenda.outbox.len() {
            let Crossing { port, packet, .. } = self.agenda.outbox[place];
            self.notify_before(port, packet);
        }
        let mut posted = Posted::NOTHING;
        let Some(share) = &self.share else { return posted };
        let mut boxes: Vec<Option<MutexGuard<'_, Mail>>> = (0..parts).map(|_| None).collect();
        for crossing in self.agenda.outbox.drain(..) {
            let Crossing {
                at,
                port,
                packet: id,
                lane,
            } = crossing;
            let to = usize::from(share.of_node[self.ports[port].node]);
            let mail = &mut **boxes[to].get_or_insert_with(|| open(to));
            let packet = *self.packets.get(id);
            mail.samples.extend_from_slice(self.packets.hops(id));
            if self.packets.has_words() {
                mail.words.push(self.packets.words(id));
            }
            if packet.is_accounted() {
                let head = self.watch.accounts.take(id, &mut mail.steps);
                mail.heads.push(head);
            }
            mail.ways.push(Way { at, port, lane });
            mail.packets.push(packet);
            self.packets.remove(id);
            posted.count += 1;
            posted.first = posted.first.min(at);
        }
        posted
    }

    /// Takes the packets of another part that come here.
    pub(crate) fn collect(&mut self, mail: &mut Mail) {
        let mut samples = mail.samples.as_slice();
        let mut steps = mail.steps.as_slice();
        let mut heads = mail.heads.drain(..);
        let mut words = mail.words.drain(..);
        for (way, packet) in mail.ways.drain(..).zip(mail.packets.drain(..)) {
            let accounted = packet.is_accounted();
            let packet = self.packets.insert(packet);
            samples = self.packets.fill_hops(packet, samples);
            if let Some(words) = words.next() {
                self.packets.set_words(packet, words);
            }
            if accounted && let Some(head) = heads.next().flatten() {
                let (own, others) = steps.split_at(head.count());
                self.watch.accounts.put(packet, &head, own);
                steps = others;
            }
            let port = way.port;
            let event = Event::Arrive { port, packet };
            match self.agenda.trays.iter_mut().find(|tray| tray.of == way.lane) {
                Some(tray) => tray.put(way.at, event),
                None => self.schedule(LaneId::WHEEL, way.at, event),
            }
        }
        drop(heads);
        drop(words);
        mail.samples.clear();
        mail.steps.clear();
    }

    /// Takes a packet over from another part.
    fn adopt(&mut self, other: &mut Self, id: PacketId) -> PacketId {
        let packet = *other.packets.get(id);
        let new = self.packets.insert(packet);
        self.packets.fill_hops(new, other.packets.hops(id));
        self.packets.set_words(new, other.packets.words(id));
        let mut steps = Vec::new();
        if packet.is_accounted()
            && let Some(head) = other.watch.accounts.take(id, &mut steps)
        {
            self.watch.accounts.put(new, &head, &steps);
        }
        new
    }

    /// The same queue with the packets of another part.
    pub(crate) fn adopt_queue(&mut self, other: &mut Self, queue: &ClassQueue) -> ClassQueue {
        let mut adopted = ClassQueue {
            head: PacketId::NONE,
            tail: PacketId::NONE,
            bytes: 0,
            ..*queue
        };
        let mut next = queue.head;
        while next != PacketId::NONE {
            let id = self.adopt(other, next);
            adopted.push(&mut self.packets, id);
            next = other.packets.get(next).next;
        }
        adopted
    }

    /// Becomes the part of the nodes for which `of_node` says so: what is to happen elsewhere is forgotten.
    pub(crate) fn become_part(
        &mut self,
        world: &World,
        part: u8,
        of_node: Arc<List<NodeId, u8>>,
        is_here: impl Fn(&Self, Event) -> bool,
    ) {
        let share = Share { part, of_node };
        let part_of = |node: NodeId| share.of_node[node];
        for port in self.ports.ids() {
            let peer = self.ports[port].peer;
            let (here, there) = (self.ports[port].node, self.ports[peer].node);
            self.ports[port].crosses = part_of(here) != part_of(there);
        }
        let emptied = self.agenda.queue.emptied();
        let pending = std::mem::replace(&mut self.agenda.queue, emptied);
        self.share = Some(share);
        for (port, _) in self.ports.numbered().filter(|(_, port)| port.crosses) {
            for common in world.profiles_of(port).flat_map(|profile| &profile.common) {
                self.agenda.add_tray(common.arrive_lane);
            }
        }
        pending.for_each(|entry| {
            let event = Event::decode(entry.what);
            if is_here(self, event) {
                self.schedule(LaneId::WHEEL, entry.at, event);
            }
        });
    }

    /// Has taken over all other parts.
    pub(crate) fn become_whole(&mut self) {
        self.share = None;
        for port in &mut self.ports {
            port.crosses = false;
        }
    }

    /// All that the others have sent in a window has come.
    pub(crate) fn empty_trays(&mut self) {
        self.agenda.empty_trays();
    }

    /// Takes over what another part has: its ports, and what is to happen there.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        for port in self.ports.ids() {
            if !other.has(self.ports[port].node) {
                continue;
            }
            self.ports[port] = other.ports[port];
            for class in 0..self.class_count as u8 {
                let place = (port, class);
                let queue = other.queues[place];
                self.queues[place] = self.adopt_queue(other, &queue);
                self.pauses.take_over(&other.pauses, place);
            }
            if let (LinkErrors::Ports(mine), LinkErrors::Ports(theirs)) =
                (&mut self.link_errors, &mut other.link_errors)
            {
                mine.exchange(theirs, port);
            }
            self.pauses.exchange(&mut other.pauses, port);
        }
        self.now = self.now.max(other.now);
        let mut pending = Vec::new();
        other.agenda.queue.for_each(|entry| pending.push(*entry));
        for entry in pending {
            let event = match Event::decode(entry.what) {
                // These are the same in every part.
                Event::Topology { .. } | Event::FlowDue { .. } => continue,
                Event::Arrive { port, packet } => Event::Arrive {
                    port,
                    packet: self.adopt(other, packet),
                },
                event => event,
            };
            self.schedule(LaneId::WHEEL, entry.at, event);
        }
    }
}
