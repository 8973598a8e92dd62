//! Programs: the operations of a job's ranks, independent of the trace format.

use std::fmt::Debug;

use crate::shares::Shares;
use crate::trouble::Trouble;

/// Rank of a job, from 0.
pub type Rank = u32;

/// Number of an operation at its rank, from 0.
pub type OperationId = u32;

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// No work: it ends as soon as it starts.
    Nothing,
    /// Computation of fixed duration.
    Compute {
        /// Duration in ns before scaling.
        ns: u64,
    },
    /// Sending of a message.
    Send {
        /// Rank that receives the message.
        to: Rank,
        /// Size of the payload in bytes.
        bytes: u64,
        /// Tag that its receive must have too.
        tag: u32,
    },
    /// Receiving of a message.
    Receive {
        /// Sending rank; `None` for any.
        from: Option<Rank>,
        /// Expected size of the payload in bytes.
        bytes: u64,
        /// Tag of the message; `None` for any.
        tag: Option<u32>,
    },
    /// Membership in a collective: the index in [`Program::collectives`].
    Collective(u32),
}

/// Operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Work that it performs.
    pub work: Work,
    /// Lane of its rank that it occupies: see [`Lanes`].
    pub lane: u8,
    /// NIC of its rank that it uses.
    pub nic: u8,
    /// Number of operations that it depends on, by their end or their start.
    pub waits_for: u32,
}

/// Lane of operations that occupy none.
pub const NO_LANE: u8 = u8::MAX;

/// Kind of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// Sum of all data, at all members.
    AllReduce,
    /// All parts, at all members.
    AllGather,
    /// One part of the sum at each member.
    ReduceScatter,
    /// One part from each member to each other.
    AllToAll,
    /// Sum of all data, at the root.
    Reduce,
    /// All parts, at the root.
    Gather,
    /// One part from the root to each member.
    Scatter,
    /// Same data from the root to all members.
    Broadcast,
    /// Synchronization: no member leaves before all have arrived.
    Barrier,
}

impl CollectiveKind {
    /// Returns true if one member has a special role: the root.
    pub const fn has_root(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Gather | Self::Scatter | Self::Broadcast
        )
    }

    /// Returns the usual name.
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

/// Collective from a member's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// Size in bytes, as the format counts it.
    pub bytes: u64,
    /// Index of its members in [`Program::groups`]. The n-th collective that a rank starts in a group matches the
    /// n-th of the other members.
    pub group: u32,
    /// Root, for kinds that have one.
    pub root: Rank,
}

/// Order in which free operations get a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order in which they became free; ties by lower number.
    Freed,
    /// Lowest number first, whenever an operation of the rank ends.
    Number,
    /// The rank's last issued operation first, regardless of the other members of its group: messages that arrive
    /// before a member has started wait there.
    LastIssued,
}

/// Lanes of a rank; each executes one operation at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Order of each lane, by number.
    pub orders: Vec<Order>,
}

/// Operations of a job's ranks.
///
/// Operations are requested only when they become free, so that a program may be in a file.
pub trait Program: Debug + Send + Sync {
    /// Returns the number of ranks.
    fn ranks(&self) -> Rank;

    /// Returns the number of operations of a rank.
    fn operations(&self, rank: Rank) -> u32;

    /// Returns the lanes, which are the same at every rank.
    fn lanes(&self) -> &Lanes;

    /// Appends the operations without dependencies, in ascending order.
    fn roots(&self, rank: Rank, out: &mut Vec<OperationId>);

    /// Returns an operation of a rank.
    fn operation(&self, rank: Rank, number: OperationId) -> Operation;

    /// Appends the operations that wait for the end of this one, in the order of the trace; one that waits twice is
    /// listed twice.
    fn after_end(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>);

    /// Appends the operations that wait for the start of this one.
    fn after_start(&self, rank: Rank, number: OperationId, out: &mut Vec<OperationId>);

    /// Returns all collectives of the program.
    fn collectives(&self) -> &[Collective] {
        &[]
    }

    /// Returns all groups, each with its members in the order of a ring.
    fn groups(&self) -> &[Vec<Rank>] {
        &[]
    }

    /// Returns the number of sends of a channel after which the processing of reductions starts again in a
    /// collective, given by its index in [`Self::collectives`]; `None` for the number of its members. See
    /// [`crate::collective::Processing::Fixed`].
    fn cycle(&self, _collective: u32) -> Option<u32> {
        None
    }

    /// Returns the shares of the members in a direct all-to-all, given by its index in [`Self::collectives`]; `None` if
    /// they are equal.
    fn uneven(&self, _collective: u32) -> Option<Shares> {
        None
    }

    /// Returns the name of an operation, with its position in the trace: `x.goal:12 (l4 of rank 0)`, `trace.3.et:
    /// node 17 (AllReduce_layer_4)`.
    fn name(&self, rank: Rank, number: OperationId) -> String;

    /// Renames the files of the trace, which occur in names of operations.
    fn rename(&mut self, name: &dyn Fn(&str) -> String);

    /// Returns the error that makes operations read so far unreliable, if the program's file could not be read.
    /// Executors check it at the end.
    fn trouble(&self) -> Option<Trouble> {
        None
    }
}
