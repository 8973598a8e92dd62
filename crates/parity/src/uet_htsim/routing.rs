//! Selection of a packet's output port at a switch.

use super::network::{Staged, Switch, Tier};
use super::packet::Packet;
use super::random::hash;
use super::sim::Sim;
use super::spec::Strategy;

/// Minimum packet size for round-robin routing, bytes. Smaller packets are hashed.
const TURNS: u16 = 128;
const ADAPTIVE: u16 = 100;
/// Interval between samples of a queue's fill level, ps.
const REMEMBERED: u64 = 100_000;

/// Equal-cost ports of a packet. The table holds them at `row`, permuted when the list is first used.
struct Choice {
    /// First port, for lists in port order.
    first: u32,
    count: u32,
    row: usize,
    permuted: bool,
}

impl Sim {
    /// Routes a packet that arrives at a switch and puts it into the latency stage.
    #[inline]
    pub(super) fn switch_receive(&mut self, at: u32, id: u32) {
        let egress = self.route(at, id);
        let now = self.now();
        let switch = &mut self.net.switches[at as usize];
        let leaves = now + switch.latency;
        let was_empty = switch.stage.is_empty();
        switch.stage.push_back(Staged { leaves, id, egress });
        // All packets take equally long through a switch, so only the first needs an event.
        if was_empty {
            self.at(leaves, super::sim::Event::Switch(at));
        }
    }

    /// Moves the first packet of the latency stage to its output queue.
    pub(super) fn switch_stage(&mut self, at: u32) {
        let stage = &mut self.net.switches[at as usize].stage;
        let Some(Staged { id, egress, .. }) = stage.pop_front() else {
            return;
        };
        self.queue_receive(egress, id);
        if let Some(&Staged { leaves, .. }) = self.net.switches[at as usize].stage.front() {
            self.at(leaves, super::sim::Event::Switch(at));
        }
    }

    /// Returns the equal-cost ports of a packet at a switch.
    #[inline(always)]
    fn choice(&self, at: u32, packet: &Packet) -> Choice {
        let dst = self.packets.dst(packet);
        let tree = &self.spec.tree;
        let switch = &self.net.switches[at as usize];
        let (tor, pod) = (self.net.tor[dst as usize], self.net.pod[dst as usize]);
        let up = |row: u32| Choice {
            first: switch.up,
            count: switch.ups,
            row: (switch.row + row) as usize,
            permuted: true,
        };
        let down = |number: u32, bundle: u32| Choice {
            first: switch.first + number * bundle,
            count: bundle,
            row: (switch.row + dst) as usize,
            permuted: false,
        };
        match switch.tier {
            Tier::Tor if tor == switch.index => down(dst - tor * tree.hosts_per_tor, 1),
            Tier::Tor => up(0),
            Tier::Agg if tree.tiers == 2 || switch.index / tree.aggs_per_pod == pod => {
                down(tor % tree.tors_per_pod, tree.bundles[0])
            }
            Tier::Agg => up(dst),
            Tier::Core => down(pod, tree.bundles[1]),
        }
    }

    #[inline]
    fn route(&mut self, at: u32, id: u32) -> u32 {
        let choice = self.choice(at, &self.packets[id]);
        if choice.count == 1 && !choice.permuted {
            return choice.first;
        }
        let first = self.net.switches[at as usize].first;
        let list = self.list(&choice, at, first);
        let which = if choice.count == 1 {
            0
        } else {
            self.choose(at, id, list, choice.count)
        };
        first + u32::from(self.net.lists[at as usize][list + which as usize])
    }

    /// Predicts the port of a packet by its hash, if the list exists. Only used to prefetch.
    #[inline]
    pub(super) fn likely(&self, at: u32, packet: &Packet) -> Option<u32> {
        let choice = self.choice(at, packet);
        if choice.count == 1 && !choice.permuted {
            return Some(choice.first);
        }
        let switch = &self.net.switches[at as usize];
        let list = usize::from(self.net.table[choice.row]).checked_sub(1)?;
        let which = hash(self.packets.flow(packet), u32::from(packet.ev), switch.salt) % choice.count;
        let index = list * switch.stride as usize + which as usize;
        Some(switch.first + u32::from(self.net.lists[at as usize][index]))
    }

