//! Pauses that never end: NICs that pause forever, and pauses that wait for each other (deadlock).
//!
//! A paused (egress port, class) goes on when the switch at the other end has released enough of what came in through
//! that link. If enough of that waits behind paused ports, and so on in a cycle, nothing ever moves again. Such pauses
//! are found by proof, not by a timeout. All paused ports are candidates. Those whose other end could resume after
//! everything has left that does not wait behind a candidate are removed, again and again. The remaining pauses cannot
//! end, unless a link fails. Under credits, a lane that lacks credit is a paused class, and goes on when its buffer at
//! the other end has room for the packet that is held back.
//!
//! Hu et al., "Deadlocks in Datacenter Networks: Why Do They Form, and How to Avoid Them" (HotNets 2016). For NICs that
//! pause forever: Guo et al., "RDMA over Commodity Ethernet at Scale" (SIGCOMM 2016, section 4.3).

use serde::{Deserialize, Serialize};

use paceline_kernel::Time;
use paceline_kernel::ids::{Grid, Id};
use paceline_kernel::queue::LaneId;

use crate::core::event::Event;
use crate::ids::{PacketId, PortId};
use crate::run::kind::NetworkKind;
use crate::run::simulation::Simulation;
use crate::watch::deadlock::LONG;
use crate::world::classes::STRICT;
use paceline_run::outcome::{Deadlock, EndlessPause, PortRef};
use paceline_run::spec::NodeId;

/// Returns the link of a port, an index in [`paceline_run::spec::RunSpec::links`]: ports are numbered in pairs.
fn link_of(port: PortId) -> usize {
    port.index() / 2
}

/// Share of one part in the description of pauses that never end.
#[derive(Default, Serialize, Deserialize)]
struct View {
    /// Start of each pause, in ps, if its port is here; and the pauses that it waits for, if its sender is here.
    pauses: Vec<(Option<u64>, Vec<usize>)>,
    /// Flows with packets behind them.
    flows: Vec<u32>,
}

impl Simulation {
    /// Starts or ends a NIC's pause storm.
    #[cold]
    pub(super) fn storm(&mut self, storm: u32, begins: bool) {
        let storm = &self.world.spec.storms[storm as usize];
        let (node, link, class) = (storm.node, storm.link, self.world.classes.dense(storm.class));
        let ports = self.world.routing.ports_of(node).to_vec();
        for port in ports {
            let is_meant = link.is_none_or(|link| link == link_of(port));
            if is_meant && self.core.ports[port].is_up() {
                self.send_pfc(port, class, begins);
            }
        }
    }

    /// Sends the pauses of a host's storms again, through a link that has come back.
    pub(super) fn resume_storms(&mut self, port: PortId) {
        let (node, now) = (self.core.ports[port].node, self.core.now());
        for i in 0..self.world.spec.storms.len() {
            let storm = &self.world.spec.storms[i];
            let over = storm.until.is_some_and(|until| until.as_ps() <= now);
            let is_meant = storm.node == node && storm.link.is_none_or(|link| link == link_of(port));
            if self.core.has(node) && is_meant && storm.at.as_ps() < now && !over {
                let class = self.world.classes.dense(storm.class);
                self.send_pfc(port, class, true);
            }
        }
    }

    pub(super) fn schedule_storms(&mut self) {
        for i in 0..self.world.spec.storms.len() {
            let (at, until) = (self.world.spec.storms[i].at, self.world.spec.storms[i].until);
            let event = |ends| Event::Storm {
                storm: i as u32,
                ends,
            };
            self.core.schedule(LaneId::WHEEL, at.as_ps(), event(false));
            if let Some(until) = until {
                self.core.schedule(LaneId::WHEEL, until.as_ps(), event(true));
            }
        }
    }

