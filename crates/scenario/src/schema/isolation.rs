//! Congestion isolation: `[network.isolation]`.

use paceline_congestion::params::{When, is_not};
use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::facts::NO_CREDITS;
use super::{OrOff, tables};
use paceline_congestion::params::is;

/// Packets that are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MarkedQueues {
    Both,
    Isolated,
}

/// Runs in which switches isolate flows.
const ISOLATES: When = &[&[is_not(".detect", &["off"])]];

tables! {
    /// Congestion isolation (IEEE 802.1Qcz): flows that congest a port wait in a queue of their own, here and at the switch
    /// before. `detect` turns it on.
    struct Isolation only(&[&[is("fidelity", &["exact"]), NO_CREDITS]]) {
        /// bytes in a port's queue above which the flows that arrive for it are isolated; `off`: none are
        detect: Spanned<OrOff<Bytes>> = "off";
        /// bytes in the isolated queue above which a message (CIM) names the flow to the switch before
        tell: Bytes => "as detect", only(ISOLATES);
        /// a flow is released when it has sent nothing for `hold`, and the port's queue is below this
        release: Bytes => "half of detect", only(ISOLATES);
        /// time without a packet after which a flow may be released
        hold: Span = "20us", only(ISOLATES);
        /// least time between two messages about a flow to the switch before
        interval: Spanned<Span> = "4us", only(ISOLATES);
        /// priority of the flows that are watched
        priority: Spanned<u8> = "3", only(ISOLATES);
        /// priority of isolated packets on the wire, which has pauses of its own; no flow may have it
        isolated_priority: Spanned<u8> = "7", only(ISOLATES);
        /// flows that a switch can isolate at a time; others stay with their priority
        flows: Spanned<u32> = "1024", only(ISOLATES);
        /// queues that mark: `both`, or only the `isolated` one (ICI), so that flows which wait behind others are not marked
        marks: MarkedQueues = "both", only(ISOLATES);
    }
}
