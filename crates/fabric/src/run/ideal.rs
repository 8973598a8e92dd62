//! Completion time of a flow alone, which slowdowns are measured against.
//!
//! **On one path** it is the time that a run of the flow alone takes under scheme `none`, to the picosecond: packets
//! are stored and forwarded, links serve one after another, a receiver's host takes its time, and the acknowledgements
//! go back in the same way. Such a network is a row of servers in series with constant service times, so it has a
//! closed form. All packets but the last are full and need the same time `t_i` at server `i`. The n-th of them is done
//! there at
//!
//! ```text
//! F_i(n) = F_i(1) + (n - 1) max(t_1, .., t_i)          F_i(1) = F_(i-1)(1) + delay + t_i
//! ```
//!
//! and the last packet, which may be shorter and catch up with them, at
//!
//! ```text
//! L_i = max(L_(i-1) + delay, F_i(N - 1)) + s_i
//! ```
//!
//! If the first packet of a message is longer than the others, it is a server's first customer and takes a time h_i.
//! The full ones behind it, numbered from 1, are then done at the latest of several evenly spaced series,
//!
//! ```text
//! F_i(n) = max over j of F_(i,j)(1) + (n - 1) g_(i,j)
//! ```
//!
//! one of their own and one from each server j at which the first held them up, which starts at `H_j + t_j` and goes on
//! as above: a server that serves all of them serves each series as if it were alone.
//!
//! Switches are assumed to have room for what waits: pauses and losses that a flow causes alone, because a link on its
//! path is slower than its host's, count as slowdown. So do a scheme's larger headers, a limit of the bytes in flight,
//! and the jitter of hosts.
//!
//! **If switches or senders choose** the path of each packet or flowlet, there are many paths, and chance decides. The
//! time is then a lower bound over all choices: the largest of what the hosts' own links and the shortest path need,
//! and of what all links of each stage need together.

use paceline_congestion::Requirements;
use paceline_kernel::queue::EventQueue;
use paceline_kernel::{BitRate, Bytes, Span};

use crate::ids::{FlowId, PortId};
use crate::run::ideals::Key;
use crate::run::simulation::Simulation;
use crate::switch::Stage;
use crate::world::routing::Path;
use paceline_run::spec::{AckPolicy, Forwarding, NodeId};

/// Ideal time of a flow that would outlast any run.
const NEVER: Span = Span::from_ps(EventQueue::END_OF_TIME / 2);

/// Packets of a flow at one point of the path: a longer one if there is one, full ones, and the last behind them.
#[derive(Clone, Debug, Default)]
struct Train {
    /// Arrival of the longer one, in ps.
    head: Option<u64>,
    /// Number of full ones between it and the last.
    full: u64,
    /// Arrival of the first full one, and the distance between them.
    first: u64,
    gap: u64,
    /// First arrivals and distances of the series in which the longer one held them up: each packet arrives at the
    /// latest of all series.
    held: Vec<(u64, u64)>,
    /// Arrival of the last packet.
    last: u64,
}

impl Train {
    /// Serves all packets one after another. `times` are their service times, in ps.
    fn serve(&mut self, times: Wire<u64>) {
        self.first += times.full;
        self.gap = self.gap.max(times.full);
        for (first, gap) in &mut self.held {
            (*first, *gap) = (*first + times.full, times.full.max(*gap));
        }
        if let Some(head) = &mut self.head {
            *head += times.head;
            let held = (*head + times.full, times.full);
            // A series that another one dominates from the start can never be the latest again.
            self.held.retain(|&(first, gap)| first > held.0 || gap > held.1);
            self.held.push(held);
        }
        self.last = self.last.max(self.before_last()) + times.last;
    }

    /// Subtracts the time that a cut-through switch saves for each packet.
    fn cut_through(&mut self, saved: Wire<u64>) {
        self.first -= saved.full;
        self.last -= saved.last;
        self.head = self.head.map(|head| head - saved.head);
        self.held.iter_mut().for_each(|(first, _)| *first -= saved.full);
    }

