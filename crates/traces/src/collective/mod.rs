//! Collectives as lists of stages, computed on demand.
//!
//! Each member of a collective passes through stages, independently for each chunk and channel. A stage begins when
//! the messages that it needs have arrived, waits for its delays, and then sends its messages, each to a stage of
//! another member. Rings, trees, direct exchange and dissemination differ in nothing else, so one state machine
//! executes all of them.

mod chain;
mod delay;
mod plan;
mod rings;
mod tree;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use chain::pieces;
pub(crate) use plan::Plan;
pub use tree::binary_parent;

use crate::program::{CollectiveKind, Program, Rank};

/// Algorithm of a collective.
#[derive(Clone, Debug, Default)]
pub enum Algorithm {
    /// Ring of the members in their order. All-to-all is relayed, in n(n-1)/2 messages of each member.
    #[default]
    Ring,
    /// Direct exchange of all messages at once.
    Direct,
    /// Binomial tree: an all-reduce goes up to the first member and down again.
    Binomial,
    /// Two binary trees with half of the bytes each; inner members of one are leaves of the other. For all-reduce.
    DoubleBinary,
    /// Nested rings: first of this many neighbours, then of this many of those rings, and so on. The product is the
    /// size of the group. For all-reduce, reduce-scatter and all-gather.
    Hierarchical(Vec<u32>),
    /// Program whose ranks are the members in their order; the sizes in the program count.
    Custom(Arc<dyn Program>),
}

/// Event that lets a member proceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Arrival of a message.
    #[default]
    Received,
    /// Acknowledgement: the sender of an arrived message knows of the arrival.
    Acknowledged,
}

/// Time for combining received data with local data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Processing {
    /// No time for processing.
    #[default]
    None,
    /// Three passes over memory, `3 floor(bytes / W)` ns, for each message of a reduce-scatter and for the first half
    /// of those of an all-reduce (astra-sim/astra-sim@518bd51).
    Memory {
        /// Memory bandwidth W, in bytes per ns (GB/s).
        bytes_per_ns: f64,
    },
    /// Fixed time before each send in a reduce-scatter, and in an all-reduce while a toggle of the member is on. The
    /// first send of each cycle of a channel ([`Program::cycle`]) has none, and flips the toggle for all channels
    /// (aliyun/SimAI@f5efb5a).
    Fixed {
        /// Duration in ns, before each such send.
        ns: u64,
    },
}

/// Rings of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rings {
    /// Single ring in the order of the members.
    #[default]
    One,
    /// As many rings as the group has ranks per server; in each, another rank of a server is next to the other
    /// server. A single ring if servers have different numbers of ranks.
    PerServer {
        /// Ranks per server: ranks r with equal `r / ranks` share a server.
        ranks: u32,
        /// True if a group inside one server has a single ring: all of its rings would use the same links.
        one_inside: bool,
    },
}

/// Delays of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delays {
    /// Delay before the first send, in ns.
    pub first_ns: u64,
    /// Delay between the arrival of a stage's messages and its sends, in ns.
    pub next_ns: u64,
    /// Delay between the last message and the end, in ns.
    pub last_ns: u64,
    /// Delay in ns between handing over a send and its departure; the next stage proceeds meanwhile.
    pub latency_ns: u64,
    /// Additional time for reductions.
    pub processing: Processing,
}

/// Largest number of chunks of a collective: the chunks of all members are in memory while it is in progress.
const MOST_SPLITS: u64 = 1 << 12;

/// Rules for executing collectives.
#[derive(Clone, Debug)]
pub struct CollectiveRules {
    /// Algorithm of all-reduce operations.
    pub all_reduce: Algorithm,
    /// Algorithm of all-gather operations.
    pub all_gather: Algorithm,
    /// Algorithm of reduce-scatter operations.
    pub reduce_scatter: Algorithm,
    /// Algorithm of all-to-all operations.
    pub all_to_all: Algorithm,
    /// Algorithm of broadcast and reduce; a ring is a pipeline of pieces from or to the root, as in NCCL.
    pub rooted: Algorithm,
    /// Number of chunks of a collective, C.
    pub splits: u64,
    /// Number of chunks of a collective that a rank executes at a time, A.
    pub active: u32,
    /// Rings of a group.
    pub rings: Rings,
    /// True if the last rank of a server in a ring sends by way of the first one, which is on the rail of the next
    /// server's first (PXN): all-reduce and reduce-scatter, as in aliyun/SimAI@f5efb5a with `AS_PXN_ENABLE`.
    pub relays: bool,
    /// Event that lets a member proceed.
    pub trigger: Trigger,
    /// Delays of a stage.
    pub delays: Delays,
    /// True if the size of an all-gather is that of each member's part instead of the whole.
    pub gather_size_is_part: bool,
    /// True if a member that sends to all at once does so in ascending order; otherwise it begins with the next
    /// member.
    pub ascending: bool,
    /// True if a member also waits for the departure of its own last packet before it completes.
    pub until_sent: bool,
}

impl Default for CollectiveRules {
    /// Rings without delays; a member completes when all messages have arrived and its own have left.
    fn default() -> Self {
        Self {
            all_reduce: Algorithm::Ring,
            all_gather: Algorithm::Ring,
            reduce_scatter: Algorithm::Ring,
            all_to_all: Algorithm::Ring,
            rooted: Algorithm::Ring,
            splits: 1,
            active: 1,
            rings: Rings::One,
            relays: false,
            trigger: Trigger::Received,
            delays: Delays::default(),
            gather_size_is_part: true,
            ascending: false,
            until_sent: true,
        }
    }
}

