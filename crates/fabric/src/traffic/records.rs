//! Records of flows: all of a list, and of others those under way.

use std::ops::{Index, IndexMut};

use crate::core::flows::Underway;
use crate::ids::FlowId;
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::FlowRecord;

/// Records by flow: first those of the list, by index; behind them those of streams and programs.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    listed: List<FlowId, FlowRecord>,
    underway: Underway<FlowRecord>,
}

impl Records {
    /// Creates the records of a list's flows.
    pub(super) fn of_list(listed: List<FlowId, FlowRecord>) -> Self {
        Self {
            listed,
            underway: Underway::default(),
        }
    }

    /// Returns true if the flow is in the list.
    #[inline]
    pub(super) fn is_listed(&self, flow: FlowId) -> bool {
        flow.index() < self.listed.len()
    }

    /// Returns a flow's record, unless the flow is over and not in the list.
    #[inline]
    pub(super) fn get(&self, flow: FlowId) -> Option<&FlowRecord> {
        self.listed.get(flow).or_else(|| self.underway.get(flow))
    }

    /// Returns a flow's record, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, flow: FlowId) -> Option<&mut FlowRecord> {
        match self.listed.get_mut(flow) {
            None => self.underway.get_mut(flow),
            listed => listed,
        }
    }

    /// Adds a flow that is not in the list.
    pub(super) fn begin(&mut self, flow: FlowId, record: FlowRecord) {
        self.underway.insert(flow, record);
    }

    /// Ends a flow. Returns its record if it is not in the list.
    pub(super) fn end(&mut self, flow: FlowId) -> Option<FlowRecord> {
        if self.is_listed(flow) {
            return None;
        }
        self.underway.remove(flow)
    }

    /// Returns the flows under way that are not in the list, in arbitrary order.
    pub(super) fn underway(&self) -> impl Iterator<Item = (FlowId, &FlowRecord)> {
        self.underway.iter()
    }

    /// Returns the records of the list, at the end of the run.
    pub(super) fn into_list(self) -> Vec<FlowRecord> {
        self.listed.into()
    }

    /// Returns the records of the list.
    pub(super) fn listed(&self) -> &[FlowRecord] {
        self.listed.as_slice()
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
