//! Exchange of packets between the parts of a run ([`crate::run::cut`]).

use paceline_kernel::ids::List;
use paceline_kernel::queue::LaneId;
use std::sync::{Arc, MutexGuard};

use paceline_congestion::HopSample;

use crate::core::event::Event;
use crate::core::link::Crossing;
use crate::core::packet::Packet;
use crate::core::port::Port;
use crate::core::retry::Control;
use crate::core::{Core, Share};
use crate::ids::{AccountId, PortId};
use crate::watch::account::{Head, Step, Way};
use crate::world::World;
use paceline_run::spec::NodeId;

/// Packets bound for another part, with a list for each kind of data that the receiving part needs.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(super) crossings: Vec<Crossing>,
    pub(super) packets: Vec<Packet>,
    /// Telemetry of all packets, one after another.
    pub(super) samples: Vec<HopSample>,
    /// Words of all packets, in runs whose packets have words.
    pub(super) words: Vec<u64>,
    /// Hop logs of the accounted packets: their heads, and the steps of all.
    pub(super) heads: Vec<Option<Head>>,
    pub(super) steps: Vec<Step>,
    /// Paths of accounted flows that have started in the sending part and pass the receiving one.
    pub(super) ways: Vec<Way>,
}

/// Number of packets whose slots are fetched ahead of the one that is taken in.
const AHEAD: usize = 8;

/// Summary of what a part has sent to others in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) count: u64,
    /// Control ordered sets among them, which are no packets.
    pub(crate) controls: u64,
    /// Earliest arrival, in ps; `u64::MAX` if nothing was sent.
    pub(crate) first: u64,
}

impl Posted {
    pub(crate) const NOTHING: Self = Self {
        count: 0,
        controls: 0,
        first: u64::MAX,
    };
}

impl Core {
    /// Announces the path of an account's quiet packets to the other parts that they pass.
    pub(crate) fn announce_way(&mut self, account: AccountId) {
        let Some(share) = &self.share else {
            return;
        };
        let accounts = &mut self.watch.accounts;
        let part_of = |port: PortId| share.of_node[self.ports[port].node];
        let mut parts: Vec<u8> = accounts.way(account).map(part_of).collect();
        parts.sort_unstable();
        parts.dedup();
        for part in parts.into_iter().filter(|&part| part != share.part) {
            accounts.announce(account, part);
        }
    }

    /// Hands over the packets that have left for other parts. `open` locks the mailbox of a part.
    pub(crate) fn post<'a>(&mut self, open: impl Fn(usize) -> MutexGuard<'a, Mail>) -> Posted {
        let mut posted = Posted::NOTHING;
        let accounts = self.watch.accounts.on();
        // A path goes out no later than the flow's first packet, which may come by a third part.
        for (to, way) in self.watch.accounts.take_ways() {
            open(usize::from(to)).ways.push(way);
        }
        for to in 0..self.agenda.outboxes.len() {
            if self.agenda.outboxes[to].is_empty() {
                continue;
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
            for (crossing, packet) in sent.iter().zip(&mail.packets) {
                posted.controls += u64::from(Control::is_in(packet));
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
            ways,
        } = mail;
        ways.drain(..).for_each(|way| self.watch.accounts.learn(way));
        let (mut samples_left, mut steps_left) = (&samples[..], &steps[..]);
        let mut words_left = words.iter();
        let mut heads_left = heads.iter();
        // Packets are inserted in the order in which they were sent, so that the lists of samples, words and logs match
        // them.
        for (crossing, packet) in crossings.iter().zip(packets.iter()) {
            if Control::is_in(packet) {
                words_left.next();
                self.arrives(crossing.port, crossing.at, packet);
                continue;
            }
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

    /// Becomes the whole network at the end of a run. Returns the part of each node.
    pub(crate) fn become_whole(&mut self) -> Option<Arc<List<NodeId, u8>>> {
        self.share.take().map(|share| share.of_node)
    }

    /// Schedules the packets that the other parts have sent in a window, once all have come.
    pub(crate) fn empty_trays(&mut self) {
        self.agenda.empty_trays();
    }
}