    /// Delays all packets by the same time.
    fn travel(&mut self, delay: u64) {
        self.first += delay;
        self.last += delay;
        self.head = self.head.map(|head| head + delay);
        self.held.iter_mut().for_each(|(first, _)| *first += delay);
    }

    /// Returns the arrival of the packet before the last; 0 if there is none.
    fn before_last(&self) -> u64 {
        let Some(before) = self.full.checked_sub(1) else {
            return self.head.unwrap_or(0);
        };
        let held = self.held.iter().map(|(first, gap)| first + before * gap);
        held.fold(self.first + before * self.gap, u64::max)
    }

    /// Keeps every `n`-th packet and the last, for receivers that acknowledge several at once.
    fn thin(&mut self, n: u64) {
        if n == 1 {
            return;
        }
        let ahead = u64::from(self.head.take().is_some());
        self.full = (self.full + ahead) / n;
        let thinned = |first: u64, gap: u64| (first + (n - 1 - ahead) * gap, gap * n);
        (self.first, self.gap) = thinned(self.first, self.gap);
        for (first, gap) in &mut self.held {
            (*first, *gap) = thinned(*first, *gap);
        }
    }
}

/// A value for each kind of data packet of a flow: the first if that is longer, full ones, the last.
#[derive(Clone, Copy, Debug)]
struct Wire<T> {
    head: T,
    full: T,
    last: T,
}

impl Wire<u16> {
    fn map(self, of: impl Fn(u16) -> u64) -> Wire<u64> {
        Wire {
            head: of(self.head),
            full: of(self.full),
            last: of(self.last),
        }
    }
}

impl Simulation {
    /// Returns the completion time of `flow` alone, with the paths of its data and ACKs at its start.
    pub(super) fn ideal_fct(&mut self, flow: FlowId, forward: &[PortId], back: &[PortId]) -> Span {
        let (size, to) = {
            let spec = self.world.flow(&self.core, flow);
            (spec.size.get(), (spec.dst, spec.label))
        };
        let one_way = !self.switches.is_spread(&self.world, forward, to);
        let one_way = one_way && (self.world.spec.entropy.is_none() || self.world.keeps_to_path(to.1));
        let is_kept = one_way && !self.world.quirks.ideal_by_formula;
        let key = Key::of(&self.world, size, forward, back).filter(|_| is_kept);
        let planes = self.paths_in_planes(flow);
        if let Some(ideal) = key.and_then(|key| self.ideals.get(&key)) {
            debug_assert_eq!(
                ideal,
                self.find_ideal(flow, (forward, back), &planes),
                "a key says all"
            );
            return ideal;
        }
        let ideal = self.find_ideal(flow, (forward, back), &planes);
        if let Some(key) = key {
            self.ideals.keep(key, ideal);
        }
        ideal
    }

    /// Returns a path of a flow in each plane, there and back, and finds all next hops on the way. Empty without planes.
    fn paths_in_planes(&mut self, flow: FlowId) -> Vec<(Path, Path)> {
        let spec = self.world.flow(&self.core, flow);
        let planes = match self.planes_of(&spec) {
            1 => 0,
            planes => usize::from(planes),
        };
        let key = self.world.key_of(&spec);
        let in_plane = |plane: usize| {
            let routing = &self.world.routing;
            let there = routing.ends_in_plane(spec.src, spec.dst, plane);
            let here = routing.ends_in_plane(spec.dst, spec.src, plane);
            Some((
                routing.path_between(there, key)?,
                routing.path_between(here, key.reversed())?,
            ))
        };
        let paths: Vec<(Path, Path)> = (0..planes).filter_map(in_plane).collect();
        let (world, core) = (&self.world, &self.core);
        for (forward, back) in &paths {
            self.switches
                .find_next_hops(world, core, &forward.ports, (spec.dst, spec.label));
            self.switches
                .find_next_hops(world, core, &back.ports, (spec.src, spec.label));
        }
        paths
    }

