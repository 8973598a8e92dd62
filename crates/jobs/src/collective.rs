//! Collective operations as messages: who sends how much to whom in which step, and what a step
//! waits for.
//!
//! A step begins at a host when what it has to receive in the step before has arrived, to the last
//! byte: the data is there, whether or not its sender knows. Where the messages of a step are those
//! of a call that returns when both directions are done (`MPI_Sendrecv`, `MPI_Waitall`), the
//! acknowledgement of the host's own message is waited for as well.

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

/// How a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// All-reduce as a ring reduce-scatter and a ring all-gather: 2(n - 1) steps of a n-th.
    RingAllReduce,
    /// All-reduce in groups of so many hosts, then among the groups, then in the groups again:
    /// rings all.
    HierarchicalAllReduce {
        /// Hosts of a group.
        group: u32,
    },
    /// All-reduce by recursive halving and doubling (Rabenseifner): 2 log2(n) steps. The number of
    /// hosts is a power of two.
    HalvingDoubling,
    /// All-reduce by two binary trees with half of the data each, whose inner hosts are the leaves of the other.
    DoubleTree,
    /// Every host gets a n-th of the sum: n - 1 steps around a ring.
    ReduceScatter,
    /// Every host gets every host's n-th: n - 1 steps around a ring.
    AllGather,
    /// Every host exchanges with one other host after another: in step k with rank XOR k where the
    /// number of hosts is a power of two, otherwise to rank + k and from rank - k, as MPICH does.
    PairwiseAllToAll,
    /// Every host posts its messages to all others at once and waits for all.
    LinearAllToAll,
}

/// What else a library decides about a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Parts of the data that are carried independently of each other, each over connections of its own.
    pub channels: u32,
    /// The data of a channel is cut into chunks of at most so many bytes.
    pub chunk: Option<Bytes>,
    /// The chunks of a channel that are under way at a host.
    pub slots: u32,
    /// How all-to-all reaches other rails.
    pub forwarding: Forwarding,
    /// Whether hosts are taken server by server; otherwise in the order of their ranks.
    pub by_server: bool,
}

/// How messages of an all-to-all reach a host on another rail of another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarding {
    /// Over the network.
    #[default]
    None,
    /// By way of the host on that rail in the sender's server.
    Each,
    /// The same, all messages of a server to a host as one.
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
    /// The number of chunks of each channel.
    fn chunks(&self, bytes: u64) -> u64 {
        let most = bytes.div_ceil(u64::from(self.channels));
        self.chunk.map_or(1, |chunk| most.div_ceil(chunk.get()))
    }

    /// The chunks of a channel of `bytes` bytes in all.
    fn cut(&self, bytes: u64, channel: u32) -> Vec<u64> {
        let chunks = self.chunks(bytes);
        let bytes = part(bytes, self.channels.into(), channel.into());
        (0..chunks).map(|chunk| part(bytes, chunks, chunk)).collect()
    }
}

/// The messages of a collective; the dependencies name them by their places.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Iteration by iteration, step by step, rank by rank.
    pub messages: Vec<Message>,
    /// What waits for what.
    pub dependencies: Vec<Dependency>,
    /// The channel of each message.
    pub channels: Vec<u32>,
    /// Messages of one iteration.
    pub per_iteration: usize,
}

impl Algorithm {
    /// The steps of `hosts` hosts, for `size` bytes: for all-to-all those from each host to each
    /// other one, otherwise those that a host has in all, before or after.
    ///
    /// # Panics
    /// If the algorithm cannot be carried out by so many hosts: see its documentation. Two are the fewest.
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

    /// The messages of `hosts` hosts, and what each waits for.
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
                Graph::step_by_step(hosts, &steps, slots, Awaited::Acknowledged, &relay)
            }
            Self::DoubleTree => {
                let trees = (0..2 * options.channels).map(|channel| {
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

    /// The hosts in the order in which a channel goes through them.
    fn order(self, hosts: u32, channel: u32, options: &Options, layout: &Layout) -> Vec<u32> {
        match self {
            Self::RingAllReduce | Self::ReduceScatter | Self::AllGather if options.channels > 1 => {
                layout.ring(channel)
            }
            _ if options.by_server => layout.by_server(),
            _ => (0..hosts).collect(),
        }
    }

    /// The least number of bytes with which every message has some.
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

    /// The bytes by which its bandwidth is counted ("algbw" of NCCL's tests): those that a host has
    /// in all, its own share included.
    pub fn counted_bytes(self, hosts: u32, size: Bytes) -> Bytes {
        let factor = if self.is_all_to_all() { u64::from(hosts) } else { 1 };
        Bytes::new(size.get() * factor)
    }

    /// What a host's link carries over what is counted ("busbw" over "algbw" of NCCL's tests).
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

    /// Messages of one iteration.
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

    /// The same of all channels and chunks; at most, where messages are forwarded.
    pub fn messages_with(self, hosts: u32, size: Bytes, options: &Options) -> f64 {
        let factor = match self {
            Self::PairwiseAllToAll | Self::LinearAllToAll if options.forwarding == Forwarding::None => 1.0,
            Self::PairwiseAllToAll | Self::LinearAllToAll => 2.0,
            _ => f64::from(options.channels) * options.chunks(size.get()) as f64,
        };
        self.messages(hosts) * factor
    }

    /// `iterations` of the collective one after the other. A host begins the next when it is done
    /// with the last, and has computed for `compute`.
    pub fn plan(self, hosts: &[NodeId], size: Bytes, start: Time, iterations: u32, compute: Span) -> Plan {
        let all = (0..hosts.len() as u32).collect();
        let stage = Stage::new(self, vec![all], size);
        stage.repeated(hosts, start, iterations, compute)
    }
}

impl Stage {
    /// The same of this one.
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