impl CollectiveRules {
    /// Returns the rules of aliyun/SimAI@f5efb5a on A100 and H20 servers, with this send latency (6 us by default
    /// there).
    pub fn simai(ranks_per_server: u32, send_latency_ns: u64) -> Self {
        Self {
            all_to_all: Algorithm::Direct,
            rings: Rings::PerServer {
                ranks: ranks_per_server,
                one_inside: false,
            },
            trigger: Trigger::Acknowledged,
            delays: Delays {
                first_ns: 10,
                next_ns: 10,
                last_ns: 0,
                latency_ns: send_latency_ns,
                processing: Processing::Fixed { ns: 30 },
            },
            gather_size_is_part: false,
            ascending: true,
            ..Self::default()
        }
    }

    /// Returns the algorithm of a kind. Kinds without a choice use a binomial tree, and a barrier uses dissemination.
    pub fn algorithm(&self, kind: CollectiveKind) -> &Algorithm {
        match kind {
            CollectiveKind::AllReduce => &self.all_reduce,
            CollectiveKind::AllGather => &self.all_gather,
            CollectiveKind::ReduceScatter => &self.reduce_scatter,
            CollectiveKind::AllToAll => &self.all_to_all,
            CollectiveKind::Broadcast | CollectiveKind::Reduce => &self.rooted,
            CollectiveKind::Gather | CollectiveKind::Scatter | CollectiveKind::Barrier => {
                &Algorithm::Binomial
            }
        }
    }

    /// Checks that a group of this size can execute a collective of this kind.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn check(&self, kind: CollectiveKind, members: u32) -> Result<(), String> {
        use CollectiveKind::{AllGather, AllReduce, AllToAll, ReduceScatter};
        if self.splits == 0 || self.active == 0 {
            return Err("a collective needs at least one chunk, and one under way".into());
        }
        if self.splits > MOST_SPLITS {
            return Err(format!(
                "a collective is split into {} chunks: expected at most {MOST_SPLITS}",
                self.splits
            ));
        }
        match self.algorithm(kind) {
            // Relayed data takes n (n - 1) / 2 steps, and stages are numbered with 32 bits.
            Algorithm::Ring if kind == AllToAll && members > 1 << 16 => Err(format!(
                "AllToAll of {members} members in a ring takes more than 2^31 messages of each: use direct"
            )),
            Algorithm::Ring | Algorithm::Direct => Ok(()),
            Algorithm::Binomial if matches!(kind, AllGather | AllToAll | ReduceScatter) => {
                Err(format!("{kind:?} has no binomial tree: use ring or direct"))
            }
            Algorithm::DoubleBinary if kind != AllReduce => {
                Err(format!("{kind:?} has no double binary tree: use ring or direct"))
            }
            Algorithm::Hierarchical(_) if kind == AllToAll || kind.has_root() => {
                Err(format!("{kind:?} is not hierarchical: use ring or direct"))
            }
            Algorithm::Hierarchical(sizes)
                if sizes.iter().fold(1_u64, |p, &s| p.saturating_mul(u64::from(s))) != u64::from(members) =>
            {
                Err(format!(
                    "hierarchical sizes {sizes:?} do not multiply to the {members} members of the group"
                ))
            }
            Algorithm::Custom(program) if program.ranks() != members => Err(format!(
                "the custom {kind:?} is for {} ranks, but the group has {members}",
                program.ranks()
            )),
            Algorithm::Custom(_) if self.active > 1 && self.splits > 1 => Err(format!(
                "a custom {kind:?} runs one chunk at a time: active-chunks-per-dimension is {}, expected 1",
                self.active
            )),
            _ => Ok(()),
        }
    }

    /// Returns true if a rank relays messages of others: see [`Self::relays`].
    pub fn has_relays(&self, program: &dyn Program) -> bool {
        let relayed = |kind| matches!(kind, CollectiveKind::AllReduce | CollectiveKind::ReduceScatter);
        let groups: BTreeSet<u32> = program
            .collectives()
            .iter()
            .filter(|collective| relayed(collective.kind))
            .map(|collective| collective.group)
            .collect();
        let of_several = |group: u32| {
            program.groups().get(group as usize).is_some_and(|members| {
                let rings = self.channels(members) as usize;
                rings > 1 && members.len() > rings
            })
        };
        self.relays && groups.into_iter().any(of_several)
    }

    /// Returns the number of rings of a group.
    pub(crate) fn channels(&self, members: &[Rank]) -> u32 {
        let Rings::PerServer { ranks, one_inside } = self.rings else {
            return 1;
        };
        let server = |r: &Rank| r / ranks.max(1);
        let servers: BTreeSet<u32> = members.iter().map(server).collect();
        if one_inside && servers.len() == 1 {
            return 1;
        }
        let each = members.len() / servers.len().max(1);
        // Rings rotate within servers, so each server needs as many members, next to each other.
        let equal = each > 0
            && members.len() == each * servers.len()
            && members
                .chunks(each)
                .all(|part| part.iter().all(|r| server(r) == server(&part[0])));
        if equal { each as u32 } else { 1 }
    }
}
