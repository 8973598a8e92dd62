//! Numbers of nodes, as dense indices.

use paceline_kernel::ids::Id;
use serde::{Deserialize, Serialize};

/// Node of the network: its index in [`super::RunSpec::nodes`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl Id for NodeId {
    const NONE: Self = Self(u32::MAX);
    #[inline(always)]
    fn new(index: usize) -> Self {
        Self(index as u32)
    }
    #[inline(always)]
    fn index(self) -> usize {
        self.0 as usize
    }
}
