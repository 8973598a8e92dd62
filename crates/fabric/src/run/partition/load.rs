//! Expected work of nodes and traffic between them, from the paths of flows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::world::World;
use paceline_run::spec::{FlowSpec, NodeId, RunSpec};

/// Largest number of flows whose paths are followed: half of them the largest flows, and half a sample of the others,
/// which stands for those left out.
const FOLLOWED: usize = 20_000;
/// Number of paths that are followed of a flow that takes many.
const SPREAD: u16 = 8;

/// Expected work, in packets.
#[derive(Debug)]
pub(super) struct Load {
    /// Work of each node: at least 1.
    pub(super) of_node: Vec<u64>,
    /// Packets between two nodes, in both directions: the smaller number first.
    pub(super) between: BTreeMap<(NodeId, NodeId), u64>,
}

impl Load {
    pub(super) fn of(world: &World, core: &Core) -> Self {
        let spec = &world.spec;
        let mut load = Self {
            of_node: vec![1; spec.nodes.len()],
            between: BTreeMap::new(),
        };
        let mut flows: Vec<(u64, usize)> = (0..)
            .zip(&spec.flows)
            .map(|(id, flow)| (packets(world, flow), id))
            .collect();
        flows.retain(|&(packets, _)| packets > 0);
        flows.sort_by_key(|&(packets, flow)| (Reverse(packets), flow));
        let (large, small) = flows.split_at(flows.len().min(FOLLOWED / 2));
        let step = small.len().div_ceil(FOLLOWED / 2).max(1);
        for &(packets, flow) in large {
            load.add(world, core, flow, packets);
        }
        for &(packets, flow) in small.iter().step_by(step) {
            load.add(world, core, flow, packets * step as u64);
        }
        load
    }

    /// Adds the packets of a flow, and its acknowledgements.
    fn add(&mut self, world: &World, core: &Core, flow: usize, packets: u64) {
        let flow = &world.spec.flows[flow];
        let ways = ways(&world.spec);
        for way in 0..ways {
            let flow = FlowSpec {
                sport: flow.sport.wrapping_add(way),
                ..*flow
            };
            let Some(paths) = world.find_paths_of(&flow) else {
                return;
            };
            // Weights are even, so that they can be halved.
            let share = (2 * packets).div_ceil(u64::from(ways));
            for &port in paths.forward.iter().chain(&paths.back) {
                let (here, there) = (core.ports[port].node, core.peer_node(port));
                self.of_node[here.index()] += share;
                *self
                    .between
                    .entry((here.min(there), here.max(there)))
                    .or_default() += share;
            }
            for host in [flow.src, flow.dst] {
                self.of_node[host.index()] += share;
            }
        }
    }
}

/// Returns the number of a flow's paths that are followed.
fn ways(spec: &RunSpec) -> u16 {
    if spec.has_one_way_per_flow() { 1 } else { SPREAD }
}

/// Returns the packets that a flow can send before the run stops.
fn packets(world: &World, flow: &FlowSpec) -> u64 {
    let stop = world.spec.stop;
    if flow.start >= stop {
        return 0;
    }
    flow.size.get().div_ceil(world.packet.mtu.get()).max(1)
}
