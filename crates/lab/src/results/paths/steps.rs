//! Critical paths of jobs by steps, found backwards from the last flow of an iteration over what each flow waited for.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::{Awaited, Dependency, NodeId};
use paceline_kernel::Time;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::{Job, Resolved};

use super::super::jobs::Iteration;
use super::links::{Bounds, Key};
use super::{Building, PathKind, PathRow, Span};

/// Critical path of a job's iteration as far as flows and their dependencies tell, from its end to its start.
pub(super) struct StepsPath<'a> {
    job: &'a Job,
    span: Span,
    parts: Vec<Part>,
}

/// Part of the path: a flow, or what a rank computed.
struct Part {
    start: Time,
    end: Time,
    rank: Option<u32>,
    /// Flow of a message; `None` for computing.
    flow: Option<u32>,
}

/// Returns the time of the event of a flow that others may wait for, if it occurred.
fn happened(outcome: &Outcome, flow: u32, awaited: Awaited) -> Option<Time> {
    let flow = outcome.flows.get(flow as usize)?;
    match awaited {
        Awaited::Started => (flow.status != FlowStatus::NotStarted).then_some(flow.start),
        Awaited::Received => flow.received,
        Awaited::Acknowledged => (flow.status == FlowStatus::Completed).then(|| flow.start + flow.fct),
    }
}

/// Finds the paths of the slowest iterations of jobs by steps.
pub(super) fn find<'a>(
    input: &'a Resolved,
    outcome: &Outcome,
    slowest: &[(&'a Job, Iteration)],
) -> Vec<StepsPath<'a>> {
    // One pass over the dependencies serves all jobs, since there may be as many as flows.
    let mut waits: SortedMap<u32, Vec<&Dependency>> = SortedMap::new();
    let mut of_iterations: Vec<u32> = slowest
        .iter()
        .flat_map(|(job, iteration)| flows_of(input, job, iteration.index))
        .collect();
    of_iterations.sort_unstable();
    for dependency in &input.run.dependencies {
        if of_iterations.binary_search(&dependency.flow).is_ok() {
            waits.entry(dependency.flow).or_default().push(dependency);
        }
    }
    let found = slowest.iter().map(|&(job, iteration)| {
        let parts = parts(input, outcome, &waits, job, iteration)?;
        let span = Span {
            iteration: iteration.index,
            start: iteration.start,
            end: iteration.end,
        };
        Some(StepsPath { job, span, parts })
    });
    found.flatten().collect()
}

/// Returns the flows of a job's iteration.
fn flows_of<'a>(input: &'a Resolved, job: &'a Job, iteration: u32) -> impl Iterator<Item = u32> + 'a {
    let collectives = job.collectives.iter().map(|&index| &input.collectives[index]);
    let flows = collectives.filter_map(move |one| one.iterations.get(iteration as usize));
    flows.flatten().copied()
}

