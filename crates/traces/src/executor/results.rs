//! What came of a job.

use paceline_kernel::{Span, Time};

use super::trail::Path;
use crate::program::{CollectiveKind, OperationId, Rank};

/// What came of a job, up to now.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Ranks, by number.
    pub ranks: Vec<RankRecord>,
    /// Collectives in the order in which they were first started or issued.
    pub collectives: Vec<CollectiveRecord>,
    /// Operations in the order in which they were done, where the rules keep them.
    pub operations: Vec<OperationRecord>,
    /// The critical path of an iteration that all ranks have ended, where the rules keep it.
    pub path: Option<Path>,
}

/// What came of a rank. Computing, exposed communication and waiting add up to the span from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankRecord {
    /// When its last operation was done.
    pub end: Time,
    /// While at least one operation computed.
    pub compute: Span,
    /// While nothing computed and a collective, a send or a receive was under way.
    pub exposed: Span,
    /// While neither was.
    pub waiting: Span,
    /// The end of each iteration.
    pub iterations: Vec<Time>,
}

/// A collective that has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// The operation of the member that came first: ask the program for its name.
    pub first: (Rank, OperationId),
    /// What it is.
    pub kind: CollectiveKind,
    /// The place of its group in the program.
    pub group: u32,
    /// Which one of its group it is, from 0.
    pub number: u64,
    /// In which iteration of its first member, from 0.
    pub iteration: u32,
    /// Its size in bytes, as the format counts it.
    pub bytes: u64,
    /// When its first member started.
    pub first_start: Time,
    /// When its last member started.
    pub last_start: Time,
    /// When its last member was done; before that, of those that are.
    pub last_end: Time,
    /// How many members are done.
    pub done: u32,
    /// Start and end of each member in the order of the group, where the rules keep them.
    pub members: Vec<(Time, Time)>,
}

/// An operation that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRecord {
    /// Its rank.
    pub rank: Rank,
    /// Its number.
    pub operation: OperationId,
    /// Which time, from 0.
    pub iteration: u32,
    /// When it waited for nothing any more but its lane or the other members of its collective.
    pub free: Time,
    /// What it waited for last until then.
    pub after: After,
    /// When it started.
    pub start: Time,
    /// When it was done.
    pub end: Time,
}

/// What an operation waited for last, but for its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The start of the iteration.
    Nothing,
    /// The end of another operation of its rank.
    End(OperationId),
    /// The start of another.
    Start(OperationId),
}

/// What a rank does, and for how long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    since: Time,
    computing: u32,
    communicating: u32,
    pub(crate) compute: Span,
    pub(crate) exposed: Span,
    pub(crate) waiting: Span,
}

/// As what an operation counts.
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

    /// What was done until now is added up.
    pub(crate) fn settle(&mut self, now: Time) {
        let span = now.saturating_since(self.since);
        self.since = now;
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