    /// Searches for a deadlock in all parts, before the event at `at`. Ends the run if there is one, and nothing else
    /// has moved since the last search.
    #[cold]
    pub(super) fn look_for_deadlock(&mut self, at: u64) {
        let (now, before) = (self.core.watch.deadlock.due, self.core.watch.deadlock.received);
        let (received, is_long) = self.reduce_all(
            |part| (part.core.counters.data_received, part.has_long_pause(now)),
            |(mine, long), (theirs, other)| (mine + theirs, long | other),
        );
        let watch = &mut self.core.watch.deadlock;
        watch.next_after(at);
        watch.received = received;
        let known = watch.found.take();
        if !is_long {
            return;
        }
        let Some(mut deadlock) = self.deadlock(now) else {
            return;
        };
        let known_pauses = known.as_ref().map_or(0, |known| known.pauses.len());
        if let Some(known) = known {
            deadlock.found = known.found;
        }
        // Ended only if two searches in a row find the same pauses and no data arrived in between: flows outside of the
        // deadlock are allowed to finish.
        let same = known_pauses == deadlock.pauses.len();
        if same
            && received == before
            && !self.reduce_all(|part| part.is_expecting(now), |one, other| one | other)
        {
            deadlock.ended = true;
            self.core.end();
        }
        self.core.watch.deadlock.found = Some(deadlock);
    }

    /// Returns true if a pause has lasted long enough to be examined. (Most last for microseconds.)
    pub(super) fn has_long_pause(&self, now: u64) -> bool {
        // The search relies on this crate's buffer accounts, and in other models pauses expire.
        self.kind.has_own_hosts() && !self.switches.ends_storms() && self.core.has_pause_of(now, LONG)
    }

    /// Searches for a deadlock at the end of the run.
    pub(super) fn last_look(&mut self) {
        let mut last = self.deadlock(self.core.now());
        // Found earlier, perhaps: the report has the time of the first search that found it.
        if let (Some(last), Some(before)) = (&mut last, &self.core.watch.deadlock.found) {
            (last.found, last.ended) = (before.found, before.ended);
        }
        self.core.watch.deadlock.found = last;
    }

    /// Returns true if a flow, a change of topology or a storm is still to come.
    fn is_expecting(&self, now: u64) -> bool {
        self.world
            .spec
            .last_start()
            .is_some_and(|start| start.as_ps() > now)
            || self.traffic.is_expecting(now)
            || self.world.changes.iter().any(|change| change.at > now)
            || self
                .world
                .spec
                .storms
                .iter()
                .any(|storm| storm.at.as_ps() > now || storm.until.is_some_and(|until| until.as_ps() > now))
    }

    /// Returns all pauses that can never end.
    fn deadlock(&self, now: u64) -> Option<Deadlock> {
        if !self.kind.has_own_hosts() || self.switches.ends_storms() {
            return None;
        }
        let stuck = self.endless()?;
        let views = self.ask_all(|part| part.view(&stuck));
        let pause = |(number, &(port, class)): (usize, &(PortId, u8))| {
            let p = &self.core.ports[port];
            let peer = &self.core.ports[p.peer];
            // The port is in one part, and its peer in the same or another.
            let of_part = views.iter().map(|view| &view.pauses[number]);
            EndlessPause {
                port: PortRef {
                    node: p.node,
                    interface: self.core.watch.recorder.interface(port),
                    peer: peer.node,
                },
                is_switch: !p.is_host,
                by_switch: !peer.is_host,
                class: self.world.classes.priority(class),
                since: Time::from_ps(of_part.clone().find_map(|(since, _)| *since).unwrap_or(now)),
                waits_for: of_part.flat_map(|(_, waits_for)| waits_for).copied().collect(),
            }
        };
        let mut deadlock = Deadlock {
            found: Time::from_ps(now),
            ended: false,
            pauses: stuck.iter().enumerate().map(pause).collect(),
            cycles: Vec::new(),
            flows: views.iter().flat_map(|view| &view.flows).copied().collect(),
        };
        deadlock.flows.sort_unstable();
        deadlock.flows.dedup();
        deadlock.cycles = cycles(&deadlock.pauses);
        Some(deadlock)
    }

    /// Returns what this part knows of pauses that never end.
    fn view(&self, stuck: &[(PortId, u8)]) -> View {
        let mut view = View::default();
        for &slot in stuck {
            let (port, class) = slot;
            let peer = &self.core.ports[self.core.ports[port].peer];
            let mut waits_for = Vec::new();
            // A pause waits for another if its sender holds bytes that came in by this link in the other's queue.
            for (i, &other) in stuck.iter().enumerate() {
                let (out, its_class) = other;
                let same_switch = self.core.ports[out].node == peer.node && !peer.is_host;
                if same_switch && its_class == class && self.holds_from(other, self.core.ports[port].peer) {
                    waits_for.push(i);
                }
            }
            let is_here = self.core.has(self.core.ports[port].node);
            let since = is_here.then(|| self.core.paused_since(port, class));
            view.pauses.push((since, waits_for));
            let waiting = self.waiting_in(slot);
            (view.flows).extend(waiting.map(|id| self.core.packets.get(id).flow.0));
        }
        view
    }

