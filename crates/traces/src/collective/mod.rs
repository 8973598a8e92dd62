//! Collectives as lists of stages, worked out when they are asked for.
//!
//! Each member of a collective goes through stages, for each chunk and channel on its own. A stage begins when the messages
//! that it needs have come, waits for its delays, and then sends its messages, each to a stage of another member. Rings, trees,
//! direct exchange and dissemination differ in nothing else, so that one machine carries out all.

mod chain;
mod plan;
mod rings;
mod tree;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use chain::pieces;
pub(crate) use plan::Plan;
pub use tree::binary_parent;

use crate::program::{CollectiveKind, Program, Rank};

/// How a collective is carried out.
#[derive(Clone, Debug, Default)]
pub enum Algorithm {
    /// In a ring of the members in their order. All-to-all is relayed, in n(n-1)/2 messages of each member.
    #[default]
    Ring,
    /// All messages at once.
    Direct,
    /// A binomial tree: for an all-reduce up to the first member and down again.
    Binomial,
    /// Two binary trees with half of the bytes each, whose inner members are the leaves of the other: for an all-reduce.
    DoubleBinary,
    /// Rings in rings: of so many neighbours first, of so many of those rings then, and so on. The product is the size of the
    /// group. For all-reduce, reduce-scatter and all-gather.
    Hierarchical(Vec<u32>),
    /// A program whose ranks are the members in their order; its sizes count.
    Custom(Arc<dyn Program>),
}

/// What lets a member go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// A message has arrived.
    #[default]
    Received,
    /// The sender of a message that arrived knows that it has.
    Acknowledged,
}

/// How long it takes to put what has come together with what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Processing {
    /// No time.
    #[default]
    None,
    /// Three passes over memory, `3 floor(bytes / W)` ns, for each message of a reduce-scatter and the first half of those of
    /// an all-reduce (astra-sim/astra-sim@518bd51).
    Memory {
        /// W, in bytes per ns (GB/s).
        bytes_per_ns: f64,
    },
    /// A fixed time before each send in a reduce-scatter, and in an all-reduce while a toggle of the member is on; but for
    /// the first send of each cycle of a channel ([`Program::cycle`]), which turns the toggle over for all channels
    /// (aliyun/SimAI@f5efb5a).
    Fixed {
        /// In ns.
        ns: u64,
    },
}

/// Which rings a group has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rings {
    /// One, in the order of its members.
    #[default]
    One,
    /// As many as it has ranks on each server, each with another rank of a server next to the other server. One, if servers
    /// have unequal numbers.
    PerServer {
        /// Ranks r with equal `r / ranks` share a server.
        ranks: u32,
    },
}

/// Delays of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delays {
    /// Before the first send, in ns.
    pub first_ns: u64,
    /// Between what a stage needs and its sends, in ns.
    pub next_ns: u64,
    /// Between the last message and the end, in ns.
    pub last_ns: u64,
    /// Before a send that has been handed over leaves, in ns: the next stage goes on meanwhile.
    pub latency_ns: u64,
    /// In addition, for reductions.
    pub processing: Processing,
}

/// The most chunks of a collective: those of all its members are held while it is under way.
const MOST_SPLITS: u64 = 1 << 12;

/// How collectives are carried out.
#[derive(Clone, Debug)]
pub struct CollectiveRules {
    /// Algorithm of all-reduce.
    pub all_reduce: Algorithm,
    /// Algorithm of all-gather.
    pub all_gather: Algorithm,
    /// Algorithm of reduce-scatter.
    pub reduce_scatter: Algorithm,
    /// Algorithm of all-to-all.
    pub all_to_all: Algorithm,
    /// Algorithm of broadcast and reduce: a ring is a pipeline of pieces from or to the root, as in NCCL.
    pub rooted: Algorithm,
    /// Into how many chunks a collective is split, C.
    pub splits: u64,
    /// How many chunks of a collective are under way at a rank, A.
    pub active: u32,
    /// Rings of a group.
    pub rings: Rings,
    /// What lets a member go on.
    pub trigger: Trigger,
    /// Delays.
    pub delays: Delays,
    /// Whether the size of an all-gather is that of each member's part; otherwise it is that of the whole.
    pub gather_size_is_part: bool,
    /// Whether each member sends to the others in their order where it sends to all at once; otherwise it begins with the one
    /// after it.
    pub ascending: bool,
    /// Whether a member is done only when the last packet of its own messages has left, too.
    pub until_sent: bool,
}

impl Default for CollectiveRules {
    /// Rings without delays; a member is done when all has come and all of its own has left.
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
            trigger: Trigger::Received,
            delays: Delays::default(),
            gather_size_is_part: true,
            ascending: false,
            until_sent: true,
        }
    }
}

impl CollectiveRules {
    /// As aliyun/SimAI@f5efb5a carries them out on A100 and H20 servers, with this send latency (6 us by default there).
    pub fn simai(ranks_per_server: u32, send_latency_ns: u64) -> Self {
        Self {
            all_to_all: Algorithm::Direct,
            rings: Rings::PerServer {
                ranks: ranks_per_server,
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

    /// The algorithm of a kind; those without a choice have a binomial tree, and a barrier dissemination.
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

    /// Whether a collective of this kind can be carried out in a group of this size.
    ///
    /// # Errors
    ///
    /// A sentence for people.
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

    /// Number of rings of a group.
    pub(crate) fn channels(&self, members: &[Rank]) -> u32 {
        let Rings::PerServer { ranks } = self.rings else {
            return 1;
        };
        let server = |r: &Rank| r / ranks.max(1);
        let servers: BTreeSet<u32> = members.iter().map(server).collect();
        let each = members.len() / servers.len().max(1);
        let equal = each > 0
            && members.len() == each * servers.len()
            && members
                .chunks(each)
                .all(|part| part.iter().all(|r| server(r) == server(&part[0])));
        if equal { each as u32 } else { 1 }
    }
}
