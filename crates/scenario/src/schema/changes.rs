//! Tables for events of links and hosts during a run: `[[network.failure]]`, `[[network.link-change]]`,
//! `[[network.slow-host]]` and `[network.pfc.watchdog]`.

use paceline_congestion::params::{if_so, is_not};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::facts::{OWN, PFC};
use super::{Ends, Nodes, OrOff, tables};

/// Reaction of a watchdog to a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WatchdogKind {
    Drop,
    Forward,
    Alert,
}

tables! {
    /// A failing link.
    struct Failure {
        /// link number, from 0
        link: Spanned<usize>;
        /// the two nodes of the link, by numbers or names (["leaf 1", "spine 3"]), instead of `link`
        nodes: Spanned<Ends>;
        /// time of failure
        at: Spanned<Time>;
        /// time of repair
        until: Spanned<Time> => "never";
    }
    /// A link whose rate, delay or loss is different for a time: a degraded optic, a detour, a dirty connector. Switches keep
    /// the thresholds and the headroom that they have for the link as it was built, and completion times are compared with
    /// what a flow takes on that one.
    struct LinkChange only(&[&[OWN]]) {
        /// link number, from 0
        link: Spanned<usize>;
        /// the two nodes of the link, by numbers or names (["leaf 1", "spine 3"]), instead of `link`
        nodes: Spanned<Ends>;
        /// start
        at: Spanned<Time>;
        /// end
        until: Spanned<Time> => "never";
        /// the rate meanwhile; a packet that is being sent is finished at the rate with which it began
        rate: Spanned<BitRate> => "that of the link";
        /// the propagation delay meanwhile; where it becomes shorter, both ports pause for the difference, and no packet
        /// overtakes another
        delay: Spanned<Span> => "that of the link";
        /// the probability that a packet is lost meanwhile
        error_rate: Spanned<f64> => "that of the link";
    }
    /// Hosts that are slow for a time.
    struct SlowHost only(&[&[OWN]]) {
        /// a set of hosts
        hosts: Spanned<Nodes>;
        /// start
        at: Spanned<Time>;
        /// end
        until: Spanned<Time> => "never";
        /// computing takes this many times as long: what jobs and traces compute, and other delays before a flow that
        /// waits for another
        compute: Spanned<f64> => "1", only(&[&[if_so("flows that wait for others, with a delay")]]);
        /// instead of network.endpoint.rate
        receive_rate: Spanned<BitRate> => "network.endpoint.rate";
    }
    /// Memory of a NIC for packets that its host has yet to take (`network.endpoint`). Under PFC the NIC pauses its switch.
    struct ReceiveBuffer only(&[&[OWN, if_so("receivers that take time (`network.endpoint`)")]]) {
        /// a packet that does not fit is dropped; `off`: there is room for any number
        size: Spanned<OrOff<Bytes>> = "off";
        /// pause the class of a packet that makes the buffer exceed this
        xoff: Spanned<Bytes> => "half of size", only(&[&[PFC, is_not(".size", &["off"])]]);
        /// resume at this
        xon: Spanned<Bytes> => "half of xoff", only(&[&[PFC, is_not(".size", &["off"])]]);
    }
    /// The PFC watchdog of switches, as SONiC has it. An egress queue that has been paused for the detection time, and holds
    /// packets, is in a storm, until it has not been paused for the restoration time.
    struct Watchdog only(&[&[PFC, OWN]]) {
        /// duration of a pause that makes it a storm (often 200ms); `off`: there is no watchdog
        detection: Spanned<OrOff<Span>> = "off";
        /// time without a pause after which the storm is over
        restoration: Spanned<Span> => "twice detection", only(&[&[is_not(".detection", &["off"])]]);
        /// in a storm: `drop` (what is queued, what is for the queue, and what enters by this port and class), `forward`
        /// (ignore the pauses) or `alert` (report it)
        action: WatchdogKind = "drop", only(&[&[is_not(".detection", &["off"])]]);
    }
}
