//! Results of a trace-driven job.

use crate::local::LocalMessages;
use paceline_kernel::{Span, Time};
use paceline_traces::executor::{
    Activity, After, CollectiveRecord, Executor, OperationRecord, Path, RankRecord, Results, Segment, Stuck,
    Until,
};
use paceline_traces::program::{CollectiveKind, OperationId, Program, Rank, Work};

/// Results of a trace-driven job, in [`paceline_run::Outcome::programs`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceOutcome {
    /// Results of the ranks, by number.
    pub ranks: Vec<RankRecord>,
    /// Collectives in the order of their starts.
    pub collectives: Vec<TraceCollective>,
    /// Critical path of the slowest iteration that all ranks have completed, or of the requested one.
    pub path: Option<TracePath>,
    /// Operations in the order of their ends, if they are recorded.
    pub operations: Vec<TraceOperation>,
    /// True if the job completed.
    pub is_done: bool,
    /// If it did not, the first operations that wait, with reasons.
    pub stuck: Vec<Stuck>,
    /// Notes for the user.
    pub cautions: Vec<String>,
    /// Messages inside servers, if they had a price.
    pub local: Option<LocalMessages>,
}

/// Collective of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceCollective {
    /// Name of the first member's operation in the trace.
    pub name: String,
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// Index of its group in the trace.
    pub group: u32,
    /// Number of members of the group.
    pub members: u32,
    /// Size in bytes, as the trace counts it.
    pub bytes: u64,
    /// Iteration of its first member, from 0.
    pub iteration: u32,
    /// Start of its first member.
    pub start: Time,
    /// End of its last member; `None` if a member did not complete.
    pub end: Option<Time>,
}

/// Critical path of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePath {
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// Start of the job, or end of the previous iteration.
    pub start: Time,
    /// End of the iteration at its last rank.
    pub end: Time,
    /// Steps in the order of time, without gaps.
    pub steps: Vec<TraceStep>,
}

/// Step of a critical path.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStep {
    /// Start of the step.
    pub start: Time,
    /// End of the step.
    pub end: Time,
    /// True if it began when a lane of its rank became free.
    pub waited_for_lane: bool,
    /// Activity that took the time.
    pub what: TraceActivity,
}

/// Activity on a critical path.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceActivity {
    /// Computation of an operation.
    Compute {
        /// Rank that is busy with the operation.
        rank: Rank,
        /// Name of the operation in the trace.
        name: String,
    },
    /// Overhead of a send or receive, or a wait for the gap of its NIC.
    Overhead {
        /// Rank of the operation.
        rank: Rank,
        /// Name of the operation in the trace.
        name: String,
    },
    /// Delay within a collective.
    Delay {
        /// Index of the collective in [`TraceOutcome::collectives`].
        collective: Option<usize>,
    },
    /// Message between two ranks.
    Message {
        /// Rank of the sender.
        from: Rank,
        /// Rank of the receiver.
        to: Rank,
        /// Size of the payload in bytes.
        bytes: u64,
        /// Departure, which may be before the start of the step if that is the iteration's.
        left: Time,
        /// Index of its collective in [`TraceOutcome::collectives`], if it has one.
        collective: Option<usize>,
        /// Name of its send in the trace, if it has no collective.
        name: String,
        /// Event of the message that was waited for.
        until: Until,
        /// True if it is the request of a send, without its data.
        is_request: bool,
    },
}

/// Operation of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOperation {
    /// Rank that executed it.
    pub rank: Rank,
    /// Name in the trace.
    pub name: String,
    /// `compute`, `send`, `receive`, `all-reduce` and so on; `none` for an operation without work.
    pub kind: &'static str,
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// Time from which it waited only for its lane or the other members of its collective.
    pub free: Time,
    /// Start of its execution.
    pub start: Time,
    /// End of its execution.
    pub end: Time,
    /// Last dependency: `iteration`, or `end` or `start` of an operation.
    pub began_by: &'static str,
    /// Name of that operation, if there is one.
    pub after: String,
}

