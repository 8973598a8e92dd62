//! Critical paths of jobs: the computing and the messages that determine an iteration's time, and the links
//! that bound these messages.

mod links;
mod steps;

use std::cmp::Reverse;

use paceline_fabric::{Outcome, named_value, recorded};
use paceline_jobs::{TraceActivity, TraceOutcome, TracePath, TraceStep};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::{Job, Resolved};
use serde::{Deserialize, Serialize};

use super::collectives::traces;
use super::jobs::{Iteration, slowest_by_steps};
use super::rows::FlowRows;
use links::{Bound, Bounds, Found};

/// Maximum number of parts in a summary: the largest.
const LARGEST: usize = 20;

/// Kind of work on a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    /// Computing of one rank.
    Computing,
    /// Overhead of a send or a receive, or gap of a NIC.
    Overhead,
    /// Messages and delays of a collective.
    Collective,
    /// Message between two ranks.
    Message,
    /// Request of a message for its receive (rendezvous).
    Request,
}

impl PathKind {
    const ALL: [Self; 5] = [
        Self::Computing,
        Self::Overhead,
        Self::Collective,
        Self::Message,
        Self::Request,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Overhead => "overhead",
            Self::Collective => "collective",
            Self::Message => "message",
            Self::Request => "request",
        }
    }
}

named_value!(PathKind);

recorded! {
    /// a stretch of the critical path of the slowest iteration of a job. Stretches of an iteration follow each
    /// other without gaps; consecutive steps of one collective are one row, and so is what a rank computes without
    /// interruption
    pub struct PathRow = "critical_path", needs "a job" {
        /// the job's label
        job: String,
        /// the iteration, from 0: the slowest
        iteration: u32,
        /// when it began
        start_ps: u64,
        /// when it ended
        end_ps: u64,
        /// what took the time: `computing`, `overhead` (of a send, a receive or a NIC), `collective`, `message` or `request`
        /// (of a message, for its receive)
        what: PathKind,
        /// the kind of collective, or the label of the step; empty otherwise
        collective: String,
        /// what the trace calls it; of several operations, the first. In a job by steps, the ranks
        name: String,
        /// the group of the collective
        group: Option<u32>,
        /// the rank that computed, or that sent the first message
        rank: Option<u32>,
        /// the rank that received the last message
        to_rank: Option<u32>,
        /// operations or messages in this row
        count: u64,
        /// payload of the messages
        bytes: u64,
        /// time in messages; the rest of a collective's time is delays
        messages_ps: u64,
        /// how much longer the messages took than alone in the network
        contention_ps: u64,
        /// the tier of the link that bounds most of the messages' time
        link: String,
        /// that link: two nodes
        nodes: String,
        /// its name: `host 3 - leaf 1`
        link_name: String,
        /// whether it began when a lane of its rank became free
        after_lane: bool,
    }
}

/// Critical path of an iteration of a job: by default the first of the slowest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Index of the iteration, from 0.
    pub iteration: u32,
    /// Start of the job, or end of the iteration before, in seconds.
    pub start_s: f64,
    /// End of the iteration at its last rank, in seconds.
    pub end_s: f64,
    /// Time from start to end, in microseconds: the sum of all parts.
    pub time_us: f64,
    /// Time by computing, kind of collective, messages and overheads; the largest first.
    pub sums: Vec<PathShare>,
    /// Time in messages by the links that bound them; the largest first.
    pub links: Vec<PathLink>,
    /// Largest 20 operations and collectives, in descending order.
    pub largest: Vec<PathShare>,
    /// Rank at which it ended, the slowest of the iteration; null if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Number of times that the path continues because a lane of a rank became free.
    pub after_lane: u64,
}

/// Part of a critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathShare {
    /// `computing`, `message`, `request`, `overhead`, or the kind of collective.
    pub what: String,
    /// Name in the trace, or the ranks in a job by steps; absent in sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Group of a collective; absent in sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Time of the part, in microseconds.
    pub time_us: f64,
    /// Time divided by that of the whole path, 0 to 1.
    pub share: f64,
    /// Number of operations or messages.
    pub count: u64,
    /// Part of the time in messages, in microseconds; the rest of a collective's time is delays, which no link
    /// shortens.
    pub messages_us: f64,
    /// Extra time of the messages compared with an empty network, in microseconds.
    pub contention_us: f64,
    /// Tier of the link that bounds most of the messages' time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
}

