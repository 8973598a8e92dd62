//! `[[workload]]` and its blocks.

use paceline_congestion::params::{is, is_not};
use paceline_kernel::{Bytes, Span, Time};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use super::facts::{NOT_IB, OWN};
use super::{Messages, Nodes, tables};

tables! {
    /// Keys of every workload, next to its block.
    struct Workload {
        /// name of these flows in results
        label: String => "the block's name";
        /// congestion control of these flows
        scheme: Spanned<String> => "that of [cc]", only(&[&[NOT_IB]]);
        /// priority class, 1 to 7
        priority: Spanned<u8> = "3", only(&[&[NOT_IB]]);
        /// keep each flow to one path, chosen by hash, while network.load-balancing spreads the others
        one_path: bool = "false", only(&[&[OWN, is_not("network.load-balancing", &["ecmp"])]]);
        /// delay the start of each flow without dependencies by a random time below this
        start_jitter: Span = "0s", only(&[&[NOT_IB]]);
        file: Spanned<String>;
        trace: Trace;
        incast: Incast;
        poisson: Poisson;
        incast_poisson: IncastPoisson;
        bursts: Bursts;
        permutation: Permutation;
        closed_loop: ClosedLoop;
        all_to_all: AllToAll;
        all_reduce: AllReduce;
        reduce_scatter: Ring;
        all_gather: Ring;
        messages: Messages;
        flows: Vec<Spanned<Flow>>;
    }
    /// A list of flows: { src, dst, size, start }.
    struct Flow {
        /// sending host
        src: Spanned<Nodes>;
        /// receiving host
        dst: Spanned<Nodes>;
        /// payload
        size: Spanned<Bytes>;
        /// start of the flow
        start: Time = "0s";
    }
    /// Flows from a table with named columns, in any order: `src`, `dst`, `size_bytes`, one of `start_ps`, `start_us`,
    /// `start_s`; where they are there `label`, `priority` and `scheme`, `connection` (flows of the same number go
    /// over one persistent connection), `flow_id`, and `after` (`after_ack`, `after_start`): the flows whose last byte
    /// (last acknowledgement, start) this one waits for, and `delay_ps` (`delay_us`, `delay_s`) how long beyond that.
    /// The `flows.csv` of a run is such a table. What the workload says of all its flows goes before the columns.
    struct Trace {
        /// a CSV or Parquet file
        file: Spanned<String>;
        /// columns to ignore, such as the scheme of the recorded run
        ignore: Vec<Spanned<String>> = "[]";
        /// `per-message`: one queue pair per flow. `persistent`: flows of the same hosts, priority and scheme share
        /// one; a column `connection` overrides this
        connections: Connections = "per-message";
    }
    /// Several hosts send to one at the same time, once or periodically.
    struct Incast {
        /// number of senders: the first hosts other than the receiver
        fan_in: Spanned<u32>;
        /// the senders, a set of hosts; instead of fan-in
        senders: Spanned<Nodes>;
        /// the receiving host
        receiver: Spanned<Nodes>;
        /// payload per sender
        size: Spanned<Bytes> = "500KB";
        /// list of payloads, one per sender, the last for all others; instead of size
        sizes: Vec<Spanned<Bytes>>;
        /// start of the first round
        start: Time = "0s";
        /// time between rounds
        period: Spanned<Span>, only(&[&[is_not(".rounds", &["1"])]]);
        /// number of rounds
        rounds: u32 = "1";
    }
    /// Poisson arrivals at every host. Sizes are drawn from a distribution, destinations at random (HPCC's traffic
    /// generator).
    struct Poisson {
        /// hosts that send to each other: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// who receives, a set of hosts; a host does not send to itself
        receivers: Spanned<Nodes> => "hosts";
        /// distribution of flow sizes: websearch, fb-hadoop, alistorage, google-rpc, google-rpc-read,
        /// google-rpc-batch, a file of lines `bytes percent`, or a list of { size, share }
        sizes: Spanned<Sizes>;
        /// payload rate as a share of the rate that `load-of` names
        load: Spanned<f64>;
        /// what `load` is a share of: `hosts` (their links' rate), or `uplinks` (the rate of the busiest link between
        /// switches, with flows spread evenly over equal paths)
        load_of: Spanned<LoadOf> = "hosts";
        /// start of arrivals
        from: Spanned<Time> = "0s";
        /// end of arrivals
        to: Spanned<Time> => "the duration";
    }
    /// Poisson incasts: a random receiver, random senders (HPCC's evaluation).
    struct IncastPoisson {
        /// participating hosts: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// who receives, a set of hosts; a host does not send to itself
        receivers: Spanned<Nodes> => "hosts";
        /// payload rate as a share of the total rate that `load-of` names
        load: Spanned<f64> = "0.02";
        /// what `load` is a share of: `hosts` (their links' rate), or `uplinks` (the rate of the busiest link between
        /// switches, with flows spread evenly over equal paths)
        load_of: Spanned<LoadOf> = "hosts";
        /// senders per incast
        fan_in: Spanned<u32> = "60";
        /// payload per sender
        size: Spanned<Bytes> = "500KB";
        /// start of arrivals
        from: Spanned<Time> = "0s";
        /// end of arrivals
        to: Spanned<Time> => "the duration";
    }
    /// Bursts in clusters: some hosts send at the same time, at a rate and for a time, and again after a gap. Its dimensions
    /// are Paceline's own: amplitude, duration, gap, and how many senders and receivers go together.
    struct Bursts {
        /// hosts that send: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// who receives, a set of hosts; a host does not send to itself
        receivers: Spanned<Nodes> => "hosts";
        /// payload rate as a share of the rate of all hosts
        load: Spanned<f64>;
        /// hosts that send in a burst
        senders: Spanned<u32> = "8";
        /// receivers of a burst, which its senders take in turn; 1 for an incast
        targets: Spanned<u32> = "1";
        /// rate of a sender in a burst, as a share of its link's
        amplitude: Spanned<f64> = "1.0";
        /// length of a burst
        duration: Span = "10us";
        /// largest message; a sender starts one after another, at its rate
        size: Spanned<Bytes> = "1MB";
        /// bursts of a cluster
        bursts: Spanned<u32> = "4";
        /// mean time between the end of a burst and the start of the next one in its cluster, exponentially distributed
        gap: Span = "20us", only(&[&[is_not(".bursts", &["1"])]]);
        /// all bursts of a cluster have the same senders and receivers
        stay: bool = "true", only(&[&[is_not(".bursts", &["1"])]]);
        /// time at which arrivals start
        from: Spanned<Time> = "0s";
        /// time at which arrivals end
        to: Spanned<Time> => "the duration";
    }
    /// Every host sends to one other host and receives from one, chosen at random or with a fixed stride.
    struct Permutation {
        /// participating hosts: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// the i-th host sends to host i + `stride`, modulo the number of hosts
        stride: Spanned<u32> => "random receivers";
        /// payload of each flow
        size: Spanned<Bytes> = "1MB";
        /// start of the flows
        start: Time = "0s";
    }
    /// Senders with a constant number of outstanding messages: an acknowledgement starts the next message. Each
    /// message is a flow, on its own queue pair or over a persistent connection. Messages of the same slot or
    /// connection to the same receiver use the same ports.
    struct ClosedLoop {
        /// sending hosts: a set of hosts
        senders: Spanned<Nodes> = "all";
        /// receiving hosts: a set of hosts; a host does not send to itself
        receivers: Spanned<Nodes> = "all";
        /// `random`: each message goes to a random receiver. `all`: the messages are outstanding to each receiver
        to: ClosedLoopTo = "random";
        /// number of independent processes per sender
        processes: Spanned<u32> = "1";
        /// outstanding messages per process; with `to = "all"`, per receiver
        outstanding: Spanned<u32> = "1";
        /// total messages per process; with `to = "all"`, per receiver
        messages: Spanned<u32>;
        /// payload per message
        size: Spanned<Bytes> = "64KB";
        /// distribution of payloads, as for poisson; instead of size
        sizes: Spanned<Sizes>;
        /// time from an acknowledgement to the next message
        think_time: Span = "0s";
        /// start of the first messages
        start: Time = "0s";
        /// `per-message`: one queue pair per message. `persistent`: one queue pair per process and receiver, reused
        connections: Connections = "per-message";
    }
    /// Every host sends to every other host. `linear`: all at once, the i-th host starting with its successor.
    /// `pairwise`: one after another, after both directions of the previous step; with rank XOR k if the number of
    /// hosts is a power of two, otherwise to rank + k and from rank - k (MPICH, OSU's benchmark).
    struct AllToAll {
        /// `linear` or `pairwise`
        algorithm: Spanned<String> = "linear";
        /// hosts by rank: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// payload per pair of hosts
        size: Spanned<Bytes> = "1MB";
        /// messages to another rail of another server go by way of the GPU on that rail in the sender's server, which
        /// forwards each when it has it (NCCL's PXN). Needs links inside servers: `topology.rail` with a `server-rate`
        pxn: Spanned<bool> = "false";
        /// with `pxn` and `linear`: the messages of a server to one GPU are forwarded as one, when all are there
        aggregate: bool = "false", only(&[&[is(".pxn", &["true"]), is(".algorithm", &["linear"])]]);
        /// number of iterations; a host starts the next when it has finished the last
        iterations: Spanned<u32> = "1";
        /// computation time of a host between iterations
        compute: Span = "0s";
        /// start of the first iteration
        start: Time = "0s";
        /// `persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of
        /// fidelities other than `exact`
        connections: Connections => "persistent";
    }
    /// Every host gets the sum of all hosts' data; a step starts when its input has arrived. `ring`: 2(n-1) steps of
    /// 1/n of the data (reduce-scatter, then all-gather). `hierarchical`: ring reduce-scatter in each group of hosts,
    /// rings across groups, ring all-gather in each group. `halving-doubling`: 2 log2(n) steps, n a power of two
    /// (Rabenseifner). `tree`: up and down two binary trees with half of the data each, whose inner hosts are the leaves
    /// of the other; hosts of a server are a chain (NCCL's double binary tree).
    struct AllReduce {
        /// `ring`, `hierarchical`, `halving-doubling` or `tree`
        algorithm: Spanned<String> = "ring";
        /// with `hierarchical`: hosts per group, consecutive in `hosts`
        group_size: Spanned<u32>;
        /// with `hierarchical`, instead of `group-size`: `server`, the hosts of each server of `topology.rail`
        group: Spanned<String>;
        /// parts of the data that are carried independently, each with connections of its own. Rings pass the hosts of a
        /// server in another order in each channel, so that channels leave a server by different NICs
        channels: Spanned<u32> = "1";
        /// cut the data of each channel into chunks of at most this size, which go through the steps in a pipeline
        chunk: Spanned<Bytes> => "one chunk";
        /// chunks of a channel that are under way at a host
        slots: Spanned<u32> = "8", only(&[&[is_not(".chunk", &[""])]]);
        /// hosts by rank: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// data per host
        size: Spanned<Bytes> = "1MB";
        /// number of iterations; a host starts the next when it has finished the last
        iterations: Spanned<u32> = "1";
        /// computation time of a host between iterations
        compute: Span = "0s";
        /// start of the first iteration
        start: Time = "0s";
        /// `persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of
        /// fidelities other than `exact`
        connections: Connections => "persistent";
    }
    /// Every host gets 1/n of the sum of all hosts' data: n-1 steps around a ring.
    struct Ring {
        /// hosts by rank: a set of hosts
        hosts: Spanned<Nodes> = "all";
        /// data per host: before (reduce-scatter) or afterwards (all-gather)
        size: Spanned<Bytes> = "1MB";
        /// parts of the data that are carried independently, each with connections of its own. Rings pass the hosts of a
        /// server in another order in each channel, so that channels leave a server by different NICs
        channels: Spanned<u32> = "1";
        /// cut the data of each channel into chunks of at most this size, which go through the steps in a pipeline
        chunk: Spanned<Bytes> => "one chunk";
        /// chunks of a channel that are under way at a host
        slots: Spanned<u32> = "8", only(&[&[is_not(".chunk", &[""])]]);
        /// number of iterations; a host starts the next when it has finished the last
        iterations: Spanned<u32> = "1";
        /// computation time of a host between iterations
        compute: Span = "0s";
        /// start of the first iteration
        start: Time = "0s";
        /// `persistent`: one queue pair per peer, reused. `per-message`: one queue pair per message; the default of
        /// fidelities other than `exact`
        connections: Connections => "persistent";
    }
    /// One of the sizes of a mix.
    struct Share {
        /// payload
        size: Spanned<Bytes>;
        /// share of the flows
        share: Spanned<f64>;
    }
}

/// Queue pairs that messages use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Connections {
    /// New queue pair for each message.
    #[default]
    PerMessage,
    /// Persistent queue pair for successive messages.
    Persistent,
    /// New queue pair for each message, with the ports of the messages before it: jobs by a trace or model.
    SamePorts,
}

/// Base of the load of random flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoadOf {
    /// Rate of the hosts' links.
    #[default]
    Hosts,
    /// Rate of the busiest link between switches.
    Uplinks,
}

/// Receivers of the processes in a closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClosedLoopTo {
    /// Random receiver for each message.
    #[default]
    Random,
    /// All receivers at the same time.
    All,
}

/// Distribution of sizes: by name, from a file, or given as a list of shares.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    /// Name of a distribution or of a file.
    Named(String),
    /// Sizes with their shares.
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
