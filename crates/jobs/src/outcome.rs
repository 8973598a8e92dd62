//! What a job by a trace leaves behind.

use paceline_kernel::{Span, Time};
use paceline_traces::executor::{
    Activity, After, CollectiveRecord, Executor, OperationRecord, Path, RankRecord, Results, Segment, Stuck,
    Until,
};
use paceline_traces::program::{CollectiveKind, OperationId, Program, Rank, Work};

/// What a job by a trace leaves behind, in [`paceline_run::Outcome::programs`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceOutcome {
    /// Ranks, by number.
    pub ranks: Vec<RankRecord>,
    /// Its collectives.
    pub collectives: Vec<TraceCollective>,
    /// The critical path of the slowest iteration that all ranks have ended, or of that which was asked for.
    pub path: Option<TracePath>,
    /// Operations in the order of their ends, if they were asked for.
    pub operations: Vec<TraceOperation>,
    /// Whether all of it has been carried out.
    pub is_done: bool,
    /// If not: who waits for whom, the first of them.
    pub stuck: Vec<Stuck>,
    /// What its user should know.
    pub cautions: Vec<String>,
}

/// A collective of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceCollective {
    /// What the trace calls it where its first member stands.
    pub name: String,
    /// What it is.
    pub kind: CollectiveKind,
    /// The place of its group in the trace.
    pub group: u32,
    /// How many members that has.
    pub members: u32,
    /// Its size in bytes, as the trace counts it.
    pub bytes: u64,
    /// In which iteration of its first member, from 0.
    pub iteration: u32,
    /// When its first member started.
    pub start: Time,
    /// When its last member was done; nothing if one was not.
    pub end: Option<Time>,
}

/// The critical path of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePath {
    /// Which iteration, from 0.
    pub iteration: u32,
    /// The job's start, or the end of the iteration before.
    pub start: Time,
    /// The end of the iteration at its last rank.
    pub end: Time,
    /// In the order of time, without gaps.
    pub steps: Vec<TraceStep>,
}

/// A step of a critical path.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStep {
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Whether it began when a lane of its rank became free.
    pub waited_for_lane: bool,
    /// What took the time.
    pub what: TraceActivity,
}

/// What takes time on a critical path.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceActivity {
    /// An operation computes.
    Compute {
        /// Its rank.
        rank: Rank,
        /// What the trace calls it.
        name: String,
    },
    /// A send or receive is charged to its rank, or waits for the gap of its NIC.
    Overhead {
        /// Its rank.
        rank: Rank,
        /// What the trace calls it.
        name: String,
    },
    /// A delay within a collective.
    Delay {
        /// The place of the collective in [`TraceOutcome::collectives`].
        collective: Option<usize>,
    },
    /// A message.
    Message {
        /// Sender.
        from: Rank,
        /// Receiver.
        to: Rank,
        /// Payload.
        bytes: u64,
        /// When it left: before the start of the step, if that is the iteration's.
        left: Time,
        /// The place of its collective in [`TraceOutcome::collectives`], if it has one.
        collective: Option<usize>,
        /// What the trace calls its send, if it has no collective.
        name: String,
        /// Until when it was waited for.
        until: Until,
        /// Whether it asks for a receive, and carries none of the send's bytes.
        is_request: bool,
    },
}

/// An operation of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOperation {
    /// Its rank.
    pub rank: Rank,
    /// What the trace calls it.
    pub name: String,
    /// `compute`, `send`, `receive`, `all-reduce` and so on; `none` for what does nothing.
    pub kind: &'static str,
    /// Which iteration, from 0.
    pub iteration: u32,
    /// When it waited for nothing any more but its lane or the other members of its collective.
    pub free: Time,
    /// When it started.
    pub start: Time,
    /// When it was done.
    pub end: Time,
    /// What let it be free: `iteration`, `end` or `start` of an operation.
    pub began_by: &'static str,
    /// That operation, if one did.
    pub after: String,
}

impl TraceOutcome {
    /// What an executor has come to.
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
        }
    }

    /// The same, so much later.
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
    // Label 0 is that of messages between two ranks.
    let place = |label: u32| (label as usize).checked_sub(1);
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
            collective: place(label),
        },
        Activity::Message(carried, until) => TraceActivity::Message {
            from: carried.from,
            to: carried.to,
            bytes: carried.bytes,
            left: carried.left,
            collective: place(carried.label),
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
        Work::Collective(place) => program.collectives()[place as usize].kind.name(),
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
