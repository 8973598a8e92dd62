//! Persistent connections: the flows that each carries.

use std::num::NonZeroU32;

use crate::ids::FlowId;
use crate::world::World;
use paceline_kernel::ids::Id;
use paceline_run::spec::RunSpec;

/// Connections of a run, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Vec<Carried>);

/// Flows of a connection.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// First flow in the list, which names the connection.
    first: FlowId,
    count: u32,
}

impl Connections {
    /// Creates the connections of a description that was checked.
    pub(crate) fn of(spec: &RunSpec) -> Self {
        let mut all: Vec<Carried> = Vec::new();
        for (flow, described) in (0..).zip(&spec.flows) {
            let Some(number) = described.connection else {
                continue;
            };
            let unused = Carried {
                first: FlowId(flow),
                count: 0,
            };
            let index = number.get() as usize - 1;
            all.resize(all.len().max(index + 1), unused);
            let carried = &mut all[index];
            carried.first = if carried.count == 0 {
                FlowId(flow)
            } else {
                carried.first
            };
            carried.count += 1;
        }
        Self(all)
    }

    /// Returns the first flow of a connection.
    pub(crate) fn first(&self, number: NonZeroU32) -> FlowId {
        self.0[number.get() as usize - 1].first
    }

    /// Returns the number of flows that a connection carries in all.
    pub(crate) fn count(&self, number: NonZeroU32) -> u32 {
        self.0[number.get() as usize - 1].count
    }
}

impl World {
    /// Returns the flow that names the queue pair of a flow: itself, or the first of its connection.
    pub(crate) fn sending_flow(&self, flow: FlowId) -> FlowId {
        self.connection_of(flow).unwrap_or(flow)
    }

    /// Returns the flow that names the connection of a flow; `None` if the flow has a separate queue pair.
    pub(crate) fn connection_of(&self, flow: FlowId) -> Option<FlowId> {
        let number = self.spec.flows.get(flow.index())?.connection?;
        Some(self.connections.first(number))
    }
}
