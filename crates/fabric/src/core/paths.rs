//! The paths of flows, as they are found when a flow starts.

use crate::core::Core;
use crate::ids::{FlowId, PortId};
use crate::world::World;
use crate::world::routing::FlowKey;
use paceline_run::spec::FlowSpec;

/// A flow's two paths through the network.
#[derive(Clone)]
pub(crate) struct Paths {
    /// Egress ports, the host's first.
    pub(crate) forward: Vec<PortId>,
    pub(crate) back: Vec<PortId>,
}

impl World {
    /// Finds both paths of a flow.
    pub(crate) fn find_paths(&self, core: &Core, flow: FlowId) -> Option<Paths> {
        self.find_paths_of(&self.flow(core, flow))
    }

    /// The same of a flow that there need not be.
    pub(crate) fn find_paths_of(&self, flow: &FlowSpec) -> Option<Paths> {
        let (src, dst, key) = (flow.src, flow.dst, self.key_of(flow));
        let forward = self.routing.path(src, dst, key)?.ports;
        let back = self.routing.path(dst, src, key.reversed())?.ports;
        Some(Paths { forward, back })
    }

    /// Whether all flows between the hosts of this one take its ways.
    pub(crate) fn has_one_way(&self, flow: &FlowSpec) -> bool {
        let (src, dst) = (flow.src, flow.dst);
        self.routing.has_one_path(src, dst) && self.routing.has_one_path(dst, src)
    }

    /// Finds the path of a flow's acknowledgements.
    pub(crate) fn find_way_back(&self, core: &Core, flow: FlowId) -> Option<Vec<PortId>> {
        let flow = self.flow(core, flow);
        let key = self.key_of(&flow).reversed();
        let back = self.routing.path(flow.dst, flow.src, key)?;
        Some(back.ports)
    }

    /// The path of packets with this key from a host's port to where they leave the network, as they carry it.
    pub(crate) fn way_between(&self, [first, last]: [PortId; 2], key: FlowKey) -> Option<(u64, u16)> {
        let path = self.routing.path_between([first, last], key)?;
        Some(self.way_of(&path.ports))
    }

    /// What ECMP hashes of a flow's data.
    pub(crate) fn key_of(&self, flow: &FlowSpec) -> FlowKey {
        if self.quirks.hash_hosts_only {
            return FlowKey::new(flow.src.0, flow.dst.0, 0, 0);
        }
        FlowKey::of(flow)
    }

    /// What packets on a path carry, and the generation that goes with it: an old one where they have no room for
    /// their way.
    pub(crate) fn way_of(&self, path: &[PortId]) -> (u64, u16) {
        match self.routing.write_way(path) {
            Some(way) => (way, self.epoch),
            None => (0, self.old_epoch()),
        }
    }
}
