//! Results of a job.

use paceline_kernel::{Span, Time};

use super::trail::Path;
use crate::program::{CollectiveKind, OperationId, Rank};

/// Results of a job so far.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Results of the ranks, by number.
    pub ranks: Vec<RankRecord>,
    /// Collectives in the order in which they were first started or issued.
    pub collectives: Vec<CollectiveRecord>,
    /// Operations in the order of completion, if the rules record them.
    pub operations: Vec<OperationRecord>,
    /// Critical path of an iteration that all ranks have completed, if the rules record it.
    pub path: Option<Path>,
}

/// Results of a rank. Computation, exposed communication and waiting add up to the time from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankRecord {
    /// Completion of its last operation.
    pub end: Time,
    /// Time with at least one computation.
    pub compute: Span,
    /// Time without computation but with a collective, a send or a receive in progress.
    pub exposed: Span,
    /// Time with neither computation nor communication.
    pub waiting: Span,
    /// End of each iteration.
    pub iterations: Vec<Time>,
}

/// Collective that has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// Operation of the member that came first, which the program can name.
    pub first: (Rank, OperationId),
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// Index of its group in the program.
    pub group: u32,
    /// Number within its group, from 0.
    pub number: u64,
    /// Iteration of its first member, from 0.
    pub iteration: u32,
    /// Size in bytes, as the trace format counts it.
    pub bytes: u64,
    /// Start of its first member.
    pub first_start: Time,
    /// Start of its last member.
    pub last_start: Time,
    /// End of its last member; before that, of the last one so far.
    pub last_end: Time,
    /// Number of members that have completed.
    pub done: u32,
    /// Start and end of each member in the order of the group, if the rules record them.
    pub members: Vec<(Time, Time)>,
}

/// Completed operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRecord {
    /// Rank that executed it.
    pub rank: Rank,
    /// Number within the rank's program.
    pub operation: OperationId,
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// Time from which it waited only for its lane or the other members of its collective.
    pub free: Time,
    /// Dependency that was met last.
    pub after: After,
    /// Start of its execution.
    pub start: Time,
    /// Completion of the operation.
    pub end: Time,
}

/// Last dependency of an operation, apart from its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Start of the iteration.
    Nothing,
    /// End of another operation of the rank.
    End(OperationId),
    /// Start of another operation of the rank.
    Start(OperationId),
}

/// Account of a rank's time by activity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    since: Time,
    computing: u32,
    communicating: u32,
    pub(crate) compute: Span,
    pub(crate) exposed: Span,
    pub(crate) waiting: Span,
}

/// Class of an operation in the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Neither,
    Compute,
    Communicate,
}

impl Account {
    pub(crate) fn begin(&mut self, now: Time) {
        self.since = now;
    }

    fn count(&mut self, class: Class) -> Option<&mut u32> {
        match class {
            Class::Neither => None,
            Class::Compute => Some(&mut self.computing),
            Class::Communicate => Some(&mut self.communicating),
        }
    }

    /// Adds the time since the last change to its class.
    pub(crate) fn settle(&mut self, now: Time) {
        let span = now.saturating_since(self.since);
        self.since = now;
        // Communication is exposed only while no computation hides it.
        if self.computing > 0 {
            self.compute += span;
        } else if self.communicating > 0 {
            self.exposed += span;
        } else {
            self.waiting += span;
        }
    }

    pub(crate) fn start(&mut self, now: Time, class: Class) {
        self.settle(now);
        if let Some(count) = self.count(class) {
            *count += 1;
        }
    }

    pub(crate) fn end(&mut self, now: Time, class: Class) {
        self.settle(now);
        if let Some(count) = self.count(class) {
            *count = count.saturating_sub(1);
        }
    }
}
