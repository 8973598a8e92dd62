//! Collective operations as messages: senders, receivers, sizes and dependencies of each step.
//!
//! A step begins at a host when the last byte of its messages from the previous step has arrived: the data is there,
//! whether or not the sender knows. If the messages of a step belong to a call that returns after both directions
//! (`MPI_Sendrecv`, `MPI_Waitall`), the step also waits for the acknowledgement of the host's own message.

mod chain;
mod forwarded;
mod graph;
mod layout;
mod pipeline;
mod steps;
mod tree;

use paceline_kernel::{Bytes, Span, Time};
use paceline_run::spec::{Awaited, Dependency, NodeId};

use paceline_run::spec::Message;

use graph::Graph;
use steps::{RingOf, all_gather, halving_doubling, hierarchical, part, reduce_scatter};

pub use chain::{Chain, Stage, Tail};
pub use layout::Layout;
pub use pipeline::{Pipeline, Schedule};
pub use steps::Step;

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// All-reduce as a ring reduce-scatter and a ring all-gather: 2(n - 1) steps with 1/n of the data each.
    RingAllReduce,
    /// All-reduce within groups, then among the groups, then within the groups again, each by rings.
    HierarchicalAllReduce {
        /// Number of hosts in a group.
        group: u32,
    },
    /// All-reduce by recursive halving and doubling (Rabenseifner): 2 log2(n) steps. The number of hosts must be a
    /// power of two.
    HalvingDoubling,
    /// All-reduce by two binary trees with half of the data each; inner hosts of one are leaves of the other.
    DoubleTree,
    /// Reduce-scatter: every host gets 1/n of the sum, in n - 1 steps around a ring.
    ReduceScatter,
    /// All-gather: every host gets every host's 1/n, in n - 1 steps around a ring.
    AllGather,
    /// All-to-all in which every host exchanges data with one other host per step: in step k with rank XOR k if the
    /// number of hosts is a power of two, otherwise to rank + k and from rank - k, as in MPICH.
    PairwiseAllToAll,
    /// All-to-all in which every host posts its messages to all others at once and waits for all.
    LinearAllToAll,
}

/// Further choices of a communication library for a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of parts of the data that are transferred independently, each over its own connections.
    pub channels: u32,
    /// Largest size of a chunk into which the data of a channel is split.
    pub chunk: Option<Bytes>,
    /// Number of chunks of a channel in progress at a host.
    pub slots: u32,
    /// Path of all-to-all messages to other rails.
    pub forwarding: Forwarding,
    /// True to order hosts by server instead of by rank.
    pub by_server: bool,
}

/// Path of all-to-all messages to a host on another rail of another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarding {
    /// Direct path over the network.
    #[default]
    None,
    /// Path through the host on that rail in the sender's server.
    Each,
    /// Path through that host, with all messages of a server to a host merged into one.
    Collected,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            channels: 1,
            chunk: None,
            slots: 8,
            forwarding: Forwarding::None,
            by_server: false,
        }
    }
}

impl Options {
    /// Returns the number of chunks per channel.
    fn chunks(&self, bytes: u64) -> u64 {
        let most = bytes.div_ceil(u64::from(self.channels));
        self.chunk.map_or(1, |chunk| most.div_ceil(chunk.get()))
    }

    /// Returns the sizes of a channel's chunks; `bytes` is the total of all channels.
    fn cut(&self, bytes: u64, channel: u32) -> Vec<u64> {
        let chunks = self.chunks(bytes);
        let bytes = part(bytes, self.channels.into(), channel.into());
        (0..chunks).map(|chunk| part(bytes, chunks, chunk)).collect()
    }
}

/// Messages of a collective; dependencies refer to them by index.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Messages by iteration, step and rank.
    pub messages: Vec<Message>,
    /// Dependencies of messages on earlier ones, with the delays between them.
    pub dependencies: Vec<Dependency>,
    /// Channel of each message.
    pub channels: Vec<u32>,
    /// Number of messages per iteration.
    pub per_iteration: usize,
}

