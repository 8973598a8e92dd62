//! What does not change while events run.

pub(crate) mod changes;
pub(crate) mod classes;
pub(crate) mod connections;
pub(crate) mod links;
pub mod routing;
pub(crate) mod signals;

use std::sync::Arc;

use paceline_congestion::registry::ActiveScheme;
use paceline_kernel::Span;
use paceline_kernel::ids::Id;

use crate::world::changes::{Change, Settings};
use crate::world::classes::{Classes, STRICT};
use crate::world::connections::Connections;
use crate::world::links::Profiles;
use crate::world::routing::Routing;
use crate::world::signals::Signals;
use paceline_run::spec::{FlowControl, NicSpec, NodeId, NodeKind, PacketFormat, Quirks, Rounding, RunSpec};

/// Set in the epoch of packets that are spread. The other bits say which way a packet has come.
pub(crate) const SPREAD: u16 = 1 << 15;

/// The way that a data packet with `epoch` has come, where switches chose it; otherwise 0.
pub(crate) const fn way(epoch: u16) -> u16 {
    if epoch & SPREAD != 0 { epoch } else { 0 }
}

/// What does not change while events run, but when the topology does.
#[derive(Clone)]
pub struct World {
    /// The run's description.
    pub spec: Arc<RunSpec>,
    /// What packets ask of it at every hop, here at hand: what hosts are told.
    pub nic: NicSpec,
    pub(crate) quirks: Quirks,
    /// [`Quirks::rounding`].
    pub(crate) rounding: Rounding,
    /// Whether hosts are a model's, which look for themselves whether they may send.
    pub(crate) hosts_are_foreign: bool,
    /// Sizes of packets.
    pub packet: PacketFormat,
    /// What the first packet of a message has alongside other headers.
    pub(crate) first_header: u16,
    /// The schemes that it lists, at work.
    pub(crate) schemes: Vec<ActiveScheme>,
    /// Whose signals there are.
    pub signals: Signals,
    /// Classes of packets.
    pub classes: Classes,
    pub(crate) connections: Connections,
    /// How many classes there are, those without accounts among them.
    pub class_count: usize,
    /// What links have in common.
    pub profiles: Profiles,
    /// Generation of the topology: one more after every change.
    pub epoch: u16,
    /// Paths.
    pub routing: Routing,
    pub(crate) first_paths: crate::world::routing::FirstPaths,
    pub(crate) changes: Vec<Change>,
    pub(crate) settings: Settings,
    pub(crate) base_rtt: Span,
    pub(crate) bdp: u64,
}

impl World {
    /// A generation of routes that is not the network's: packets that carry it are looked up.
    pub(crate) const fn old_epoch(&self) -> u16 {
        self.epoch.wrapping_sub(1) & !SPREAD
    }

    /// Whether priority flow control keeps packets of a class from being lost.
    pub(crate) fn is_lossless(&self, class: u8) -> bool {
        let switch = &self.spec.switch;
        matches!(switch.flow_control, FlowControl::Pfc(_))
            && class > STRICT
            && switch.loss.lossless >> self.classes.priority(class) & 1 == 1
    }

    /// What a node is.
    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        self.spec.nodes[node.index()]
    }
}