/// Messages of a critical path that are bound by links of one tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathLink {
    /// Tier: `host`, `server`, `leaf-spine` and so on.
    pub link: String,
    /// Rate of these links.
    pub rate_gbps: f64,
    /// Number of messages that they bound.
    pub messages: u64,
    /// Time of these messages, in microseconds.
    pub time_us: f64,
    /// Time divided by that of the whole path, 0 to 1.
    pub share: f64,
    /// Extra time compared with an empty network, in microseconds.
    pub contention_us: f64,
}

/// Number, time and contention of messages by the link that bounds them; times in ps.
type ByLink = SortedMap<Bound, (u64, u64, u64)>;

/// Critical path of a job under construction.
struct Building<'a> {
    job: &'a Job,
    /// Record of a job by a trace.
    trace: Option<&'a TraceOutcome>,
    span: Span,
    rows: Vec<PathRow>,
    /// Links that bound the messages of the last row.
    of_row: ByLink,
    links: ByLink,
}

/// Iteration of a path, with its times.
#[derive(Clone, Copy)]
struct Span {
    iteration: u32,
    start: Time,
    end: Time,
}

fn ps(from: Time, to: Time) -> u64 {
    to.saturating_since(from).as_ps()
}

impl PathRow {
    /// Creates a row without times that computes.
    fn empty(job: &str, iteration: u32) -> Self {
        Self {
            job: job.to_string(),
            iteration,
            start_ps: 0,
            end_ps: 0,
            what: PathKind::Computing,
            collective: String::new(),
            name: String::new(),
            group: None,
            rank: None,
            to_rank: None,
            count: 1,
            bytes: 0,
            messages_ps: 0,
            contention_ps: 0,
            link: String::new(),
            nodes: String::new(),
            link_name: String::new(),
            after_lane: false,
        }
    }
}

impl<'a> Building<'a> {
    const fn new(job: &'a Job, trace: Option<&'a TraceOutcome>, span: Span) -> Self {
        Self {
            job,
            trace,
            span,
            rows: Vec::new(),
            of_row: ByLink::new(),
            links: ByLink::new(),
        }
    }

    fn add(&mut self, step: &TraceStep, bounds: &Bounds<'_>) {
        let took = ps(step.start, step.end);
        let mut row = PathRow {
            start_ps: step.start.as_ps(),
            end_ps: step.end.as_ps(),
            after_lane: step.waited_for_lane,
            ..PathRow::empty(&self.job.label, self.span.iteration)
        };
        let mut found = Found::default();
        let mut index = None;
        match &step.what {
            TraceActivity::Compute { rank, name } => {
                (row.rank, row.name) = (Some(*rank), name.clone());
            }
            TraceActivity::Overhead { rank, name } => {
                (row.what, row.rank, row.name) = (PathKind::Overhead, Some(*rank), name.clone());
            }
            TraceActivity::Delay { collective } => {
                (row.what, row.count, index) = (PathKind::Collective, 0, *collective);
            }
            TraceActivity::Message {
                from,
                to,
                bytes,
                left,
                collective,
                name,
                is_request,
                ..
            } => {
                row.what = match (collective, is_request) {
                    (Some(_), _) => PathKind::Collective,
                    (None, true) => PathKind::Request,
                    (None, false) => PathKind::Message,
                };
                (row.name, row.rank, row.to_rank) = (name.clone(), Some(*from), Some(*to));
                (row.bytes, row.messages_ps, index) = (*bytes, took, *collective);
                let hosts = [from, to].map(|&rank| self.job.hosts[rank as usize]);
                found = bounds.of(hosts[0], hosts[1], left.as_ps(), *bytes);
                // Contention is that of the whole flow, of which the path may contain only a part.
                row.contention_ps = found.contention_ps.min(took);
            }
        }
        if let Some(one) = index
            .zip(self.trace)
            .and_then(|(index, trace)| trace.collectives.get(index))
        {
            row.collective = one.kind.name().to_string();
            (row.name, row.group) = (one.name.clone(), Some(one.group));
        }
        self.add_part((row, found));
    }