impl Algorithm {
    /// Returns the steps of `hosts` hosts. For all-to-all, `size` is the data from each host to each other one;
    /// otherwise the total per host, before or after the operation.
    ///
    /// # Panics
    /// If the algorithm does not support this number of hosts: see its documentation. The minimum is two.
    pub fn steps(self, hosts: u32, size: Bytes) -> Vec<Step> {
        assert!(hosts >= 2, "a collective over {hosts} hosts");
        let (n, bytes) = (hosts as usize, size.get());
        let all = [RingOf {
            ranks: (0..hosts).collect(),
            bytes,
        }];
        let shifted = |by: &dyn Fn(u32, u32) -> u32| {
            let step = |k| Step {
                to: (0..hosts).map(|rank| by(rank, k)).collect(),
                bytes: vec![bytes; n],
            };
            (1..hosts).map(step).collect()
        };
        match self {
            Self::RingAllReduce => [reduce_scatter(&all, n), all_gather(&all, n)].concat(),
            Self::ReduceScatter => reduce_scatter(&all, n),
            Self::AllGather => all_gather(&all, n),
            Self::HierarchicalAllReduce { group } => {
                assert!(group > 1 && group < hosts && hosts.is_multiple_of(group));
                hierarchical(hosts, group, bytes)
            }
            Self::HalvingDoubling => {
                assert!(hosts.is_power_of_two());
                halving_doubling(hosts, bytes)
            }
            Self::PairwiseAllToAll if hosts.is_power_of_two() => shifted(&|rank, k| rank ^ k),
            Self::PairwiseAllToAll | Self::LinearAllToAll => shifted(&|rank, k| (rank + k) % hosts),
            Self::DoubleTree => Vec::new(),
        }
    }

    /// Returns the messages of `hosts` hosts, with the dependencies of each.
    fn graph(self, hosts: u32, size: Bytes, options: &Options, layout: &Layout) -> Graph {
        let slots = options.slots as usize;
        let relay = |from: u32, to: u32| match options.forwarding {
            Forwarding::None => None,
            _ => layout.relay(from, to),
        };
        match self {
            Self::LinearAllToAll if options.forwarding == Forwarding::Collected => {
                forwarded::graph(hosts, &self.steps(hosts, size), layout)
            }
            Self::LinearAllToAll => Graph::at_once(hosts, &self.steps(hosts, size), &relay),
            Self::PairwiseAllToAll => {
                let steps = vec![vec![self.steps(hosts, size)]];
                // Each step is a call that returns after both directions, so it also waits for its own
                // acknowledgement.
                Graph::step_by_step(hosts, &steps, slots, Awaited::Acknowledged, &relay)
            }
            Self::DoubleTree => {
                let trees = (0..2 * options.channels).map(|channel| {
                    // Each channel of the options has two trees, with half of its data each.
                    let (of, second) = (channel / 2, channel % 2);
                    let halves = options.cut(size.get(), of).into_iter();
                    tree::Tree {
                        parents: layout.tree(of, second == 1),
                        channel,
                        chunks: halves.map(|bytes| part(bytes, 2, second.into())).collect(),
                    }
                });
                tree::graph(hosts, &trees.collect::<Vec<_>>(), slots)
            }
            _ => {
                let channels = (0..options.channels).map(|channel| {
                    let order = self.order(hosts, channel, options, layout);
                    let chunks = options.cut(size.get(), channel).into_iter();
                    let steps = |bytes| {
                        self.steps(hosts, Bytes::new(bytes))
                            .iter()
                            .map(|step| step.by(&order))
                            .collect()
                    };
                    chunks.map(steps).collect()
                });
                let channels: Vec<_> = channels.collect();
                Graph::step_by_step(hosts, &channels, slots, Awaited::Started, graph::DIRECT)
            }
        }
    }