    /// Returns the number of packets that wait behind pauses that never end.
    pub(super) fn packets_in_deadlock(&self) -> u32 {
        let stuck = self.endless().unwrap_or_default();
        let packets = stuck.iter().map(|&slot| self.waiting_in(slot).count() as u32);
        packets.sum()
    }

    /// Returns the packets in a queue; under credits, in all queues of an output's lane.
    fn waiting_in(&self, slot: (PortId, u8)) -> impl Iterator<Item = PacketId> {
        let lanes = match &self.kind {
            NetworkKind::Lanes(lanes) if !self.core.ports[slot.0].is_host => Some(lanes),
            _ => None,
        };
        let by_input = lanes
            .into_iter()
            .flat_map(move |lanes| lanes.waiting_at(&self.core, slot));
        self.core
            .packets
            .linked(self.core.queues[slot].head)
            .chain(by_input)
    }

    fn holds_from(&self, slot: (PortId, u8), ingress: PortId) -> bool {
        self.waiting_in(slot)
            .any(|id| self.core.packets.get(id).ingress == ingress)
    }

    /// Returns the (port, class) pairs whose pauses can never end, in order: see the module's documentation.
    fn endless(&self) -> Option<Vec<(PortId, u8)>> {
        let mut stuck = self.ask_all(Self::paused_here).concat();
        stuck.sort_unstable();
        while !stuck.is_empty() {
            let mut ending = self.ask_all(|part| part.ending(&stuck)).concat();
            if ending.is_empty() {
                return Some(stuck);
            }
            ending.sort_unstable();
            stuck.retain(|slot| ending.binary_search(slot).is_err());
        }
        None
    }

    /// Returns the paused (port, class) pairs of this part, in order.
    fn paused_here(&self) -> Vec<(PortId, u8)> {
        let classes = STRICT + 1..self.world.class_count as u8;
        let all = self.core.ports.numbered();
        let all = all.flat_map(|(id, port)| classes.clone().map(move |class| (id, port, class)));
        let paused = all.filter(|(_, port, class)| port.paused & 1 << class != 0);
        paused.map(|(id, _, class)| (id, class)).collect()
    }

    /// Returns those of the pauses that this part can end once everything has left that does not wait behind them.
    fn ending(&self, stuck: &[(PortId, u8)]) -> Vec<(PortId, u8)> {
        let held = self.held_behind(stuck);
        let on_credit = matches!(self.kind, NetworkKind::Lanes(_));
        // All packets except those held have left.
        let drained = (!on_credit).then(|| self.switches.drained(&self.core, &held));
        let ends = |&&(port, class): &&(PortId, u8)| {
            let peer = self.core.ports[port].peer;
            let p = &self.core.ports[peer];
            if !self.core.has(p.node) {
                return false;
            }
            match &drained {
                // Hosts always take what arrives.
                None => p.is_host || self.core.could_send(port, class, &held),
                Some(_) if p.asked & 1 << class == 0 => true,
                Some(_) if p.is_host => !self.storms_for_ever(p.node, class),
                Some(drained) => drained.may_resume(&self.world, peer, p, class),
            }
        };
        stuck.iter().filter(ends).copied().collect()
    }

    /// Returns what waits behind these ports, by ingress port: bytes, or credits.
    fn held_behind(&self, stuck: &[(PortId, u8)]) -> Grid<PortId, u32> {
        let mut held = Grid::of(self.core.ports.len(), self.world.class_count, 0u32);
        for &slot in stuck {
            for id in self.waiting_in(slot) {
                let packet = self.core.packets.get(id);
                if packet.ingress != PortId::NONE {
                    held[(packet.ingress, self.world.account_class(packet))] += match &self.kind {
                        NetworkKind::Lanes(_) => self.core.units(packet.wire),
                        _ => u32::from(packet.wire),
                    };
                }
            }
        }
        held
    }