    /// Adds a row, and its message to the sums of the link that bounds it.
    fn add_part(&mut self, (row, found): (PathRow, Found)) {
        let took = row.messages_ps;
        // A merged row has the contention of several messages. The part of this message is what the row has beyond the
        // sums of earlier ones.
        self.merge(row);
        let Some(bound) = found.bound else {
            return;
        };
        let last = self.rows.last().map_or(0, |row| row.contention_ps);
        let contention = last - self.of_row.values().map(|of| of.2).sum::<u64>();
        for links in [&mut self.links, &mut self.of_row] {
            let sum = links.entry(bound.clone()).or_default();
            *sum = (sum.0 + 1, sum.1 + took, sum.2 + contention);
        }
        // A row names one link: the one that bounds most of its messages' time.
        if let (Some(row), Some((bound, _))) = (
            self.rows.last_mut(),
            self.of_row.iter().max_by_key(|(_, of)| of.1),
        ) {
            (row.link, row.nodes) = (bound.tier.clone(), bound.nodes());
            row.link_name.clone_from(&bound.name);
        }
    }

    /// Adds a row, or merges it into the last.
    fn merge(&mut self, row: PathRow) {
        if let Some(last) = self.rows.last_mut()
            && last.what == row.what
            && match row.what {
                PathKind::Computing | PathKind::Overhead => last.rank == row.rank,
                PathKind::Collective => {
                    (&last.name, last.group, &last.collective) == (&row.name, row.group, &row.collective)
                        && self.trace.is_some()
                }
                PathKind::Message | PathKind::Request => false,
            }
        {
            last.end_ps = row.end_ps;
            last.count += row.count;
            last.bytes += row.bytes;
            last.messages_ps += row.messages_ps;
            last.contention_ps += row.contention_ps;
            last.rank = last.rank.or(row.rank);
            last.to_rank = row.to_rank.or(last.to_rank);
            return;
        }
        self.of_row.clear();
        self.rows.push(row);
    }
}

/// Builds the paths of all jobs: of those by traces the iteration that was recorded, of others the slowest one.
fn build<'a>(
    input: &'a Resolved,
    outcome: &'a Outcome,
    flows: &FlowRows,
    slowest: &[(&'a Job, Iteration)],
) -> Vec<Building<'a>> {
    let with_path = |(job, trace): (&'a Job, &'a TraceOutcome)| Some((job, trace, trace.path.as_ref()?));
    let all: Vec<_> = traces(input, outcome).filter_map(with_path).collect();
    let by_steps = steps::find(input, outcome, slowest);
    if all.is_empty() && by_steps.is_empty() {
        return Vec::new();
    }
    let messages = links::messages(&all);
    let messages = messages.chain(by_steps.iter().flat_map(|path| path.messages(input, outcome)));
    let bounds = Bounds::of_messages(input, outcome, flows, messages);
    let of = |(job, trace, path): (&'a Job, &'a TraceOutcome, &'a TracePath)| {
        let span = Span {
            iteration: path.iteration,
            start: path.start,
            end: path.end,
        };
        let mut building = Building::new(job, Some(trace), span);
        for step in &path.steps {
            building.add(step, &bounds);
        }
        building
    };
    let by_steps = by_steps.iter().map(|path| path.build(input, outcome, &bounds));
    let mut built: Vec<Building<'_>> = all.into_iter().map(of).collect();
    built.extend(by_steps);
    built
}

/// Returns true if a job may have a critical path.
pub(crate) fn has_paths(input: &Resolved, outcome: &Outcome) -> bool {
    traces(input, outcome).any(|(_, trace)| trace.path.is_some())
        || input.jobs.iter().any(|job| job.trace.is_none())
}

/// Returns the rows of `critical_path.csv`.
pub(crate) fn path_rows(input: &Resolved, outcome: &Outcome, flows: &FlowRows) -> Vec<PathRow> {
    let slowest = slowest_by_steps(input, outcome);
    let all = build(input, outcome, flows, &slowest).into_iter();
    all.flat_map(|building| building.rows).collect()
}

