//! Congestion notifications that switches make.

use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::node::NodeId;

/// Congestion notifications (CNPs) that switches send to senders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FastCnp {
    /// Packets that are answered.
    pub trigger: NoticeTrigger,
    /// Switches that answer packets.
    pub switches: Vec<NodeId>,
    /// Time from a notification's departure to the next packet of the flow that a switch answers.
    pub interval: Span,
    /// Time that a switch takes to make a notification.
    pub delay: Span,
    /// True to leave the mark in packets of these switches, so that the receiver notifies too.
    pub keep_mark: bool,
    /// Flows that a switch knows at a time.
    pub table: u32,
    /// Size of a notification on the wire.
    pub size: Bytes,
    /// Granularity of the table's flows.
    pub key: NoticeKey,
    /// Order to send nothing for a while.
    pub pause: NoticePause,
    /// True to show notifications to the flow's scheme; otherwise they only pause.
    pub shown: bool,
}

/// Time for which a notification orders its flow to send nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticePause {
    /// None: the scheme alone decides what to do.
    Off,
    /// As long as the port takes to send what its queue has above the threshold.
    Drain,
    /// As long as this.
    For(Span),
}

/// Packets that a switch answers with a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeTrigger {
    /// Packets that its own port marks.
    Queue,
    /// Packets that leave with a mark, of its own port or of a port before.
    Mark,
    /// Packets that leave more than this behind in their queue; `None` for what the port sends in a round trip of its link.
    Above(Option<Bytes>),
}

/// Granularity of flows in a switch's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKey {
    /// Each flow by itself.
    Flow,
    /// All flows between two hosts in one class.
    Hosts,
}
