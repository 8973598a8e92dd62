//! What changes while a run goes on: links and hosts.

use paceline_kernel::{BitRate, Slowness, Span, Time};
use serde::{Deserialize, Serialize};

use super::node::NodeId;

/// Links that go down at some time, and perhaps come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkFailure {
    /// Index in [`super::RunSpec::links`].
    pub link: usize,
    /// When the link goes down: what it carries and what waits for it is lost.
    pub at: Time,
    /// When it comes back, if ever.
    pub until: Option<Time>,
}

/// A link whose rate, delay or loss differs from a time to a time. Switches keep the thresholds that they were configured with,
/// and a packet under way arrives as it would have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkChange {
    /// Index in [`super::RunSpec::links`].
    pub link: usize,
    /// When it begins.
    pub at: Time,
    /// When it ends, if ever.
    pub until: Option<Time>,
    /// Instead of [`super::LinkSpec::rate`].
    pub rate: Option<BitRate>,
    /// Instead of [`super::LinkSpec::delay`]. Where it becomes shorter, both ends rest for the difference, so that no packet
    /// overtakes another.
    pub delay: Option<Span>,
    /// Instead of [`super::LinkSpec::error_rate`].
    pub error_rate: Option<f64>,
}

impl LinkChange {
    /// Whether it is in force at a time.
    pub fn is_on(&self, at: Time) -> bool {
        self.at <= at && self.until.is_none_or(|until| at < until)
    }

    /// What two changes of one link set at one time, if anything.
    pub fn clash(&self, other: &Self) -> Option<&'static str> {
        let both = [
            ("rate", self.rate.is_some() && other.rate.is_some()),
            ("delay", self.delay.is_some() && other.delay.is_some()),
            (
                "error rate",
                self.error_rate.is_some() && other.error_rate.is_some(),
            ),
        ];
        clash((self.at, self.until), (other.at, other.until), &both)
    }
}

/// A host that is slower from a time to a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostChange {
    /// The host.
    pub node: NodeId,
    /// When it begins.
    pub at: Time,
    /// When it ends, if ever.
    pub until: Option<Time>,
    /// How many times as long it computes.
    pub compute: Option<f64>,
    /// Instead of [`super::Endpoint::rate`].
    pub receive_rate: Option<BitRate>,
}

impl HostChange {
    /// What two changes of one host set at one time, if anything.
    pub fn clash(&self, other: &Self) -> Option<&'static str> {
        let both = [
            (
                "time it takes to compute",
                self.compute.is_some() && other.compute.is_some(),
            ),
            (
                "rate at which it receives",
                self.receive_rate.is_some() && other.receive_rate.is_some(),
            ),
        ];
        clash((self.at, self.until), (other.at, other.until), &both)
    }
}

/// The first of what both set, if the times have an instant in common.
fn clash(
    a: (Time, Option<Time>),
    b: (Time, Option<Time>),
    both: &[(&'static str, bool)],
) -> Option<&'static str> {
    let overlap = a.0 < b.1.unwrap_or(Time::MAX) && b.0 < a.1.unwrap_or(Time::MAX);
    let mut both = both.iter().filter(|(_, both)| *both && overlap);
    both.next().map(|&(what, _)| what)
}

/// When a host is slow at computing.
pub fn slowness(changes: &[HostChange], node: NodeId) -> Slowness {
    let own = changes.iter().filter(|change| change.node == node);
    let stretch = |change: &HostChange| {
        let until = change.until.unwrap_or(Time::MAX);
        Some((change.at.as_ps(), until.as_ps(), change.compute?))
    };
    Slowness::new(own.filter_map(stretch).collect())
}