    /// Returns the offset of the list of equal-cost ports, which is created for its first packet.
    #[inline]
    fn list(&mut self, choice: &Choice, at: u32, first: u32) -> usize {
        let stride = self.net.switches[at as usize].stride as usize;
        let known = self.net.table[choice.row];
        // An entry is the number of the list plus one, since 0 means that there is none yet.
        if known != 0 {
            return (usize::from(known) - 1) * stride;
        }
        let lists = &mut self.net.lists[at as usize];
        let list = lists.len();
        let offset = choice.first - first;
        let ports = offset..offset + choice.count;
        lists.extend(ports.map(|port| port as u16));
        lists.resize(list + stride, 0);
        self.net.table[choice.row] = (list / stride + 1) as u16;
        // Permuting draws random numbers, so lists must be created in the order of first use.
        if choice.permuted {
            self.permute(at, list, choice.count);
        }
        list
    }

    fn permute(&mut self, at: u32, list: usize, count: u32) {
        for i in 0..count {
            let other = self.random.draw() % (count - i);
            self.net.lists[at as usize].swap(list + other as usize, list + (count - 1 - i) as usize);
        }
    }

    #[inline]
    fn choose(&mut self, at: u32, id: u32, list: usize, count: u32) -> u32 {
        let packet = &self.packets[id];
        let flow = self.packets.flow(packet);
        let Switch { salt, turn, .. } = self.net.switches[at as usize];
        let hashed = || hash(flow, u32::from(packet.ev), salt) % count;
        match self.spec.options.strategy {
            Strategy::EcmpHost => hashed(),
            Strategy::EcmpRoundRobin if packet.size >= TURNS => {
                let mut turn = turn;
                if turn >= count {
                    turn = 0;
                    self.permute(at, list, count);
                }
                self.net.switches[at as usize].turn = turn + 1;
                turn
            }
            Strategy::EcmpAdaptive if packet.size >= ADAPTIVE => self.emptiest(at, list, count),
            Strategy::EcmpHostAdaptive => {
                let own = hashed();
                if self.random.draw() % 100 < 50 {
                    let levels = self.levels(at, list, count);
                    let most = levels.clone().max();
                    let is_longest = levels.clone().nth(own as usize) == most;
                    drop(levels);
                    if is_longest {
                        return self.emptiest(at, list, count);
                    }
                }
                own
            }
            _ => hashed(),
        }
    }

    /// Returns a random port among those with the emptiest queues.
    fn emptiest(&mut self, at: u32, list: usize, count: u32) -> u32 {
        // Each choice draws once, even if only one queue is the emptiest.
        let draw = self.random.draw();
        let levels = self.levels(at, list, count);
        let least = levels.clone().min().unwrap_or_default();
        let equal = levels.clone().filter(|level| *level == least).count();
        let mut indices = levels
            .enumerate()
            .filter(|(_, level)| *level == least)
            .map(|(index, _)| index as u32);
        indices.nth(draw as usize % equal).unwrap_or_default()
    }

    /// Returns the fill levels of a list's queues, from 0 to 3. Each is sampled at most every [`REMEMBERED`].
    fn levels(&mut self, at: u32, list: usize, count: u32) -> impl Iterator<Item = u8> + Clone + '_ {
        let now = self.now();
        let first = self.net.switches[at as usize].first;
        let list = &self.net.lists[at as usize][list..list + count as usize];
        for offset in list {
            let at = (first + u32::from(*offset)) as usize;
            let (port, level) = (&self.net.ports[at], &mut self.net.levels[at]);
            if now - level.at > REMEMBERED {
                let size = self.net.classes[port.class as usize].size as f64;
                let bytes = (port.low_bytes + port.high_bytes) as f64;
                let limits = [0.05, 0.1, 0.2].map(|part| size * part);
                level.at = now;
                level.level = limits.iter().filter(|limit| bytes >= **limit).count() as u8;
            }
        }
        let levels = &self.net.levels;
        list.iter()
            .map(move |offset| levels[(first + u32::from(*offset)) as usize].level)
    }
}
