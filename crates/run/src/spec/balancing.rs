//! Which of several equal ways packets take.

use paceline_kernel::Span;
use serde::{Deserialize, Serialize};

/// How switches choose among next hops that are equally near.
///
/// What is said of packets here is said of data packets. Acknowledgements and notifications go by
/// [`LoadBalancing::Ecmp`] always, and so do flows to hosts for which next hops are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalancing {
    /// By a hash of the flow's addresses and ports, seeded by the switch: a flow has one path.
    #[default]
    Ecmp,
    /// At random whenever a flow has paused for longer than `gap` (LetFlow).
    Flowlet(Flowlets),
    /// At random for every packet.
    Spray,
    /// The port whose queue is the soonest empty, for every packet.
    Adaptive,
    /// The port whose queue is the soonest empty, whenever a flow has paused for longer than `gap`.
    AdaptiveFlowlet(Flowlets),
}

/// Whose hash chooses among next hops that are equally near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcmpHash {
    /// Each switch has a seed of its own.
    #[default]
    PerSwitch,
    /// None: the destination's number chooses, as the forwarding tables of InfiniBand have it: at a switch `l` levels
    /// above those of hosts, of `n` next hops, its number over `n` to the `l` modulo `n`.
    DModK,
    /// All have the same: flows that a switch gets by their hash go on by the same hash, and most of its next hops
    /// stay unused (polarisation).
    Shared,
}

impl LoadBalancing {
    /// Whether packets of a flow that follow each other closely may take different paths.
    pub const fn is_per_packet(self) -> bool {
        matches!(self, Self::Spray | Self::Adaptive)
    }
}

/// How switches tell flowlets apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flowlets {
    /// A flow that sent nothing for longer than this may take another path.
    pub gap: Span,
    /// Entries of a switch's table of flows, a power of two. Flows whose hashes meet in one entry
    /// are taken for one.
    pub entries: u32,
}