impl TraceOutcome {
    /// Collects the results of an executor.
    pub(crate) fn of(executor: &Executor) -> Self {
        let Results {
            ranks,
            collectives,
            path,
            operations,
        } = executor.results();
        let program = &**executor.program();
        let trouble = program.trouble();
        let is_done = executor.is_done();
        Self {
            ranks,
            collectives: collectives
                .into_iter()
                .map(|one| collective(program, one))
                .collect(),
            path: path.map(|path| TracePath::of(program, &path)),
            operations: operations.iter().map(|one| operation(program, one)).collect(),
            is_done: is_done && trouble.is_none(),
            stuck: match trouble {
                Some(trouble) => vec![Stuck {
                    rank: 0,
                    text: trouble.to_string(),
                }],
                None => executor.stuck(),
            },
            cautions: match is_done {
                true => executor
                    .unclaimed()
                    .into_iter()
                    .map(|one| one.text)
                    .chain(executor.lingering_sends().map(|one| one.text))
                    .collect(),
                false => Vec::new(),
            },
            local: None,
        }
    }

    /// Returns the results shifted by `by`.
    pub(crate) fn later(mut self, by: Span) -> Self {
        let late = |time: &mut Time| *time = time.saturating_add(by);
        for rank in &mut self.ranks {
            late(&mut rank.end);
            rank.iterations.iter_mut().for_each(late);
        }
        for one in &mut self.collectives {
            late(&mut one.start);
            one.end.iter_mut().for_each(late);
        }
        if let Some(path) = &mut self.path {
            late(&mut path.start);
            late(&mut path.end);
            for step in &mut path.steps {
                late(&mut step.start);
                late(&mut step.end);
                if let TraceActivity::Message { left, .. } = &mut step.what {
                    late(left);
                }
            }
        }
        for one in &mut self.operations {
            [&mut one.free, &mut one.start, &mut one.end]
                .into_iter()
                .for_each(late);
        }
        self
    }
}

fn collective(program: &dyn Program, record: CollectiveRecord) -> TraceCollective {
    let (rank, operation) = record.first;
    let members = program.groups()[record.group as usize].len() as u32;
    TraceCollective {
        name: program.name(rank, operation),
        kind: record.kind,
        group: record.group,
        members,
        bytes: record.bytes,
        iteration: record.iteration,
        start: record.first_start,
        end: (record.done == members).then_some(record.last_end),
    }
}

impl TracePath {
    fn of(program: &dyn Program, path: &Path) -> Self {
        Self {
            iteration: path.iteration,
            start: path.start,
            end: path.end,
            steps: path
                .segments
                .iter()
                .map(|segment| step(program, segment))
                .collect(),
        }
    }
}

fn step(program: &dyn Program, segment: &Segment) -> TraceStep {
    let named = |rank: Rank, op: OperationId| program.name(rank, op);
    // Label 0 marks messages between two ranks.
    let index = |label: u32| (label as usize).checked_sub(1);
    let what = match segment.activity {
        Activity::Compute(rank, op) => TraceActivity::Compute {
            rank,
            name: named(rank, op),
        },
        Activity::Overhead(rank, op) | Activity::Gap(rank, op) => TraceActivity::Overhead {
            rank,
            name: named(rank, op),
        },
        Activity::Delay(label) => TraceActivity::Delay {
            collective: index(label),
        },
        Activity::Message(carried, until) => TraceActivity::Message {
            from: carried.from,
            to: carried.to,
            bytes: carried.bytes,
            left: carried.left,
            collective: index(carried.label),
            name: match carried.label {
                0 => named(carried.from, carried.send),
                _ => String::new(),
            },
            until,
            is_request: carried.is_request,
        },
    };
    TraceStep {
        start: segment.start,
        end: segment.end,
        waited_for_lane: segment.waited_for_lane,
        what,
    }
}

fn operation(program: &dyn Program, record: &OperationRecord) -> TraceOperation {
    let kind = match program.operation(record.rank, record.operation).work {
        Work::Nothing => "none",
        Work::Compute { .. } => "compute",
        Work::Send { .. } => "send",
        Work::Receive { .. } => "receive",
        Work::Collective(index) => program.collectives()[index as usize].kind.name(),
    };
    let (began_by, after) = match record.after {
        After::Nothing => ("iteration", None),
        After::End(op) => ("end", Some(op)),
        After::Start(op) => ("start", Some(op)),
    };
    TraceOperation {
        rank: record.rank,
        name: program.name(record.rank, record.operation),
        kind,
        iteration: record.iteration,
        free: record.free,
        start: record.start,
        end: record.end,
        began_by,
        after: after.map_or_else(String::new, |op| program.name(record.rank, op)),
    }
}
