//! What became of flows: of all of a list; of a stream, of those that are under way.

use std::ops::{Index, IndexMut};

use crate::core::flows::Underway;
use crate::ids::FlowId;
use paceline_kernel::ids::List;
use paceline_run::outcome::FlowRecord;

/// Records by flow.
#[derive(Clone, Debug)]
pub(super) enum Records {
    Listed(List<FlowId, FlowRecord>),
    Streamed(Underway<FlowRecord>),
}

impl Default for Records {
    fn default() -> Self {
        Self::Listed(List::new())
    }
}

impl Records {
    /// A flow's, unless it is one of a stream and over.
    pub(super) fn get(&self, flow: FlowId) -> Option<&FlowRecord> {
        match self {
            Self::Listed(list) => list.get(flow),
            Self::Streamed(underway) => underway.get(flow),
        }
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, flow: FlowId) -> Option<&mut FlowRecord> {
        match self {
            Self::Listed(list) => list.get_mut(flow),
            Self::Streamed(underway) => underway.get_mut(flow),
        }
    }

    /// A flow of a stream comes to its start.
    pub(super) fn begin(&mut self, flow: FlowId, record: FlowRecord) {
        if let Self::Streamed(underway) = self {
            underway.insert(flow, record);
        }
    }

    /// Those of a list, which has ended.
    pub(super) fn into_list(self) -> Vec<FlowRecord> {
        match self {
            Self::Listed(list) => list.into(),
            Self::Streamed(_) => Vec::new(),
        }
    }

    /// Those of a list; none of a stream.
    pub(super) fn listed(&self) -> &[FlowRecord] {
        match self {
            Self::Listed(list) => list.as_slice(),
            Self::Streamed(_) => &[],
        }
    }

    /// The same, to be changed.
    pub(super) fn listed_mut(&mut self) -> &mut [FlowRecord] {
        match self {
            Self::Listed(list) => list.as_mut_slice(),
            Self::Streamed(_) => &mut [],
        }
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