/// Returns the parts of a path, the last one first; `None` if some flow left no record.
fn parts(
    input: &Resolved,
    outcome: &Outcome,
    waits: &SortedMap<u32, Vec<&Dependency>>,
    job: &Job,
    iteration: Iteration,
) -> Option<Vec<Part>> {
    let rank_of = |host: NodeId| {
        job.hosts
            .iter()
            .position(|known| *known == host)
            .map(|rank| rank as u32)
    };
    let received = |flow: u32| happened(outcome, flow, Awaited::Received);
    let ends = flows_of(input, job, iteration.index).filter_map(|flow| Some((received(flow)?, flow)));
    let (mut until, mut at) = ends.max()?;
    let mut parts = Vec::new();
    // What hosts compute after their last message may end later than any message.
    if until < iteration.end {
        let tails = job.tails.get(iteration.index as usize)?.iter();
        let known = tails.filter_map(|tail| Some((happened(outcome, tail.after, tail.awaited)?, tail)));
        let (from, tail) = known.max_by_key(|(from, tail)| (*from + tail.delay, tail.after))?;
        parts.push(Part {
            start: from,
            end: iteration.end,
            rank: rank_of(tail.host),
            flow: None,
        });
        (until, at) = (from, tail.after);
    }
    while until > iteration.start {
        let start = outcome.flows.get(at as usize)?.start;
        let rank = rank_of(input.run.flows.get(at as usize)?.src);
        if until > start {
            parts.push(Part {
                start: start.max(iteration.start),
                end: until,
                rank,
                flow: Some(at),
            });
        }
        let met = waits.get(&at).into_iter().flatten().filter_map(|one| {
            let when = happened(outcome, one.after, one.awaited)?;
            Some((when + one.delay, one.after, when))
        });
        // A flow that starts after all that it waited for waited for its own start time.
        let last = met.max().filter(|&(ready, ..)| ready >= start);
        let from = last
            .map_or(iteration.start, |(_, _, when)| when)
            .max(iteration.start);
        if start > from {
            parts.push(Part {
                start: from,
                end: start,
                rank,
                flow: None,
            });
        }
        let Some((_, after, when)) = last else { break };
        // Flows that wait for the start of others could lead in a circle, were they to start at one time.
        if (when, after) >= (until, at) && when >= until {
            break;
        }
        (until, at) = (when, after);
    }
    Some(parts)
}

impl<'a> StepsPath<'a> {
    /// Returns the keys of its messages.
    pub(super) fn messages<'b>(
        &'b self,
        input: &'b Resolved,
        outcome: &'b Outcome,
    ) -> impl Iterator<Item = Key> + 'b {
        let flows = self.parts.iter().filter_map(|part| part.flow);
        flows.filter_map(move |flow| key(input, outcome, flow))
    }

    /// Builds the rows of the path.
    pub(super) fn build(&self, input: &Resolved, outcome: &Outcome, bounds: &Bounds<'_>) -> Building<'a> {
        let mut building = Building::new(self.job, None, self.span);
        for part in self.parts.iter().rev() {
            building.add_part(self.row(input, outcome, part, bounds));
        }
        building
    }

    fn row(
        &self,
        input: &Resolved,
        outcome: &Outcome,
        part: &Part,
        bounds: &Bounds<'_>,
    ) -> (PathRow, super::Found) {
        let took = super::ps(part.start, part.end);
        let mut row = PathRow {
            start_ps: part.start.as_ps(),
            end_ps: part.end.as_ps(),
            rank: part.rank,
            name: part.rank.map_or_else(String::new, |rank| format!("rank {rank}")),
            ..PathRow::empty(&self.job.label, self.span.iteration)
        };
        let Some((flow, (src, dst, start, bytes))) = part
            .flow
            .and_then(|flow| Some((flow, key(input, outcome, flow)?)))
        else {
            return (row, super::Found::default());
        };
        let found = bounds.of(NodeId(src), NodeId(dst), start, bytes);
        let label = usize::from(input.run.flows[flow as usize].label);
        let label = input.run.labels.get(label).map_or("", String::as_str);
        // The job's own name in front of each step would repeat itself.
        let step = label
            .strip_prefix(&*self.job.label)
            .and_then(|step| step.strip_prefix('/'));
        row.what = PathKind::Collective;
        row.collective = step.unwrap_or(label).to_string();
        row.to_rank = self
            .job
            .hosts
            .iter()
            .position(|host| host.0 == dst)
            .map(|rank| rank as u32);
        if let (Some(from), Some(to)) = (row.rank, row.to_rank) {
            row.name = format!("rank {from} to rank {to}");
        }
        (row.bytes, row.messages_ps) = (bytes, took);
        row.contention_ps = found.contention_ps.min(took);
        (row, found)
    }
}

/// Returns the key of a flow among the messages of paths.
fn key(input: &Resolved, outcome: &Outcome, flow: u32) -> Option<Key> {
    let spec = input.run.flows.get(flow as usize)?;
    let start = outcome.flows.get(flow as usize)?.start;
    Some((spec.src.0, spec.dst.0, start.as_ps(), spec.size.get()))
}