/// Returns the paths by the labels of their jobs.
pub(super) fn critical_paths(
    input: &Resolved,
    outcome: &Outcome,
    flows: &FlowRows,
    slowest: &[(&Job, Iteration)],
) -> SortedMap<String, CriticalPath> {
    let all = build(input, outcome, flows, slowest).into_iter();
    all.map(|building| (building.job.label.clone(), summed(&building)))
        .collect()
}

impl PathRow {
    /// Returns the duration in ps.
    pub fn time_ps(&self) -> u64 {
        self.end_ps.saturating_sub(self.start_ps)
    }

    /// Returns `computing`, `message`, `request`, `overhead`, or the kind of collective.
    pub fn words(&self) -> &str {
        match self.what {
            PathKind::Computing => "computing",
            PathKind::Overhead => "overhead",
            PathKind::Collective => &self.collective,
            PathKind::Message => "message",
            PathKind::Request => "request",
        }
    }
}

fn summed(building: &Building<'_>) -> CriticalPath {
    let (rows, path) = (&building.rows, building.span);
    let whole = ps(path.start, path.end).max(1);
    let mut links: Vec<PathLink> = Vec::new();
    for (bound, &(messages, time_ps, contention_ps)) in &building.links {
        let rate_gbps = bound.rate.as_bps() as f64 / 1e9;
        let (time_us, contention_us) = (time_ps as f64 / 1e6, contention_ps as f64 / 1e6);
        let share = time_ps as f64 / whole as f64;
        let known = links
            .iter_mut()
            .find(|known| (&known.link, known.rate_gbps) == (&bound.tier, rate_gbps));
        match known {
            Some(known) => {
                known.messages += messages;
                known.time_us += time_us;
                known.share += share;
                known.contention_us += contention_us;
            }
            None => links.push(PathLink {
                link: bound.tier.clone(),
                rate_gbps,
                messages,
                time_us,
                share,
                contention_us,
            }),
        }
    }
    links.order_by(|a, b| b.time_us.total_cmp(&a.time_us));
    let mut largest = shares(rows, whole, |row| {
        (row.words().to_string(), Some(row.name.clone()), row.group)
    });
    largest.truncate(LARGEST);
    CriticalPath {
        iteration: path.iteration,
        start_s: path.start.as_secs_f64(),
        end_s: path.end.as_secs_f64(),
        time_us: ps(path.start, path.end) as f64 / 1e6,
        sums: shares(rows, whole, |row| (row.words().to_string(), None, None)),
        links,
        largest,
        rank: rows.last().and_then(|row| row.to_rank.or(row.rank)),
        after_lane: rows.iter().filter(|row| row.after_lane).count() as u64,
    }
}

/// Key by which rows are summed: kind, name, group.
type Key = (String, Option<String>, Option<u32>);

fn shares(rows: &[PathRow], whole: u64, key: impl Fn(&PathRow) -> Key) -> Vec<PathShare> {
    #[derive(Default)]
    struct Sum<'a> {
        time: u64,
        count: u64,
        messages: u64,
        contention: u64,
        links: SortedMap<&'a str, u64>,
    }
    let mut sums: SortedMap<Key, Sum<'_>> = SortedMap::new();
    for row in rows {
        let sum = sums.entry(key(row)).or_default();
        sum.time += row.time_ps();
        sum.count += row.count;
        sum.messages += row.messages_ps;
        sum.contention += row.contention_ps;
        *sum.links.entry(&row.link).or_default() += row.messages_ps;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.order_by_key(|(_, sum)| Reverse(sum.time));
    let share = |((what, name, group), sum): (Key, Sum<'_>)| PathShare {
        what,
        name,
        group,
        time_us: sum.time as f64 / 1e6,
        share: sum.time as f64 / whole as f64,
        count: sum.count,
        messages_us: sum.messages as f64 / 1e6,
        contention_us: sum.contention as f64 / 1e6,
        link: (sum.links.iter().max_by_key(|(_, time)| **time))
            .map_or_else(String::new, |(link, _)| (*link).to_string()),
    };
    sums.into_iter().map(share).collect()
}
