//! Load balancing by packet among equal-cost next hops: flowlets, spraying, least loaded port.
//!
//! A data packet under load balancing carries, instead of a path, the port by which its flow's path enters the
//! receiver. Every switch sends it one hop nearer to that port's switch, from wherever it is. The next hops to a switch
//! are computed when a flow that needs them starts, and again after a change of topology, into a flat list of which a
//! hop reads a range.

use crate::core::Core;
use crate::core::cx::Cx;
use crate::ids::{ColumnId, FlowId, PacketId, PortId, SwitchId};
use crate::switch::Switches;
use crate::world::{SPREAD, World};
use paceline_kernel::ids::{Id, List};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_run::spec::{Flowlets, LoadBalancing, NodeId, NodeKind, RunSpec};

/// Next hops of one switch to another: a range of [`Spreading::hops`].
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: u32,
    count: u32,
}

/// Links from the switches at one distance from the receiver to those at the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    /// Index of a switch among those where the stage begins, egress port, index of a switch where it ends.
    pub(crate) links: Vec<(usize, PortId, usize)>,
    /// Number of switches where the stage ends.
    pub(crate) switches: usize,
    /// Rate of all links together, in bit/s.
    pub(crate) rate: u64,
}

/// Entry of a switch's flowlet table, shared by flows of one hash.
#[derive(Clone, Copy, Debug)]
struct Flowlet {
    last_seen: u64,
    /// Port of the flowlet, and the destination that it was chosen for.
    port: PortId,
    column: ColumnId,
}

impl Flowlet {
    const NEW: Self = Self {
        last_seen: 0,
        port: PortId::NONE,
        column: ColumnId::NONE,
    };
}

/// State of load balancing in all switches.
#[derive(Clone, Debug, Default)]
pub(super) struct Spreading {
    pub(super) policy: LoadBalancing,
    /// True if packets of one flow take many paths, chosen by switches or senders.
    pub(super) per_packet: bool,
    /// Column of next hops to each destination switch; `ColumnId::NONE` until it is needed.
    pub(super) column_of: List<SwitchId, ColumnId>,
    /// A range for each switch, column after column.
    stretches: Vec<Stretch>,
    /// Egress ports of all ranges.
    hops: Vec<PortId>,
    /// Random stream of each switch.
    rng: List<SwitchId, Rng>,
    /// `2^bits` entries for each switch, under policies with flowlets.
    flowlets: Vec<Flowlet>,
    bits: u32,
    /// Seeds of the switches' hashes: with equal ones, all switches would confuse the same flows.
    salts: List<SwitchId, u32>,
}

impl Spreading {
    pub(super) fn new(spec: &RunSpec) -> Self {
        let policy = spec.load_balancing;
        let switches = spec
            .nodes
            .iter()
            .filter(|&&kind| kind == NodeKind::Switch)
            .count();
        let switches = if spec.has_one_way_per_flow() { 0 } else { switches };
        let mut rng: List<SwitchId, Rng> = (0..switches as u64)
            .map(|switch| Rng::stream(spec.seed, Purpose::Spread, switch))
            .collect();
        let salts = rng.iter_mut().map(Rng::next_u31).collect();
        let bits = match policy {
            LoadBalancing::Flowlet(Flowlets { entries, .. })
            | LoadBalancing::AdaptiveFlowlet(Flowlets { entries, .. }) => Some(entries.max(2).ilog2()),
            _ => None,
        };
        Self {
            policy,
            per_packet: spec.spreads_packets(),
            column_of: List::of(switches, ColumnId::NONE),
            stretches: Vec::new(),
            hops: Vec::new(),
            rng,
            flowlets: vec![Flowlet::NEW; bits.map_or(0, |bits| switches << bits)],
            bits: bits.unwrap_or(0),
            salts,
        }
    }

    /// Returns true if switches or senders balance load by packet.
    pub(super) fn is_on(&self) -> bool {
        !self.rng.is_empty()
    }

