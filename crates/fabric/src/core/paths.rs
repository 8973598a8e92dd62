//! Paths of flows, found when a flow starts.

use crate::core::Core;
use crate::ids::{FlowId, PortId};
use crate::world::World;
use crate::world::routing::FlowKey;
use paceline_run::spec::FlowSpec;

/// Paths of a flow's data and of its acknowledgements.
#[derive(Clone)]
pub(crate) struct Paths {
    /// Egress ports, the host's first.
    pub(crate) forward: Vec<PortId>,
    pub(crate) back: Vec<PortId>,
}

impl World {
    /// Finds both paths of a flow; `None` if a direction has no route.
    pub(crate) fn find_paths(&self, core: &Core, flow: FlowId) -> Option<Paths> {
        self.find_paths_of(&self.flow(core, flow))
    }

    /// Finds both paths of a flow that need not exist yet.
    pub(crate) fn find_paths_of(&self, flow: &FlowSpec) -> Option<Paths> {
        let (src, dst, key) = (flow.src, flow.dst, self.key_of(flow));
        let forward = self.routing.path(src, dst, key)?.ports;
        let back = self.routing.path(dst, src, key.reversed())?.ports;
        Some(Paths { forward, back })
    }

    /// Returns true if all flows between this one's hosts take the same paths.
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

    /// Finds the path of packets with this key from a host's port to the port where they leave the network. Returns the
    /// form that packets carry, and its generation.
    pub(crate) fn way_between(&self, [first, last]: [PortId; 2], key: FlowKey) -> Option<(u64, u16)> {
        let path = self.routing.path_between([first, last], key)?;
        Some(self.way_of(&path.ports))
    }

    /// Returns the header fields that ECMP hashes for a flow's data.
    pub(crate) fn key_of(&self, flow: &FlowSpec) -> FlowKey {
        if self.quirks.hash_hosts_only {
            return FlowKey::new(flow.src.0, flow.dst.0, 0, 0).with_nics(flow.nics);
        }
        FlowKey::of(flow)
    }

    /// Returns the form in which packets carry a path, and its generation. An old generation stands for paths that are
    /// too long for a packet: switches look the next hop up.
    pub(crate) fn way_of(&self, path: &[PortId]) -> (u64, u16) {
        match self.routing.write_way(path) {
            Some(way) => (way, self.epoch),
            None => (0, self.old_epoch()),
        }
    }
}
