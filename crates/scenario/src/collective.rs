//! Collective operations as messages: who sends how much to whom in which step, and what a step
//! waits for.
//!
//! A step begins at a host when what it has to receive in the step before has arrived, to the last
//! byte: the data is there, whether or not its sender knows. Where the messages of a step are those
//! of a call that returns when both directions are done (`MPI_Sendrecv`, `MPI_Waitall`), the
//! acknowledgement of the host's own message is waited for as well.

mod chain;

use paceline_fabric::spec::{Dependency, NodeId};
use paceline_kernel::{Bytes, Span, Time};

use crate::traffic::Message;

pub use chain::{Chain, Stage};

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

/// A step: every rank sends one message and receives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rank that each rank sends to.
    pub to: Vec<u32>,
    /// How many bytes.
    pub bytes: Vec<u64>,
}

/// The messages of a collective; the dependencies name them by their places.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Iteration by iteration, step by step, rank by rank.
    pub messages: Vec<Message>,
    /// What waits for what.
    pub dependencies: Vec<Dependency>,
    /// Messages of one iteration.
    pub per_iteration: usize,
}

/// Hosts in a ring, by rank, and the bytes that each of them has.
struct RingOf {
    ranks: Vec<u32>,
    bytes: u64,
}

/// The first byte of the `i`-th of `parts` nearly equal parts.
const fn offset(bytes: u64, parts: u64, i: u64) -> u64 {
    let rest = bytes % parts;
    bytes / parts * i + if i < rest { i } else { rest }
}

const fn part(bytes: u64, parts: u64, i: u64) -> u64 {
    offset(bytes, parts, i + 1) - offset(bytes, parts, i)
}

/// Steps around rings of equal length; in step `s` the host at place `p` sends part `p - lag - s`.
fn around(rings: &[RingOf], hosts: usize, lag: u64) -> Vec<Step> {
    let length = rings[0].ranks.len() as u64;
    let step = |s: u64| {
        let mut step = Step {
            to: vec![0; hosts],
            bytes: vec![0; hosts],
        };
        for ring in rings {
            for (place, &rank) in (0u64..).zip(&ring.ranks) {
                let next = (place + 1) % length;
                step.to[rank as usize] = ring.ranks[next as usize];
                step.bytes[rank as usize] = part(ring.bytes, length, (place + 2 * length - lag - s) % length);
            }
        }
        step
    };
    (0..length - 1).map(step).collect()
}

/// Afterwards the host at place p has the sum of part p.
fn reduce_scatter(rings: &[RingOf], hosts: usize) -> Vec<Step> {
    around(rings, hosts, 1)
}

/// Before, the host at place p has part p.
fn all_gather(rings: &[RingOf], hosts: usize) -> Vec<Step> {
    around(rings, hosts, 0)
}

fn hierarchical(hosts: u32, group: u32, bytes: u64) -> Vec<Step> {
    let n = hosts as usize;
    let inside: Vec<_> = (0..hosts / group)
        .map(|g| RingOf {
            ranks: (g * group..(g + 1) * group).collect(),
            bytes,
        })
        .collect();
    let among: Vec<_> = (0..group)
        .map(|place| RingOf {
            ranks: (0..hosts / group).map(|g| g * group + place).collect(),
            bytes: part(bytes, group.into(), place.into()),
        })
        .collect();
    let mut steps = reduce_scatter(&inside, n);
    steps.extend(reduce_scatter(&among, n));
    steps.extend(all_gather(&among, n));
    steps.extend(all_gather(&inside, n));
    steps
}

fn halving_doubling(hosts: u32, bytes: u64) -> Vec<Step> {
    let n = u64::from(hosts);
    // The `distance` parts around that of `rank`.
    let block = |rank: u64, distance: u64| {
        let first = rank & !(distance - 1);
        offset(bytes, n, first + distance) - offset(bytes, n, first)
    };
    let step = |distance: u64, halving: bool| Step {
        to: (0..n).map(|rank| (rank ^ distance) as u32).collect(),
        bytes: (0..n)
            .map(|rank| block(if halving { rank ^ distance } else { rank }, distance))
            .collect(),
    };
    let distances: Vec<u64> = (0..hosts.ilog2()).map(|k| 1 << k).collect();
    let halving = distances.iter().rev().map(|&distance| step(distance, true));
    halving
        .chain(distances.iter().map(|&distance| step(distance, false)))
        .collect()
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
        }
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
            Self::RingAllReduce | Self::HierarchicalAllReduce { .. } | Self::HalvingDoubling => 2.0 * others,
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
            _ => n - 1.0,
        };
        n * steps
    }

    /// `iterations` of the collective one after the other. A host begins the next when it is done
    /// with the last, and has computed for `compute`.
    pub fn plan(self, hosts: &[NodeId], size: Bytes, start: Time, iterations: u32, compute: Span) -> Plan {
        let all = (0..hosts.len() as u32).collect();
        let stage = Stage::new(self, vec![all], size);
        let mut chain = Chain::new(hosts, start);
        for iteration in 0..iterations {
            chain.add(&stage, if iteration == 0 { Span::ZERO } else { compute });
        }
        Plan {
            messages: chain.messages,
            dependencies: chain.dependencies,
            per_iteration: stage.messages(),
        }
    }
}
