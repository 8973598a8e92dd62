//! Warnings about the times of iterations of jobs, and of collectives that belong to none.

use paceline_fabric::Outcome;
use paceline_jobs::TraceOutcome;
use paceline_kernel::sorted::SortedSet;
use paceline_scenario::{Collective, Resolved, Warning, WarningKind};

use super::collectives::CollectiveTime;
use super::jobs::JobTimes;
use crate::stats::{Rise, rise};
use crate::text::duration_us;

/// Minimum number of iterations for percentiles: with fewer, all percentiles that tables show lie between the two
/// largest.
const ITERATIONS_FOR_PERCENTILES: usize = 20;
/// Maximum number of names that a warning lists.
const NAMED: usize = 8;

/// Job, or collective that belongs to none.
struct Repeated<'a> {
    label: &'a str,
    /// Duration of each completed iteration, in microseconds.
    times: Vec<f64>,
    /// Indices of its collectives in the run's list.
    collectives: Vec<usize>,
}

/// Warns of iteration times that keep rising, of percentiles over few iterations, and of messages that open their own
/// queue pairs.
pub(super) fn warnings(
    input: &Resolved,
    outcome: &Outcome,
    jobs: &[JobTimes],
    times: &[CollectiveTime],
) -> Vec<Warning> {
    let all = repeated(input, jobs, times);
    let rising = all.iter().filter_map(still_rise);
    let rising = rising.map(|text| Warning::new(WarningKind::RisingIterations, text));
    let few = few(&all).map(|text| Warning::new(WarningKind::FewIterations, text));
    let per_message =
        per_message(input, &all).map(|text| Warning::new(WarningKind::QueuePairPerMessage, text));
    let stuck = jobs.iter().flat_map(|job| {
        let said = |text: &String| {
            Warning::new(
                WarningKind::StuckFlows,
                format!("Job `{}` cannot go on: {text}", job.label),
            )
        };
        job.stuck.iter().map(said)
    });
    let cautions = told(input, outcome);
    rising
        .chain(few)
        .chain(per_message)
        .chain(stuck)
        .chain(cautions)
        .collect()
}

/// Returns the warnings of the trace executor and of cost models.
fn told(input: &Resolved, outcome: &Outcome) -> Vec<Warning> {
    let of = |job: &paceline_scenario::Job| {
        let trace = outcome.programs.get(job.trace?.program)?.get::<TraceOutcome>()?;
        let said =
            |text: &String| Warning::new(WarningKind::TraceRule, format!("Job `{}`: {text}", job.label));
        Some(trace.cautions.iter().map(said).collect::<Vec<_>>())
    };
    input.jobs.iter().filter_map(of).flatten().collect()
}

fn repeated<'a>(input: &'a Resolved, jobs: &'a [JobTimes], times: &[CollectiveTime]) -> Vec<Repeated<'a>> {
    let of_jobs: SortedSet<usize> = input
        .jobs
        .iter()
        .flat_map(|job| job.collectives.clone())
        .collect();
    let of_job = |(job, times): (&'a paceline_scenario::Job, &'a JobTimes)| Repeated {
        label: &job.label,
        times: times.iterations_us.clone(),
        collectives: job.collectives.clone(),
    };
    let mut all: Vec<Repeated<'_>> = input.jobs.iter().zip(jobs).map(of_job).collect();
    let mut first = 0;
    for (index, collective) in input.collectives.iter().enumerate() {
        let own = &times[first..first + collective.iterations.len()];
        first += own.len();
        if !of_jobs.contains(&index) {
            all.push(Repeated {
                label: &collective.label,
                times: own.iter().filter_map(|time| time.time_us).collect(),
                collectives: vec![index],
            });
        }
    }
    all
}

/// Warns if each iteration takes longer than the one before, to the end of the run.
fn still_rise(of: &Repeated<'_>) -> Option<String> {
    let Rise { over, from, to } = rise(&of.times)?;
    Some(format!(
        "The iterations of `{}` take longer and longer to the end of the run: from {} to {} over the last {over} of {}. \
         Their mean and percentiles depend on how many there are.",
        of.label,
        duration_us(Some(from)),
        duration_us(Some(to)),
        of.times.len(),
    ))
}

/// Warns of percentiles over few iterations. All percentiles of a single one are that one.
fn few(all: &[Repeated<'_>]) -> Option<String> {
    let few = all
        .iter()
        .filter(|of| (2..ITERATIONS_FOR_PERCENTILES).contains(&of.times.len()));
    let few: Vec<String> = few
        .map(|of| format!("`{}` ({})", of.label, of.times.len()))
        .collect();
    (!few.is_empty()).then(|| {
        format!(
            "The 99th percentiles of iteration times rest on few iterations, and lie between the two largest: {}.",
            listed(&few)
        )
    })
}

/// Warns of collectives that send several messages from one host to another, each on its own queue pair.
fn per_message(input: &Resolved, all: &[Repeated<'_>]) -> Option<String> {
    let opens = |of: &&Repeated<'_>| {
        let mut own = of.collectives.iter().map(|&index| &input.collectives[index]);
        own.any(|collective| opens_anew(input, collective))
    };
    let found: Vec<String> = all
        .iter()
        .filter(opens)
        .map(|of| format!("`{}`", of.label))
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "Each message of {} uses a new queue pair, which starts at line rate. Collective libraries reuse theirs: \
             set `connections = \"persistent\"` and `fidelity = \"exact\"`.",
            listed(&found)
        )
    })
}

fn opens_anew(input: &Resolved, collective: &Collective) -> bool {
    let flows = || {
        let all = collective.iterations.iter().flatten();
        all.map(|&flow| &input.run.flows[flow as usize])
    };
    if flows().any(|flow| flow.connection.is_some()) {
        return false;
    }
    let mut pairs = SortedSet::new();
    flows().any(|flow| !pairs.insert((flow.src, flow.dst)))
}

/// Lists the first of these names, and the number of the others.
fn listed(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(NAMED));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
