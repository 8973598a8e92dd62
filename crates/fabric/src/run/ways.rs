//! The ways of a flow, found when it starts and after every change of topology.

use paceline_kernel::ids::Id;
use std::sync::Arc;

use crate::core::port::Port;
use crate::ids::{ColumnId, PortId};
use crate::run::simulation::Simulation;
use crate::spec::{LoadBalancing, NodeId};
use crate::switch::spread::Stage;
use crate::world::SPREAD;
use crate::world::World;

impl Simulation {
    /// Finds what [`FirstPaths`] knows of the ways to host `dst`.
    pub(crate) fn find_first_path(&mut self, dst: NodeId) {
        if !self.world.quirks.first_path_found {
            return;
        }
        let World {
            spec,
            epoch,
            first_paths,
            routing,
            profiles,
            ..
        } = Arc::make_mut(&mut self.world);
        let known = match *epoch {
            0 => &mut first_paths.before,
            _ => &mut first_paths.now,
        };
        known
            .entry(dst)
            .or_insert_with(|| routing.reach_from(profiles, spec.packet.mtu, dst));
    }

    /// Before a link fails: finds them for all flows that may still ask.
    pub(crate) fn find_first_paths(&mut self) {
        if self.world.epoch == 0 {
            let spec = self.world.spec.clone();
            let sources = spec.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
            let streamed = sources.flat_map(|source| source.pattern.hosts());
            for host in spec.flows.iter().map(|flow| flow.dst).chain(streamed) {
                self.find_first_path(host);
            }
        }
        if self.world.quirks.first_path_found {
            Arc::make_mut(&mut self.world).first_paths.now.clear();
        }
    }
}

impl Simulation {
    /// What data packets of a flow with path `forward` to host `dst` carry: their way and the generation that
    /// goes with it, or the port that they are to come to.
    pub(crate) fn data_route(&mut self, forward: &[PortId], dst: NodeId) -> (u64, u16) {
        let last = forward[forward.len() - 1];
        if !self.is_spread(forward, dst) {
            return self.world.way_of(forward);
        }
        let Port { node, .. } = self.core.ports[last];
        let switch = self.core.ports[last].switch();
        self.switches.column(&self.world, node, switch);
        (u64::from(last.0), SPREAD)
    }

    /// Whether switches choose the ways of a flow's packets.
    fn is_spread(&self, forward: &[PortId], dst: NodeId) -> bool {
        self.switches.spreading.policy != LoadBalancing::Ecmp
            && forward.len() > 2
            && !self.world.routing.is_fixed(dst)
    }

    /// The links between the first and the last switch of `forward` that packets to host `dst` can take,
    /// stage by stage; `None` where they have one way. The next hops must be known.
    pub(crate) fn stages(&self, forward: &[PortId], dst: NodeId) -> Option<Vec<Stage>> {
        if !self.is_spread(forward, dst) {
            return None;
        }
        let root = self.core.ports[forward[forward.len() - 1]].switch();
        let column = self.switches.spreading.column_of[root];
        let beyond = |port: PortId| self.core.ports[self.core.ports[port].peer].switch();
        let mut switches = vec![beyond(forward[0])];
        let mut stages = Vec::with_capacity(forward.len() - 2);
        while switches != [root] {
            let (mut next, mut stage) = (Vec::new(), Stage::default());
            for (from, &switch) in switches.iter().enumerate() {
                for &port in self.switches.spreading.next_hops(column, switch) {
                    let switch = beyond(port);
                    let known = next.iter().position(|&other| other == switch);
                    let to = known.unwrap_or_else(|| {
                        next.push(switch);
                        next.len() - 1
                    });
                    let profile = &self.world.profiles[self.core.ports[port].profile];
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

    /// The rate in bit/s that a flow whose packets are spread one by one can have: of its own links,
    /// and of all next hops together at every switch of `forward`, which is one of its paths. `None`
    /// for other flows, which have one path at a time.
    pub(crate) fn rate_of_all_ways(&self, forward: &[PortId]) -> Option<u64> {
        if !self.switches.spreading.policy.is_per_packet() || forward.len() < 3 {
            return None;
        }
        let (first, last) = (forward[0], forward[forward.len() - 1]);
        let column = self.switches.spreading.column_of[self.core.ports[last].switch()];
        if column == ColumnId::NONE {
            return None;
        }
        let rate = |port: PortId| self.world.profiles[self.core.ports[port].profile].rate.as_bps();
        let switches = forward[1..forward.len() - 1].iter().map(|&port| {
            let hops = self
                .switches
                .spreading
                .next_hops(column, self.core.ports[port].switch());
            hops.iter().map(|&hop| rate(hop)).sum()
        });
        switches.chain([rate(first), rate(last)]).min()
    }
}
