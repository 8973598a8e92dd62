//! Exchange of packets between the parts of a run, and merging of the parts at the end ([`crate::run::cut`]).

use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::LaneId;
use std::sync::{Arc, MutexGuard};

use paceline_congestion::HopSample;

use crate::core::event::Event;
use crate::core::link::Crossing;
use crate::core::packet::Packet;
use crate::core::port::{ClassQueue, Port};
use crate::core::random::LinkErrors;
use crate::core::{Core, Share};
use crate::ids::PacketId;
use crate::watch::account::{Head, Step};
use crate::world::World;
use paceline_run::spec::NodeId;

/// Packets bound for another part, with a list for each kind of data that the receiving part needs.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    crossings: Vec<Crossing>,
    packets: Vec<Packet>,
    /// Telemetry of all packets, one after another.
    samples: Vec<HopSample>,
    /// Words of all packets, in runs whose packets have words.
    words: Vec<u64>,
    /// Hop logs of the accounted packets: their heads, and the steps of all.
    heads: Vec<Option<Head>>,
    steps: Vec<Step>,
}

/// Number of packets whose slots are fetched ahead of the one that is taken in.
const AHEAD: usize = 8;

/// Summary of what a part has sent to others in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) count: u64,
    /// Earliest arrival, in ps; `u64::MAX` if nothing was sent.
    pub(crate) first: u64,
}

impl Posted {
    pub(crate) const NOTHING: Self = Self {
        count: 0,
        first: u64::MAX,
    };
}

