//! Changes of links and hosts during a run.

use std::ops::Range;

use paceline_kernel::{BitRate, Slowness, Span, Time};
use serde::{Deserialize, Serialize};

use super::node::NodeId;

/// Link that fails at some time, and may recover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkFailure {
    /// Index of the link in [`super::RunSpec::links`].
    pub link: usize,
    /// Time of the failure: packets on the link and waiting for it are lost.
    pub at: Time,
    /// Time of the recovery; `None` if it never recovers.
    pub until: Option<Time>,
}

/// Temporary change of a link's rate, delay or loss. Switches keep their configured thresholds, and packets
/// already on the link arrive as scheduled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkChange {
    /// Index of the link in [`super::RunSpec::links`].
    pub link: usize,
    /// Start of the change.
    pub at: Time,
    /// End of the change; `None` if it lasts.
    pub until: Option<Time>,
    /// Rate that replaces [`super::LinkSpec::rate`].
    pub rate: Option<BitRate>,
    /// Replaces [`super::LinkSpec::delay`]. If the delay becomes shorter, both ends pause for the difference,
    /// so that no packet overtakes another.
    pub delay: Option<Span>,
    /// Probability that replaces [`super::LinkSpec::error_rate`].
    pub error_rate: Option<f64>,
}

impl LinkChange {
    /// Returns true if the change applies at `at`.
    pub fn is_on(&self, at: Time) -> bool {
        self.at <= at && self.until.is_none_or(|until| at < until)
    }

    /// Returns the first property that two changes of one link set at the same time, if any.
    pub fn clash(&self, other: &Self) -> Option<&'static str> {
        let both = [
            ("rate", self.rate.is_some() && other.rate.is_some()),
            ("delay", self.delay.is_some() && other.delay.is_some()),
            (
                "error rate",
                self.error_rate.is_some() && other.error_rate.is_some(),
            ),
        ];
        clash(
            self.at..self.until.unwrap_or(Time::MAX),
            other.at..other.until.unwrap_or(Time::MAX),
            &both,
        )
    }
}

/// Temporary slowdown of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostChange {
    /// Host that slows down.
    pub node: NodeId,
    /// Start of the slowdown.
    pub at: Time,
    /// End of the slowdown; `None` if it lasts.
    pub until: Option<Time>,
    /// Factor by which computations take longer.
    pub compute: Option<f64>,
    /// Rate that replaces [`super::Endpoint::rate`].
    pub receive_rate: Option<BitRate>,
}

impl HostChange {
    /// Returns the first property that two changes of one host set at the same time, if any.
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
        clash(
            self.at..self.until.unwrap_or(Time::MAX),
            other.at..other.until.unwrap_or(Time::MAX),
            &both,
        )
    }
}

/// Returns the first property that both set, if their intervals overlap.
fn clash(a: Range<Time>, b: Range<Time>, both: &[(&'static str, bool)]) -> Option<&'static str> {
    let overlap = a.start < b.end && b.start < a.end;
    let mut both = both.iter().filter(|(_, both)| *both && overlap);
    both.next().map(|&(what, _)| what)
}

/// Returns the times at which a host computes more slowly.
pub fn slowness(changes: &[HostChange], node: NodeId) -> Slowness {
    let own = changes.iter().filter(|change| change.node == node);
    let stretch = |change: &HostChange| {
        let until = change.until.unwrap_or(Time::MAX);
        Some((change.at.as_ps(), until.as_ps(), change.compute?))
    };
    Slowness::new(own.filter_map(stretch).collect())
}
