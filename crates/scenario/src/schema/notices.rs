//! Congestion notifications that switches make: `[network.fast-cnp]`.

use paceline_congestion::params::{When, is, is_not};
use paceline_fabric::spec::NoticeKey;
use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::facts::{NO_CREDITS, OWN};
use super::{AutoTime, OrAuto, tables};

/// Packets that switches answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoticeKind {
    Off,
    Queue,
    Mark,
    Above,
}

/// Runs in which switches notify.
const NOTIFIES: When = &[&[is_not(".trigger", &["off"])]];

tables! {
    /// Congestion notifications (CNPs) that switches send straight to senders (fast CNP of the IETF's drafts, near-source
    /// notifications). Any scheme that takes CNPs takes them.
    struct FastCnp only(&[&[OWN, NO_CREDITS]]) {
        /// packets that a switch answers: `queue` (those that its own port marks), `mark` (those that leave with a mark, its own
        /// or one before), `above` (those that leave more than `threshold` behind in their queue: severe congestion, of which
        /// marks need not tell) or `off`
        trigger: Spanned<NoticeKind> = "off";
        /// bytes in the queue of a port; `auto` is what the port sends in a round trip of its link
        threshold: Spanned<OrAuto<Bytes>> = "auto", only(&[&[is(".trigger", &["above"])]]);
        /// order to the flow to send nothing for a while, under any scheme: a time, `auto` (what the port needs to send
        /// the excess of its queue over the threshold) or `off`
        pause: Spanned<AutoTime> = "off", only(NOTIFIES);
        /// show notifications to the flow's scheme, which takes them as CNPs; without it they only pause (flow pause, source
        /// flow control)
        shown: Spanned<bool> = "true", only(NOTIFIES);
        /// switches that answer: a list of tiers (`leaf`) and of switches by number or name (`spine 3`), or `all`
        switches: Spanned<Vec<String>> = "[\"all\"]", only(NOTIFIES);
        /// least time between two notifications of a flow by a switch, and its delay on top
        interval: Spanned<Span> = "4us", only(NOTIFIES);
        /// time that a switch takes to make a notification
        delay: Span = "0s", only(NOTIFIES);
        /// leave the mark in packets of these switches, so that receivers notify too
        keep_mark: bool = "true", only(NOTIFIES);
        /// flows that a switch knows at a time; then the oldest is forgotten, and may be notified of again
        table: Spanned<u32> = "65536", only(NOTIFIES);
        /// size of a notification on the wire
        size: Spanned<Bytes> = "64B", only(NOTIFIES);
        /// what counts as a flow: each `flow`, or all between two `hosts` in one class
        key: NoticeKey = "flow", only(NOTIFIES);
    }
}
