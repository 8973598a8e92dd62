//! Flows that arrive at random, told by what they are drawn from rather than one by one.

use paceline_kernel::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{NodeId, RunSpec};

/// Flows that wait for nothing and start at random, in place of a list: each is drawn when its start comes, and
/// forgotten when it is over. They are the flows that the list would have, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arrivals {
    /// How many flows there will be: what [`Arrivals::of`] counted.
    pub flows: u32,
    /// When the first starts.
    pub first: Time,
    /// When the last starts.
    pub last: Time,
    /// What they are drawn from; of flows that start at the same time those of the first come first.
    pub sources: Vec<ArrivalSource>,
}

/// Some of the arrivals: a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArrivalSource {
    /// Its number, by which its random streams are known.
    pub workload: u64,
    /// Arrivals begin, and are over.
    pub window: (Time, Time),
    /// Priority class of its flows.
    pub class: u8,
    /// Their destination port.
    pub dport: u16,
    /// Index in [`super::RunSpec::labels`].
    pub label: u16,
    /// Index in [`super::RunSpec::schemes`].
    pub scheme: u16,
    /// Who sends what to whom.
    pub pattern: ArrivalPattern,
}

/// Who sends what to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum ArrivalPattern {
    /// Poisson arrivals at each host, each to another of them at random.
    Poisson {
        /// The hosts, and the mean time from one of its arrivals to the next, in ps.
        hosts: Vec<(NodeId, f64)>,
        /// Who receives, if not the hosts themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        receivers: Vec<NodeId>,
        /// Distribution of sizes: see [`size_at`].
        sizes: Vec<(f64, f64)>,
    },
    /// Poisson arrivals of incasts: a random host gets `size` from each of `fan_in` random others.
    Incasts {
        /// The hosts.
        hosts: Vec<NodeId>,
        /// Who receives, if not the hosts themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        receivers: Vec<NodeId>,
        /// The mean time from one incast to the next, in ps.
        mean_ps: f64,
        /// Senders of each.
        fan_in: u32,
        /// What each sends.
        size: Bytes,
    },
    /// Messages that are told one by one, alongside others that are drawn.
    Told {
        /// In the order of their starts.
        messages: Vec<Message>,
    },
}

/// A flow before it has its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Message {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Payload bytes.
    pub size: Bytes,
    /// When the sender starts.
    pub start: Time,
}

impl RunSpec {
    /// The same run with its flows as a list, if they come as a stream.
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
    /// The hosts; of messages that are told, those of each.
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

    /// The largest size that is drawn.
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

/// The size below which a share `p` of the flows lies; at least one byte. A distribution is points of bytes and
/// cumulative probability, both not decreasing, the last probability 1, with straight lines between them.
pub fn size_at(points: &[(f64, f64)], p: f64) -> Bytes {
    let above = points.partition_point(|&(_, q)| q < p);
    let (x1, y1) = points[above.min(points.len() - 1)];
    let (x0, y0) = if above == 0 { (x1, y1) } else { points[above - 1] };
    let share = if y1 > y0 { (p - y0) / (y1 - y0) } else { 0.0 };
    Bytes::new(((x0 + share * (x1 - x0)) as u64).max(1))
}