    fn storms_for_ever(&self, node: NodeId, class: u8) -> bool {
        let (stop, now) = (self.world.spec.stop, self.core.now());
        self.world.spec.storms.iter().any(|storm| {
            let lasts = storm.until.is_none_or(|until| until > stop);
            storm.node == node
                && storm.at.as_ps() <= now
                && lasts
                && self.world.classes.dense(storm.class) == class
        })
    }
}

/// Returns one cycle of each set of pauses that wait for each other: the first that the search meets.
fn cycles(pauses: &[EndlessPause]) -> Vec<Vec<usize>> {
    const NEW: u32 = u32::MAX;
    let mut seen_in = vec![NEW; pauses.len()];
    let mut found = Vec::new();
    for start in 0..pauses.len() {
        // Depth-first search: `path` has pauses, and how many of their successors were visited.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if seen_in[start] == NEW {
            seen_in[start] = start as u32;
            path.push((start, 0));
        }
        while let Some(&mut (here, ref mut looked)) = path.last_mut() {
            let Some(&next) = pauses[here].waits_for.get(*looked) else {
                path.pop();
                continue;
            };
            *looked += 1;
            if let Some(index) = path.iter().position(|&(on, _)| on == next) {
                found.push(path[index..].iter().map(|&(on, _)| on).collect());
                // Other cycles through it belong to the same deadlock.
                break;
            }
            if seen_in[next] == NEW {
                seen_in[next] = start as u32;
                path.push((next, 0));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;
    use paceline_run::spec::NodeKind;
    use proptest::prelude::*;

    fn pause(waits_for: &[usize]) -> EndlessPause {
        EndlessPause {
            port: PortRef {
                node: NodeId(0),
                interface: 1,
                peer: NodeId(1),
            },
            is_switch: true,
            by_switch: true,
            class: 3,
            since: Time::ZERO,
            waits_for: waits_for.to_vec(),
        }
    }

    #[test]
    fn circles_and_their_tails() {
        assert_eq!(cycles(&[pause(&[1]), pause(&[])]), Vec::<Vec<usize>>::new());
        assert_eq!(cycles(&[pause(&[1]), pause(&[2]), pause(&[1])]), [[1, 2]]);
        let two = [pause(&[1]), pause(&[0]), pause(&[3]), pause(&[0, 2])];
        assert_eq!(cycles(&two), [[0, 1], [2, 3]]);
        assert_eq!(cycles(&[pause(&[0])]), [[0]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(64), ..ProptestConfig::default() })]

        /// In a tree of switches no pauses wait for each other, however congested it is: at no moment does the search
        /// report a deadlock.
        #[test]
        fn no_false_alarm_in_trees(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
            homes in prop::collection::vec(any::<prop::sample::Index>(), 3..9),
            flows in prop::collection::vec((0usize..64, 1usize..64, 1_000u64..400_000, 0u64..20_000), 4..24),
            dynamic in any::<bool>(),
        ) {
            let switches = parents.len() as u32 + 1;
            let mut spec = common::natural(common::star(2, common::scheme("none")));
            spec.nodes = vec![NodeKind::Switch; switches as usize];
            spec.nodes.extend(vec![NodeKind::Host; homes.len()]);
            let link = |a: usize, b: u32| common::link(a as u32, b, common::G100);
            spec.links = (1..switches).zip(&parents).map(|(s, p)| link(p.index(s as usize), s)).collect();
            let hosts = (switches..).zip(&homes);
            spec.links.extend(hosts.map(|(h, home)| link(home.index(switches as usize), h)));
            spec.switch.ecn.clear();
            if dynamic {
                spec.switch.buffer = paceline_kernel::Bytes::new(60_000 * spec.links.len() as u64);
            } else {
                common::static_pfc(&mut spec, 20_000, 18_000, 60_000);
            }
            let mut flows = flows;
            flows.sort_by_key(|flow| flow.3);
            for (src, offset, size, start) in flows {
                let src = src % homes.len();
                let dst = (src + 1 + offset % (homes.len() - 1)) % homes.len();
                common::add_flow(&mut spec, switches + src as u32, switches + dst as u32, size, start);
            }
            let mut simulation = Simulation::new(spec).unwrap();
            while !simulation.advance(100).done {
                prop_assert_eq!(simulation.endless(), None);
            }
            let outcome = simulation.finish();
            prop_assert_eq!(outcome.deadlock, None);
            prop_assert_eq!(outcome.completions.len(), outcome.flows.len());
        }
    }
}
