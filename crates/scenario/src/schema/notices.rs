//! Congestion notifications that switches make: `[network.fast-cnp]`.

use paceline_congestion::params::{When, is_not};
use paceline_fabric::spec::NoticeKey;
use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::facts::{NO_CREDITS, OWN};
use super::tables;

/// Packets that switches answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoticeKind {
    Off,
    Queue,
    Mark,
}

/// Runs in which switches notify.
const NOTIFIES: When = &[&[is_not(".trigger", &["off"])]];

tables! {
    /// Congestion notifications (CNPs) that switches send straight to senders (fast CNP of the IETF's drafts, near-source
    /// notifications). Any scheme that takes CNPs takes them.
    struct FastCnp only(&[&[OWN, NO_CREDITS]]) {
        /// packets that a switch answers: `queue` (those that its own port marks), `mark` (those that leave with a mark, its own
        /// or one before) or `off`
        trigger: Spanned<NoticeKind> = "off";
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