    /// Returns the order in which a channel passes through the hosts.
    fn order(self, hosts: u32, channel: u32, options: &Options, layout: &Layout) -> Vec<u32> {
        match self {
            Self::RingAllReduce | Self::ReduceScatter | Self::AllGather if options.channels > 1 => {
                layout.ring(channel)
            }
            _ if options.by_server => layout.by_server(),
            _ => (0..hosts).collect(),
        }
    }

    /// Returns the smallest size with which no message is empty.
    pub fn least_bytes(self, hosts: u32, size: Bytes, options: &Options) -> u64 {
        let pieces = match self {
            Self::PairwiseAllToAll | Self::LinearAllToAll => return 1,
            Self::DoubleTree => 2,
            _ => u64::from(hosts),
        };
        let channels = u64::from(options.channels);
        let all = pieces.saturating_mul(channels);
        all.saturating_mul(options.chunks(size.get()))
    }

    const fn is_all_to_all(self) -> bool {
        matches!(self, Self::PairwiseAllToAll | Self::LinearAllToAll)
    }

    /// Returns the bytes on which its bandwidth is based ("algbw" of NCCL's tests): the total per host, including its
    /// own share.
    pub fn counted_bytes(self, hosts: u32, size: Bytes) -> Bytes {
        let factor = if self.is_all_to_all() { u64::from(hosts) } else { 1 };
        Bytes::new(size.get() * factor)
    }

    /// Returns the ratio of the bytes on a host's link to those counted ("busbw" over "algbw" of NCCL's tests).
    pub fn bus_factor(self, hosts: u32) -> f64 {
        let others = f64::from(hosts - 1) / f64::from(hosts);
        match self {
            Self::RingAllReduce
            | Self::HierarchicalAllReduce { .. }
            | Self::HalvingDoubling
            | Self::DoubleTree => 2.0 * others,
            _ => others,
        }
    }

    /// Returns the number of messages per iteration, for one channel and chunk.
    pub fn messages(self, hosts: u32) -> f64 {
        let n = f64::from(hosts);
        let steps = match self {
            Self::RingAllReduce => 2.0 * (n - 1.0),
            Self::HierarchicalAllReduce { group } => {
                let group = f64::from(group);
                2.0 * (group - 1.0) + 2.0 * (n / group - 1.0)
            }
            Self::HalvingDoubling => 2.0 * n.log2(),
            Self::DoubleTree => 4.0 * (n - 1.0) / n,
            _ => n - 1.0,
        };
        n * steps
    }

    /// Returns the number of messages of all channels and chunks; an upper bound if messages are forwarded.
    pub fn messages_with(self, hosts: u32, size: Bytes, options: &Options) -> f64 {
        let factor = match self {
            Self::PairwiseAllToAll | Self::LinearAllToAll if options.forwarding == Forwarding::None => 1.0,
            Self::PairwiseAllToAll | Self::LinearAllToAll => 2.0,
            _ => f64::from(options.channels) * options.chunks(size.get()) as f64,
        };
        self.messages(hosts) * factor
    }

    /// Returns `iterations` of the collective in sequence. A host begins the next one when it has completed the last
    /// and computed for `compute`.
    pub fn plan(self, hosts: &[NodeId], size: Bytes, start: Time, iterations: u32, compute: Span) -> Plan {
        let all = (0..hosts.len() as u32).collect();
        let stage = Stage::new(self, vec![all], size);
        stage.repeated(hosts, start, iterations, compute)
    }
}

impl Stage {
    /// Returns iterations of this collective in sequence, like [`Algorithm::plan`].
    pub fn repeated(&self, hosts: &[NodeId], start: Time, iterations: u32, compute: Span) -> Plan {
        let mut chain = Chain::new(hosts, start);
        for iteration in 0..iterations {
            if iteration > 0 {
                chain.compute(compute);
            }
            chain.collective(self, None);
        }
        Plan {
            messages: chain.messages,
            dependencies: chain.dependencies,
            channels: chain.channels,
            per_iteration: self.messages(),
        }
    }
}
