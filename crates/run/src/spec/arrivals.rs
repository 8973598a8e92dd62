//! Flows that arrive at random, described by their distributions rather than one by one.

use paceline_kernel::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{NodeId, RunSpec};

/// Stream of independent flows that start at random and replaces a list. Each flow is drawn at its start and
/// dropped at its end. The flows and their order equal those of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arrivals {
    /// Number of flows that will arrive, as [`Arrivals::of`] counted.
    pub flows: u32,
    /// Start of the first flow.
    pub first: Time,
    /// Start of the last flow.
    pub last: Time,
    /// Sources of flows; of simultaneous starts the first source comes first.
    pub sources: Vec<ArrivalSource>,
}

/// Source of arrivals: a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArrivalSource {
    /// Number of the workload, which identifies its random streams.
    pub workload: u64,
    /// Start and end of arrivals.
    pub window: (Time, Time),
    /// Priority class of its flows.
    pub class: u8,
    /// Destination port of its flows.
    pub dport: u16,
    /// Index of its label in [`super::RunSpec::labels`].
    pub label: u16,
    /// Index of its scheme in [`super::RunSpec::schemes`].
    pub scheme: u16,
    /// Senders, receivers and sizes.
    pub pattern: ArrivalPattern,
}

/// Pattern of senders, receivers and sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum ArrivalPattern {
    /// Poisson arrivals at each host, each for a random other host.
    Poisson {
        /// Sending hosts, each with the mean time between its arrivals in ps.
        hosts: Vec<(NodeId, f64)>,
        /// Receivers, if not the hosts themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        receivers: Vec<NodeId>,
        /// Distribution of sizes: see [`size_at`].
        sizes: Vec<(f64, f64)>,
    },
    /// Poisson arrivals of incasts: a random host receives `size` from each of `fan_in` random others.
    Incasts {
        /// Hosts that take part.
        hosts: Vec<NodeId>,
        /// Receivers, if not the hosts themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        receivers: Vec<NodeId>,
        /// Mean time between incasts, in ps.
        mean_ps: f64,
        /// Senders of each incast.
        fan_in: u32,
        /// Bytes from each sender.
        size: Bytes,
    },
    /// Messages listed one by one, next to others that are drawn.
    Told {
        /// Messages in the order of their starts.
        messages: Vec<Message>,
    },
}

/// Flow without its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Message {
    /// Node number of the sending host.
    pub src: NodeId,
    /// Node number of the receiving host.
    pub dst: NodeId,
    /// Payload bytes to deliver.
    pub size: Bytes,
    /// Start time of the flow.
    pub start: Time,
}

impl RunSpec {
    /// Returns the same run with its flows as a list, if they come as a stream.
    pub fn listed(&self) -> Option<Self> {
        let arrivals = self.arrivals.as_ref()?;
        Some(Self {
            flows: arrivals.flows(self.seed).collect(),
            arrivals: None,
            ..self.clone()
        })
    }
}

impl ArrivalPattern {
    /// Iterates over the hosts; for listed messages, over those of each.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        let (linked, hosts, receivers, messages) = match self {
            Self::Poisson { hosts, receivers, .. } => (&hosts[..], &[][..], &receivers[..], &[][..]),
            Self::Incasts { hosts, receivers, .. } => (&[][..], &hosts[..], &receivers[..], &[][..]),
            Self::Told { messages } => (&[][..], &[][..], &[][..], &messages[..]),
        };
        let linked = linked.iter().map(|&(host, _)| host);
        let got = messages.iter().flat_map(|message| [message.src, message.dst]);
        linked.chain(hosts.iter().chain(receivers).copied()).chain(got)
    }

    /// Returns the largest size.
    pub fn largest(&self) -> Bytes {
        match self {
            Self::Poisson { sizes, .. } => Bytes::new(sizes.last().map_or(0.0, |&(size, _)| size) as u64),
            Self::Incasts { size, .. } => *size,
            Self::Told { messages } => {
                let sizes = messages.iter().map(|message| message.size);
                sizes.max().unwrap_or_default()
            }
        }
    }
}

/// Returns the size that a share `p` of the flows does not exceed; at least one byte. A distribution is a
/// list of points of bytes and cumulative probability, both non-decreasing, the last with probability 1,
/// interpolated linearly.
pub fn size_at(points: &[(f64, f64)], p: f64) -> Bytes {
    let above = points.partition_point(|&(_, q)| q < p);
    let (x1, y1) = points[above.min(points.len() - 1)];
    let (x0, y0) = if above == 0 { (x1, y1) } else { points[above - 1] };
    // With equal probabilities the size jumps, and there is nothing to interpolate.
    let share = if y1 > y0 { (p - y0) / (y1 - y0) } else { 0.0 };
    Bytes::new(((x0 + share * (x1 - x0)) as u64).max(1))
}