    /// Forgets next hops after a change of topology. Flowlets keep their ports where those still lead to the
    /// destination.
    pub(super) fn forget(&mut self) {
        self.column_of.as_mut_slice().fill(ColumnId::NONE);
        self.stretches.clear();
        self.hops.clear();
        for flowlet in &mut self.flowlets {
            flowlet.column = ColumnId::NONE;
        }
    }

    #[inline]
    fn stretch(&self, column: ColumnId, switch: SwitchId) -> Stretch {
        self.stretches[column.index() * self.rng.len() + switch.index()]
    }

    /// Returns the ports of `switch` that lead nearer to the switch of `column`.
    pub(super) fn next_hops(&self, column: ColumnId, switch: SwitchId) -> &[PortId] {
        let Stretch { first, count } = self.stretch(column, switch);
        &self.hops[first as usize..(first + count) as usize]
    }

    /// Returns the index of a flow's entry in the table of `switch`.
    #[inline]
    fn entry(&self, switch: SwitchId, flow: FlowId) -> usize {
        // Fibonacci hashing takes the upper bits of the product, which depend on all bits of the flow.
        let hash = (flow.0 ^ self.salts[switch]).wrapping_mul(0x9e37_79b1) >> (32 - self.bits);
        switch.index() << self.bits | hash as usize
    }
}

impl Switches {
    /// Returns the egress port of a packet whose path is chosen switch by switch.
    pub(super) fn spread(&mut self, cx: &mut Cx<'_>, ingress: PortId, id: PacketId) -> Option<PortId> {
        let packet = cx.core.packets.get(id);
        let (last, flow, class) = (PortId(packet.path as u32), packet.flow, packet.class);
        let node = cx.core.ports[ingress].node;
        let root = &cx.core.ports[last];
        if root.node == node {
            // At the last switch there is one port to the receiver, and no choice.
            if root.is_up() {
                return Some(last);
            }
            return self.leave_spreading(cx, ingress, id);
        }
        let (root_node, root_switch) = (root.node, root.switch());
        let switch = cx.core.ports[ingress].switch();
        let mut column = self.spreading.column_of[root_switch];
        if column == ColumnId::NONE {
            column = self.column(cx.world, root_node, root_switch);
        }
        let Stretch { first, count } = self.spreading.stretch(column, switch);
        let hops = first as usize..(first + count) as usize;
        let egress = match count {
            0 => return self.leave_spreading(cx, ingress, id),
            1 => self.spreading.hops[hops.start],
            _ => match self.spreading.policy {
                // Under ECMP senders choose the paths, so a packet without one has met a change of topology.
                LoadBalancing::Ecmp => return self.leave_spreading(cx, ingress, id),
                LoadBalancing::Spray => self.random_hop(switch, hops),
                LoadBalancing::Adaptive => self.least_loaded(cx, switch, hops, class),
                LoadBalancing::Flowlet(flowlets) => {
                    let entry = self.spreading.entry(switch, flow);
                    match self.same_flowlet(cx.core, entry, column, hops.clone(), flowlets.gap.as_ps()) {
                        Some(port) => port,
                        None => {
                            let port = self.random_hop(switch, hops);
                            self.begin_flowlet(entry, column, port)
                        }
                    }
                }
                LoadBalancing::AdaptiveFlowlet(flowlets) => {
                    let entry = self.spreading.entry(switch, flow);
                    match self.same_flowlet(cx.core, entry, column, hops.clone(), flowlets.gap.as_ps()) {
                        Some(port) => port,
                        None => {
                            let port = self.least_loaded(cx, switch, hops, class);
                            self.begin_flowlet(entry, column, port)
                        }
                    }
                }
            },
        };
        // The ports taken are folded into the epoch, so that the receiver can tell paths apart.
        let packet = cx.core.packets.get_mut(id);
        packet.epoch = SPREAD | (packet.epoch.wrapping_mul(31).wrapping_add(egress.0 as u16) & !SPREAD);
        Some(egress)
    }

    /// Returns one of the next hops at random, with equal probabilities.
    #[inline]
    fn random_hop(&mut self, switch: SwitchId, hops: std::ops::Range<usize>) -> PortId {
        let choice = self.spreading.rng[switch].below(hops.len() as u64) as usize;
        self.spreading.hops[hops.start + choice]
    }