impl Core {
    /// Hands over the packets that have left for other parts. `open` locks the mailbox of a part.
    pub(crate) fn post<'a>(&mut self, open: impl Fn(usize) -> MutexGuard<'a, Mail>) -> Posted {
        let mut posted = Posted::NOTHING;
        for to in 0..self.agenda.outboxes.len() {
            if self.agenda.outboxes[to].is_empty() {
                continue;
            }
            let accounts = self.watch.accounts.on();
            if accounts {
                // Other parts do not know the paths of this one's flows.
                for at in 0..self.agenda.outboxes[to].len() {
                    let Crossing { port, packet, .. } = self.agenda.outboxes[to][at];
                    self.notify_before(port, packet);
                }
            }
            // The receiver has emptied the mailbox, so its list becomes the next window's outbox. Each list is filled
            // in a separate pass: without branches, the processor waits for several packets at a time.
            let mail = &mut *open(to);
            std::mem::swap(&mut mail.crossings, &mut self.agenda.outboxes[to]);
            let sent = &mail.crossings;
            let packets = sent.iter().map(|crossing| *self.packets.get(crossing.packet));
            mail.packets.extend(packets);
            if self.packets.has_samples() {
                for crossing in sent {
                    mail.samples.extend_from_slice(self.packets.hops(crossing.packet));
                }
            }
            if self.packets.has_words() {
                let words = sent.iter().map(|crossing| self.packets.words(crossing.packet));
                mail.words.extend(words);
            }
            if accounts {
                for (crossing, packet) in sent.iter().zip(&mail.packets) {
                    if packet.is_accounted() {
                        let head = self.watch.accounts.take(crossing.packet, &mut mail.steps);
                        mail.heads.push(head);
                    }
                }
            }
            // Slots are freed last, since all lists above are read from them.
            for crossing in sent {
                self.packets.remove(crossing.packet);
                posted.first = posted.first.min(crossing.at);
            }
            posted.count += sent.len() as u64;
        }
        posted
    }

    /// Takes in the packets that another part has sent here.
    pub(crate) fn collect(&mut self, mail: &mut Mail) {
        let Mail {
            crossings,
            packets,
            samples,
            words,
            heads,
            steps,
        } = mail;
        let (mut samples_left, mut steps_left) = (&samples[..], &steps[..]);
        let mut words_left = words.iter();
        let mut heads_left = heads.iter();
        // Packets are inserted in the order in which they were sent, so that the lists of samples, words and logs match
        // them.
        for (crossing, packet) in crossings.iter().zip(packets.iter()) {
            self.packets.prefetch_free(AHEAD);
            let id = self.packets.insert(*packet);
            samples_left = self.packets.fill_hops(id, samples_left);
            if let Some(words) = words_left.next() {
                self.packets.set_words(id, *words);
            }
            if packet.is_accounted()
                && let Some(Some(head)) = heads_left.next()
            {
                let (own, others) = steps_left.split_at(head.count());
                self.watch.accounts.put(id, head, own);
                steps_left = others;
            }
            self.agenda.receive(crossing, id);
        }
        self.agenda.end_run();
        crossings.clear();
        packets.clear();
        samples.clear();
        words.clear();
        heads.clear();
        steps.clear();
    }

    /// Moves a packet from another part into a slot of this one.
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

    /// Returns a copy of another part's queue, with its packets moved here.
    pub(crate) fn adopt_queue(&mut self, other: &mut Self, queue: &ClassQueue) -> ClassQueue {
        // Ingress counters stay as they are: only the list and its bytes are built again, with the new slots.
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

    /// Becomes part `part`, of the nodes that `of_node` assigns to it. Events that happen elsewhere are dropped.
    pub(crate) fn become_part(
        &mut self,
        world: &World,
        part: u8,
        parts: usize,
        of_node: Arc<List<NodeId, u8>>,
        is_here: impl Fn(&Self, Event) -> bool,
    ) {
        let share = Share { part, of_node };
        let part_of = |node: NodeId| share.of_node[node];
        // Ports without a peer in another part keep a constant there, which one comparison finds.
        for port in self.ports.ids() {
            let peer = self.ports[port].peer;
            let (here, there) = (self.ports[port].node, self.ports[peer].node);
            self.ports[port].peer_part = match part_of(there) {
                same if same == part_of(here) => Port::SAME_PART,
                other => other,
            };
        }
        let own = (self.ports.numbered()).filter(|(_, port)| share.of_node[port.node] == part);
        self.watch.recorder.ports.keep_only(own.map(|(id, _)| id));
        let emptied = self.agenda.queue.emptied();
        // Scheduled again below, without lanes: a lane's times must not run back, and these come in no order.
        let pending = std::mem::replace(&mut self.agenda.queue, emptied);
        self.share = Some(share);
        self.agenda.outboxes.resize_with(parts, Vec::new);
        for (port, _) in self.ports.numbered().filter(|(_, port)| port.crosses()) {
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

    /// Becomes the whole network, after all other parts were taken over.
    pub(crate) fn become_whole(&mut self) {
        self.share = None;
        for port in &mut self.ports {
            port.peer_part = Port::SAME_PART;
        }
    }

    /// Schedules the packets that the other parts have sent in a window, once all have come.
    pub(crate) fn empty_trays(&mut self) {
        self.agenda.empty_trays();
    }

    /// Takes over another part's ports, queues and pending events.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        for port in self.ports.ids() {
            if !other.has(self.ports[port].node) {
                continue;
            }
            self.ports[port] = other.ports[port];
            for class in 0..self.class_count as u8 {
                let index = (port, class);
                let queue = other.queues[index];
                self.queues[index] = self.adopt_queue(other, &queue);
                self.pauses.take_over(&other.pauses, index);
            }
            if let (LinkErrors::Ports(mine), LinkErrors::Ports(theirs)) =
                (&mut self.link_errors, &other.link_errors)
            {
                mine.take_over(theirs, port);
            }
            self.pauses.take_over_stream(&other.pauses, port);
        }
        // Parts stop at different times: the clock of the whole is that of the last one.
        self.now = self.now.max(other.now);
        let mut pending = Vec::new();
        other.agenda.queue.for_each(|entry| pending.push(*entry));
        for entry in pending {
            let event = match Event::decode(entry.what) {
                // Every part has these events, and this one's are pending already.
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
