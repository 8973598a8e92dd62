//! Load balancing: choice among equal-cost paths.

use paceline_kernel::Span;
use serde::{Deserialize, Serialize};

/// Choice of switches among equal-cost next hops.
///
/// This applies to data packets. Acknowledgements and notifications always use [`LoadBalancing::Ecmp`], and
/// so do flows to hosts with static next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalancing {
    /// By a hash of the flow's addresses and ports, seeded per switch: a flow has one path.
    #[default]
    Ecmp,
    /// At random whenever a flow has paused for longer than `gap` (LetFlow).
    Flowlet(Flowlets),
    /// At random for every packet.
    Spray,
    /// The port whose queue drains first, for every packet.
    Adaptive,
    /// The port whose queue drains first, whenever a flow has paused for longer than `gap`.
    AdaptiveFlowlet(Flowlets),
}

/// Hash that chooses among equal-cost next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcmpHash {
    /// A different seed in each switch.
    #[default]
    PerSwitch,
    /// None: the destination's number chooses, as in InfiniBand's forwarding tables. A switch `l` levels
    /// above the hosts' takes next hop `number / n^l mod n` of its `n`.
    DModK,
    /// One hash in all switches: flows that a switch receives by their hash continue by the same hash, and
    /// most of its next hops stay unused (polarisation).
    Shared,
}

impl LoadBalancing {
    /// Returns true if consecutive packets of a flow may take different paths.
    pub const fn is_per_packet(self) -> bool {
        matches!(self, Self::Spray | Self::Adaptive)
    }
}

/// Detection of flowlets in switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flowlets {
    /// Pause after which a flow may take another path.
    pub gap: Span,
    /// Entries of a switch's flow table, a power of two. Flows whose hashes share an entry count as one.
    pub entries: u32,
}
