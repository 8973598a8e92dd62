//! Merging of the flows of a run's parts ([`crate::run::cut`]).

use crate::core::Core;
use crate::traffic::Traffic;
use crate::world::World;
use paceline_run::outcome::FlowRecord;

impl Traffic {
    /// Takes over another part's results of the flows that its hosts send, and of what its hosts have received. `core`
    /// is the other part's.
    pub(crate) fn take_over(&mut self, other: &mut Self, world: &World, core: &Core) {
        let records = self.flows.listed_mut().iter_mut().zip(other.flows.listed());
        for (flow, (mine, theirs)) in world.spec.flows.iter().zip(records) {
            if core.has(flow.src) {
                *mine = received_as(mine, theirs);
            }
            if core.has(flow.dst) {
                *mine = received_as(theirs, mine);
            }
        }
        self.completions.append(&mut other.completions);
        self.completed += other.completed;
        self.dependencies.take_over(&mut other.dependencies, |flow| {
            core.has(world.flow(core, flow).src)
        });
    }
}

/// Returns a flow's record from `received`, as the receiver's part has it, and `sent`, as the sender's part has it.
const fn received_as(received: &FlowRecord, sent: &FlowRecord) -> FlowRecord {
    FlowRecord {
        received: received.received,
        delivered: received.delivered,
        congested: received.congested,
        undetermined: received.undetermined,
        ..*sent
    }
}
