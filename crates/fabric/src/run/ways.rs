//! Paths of a flow, found when it starts and after every change of topology.

use std::sync::Arc;

use crate::core::paths::Paths;
use crate::run::simulation::Simulation;
use crate::world::World;
use paceline_run::spec::{FlowSpec, NodeId};

impl Simulation {
    /// Returns the path that a flow's data packets carry, and its generation. Finds the next hops that its packets and
    /// their answers may take; answers have some only if the flow is `reachable`.
    pub(super) fn data_route(&mut self, paths: &Paths, flow: &FlowSpec, reachable: bool) -> (u64, u16) {
        let (world, core) = (&self.world, &self.core);
        if reachable && world.spec.entropy.is_some() {
            let to = (flow.src, flow.label);
            self.switches.find_next_hops(world, core, &paths.back, to);
        }
        let to = (flow.dst, flow.label);
        self.switches.data_route(world, core, &paths.forward, to)
    }

    /// Finds the entry of [`crate::world::routing::FirstPaths`] for host `dst`.
    pub(super) fn find_first_path(&mut self, dst: NodeId) {
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

    /// Finds the first paths of all flows that may still need them, before the first link fails.
    pub(super) fn find_first_paths(&mut self) {
        if self.world.epoch == 0 {
            let spec = self.world.spec.clone();
            let sources = spec.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
            let streamed = sources.flat_map(|source| source.pattern.hosts());
            let of_programs = spec
                .programs
                .iter()
                .flat_map(|program| program.hosts.iter().copied());
            let listed = spec.flows.iter().map(|flow| flow.dst);
            for host in listed.chain(streamed).chain(of_programs) {
                self.find_first_path(host);
            }
        }
        if self.world.quirks.first_path_found {
            Arc::make_mut(&mut self.world).first_paths.now.clear();
        }
    }
}
