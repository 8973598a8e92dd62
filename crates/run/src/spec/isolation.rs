//! Isolation of congested flows (IEEE 802.1Qcz).

use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Isolation of flows that congest a port of a switch: they wait in a queue of their own.
///
/// IEEE 802.1Qcz-2023 says what is detected, moved and passed on; its thresholds and times are not public, so those are ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Isolation {
    /// Priority of the flows that are watched.
    pub from: u8,
    /// Priority of those that are isolated; no flow has it by itself.
    pub to: u8,
    /// Bytes in the queue of the watched priority above which the flows that arrive are isolated.
    pub detect: Bytes,
    /// Bytes in the queue of isolated flows above which a message names the flow to the switch before.
    pub tell: Bytes,
    /// Bytes in the queue of the watched priority below which a flow may be released.
    pub release: Bytes,
    /// Time without a packet in the isolated queue after which a flow is released.
    pub hold: Span,
    /// Least time between two messages to a neighbour about a flow.
    pub interval: Span,
    /// Flows that a switch can isolate at a time; others stay where they are.
    pub flows: u32,
    /// True if only isolated packets are marked (ICI).
    pub marks_isolated: bool,
}