    /// Returns the next hop through which a packet of `class` would leave soonest; ties are broken at random.
    #[inline]
    fn least_loaded(
        &mut self,
        cx: &Cx<'_>,
        switch: SwitchId,
        hops: std::ops::Range<usize>,
        class: u8,
    ) -> PortId {
        let (mut least, mut ties, mut chosen) = (u64::MAX, 0, hops.start);
        for index in hops {
            let load = self.load(cx, self.spreading.hops[index], class);
            if load < least {
                (least, ties, chosen) = (load, 1, index);
            } else if load == least {
                // The n-th of n equals replaces the choice with probability 1/n: all are equally likely.
                ties += 1;
                if self.spreading.rng[switch].below(ties) == 0 {
                    chosen = index;
                }
            }
        }
        self.spreading.hops[chosen]
    }

    /// Returns the time in ps until a port will have sent what is ahead of a packet of `class` now. Ports that are
    /// paused for the class rank after all others.
    #[inline]
    fn load(&self, cx: &Cx<'_>, port: PortId, class: u8) -> u64 {
        let port = &cx.core.ports[port];
        let profile = &cx.world.profiles[port.profile];
        // Compared as a time, since the ports may have different rates.
        let queued = (u64::from(port.queued) * profile.ps_per_kib) >> 10;
        // Large enough that a paused port is chosen only if all are paused.
        let paused = if port.paused & 1 << class != 0 { 1 << 62 } else { 0 };
        port.free_at.saturating_sub(cx.core.now()) + queued + paused
    }

    /// Returns the port of the flowlet in progress, if the gap is not over and the port still leads to the destination.
    #[inline]
    fn same_flowlet(
        &mut self,
        core: &Core,
        entry: usize,
        column: ColumnId,
        hops: std::ops::Range<usize>,
        gap: u64,
    ) -> Option<PortId> {
        let now = core.now();
        let flowlet = &mut self.spreading.flowlets[entry];
        let idle = now - flowlet.last_seen;
        // Every packet extends the flowlet, whichever flow of the entry it belongs to.
        flowlet.last_seen = now;
        if flowlet.port == PortId::NONE || idle > gap {
            return None;
        }
        let port = flowlet.port;
        if flowlet.column == column {
            return Some(port);
        }
        // Flows that share the entry have different destinations, or the topology has changed.
        self.spreading.hops[hops].contains(&port).then_some(port)
    }

    #[inline]
    fn begin_flowlet(&mut self, entry: usize, column: ColumnId, port: PortId) -> PortId {
        let flowlet = &mut self.spreading.flowlets[entry];
        (flowlet.port, flowlet.column) = (port, column);
        port
    }

    /// Returns the column of next hops to switch `root`, whose number among switches is `owner`; computes it if needed.
    #[cold]
    pub(super) fn column(&mut self, world: &World, root: NodeId, owner: SwitchId) -> ColumnId {
        let known = self.spreading.column_of[owner];
        if known != ColumnId::NONE {
            return known;
        }
        let switches = self.spreading.rng.len();
        let column = ColumnId::new(self.spreading.stretches.len() / switches);
        self.spreading.column_of[owner] = column;
        for node in (0..world.spec.nodes.len()).map(NodeId::new) {
            if world.kind(node) == NodeKind::Host {
                continue;
            }
            let first = self.spreading.hops.len() as u32;
            world.routing.next_hops(node, root, &mut self.spreading.hops);
            let count = self.spreading.hops.len() as u32 - first;
            self.spreading.stretches.push(Stretch { first, count });
        }
        column
    }

    /// Routes a packet that cannot reach its port any more hop by hop from here on, like packets that were sent before
    /// the topology changed.
    #[cold]
    fn leave_spreading(&mut self, cx: &mut Cx<'_>, ingress: PortId, id: PacketId) -> Option<PortId> {
        cx.core.packets.get_mut(id).epoch = cx.world.old_epoch();
        self.reroute(cx, ingress, id)
    }
}
