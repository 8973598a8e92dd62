//! What does not change while events run.

pub(crate) mod check;
pub mod routing;

use std::sync::Arc;

use paceline_congestion::registry::AtWork;
use paceline_kernel::Span;
use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::core::port::{Classes, Profiles};
use crate::ids::FlowId;
use crate::spec::{NicSpec, NodeId, NodeKind, PacketFormat, Quirks, RunSpec};
use crate::world::routing::Routing;

/// What does not change while events run, but when the topology does.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) spec: Arc<RunSpec>,
    /// What packets ask of it at every hop, here at hand.
    pub(crate) nic: NicSpec,
    pub(crate) quirks: Quirks,
    pub(crate) packet: PacketFormat,
    /// The schemes that it lists, at work.
    pub(crate) schemes: Vec<AtWork>,
    pub(crate) classes: Classes,
    pub(crate) class_count: usize,
    pub(crate) profiles: Profiles,
    /// Generation of the topology: one more after every change.
    pub(crate) epoch: u16,
    pub(crate) routing: Routing,
    pub(crate) first_paths: crate::world::routing::FirstPaths,
    pub(crate) changes: Vec<crate::run::failure::Change>,
    pub(crate) base_rtt: Span,
    pub(crate) bdp: u64,
}

impl World {
    /// What a node is.
    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        self.spec.nodes[node.index()]
    }

    /// The scheme of a flow.
    pub(crate) fn scheme_of(&self, core: &Core, flow: FlowId) -> &AtWork {
        &self.schemes[usize::from(self.flow(core, flow).scheme)]
    }
}
