//! What the ranks of a job do: the same for every format of trace.

use std::fmt::Debug;

use crate::trouble::Trouble;

/// A rank of a job, from 0.
pub type Rank = u32;

/// An operation by its number at its rank.
pub type OperationId = u32;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Nothing: it is done as soon as it starts.
    Nothing,
    /// Computes for so long, in ns.
    Compute {
        /// In ns.
        ns: u64,
    },
    /// Sends a message.
    Send {
        /// The receiver.
        to: Rank,
        /// Payload bytes.
        bytes: u64,
        /// What its receive must have, too.
        tag: u32,
    },
    /// Receives a message.
    Receive {
        /// The sender; nothing for any.
        from: Option<Rank>,
        /// Payload bytes that it expects.
        bytes: u64,
        /// The message's; nothing for any.
        tag: Option<u32>,
    },
    /// Takes part in a collective: the place in [`Program::collectives`].
    Collective(u32),
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What it does.
    pub work: Work,
    /// What it occupies while it is under way: a lane of its rank. See [`Lanes`].
    pub lane: u8,
    /// The NIC of its rank that it uses.
    pub nic: u8,
    /// How many others it waits for, whether for their end or for their start.
    pub waits_for: u32,
}

/// The lane of what occupies none.
pub const NO_LANE: u8 = u8::MAX;

/// What kind of collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// The sum of all, at all.
    AllReduce,
    /// All parts, at all.
    AllGather,
    /// A part of the sum at each.
    ReduceScatter,
    /// From each a part to each.
    AllToAll,
    /// The sum of all, at the root.
    Reduce,
    /// All parts, at the root.
    Gather,
    /// From the root a part to each.
    Scatter,
    /// From the root the same to all.
    Broadcast,
    /// Nobody leaves before all have come.
    Barrier,
}

impl CollectiveKind {
    /// True if one member has a part of its own: the root.
    pub const fn has_root(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Gather | Self::Scatter | Self::Broadcast
        )
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
        }
    }
}

/// A collective as one member takes part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// What it is.
    pub kind: CollectiveKind,
    /// Its size in bytes, as the format counts it.
    pub bytes: u64,
    /// Its members: the place in [`Program::groups`]. The n-th collective that a rank starts in a group meets the n-th of the
    /// other members.
    pub group: u32,
    /// Root of those that have one.
    pub root: Rank,
}

/// In what order free operations take a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they became free; of those free at once, the lower number.
    Freed,
    /// The lowest number first, whenever something of the rank is done.
    Number,
    /// The rank's own last issued first, whatever other members of its group have issued: what comes to a member before it has
    /// started waits there.
    LastIssued,
}

/// Lanes of a rank: each carries one operation at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The order in each lane, by its number.
    pub orders: Vec<Order>,
}

/// What the ranks of a job do.
///
/// Operations are asked for when they become free and not before, so that a program may live in a file.
pub trait Program: Debug + Send + Sync {
    /// How many ranks there are.
    fn ranks(&self) -> Rank;

    /// How many operations a rank has.
    fn operations(&self, rank: Rank) -> u32;

    /// Lanes, the same at every rank.
    fn lanes(&self) -> &Lanes;

    /// Operations that wait for nothing, ascending.
    fn roots(&self, rank: Rank, out: &mut Vec<OperationId>);

    /// An operation.
    fn operation(&self, rank: Rank, number: OperationId) -> Operation;

    /// Operations that wait for the end of this one, in the order of the trace; one that waits twice is here twice.
    fn after_end(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>);

    /// Operations that wait for the start of this one.
    fn after_start(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>);

    /// All collectives of the program.
    fn collectives(&self) -> &[Collective] {
        &[]
    }

    /// All groups: members in the order of a ring.
    fn groups(&self) -> &[Vec<Rank>] {
        &[]
    }

    /// After how many sends of a channel the processing of reductions begins anew in a collective, by its place in
    /// [`Self::collectives`]; the members of its group where nothing else is said. See
    /// [`crate::collective::Processing::Fixed`].
    fn cycle(&self, _collective: u32) -> Option<u32> {
        None
    }

    /// What people call an operation, with its place in the trace: `x.goal:12 (l4 of rank 0)`, `trace.3.et: node 17 (AllReduce_layer_4)`.
    fn name(&self, rank: Rank, number: OperationId) -> String;

    /// Gives the files of the trace other names, from which those of operations are made.
    fn rename(&mut self, name: &dyn Fn(&str) -> String);

    /// Why what was read since the program was made may be wrong, if it lives in a file that cannot be read any more.
    /// Executors ask at the end.
    fn trouble(&self) -> Option<Trouble> {
        None
    }
}
