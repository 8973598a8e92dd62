//! Flows: when they start, what they wait for, what became of them.

mod parts;
mod start;
mod tasks;

use crate::ids::FlowId;
use crate::outcome::FlowRecord;
use paceline_kernel::ids::List;

pub(crate) use tasks::Dependencies;
pub use tasks::find_cycle;

/// Flows: what they wait for and what became of them.
#[derive(Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) flows: List<FlowId, FlowRecord>,
    pub(crate) dependencies: Dependencies,
    pub(crate) completions: Vec<FlowId>,
}

impl Traffic {
    /// Puts completions of one instant in the order of flows.
    pub(crate) fn put_in_order(&mut self) {
        let completed = |flow: &FlowId| {
            let record = &self.flows[*flow];
            (record.start + record.fct, *flow)
        };
        self.completions.sort_by_key(completed);
    }
}
