//! What became of flows: of all of a list; of others, of those that are under way.

use std::ops::{Index, IndexMut};

use crate::core::flows::Underway;
use crate::ids::FlowId;
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::FlowRecord;

/// Records by flow: first those of the list, by their places; behind them what comes as a stream or from a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    listed: List<FlowId, FlowRecord>,
    underway: Underway<FlowRecord>,
}

impl Records {
    /// Of a list, and whatever comes behind it.
    pub(super) fn of_list(listed: List<FlowId, FlowRecord>) -> Self {
        Self {
            listed,
            underway: Underway::default(),
        }
    }

    /// Whether the flow is one of the list.
    #[inline]
    pub(super) fn is_listed(&self, flow: FlowId) -> bool {
        flow.index() < self.listed.len()
    }

    /// A flow's, unless it is over and not one of the list.
    #[inline]
    pub(super) fn get(&self, flow: FlowId) -> Option<&FlowRecord> {
        self.listed.get(flow).or_else(|| self.underway.get(flow))
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, flow: FlowId) -> Option<&mut FlowRecord> {
        match self.listed.get_mut(flow) {
            None => self.underway.get_mut(flow),
            listed => listed,
        }
    }

    /// A flow that is not of the list comes to its start.
    pub(super) fn begin(&mut self, flow: FlowId, record: FlowRecord) {
        self.underway.insert(flow, record);
    }

    /// A flow is over: its record, if it is not one of the list.
    pub(super) fn end(&mut self, flow: FlowId) -> Option<FlowRecord> {
        if self.is_listed(flow) {
            return None;
        }
        self.underway.remove(flow)
    }

    /// Flows that are under way and not of the list, in no order that means anything.
    pub(super) fn underway(&self) -> impl Iterator<Item = (FlowId, &FlowRecord)> {
        self.underway.iter()
    }

    /// Those of the list, which has ended.
    pub(super) fn into_list(self) -> Vec<FlowRecord> {
        self.listed.into()
    }

    /// Those of the list.
    pub(super) fn listed(&self) -> &[FlowRecord] {
        self.listed.as_slice()
    }

    /// The same, to be changed.
    pub(super) fn listed_mut(&mut self) -> &mut [FlowRecord] {
        self.listed.as_mut_slice()
    }
}

impl Index<FlowId> for Records {
    type Output = FlowRecord;
    fn index(&self, flow: FlowId) -> &FlowRecord {
        self.get(flow).expect("a flow that is not over has a record")
    }
}

impl IndexMut<FlowId> for Records {
    fn index_mut(&mut self, flow: FlowId) -> &mut FlowRecord {
        self.get_mut(flow).expect("a flow that is not over has a record")
    }
}
