//! Results of flows in one part of a run ([`crate::run::results`]).

use serde::{Deserialize, Serialize};

use crate::ids::FlowId;
use crate::traffic::Traffic;
use crate::world::World;
use paceline_run::outcome::FlowRecord;
use paceline_run::spec::NodeId;

/// Results of the flows that a part's hosts send or receive.
#[derive(Serialize, Deserialize)]
pub(crate) struct TrafficResults {
    records: Vec<(FlowId, FlowRecord)>,
    completions: Vec<FlowId>,
    completed: u64,
}

impl Traffic {
    /// Returns the results of a part, whose nodes are those for which `here` returns true.
    pub(crate) fn results(self, world: &World, here: impl Fn(NodeId) -> bool) -> TrafficResults {
        let flows = world.spec.flows.iter().zip(self.flows.listed());
        let records = (0..).map(FlowId).zip(flows);
        let records = records.filter(|(_, (flow, _))| here(flow.src) || here(flow.dst));
        TrafficResults {
            records: records.map(|(flow, (_, record))| (flow, *record)).collect(),
            completions: self.completions,
            completed: self.completed,
        }
    }

    /// Adds the results of another part, whose nodes are those for which `theirs` returns true.
    pub(crate) fn take_in(
        &mut self,
        mut other: TrafficResults,
        world: &World,
        theirs: impl Fn(NodeId) -> bool,
    ) {
        for (flow, record) in &other.records {
            let (spec, mine) = (&world.spec.flows[flow.0 as usize], &mut self.flows[*flow]);
            if theirs(spec.src) {
                *mine = received_as(mine, record);
            }
            if theirs(spec.dst) {
                *mine = received_as(record, mine);
            }
        }
        self.completions.append(&mut other.completions);
        self.completed += other.completed;
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