    /// Returns the completion time of `flow` alone. Of several planes, one has to carry at least its share of the packets,
    /// and ends no sooner than if it were alone: the time is that of the fastest.
    fn find_ideal(
        &self,
        flow: FlowId,
        (forward, back): (&[PortId], &[PortId]),
        planes: &[(Path, Path)],
    ) -> Span {
        let count = self.planes_of(&self.world.flow(&self.core, flow));
        let on_plane =
            |(forward, back): &(Path, Path)| self.ideal_on(flow, &forward.ports, &back.ports, count);
        let fastest = planes.iter().map(on_plane).min();
        fastest.unwrap_or_else(|| self.ideal_on(flow, forward, back, count))
    }

    fn ideal_on(&self, flow: FlowId, forward: &[PortId], back: &[PortId], planes: u8) -> Span {
        if self.world.quirks.ideal_by_formula {
            return self.formula_fct(flow, forward);
        }
        let packet = &self.world.packet;
        let (size, mtu) = (self.world.flow(&self.core, flow).size.get(), packet.mtu.get());
        let packets = size.div_ceil(mtu).max(1);
        let (header, first) = (
            packet.data_headers(&Requirements::default()),
            self.world.first_header,
        );
        let full = mtu as u16 + header;
        let alone = if packets == 1 { first } else { 0 };
        let wire = Wire {
            head: full + first,
            full,
            last: (size - (packets - 1) * mtu) as u16 + header + alone,
        };
        if self.is_beyond(packets, wire.head, forward.iter().chain(back)) {
            return NEVER;
        }
        let mut train = Train {
            full: (packets - 1) / u64::from(planes),
            ..Train::default()
        };
        let spec = self.world.flow(&self.core, flow);
        let to = (spec.dst, spec.label);
        let arrived = match self.switches.stages(&self.world, &self.core, forward, to) {
            // A bound: the first of several packets counts as full.
            Some(stages) => self.meet(&train, wire, forward, &stages),
            None => {
                if first > 0 && packets > 1 {
                    (train.head, train.full) = (Some(0), packets - 2);
                }
                self.follow(train, wire, forward)
            }
        };
        Span::from_ps(self.come_back(arrived, wire, back, (spec.src, spec.label)))
    }

