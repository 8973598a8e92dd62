//! `[[workload]]` and its blocks.

use paceline_kernel::{Bytes, Span, Time};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use super::{Messages, Nodes, tables};

tables! {
    /// `[[workload]]`: one of the blocks, and what they share.
    struct Workload {
        label: String,
        scheme: Spanned<String>,
        priority: Spanned<u8>,
        start_jitter: Span,
        file: Spanned<String>,
        trace: Trace,
        incast: Incast,
        poisson: Poisson,
        incast_poisson: IncastPoisson,
        permutation: Permutation,
        closed_loop: ClosedLoop,
        all_to_all: AllToAll,
        all_reduce: AllReduce,
        reduce_scatter: Ring,
        all_gather: Ring,
        messages: Messages,
        flows: Vec<Spanned<Flow>>,
    }
    struct Flow {
        src: Spanned<Nodes>,
        dst: Spanned<Nodes>,
        size: Spanned<Bytes>,
        start: Time,
    }
    struct Trace {
        file: Spanned<String>,
        ignore: Vec<Spanned<String>>,
        connections: Connections,
    }
    struct Incast {
        fan_in: Spanned<u32>,
        senders: Spanned<Nodes>,
        receiver: Spanned<Nodes>,
        size: Spanned<Bytes>,
        sizes: Vec<Spanned<Bytes>>,
        start: Time,
        period: Spanned<Span>,
        rounds: u32,
    }
    struct Poisson {
        hosts: Spanned<Nodes>,
        sizes: Spanned<Sizes>,
        load: Spanned<f64>,
        from: Spanned<Time>,
        to: Spanned<Time>,
    }
    struct IncastPoisson {
        hosts: Spanned<Nodes>,
        load: Spanned<f64>,
        fan_in: Spanned<u32>,
        size: Spanned<Bytes>,
        from: Spanned<Time>,
        to: Spanned<Time>,
    }
    struct Permutation {
        hosts: Spanned<Nodes>,
        size: Spanned<Bytes>,
        start: Time,
    }
    struct ClosedLoop {
        senders: Spanned<Nodes>,
        receivers: Spanned<Nodes>,
        to: ClosedLoopTo,
        processes: Spanned<u32>,
        outstanding: Spanned<u32>,
        messages: Spanned<u32>,
        size: Spanned<Bytes>,
        sizes: Spanned<Sizes>,
        think_time: Span,
        start: Time,
        connections: Connections,
    }
    struct AllToAll {
        algorithm: Spanned<String>,
        hosts: Spanned<Nodes>,
        size: Spanned<Bytes>,
        iterations: Spanned<u32>,
        compute: Span,
        start: Time,
        connections: Connections,
    }
    struct AllReduce {
        algorithm: Spanned<String>,
        group_size: Spanned<u32>,
        hosts: Spanned<Nodes>,
        size: Spanned<Bytes>,
        iterations: Spanned<u32>,
        compute: Span,
        start: Time,
        connections: Connections,
    }
    /// Reduce-scatter, all-gather.
    struct Ring {
        hosts: Spanned<Nodes>,
        size: Spanned<Bytes>,
        iterations: Spanned<u32>,
        compute: Span,
        start: Time,
        connections: Connections,
    }
    /// One of the sizes of a mix.
    struct Share {
        size: Spanned<Bytes>,
        share: Spanned<f64>,
    }
}

/// What messages go over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Connections {
    /// A queue pair for each.
    #[default]
    PerMessage,
    /// A queue pair that stays, for one after another.
    Persistent,
}

/// To whom the processes of a closed loop send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClosedLoopTo {
    /// Each message to one of the receivers at random.
    #[default]
    Random,
    /// To each of them at any time.
    All,
}

/// A distribution of sizes: by name, from a file, or given in place as a list of shares.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    /// The name of a distribution or of a file.
    Named(String),
    /// Sizes and their shares.
    Mix(Vec<Spanned<Share>>),
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(name) => serializer.serialize_str(name),
            Self::Mix(shares) => shares.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrList;
        impl<'de> Visitor<'de> for NameOrList {
            type Value = Sizes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a distribution or of its file, or a list of { size, share }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Sizes, E> {
                Ok(Sizes::Named(text.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Sizes, A::Error> {
                let mut shares = Vec::new();
                while let Some(share) = sequence.next_element()? {
                    shares.push(share);
                }
                Ok(Sizes::Mix(shares))
            }
        }
        deserializer.deserialize_any(NameOrList)
    }
}
