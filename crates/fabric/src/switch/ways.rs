//! Paths of flows under load balancing.

use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::ids::{ColumnId, PortId};
use crate::switch::Switches;
use crate::switch::spread::Stage;
use crate::world::{SPREAD, World};
use paceline_run::spec::{LoadBalancing, NodeId};

impl Switches {
    /// Finds the next hops of packets that may take several paths: `forward` is one of them.
    pub(crate) fn find_next_hops(
        &mut self,
        world: &World,
        core: &Core,
        forward: &[PortId],
        to: (NodeId, u16),
    ) {
        if self.is_spread(world, forward, to) {
            let last = &core.ports[forward[forward.len() - 1]];
            self.column(world, last.node, last.switch());
        }
    }

    /// Returns the path that data packets of a flow with this label to host `dst` carry, and its generation; for packets
    /// that switches balance, the port where they have to arrive. `forward` is one of the flow's paths.
    pub(crate) fn data_route(
        &mut self,
        world: &World,
        core: &Core,
        forward: &[PortId],
        to: (NodeId, u16),
    ) -> (u64, u16) {
        self.find_next_hops(world, core, forward, to);
        // Under ECMP senders choose, and packets carry complete paths.
        if !self.is_spread(world, forward, to) || self.spreading.policy == LoadBalancing::Ecmp {
            return world.way_of(forward);
        }
        (u64::from(forward[forward.len() - 1].0), SPREAD)
    }

    /// Returns true if packets of a flow with this label to this host can take several paths.
    pub(crate) fn is_spread(&self, world: &World, forward: &[PortId], (dst, label): (NodeId, u16)) -> bool {
        self.spreading.is_on()
            && forward.len() > 2
            && !world.routing.is_fixed(dst)
            && !world.keeps_to_path(label)
    }

    /// Returns the links between the first and the last switch of `forward` that packets with this label to this host can
    /// take, stage by stage; `None` if there is one path. The next hops must be known.
    pub(crate) fn stages(
        &self,
        world: &World,
        core: &Core,
        forward: &[PortId],
        to: (NodeId, u16),
    ) -> Option<Vec<Stage>> {
        if !self.is_spread(world, forward, to) {
            return None;
        }
        let root = core.ports[forward[forward.len() - 1]].switch();
        let column = self.spreading.column_of[root];
        debug_assert_ne!(column, ColumnId::NONE, "the next hops are known");
        if column == ColumnId::NONE {
            return None;
        }
        let beyond = |port: PortId| core.ports[core.ports[port].peer].switch();
        let mut switches = vec![beyond(forward[0])];
        let mut stages = Vec::with_capacity(forward.len() - 2);
        // Breadth first: each round is one hop, from all switches where packets can be.
        while switches != [root] {
            let (mut next, mut stage) = (Vec::new(), Stage::default());
            for (from, &switch) in switches.iter().enumerate() {
                for &port in self.spreading.next_hops(column, switch) {
                    let switch = beyond(port);
                    let known = next.iter().position(|&other| other == switch);
                    let to = known.unwrap_or_else(|| {
                        next.push(switch);
                        next.len() - 1
                    });
                    let profile = world.nominal(port);
                    stage.rate += profile.rate.as_bps();
                    stage.links.push((from, port, to));
                }
            }
            if next.is_empty() {
                return None;
            }
            stage.switches = next.len();
            stages.push(stage);
            switches = next;
        }
        Some(stages)
    }

    /// Returns the rate in bit/s that a flow with this label to this host can have if each packet chooses a path: the least
    /// of its own links and of all next hops together, at every switch of `forward`. `None` for other flows, which have
    /// one path at a time. The next hops must be known.
    pub(crate) fn rate_of_all_ways(
        &self,
        world: &World,
        core: &Core,
        forward: &[PortId],
        to: (NodeId, u16),
    ) -> Option<u64> {
        if !self.spreading.per_packet || !self.is_spread(world, forward, to) {
            return None;
        }
        let (first, last) = (forward[0], forward[forward.len() - 1]);
        let column = self.spreading.column_of[core.ports[last].switch()];
        debug_assert_ne!(column, ColumnId::NONE, "the next hops are known");
        if column == ColumnId::NONE {
            return None;
        }
        let rate = |port: PortId| world.nominal(port).rate.as_bps();
        let switches = forward[1..forward.len() - 1].iter().map(|&port| {
            let hops = self.spreading.next_hops(column, core.ports[port].switch());
            hops.iter().map(|&hop| rate(hop)).sum()
        });
        switches.chain([rate(first), rate(last)]).min()
    }
}
