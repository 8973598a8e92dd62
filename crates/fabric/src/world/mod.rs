//! Data that is constant while events run.

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
use paceline_run::spec::{
    FlowControl, FlowSpec, NicSpec, NodeId, NodeKind, PacketFormat, Quirks, Rounding, RunSpec,
};

/// Flag in the epoch of packets under load balancing. The other bits are a hash of the path so far.
pub(crate) const SPREAD: u16 = 1 << 15;

/// Returns the path hash in a data packet's `epoch` if switches chose the path; otherwise 0.
pub(crate) const fn way(epoch: u16) -> u16 {
    if epoch & SPREAD != 0 { epoch } else { 0 }
}

/// Data that is constant while events run, except for changes of topology.
#[derive(Clone)]
pub struct World {
    /// Description of the run.
    pub spec: Arc<RunSpec>,
    /// Settings of hosts, copied here because packets need them at every hop.
    pub nic: NicSpec,
    pub(crate) quirks: Quirks,
    /// Rounding of times, from [`Quirks::rounding`].
    pub(crate) rounding: Rounding,
    /// True if hosts belong to a network model, which checks for itself when they may send.
    pub(crate) hosts_are_foreign: bool,
    /// Sizes of packets and headers.
    pub packet: PacketFormat,
    /// Bytes that the first packet of a message has in addition to other headers.
    pub(crate) first_header: u16,
    /// Schemes that the description lists, ready to create senders.
    pub(crate) schemes: Vec<ActiveScheme>,
    /// Numbers of the schemes' signals.
    pub signals: Signals,
    /// Priority classes in dense numbers.
    pub classes: Classes,
    pub(crate) connections: Connections,
    /// Number of dense classes, including those without accounts.
    pub class_count: usize,
    /// Link profiles, shared by ports.
    pub profiles: Profiles,
    /// Generation of the topology, incremented at every change.
    pub epoch: u16,
    /// Routes in the present topology.
    pub routing: Routing,
    pub(crate) first_paths: crate::world::routing::FirstPaths,
    pub(crate) changes: Vec<Change>,
    pub(crate) settings: Settings,
    pub(crate) base_rtt: Span,
    pub(crate) bdp: u64,
}

impl World {
    /// Returns a generation that is never the network's present one: packets with it are routed hop by hop.
    pub(crate) const fn old_epoch(&self) -> u16 {
        self.epoch.wrapping_sub(1) & !SPREAD
    }

    /// Returns true if flows with this label keep to one path, even where load balancing spreads others.
    #[inline]
    pub(crate) fn keeps_to_path(&self, label: u16) -> bool {
        self.spec.one_path.contains(&label)
    }

    /// Returns true if the sender of a flow chooses a path for each packet. A flow that names its NICs keeps to their planes.
    pub(crate) fn chooses_paths(&self, flow: &FlowSpec) -> bool {
        let keeps_to_nics = self.nic.planes > 1 && !flow.nics.are_any();
        self.spec.entropy.is_some()
            && !keeps_to_nics
            && !self.keeps_to_path(flow.label)
            && !self.routing.is_fixed(flow.dst)
    }

    /// Returns true if PFC keeps packets of a class from being lost.
    pub(crate) fn is_lossless(&self, class: u8) -> bool {
        let switch = &self.spec.switch;
        matches!(switch.flow_control, FlowControl::Pfc(_))
            && class > STRICT
            && switch.loss.lossless >> self.classes.priority(class) & 1 == 1
    }

    /// Returns the kind of a node.
    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        self.spec.nodes[node.index()]
    }
}