    /// Returns true if the packets, of at most `wire` bytes, would outlast any run at one of these ports or at a host.
    fn is_beyond<'a>(&self, packets: u64, wire: u16, ports: impl Iterator<Item = &'a PortId>) -> bool {
        let longest = wire.max(self.world.packet.ack_wire(&Requirements::default()));
        let sending = ports.map(|&port| self.sending(port, longest)).max();
        let at_host = self.world.nic.endpoint.map(|model| model.service(longest));
        let slowest = sending.max(at_host).unwrap_or(0);
        // A sum of a few such times can still be counted.
        packets.saturating_mul(slowest) > NEVER.as_ps() / 4
    }

    /// Returns true if no flow of this run can complete sooner than its ideal time. There are exceptions. If receivers
    /// do not answer every packet, a scheme that asks for answers at other packets can be sooner by one
    /// acknowledgement's time. If links fail or come back, a flow may find a better path than at its start. If
    /// acknowledgements are the bottleneck and some are lost, the last one is back sooner.
    pub(super) fn bounds_completion(&self) -> bool {
        let quirks = &self.world.quirks;
        let exact = !quirks.ideal_by_formula && !quirks.ack_threshold;
        let lost = self.core.counters.buffer_drops + self.core.counters.link_drops > 0;
        let same = self.world.changes.is_empty() && self.world.spec.host_changes.is_empty();
        exact && !lost && same && self.packets_per_ack() == 1
    }

    /// Returns the packets at the end of a path: each link serves them one after another.
    fn follow(&self, mut train: Train, wire: Wire<u16>, path: &[PortId]) -> Train {
        for (index, &port) in path.iter().enumerate() {
            train.serve(wire.map(|wire| self.sending(port, wire)));
            train.travel(self.delay(port));
            if let Some(&next) = path.get(index + 1) {
                train.cut_through(wire.map(|wire| self.saved([port, next], wire)));
            }
        }
        train
    }

    /// Returns the time, in ps, at which the last acknowledgement is back at the sender, for packets that arrive at its
    /// receiver.
    fn come_back(&self, mut train: Train, wire: Wire<u16>, back: &[PortId], to: (NodeId, u16)) -> u64 {
        let nic = &self.world.nic;
        if let Some(model) = nic.endpoint {
            train.serve(wire.map(|wire| model.service(wire)));
            train.travel(model.delay.as_ps());
        }
        train.thin(self.packets_per_ack());
        let ack = self.world.packet.ack_wire(&Requirements::default());
        let acks = Wire {
            head: ack,
            full: ack,
            last: ack,
        };
        let many_ways = self.world.spec.entropy.is_some() && !self.world.keeps_to_path(to.1);
        let stages = many_ways.then(|| self.switches.stages(&self.world, &self.core, back, to));
        match stages.flatten() {
            Some(stages) => self.meet(&train, acks, back, &stages).last,
            None => self.follow(train, acks, back).last,
        }
    }

    /// Returns the number of full packets per acknowledgement.
    fn packets_per_ack(&self) -> u64 {
        match self.world.nic.ack {
            AckPolicy::EveryPackets(n) => u64::from(n.max(1)),
            AckPolicy::EveryBytes(bytes) => bytes.get().div_ceil(self.world.packet.mtu.get()).max(1),
        }
    }

    /// Returns lower bounds of the first and the last arrival of all packets if they can take several paths.
    fn meet(&self, train: &Train, wire: Wire<u16>, forward: &[PortId], stages: &[Stage]) -> Train {
        let last = forward[forward.len() - 1];
        let mut sent = self.follow(train.clone(), wire, &forward[..1]);
        sent.cut_through(wire.map(|wire| self.sending(forward[0], wire) - self.reading(forward[0], wire)));
        let (whole, [full, short]) = self.cross(&sent, wire, last, stages);
        // All packets meet at the link of the receiver's host, in any order. It is done after each of them, and no
        // sooner than if it had been busy since the first.
        let (each, end) = (self.sending(last, wire.full), self.sending(last, wire.last));
        let (first, short) = (sent.first + full, sent.last + short);
        let mut meeting = Train {
            first: short,
            last: whole.max(short + end),
            ..sent
        };
        if sent.full > 0 {
            meeting.first = first.min(short);
            meeting.last = meeting
                .last
                .max(first + each + (sent.full - 1) * sent.gap.max(each))
                .max(meeting.first + sent.full * each + end);
        }
        // Their distances behind that link are unknown.
        meeting.gap = 0;
        meeting.travel(self.delay(last));
        meeting
    }

    /// Returns bounds for the path between the hosts' links: the earliest time at which the link to the receiver's host
    /// can be done, as far as the links of each stage together allow it; and the least time from the first switch to
    /// the last, of full packets and of the last one.
    fn cross(&self, sent: &Train, wire: Wire<u16>, last: PortId, stages: &[Stage]) -> (u64, [u64; 2]) {
        let framing = self.world.packet.framing.get();
        let on_wire = |wire: u16| u128::from(u64::from(wire) + framing) * 8_000_000_000_000;
        let bits = on_wire(wire.full) * u128::from(sent.full) + on_wire(wire.last);
        let nearest = [wire.full, wire.last].map(|wire| self.nearest(stages, wire));
        let [full, short] = nearest.each_ref().map(|at| at[at.len() - 1].0);
        let entered = if sent.full > 0 {
            sent.first.min(sent.last)
        } else {
            sent.last
        };
        let mut whole = 0;
        if self.header().is_some() {
            // What has crossed one stage may already be halfway over the next.
            return (whole, [full, short]);
        }
        for (i, stage) in stages.iter().enumerate() {
            // The first bit crosses no sooner than the first packet arrives. After the last bit, at least the rest of
            // the path remains, from the switch that is nearest to the end.
            let here = nearest[0][i].0.min(nearest[1][i].0);
            let rest = short.saturating_sub(nearest[1][i + 1].1);
            let busy = bits / u128::from(stage.rate.max(1));
            let busy = u64::try_from(busy).map_or(NEVER.as_ps(), |busy| busy.min(NEVER.as_ps()));
            let delays = stage.links.iter().map(|&(_, port, _)| self.delay(port));
            let cable = delays.min().unwrap_or(0);
            whole = whole.max(entered + here + busy + cable + rest + self.sending(last, wire.last));
        }
        (whole, [full, short])
    }

    /// Returns the smallest and the largest of the shortest times from the first switch to those of each stage, for a
    /// packet of `wire` bytes that is not held up.
    fn nearest(&self, stages: &[Stage], wire: u16) -> Vec<(u64, u64)> {
        let mut at = vec![0];
        let mut extremes = vec![(0, 0)];
        for stage in stages {
            let mut next = vec![u64::MAX; stage.switches];
            for &(from, port, to) in &stage.links {
                let arrival = at[from] + self.reading(port, wire) + self.delay(port);
                next[to] = next[to].min(arrival);
            }
            let least = next.iter().copied().min().unwrap_or(0);
            let largest = next.iter().copied().max().unwrap_or(0);
            extremes.push((least, largest));
            at = next;
        }
        extremes
    }

    fn sending(&self, port: PortId, wire: u16) -> u64 {
        let profile = self.world.nominal(port);
        profile.time_to_send(profile.rate, wire).as_ps()
    }

    /// Returns how much sooner a cut-through switch may forward a packet from the first of these ports to the second
    /// than if it had to read all of it: it has read the headers, and never runs out of bytes.
    fn saved(&self, [enters, leaves]: [PortId; 2], wire: u16) -> u64 {
        let to_come = self.sending(enters, wire) - self.reading(enters, wire);
        to_come.min(self.sending(leaves, wire))
    }

    /// Returns the time that a switch needs to read as much of a packet as it must before it may forward it: all, or
    /// its headers.
    fn reading(&self, port: PortId, wire: u16) -> u64 {
        let read = self.header().map_or(wire, |header| header.min(wire));
        self.sending(port, read)
    }

    /// Returns the size of the headers that cut-through switches read; `None` for store and forward.
    fn header(&self) -> Option<u16> {
        match self.world.spec.lanes.as_ref()?.forwarding {
            Forwarding::CutThrough { header } => Some(header.get() as u16),
            Forwarding::StoreAndForward => None,
        }
    }

    fn delay(&self, port: PortId) -> u64 {
        self.world.nominal(port).delay
    }

    /// Returns the formula of the simulators that serve as references: a round trip with one packet's time per link,
    /// plus all bytes with plain headers at the slowest. HPCC's counts a payload per link, that of Bolt's authors a
    /// full packet and its headers once more. Neither is a lower bound.
    fn formula_fct(&self, flow: FlowId, forward: &[PortId]) -> Span {
        let packet = &self.world.packet;
        let (size, to) = {
            let spec = self.world.flow(&self.core, flow);
            (spec.size.get(), (spec.dst, spec.label))
        };
        let per_link = self.kind.formula_packet(packet);
        let ends = self.hosts_of(forward);
        let (rtt, bps) = self.world.first_paths.round_trip(ends).unwrap_or_else(|| {
            self.world
                .routing
                .path_rtt(forward, &self.world.profiles, per_link)
        });
        let bps = self.world.first_paths.rate_now(ends).unwrap_or(bps);
        let bps = self
            .switches
            .rate_of_all_ways(&self.world, &self.core, forward, to)
            .unwrap_or(bps);
        let packets = size.div_ceil(packet.mtu.get()).max(1);
        let wire = (packet.mtu.get() + packet.data_header.get()) as u16;
        if !self.world.quirks.truncate_to_ns && self.is_beyond(packets, wire, forward.iter()) {
            return NEVER;
        }
        let total = size + packet.data_header.get() * packets;
        if self.world.quirks.truncate_to_ns {
            // The reference computes bytes in 32 bits and bits in 64, and both wrap.
            let ns = u64::from(total as u32).wrapping_mul(8_000_000_000) / bps;
            rtt + Span::from_ns(ns)
        } else {
            rtt + BitRate::from_bps(bps).time_to_send(Bytes::new(total))
        }
    }
}
