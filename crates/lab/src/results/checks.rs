//! Warnings that a reader needs before trusting a run.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;

use super::feedback::Unscheduled;
use super::flows::{FlowState, IdealFct};
use super::rows::FlowRows;
use super::summary::RunStatus;
use super::{deadlock, feedback, rate_scaling, send_floor};
use crate::text::duration_us;
use paceline_scenario::{Resolved, Warning, WarningKind};

/// Number of completed flows below which less than one lies beyond the 99th percentile.
const FLOWS_FOR_P99: usize = 100;
/// Share of flows faster than the formula above which a warning is given.
const SOONER: f64 = 0.1;

/// Describes the pause storms that the PFC watchdog found, and its actions.
fn storms(outcome: &Outcome) -> Option<String> {
    let first = outcome.storms.first()?;
    let count = match outcome.storms.len() {
        1 => "a pause storm".to_string(),
        count => format!("{count} pause storms, the first"),
    };
    Some(format!(
        "The PFC watchdog found {count} at {} after {}, and dropped {} packets in all. `paceline explain pfc` says what helps.",
        first.port,
        duration_us(Some(first.detected.as_ps() as f64 / 1e6)),
        outcome.counters.watchdog_drops
    ))
}

/// Returns the warnings about the input, then those about the outcome.
pub(super) fn warnings(
    input: &Resolved,
    outcome: &Outcome,
    flows: &FlowRows,
    all: Option<Unscheduled>,
    status: RunStatus,
) -> Vec<Warning> {
    // Warnings are in the order in which a reader needs them: the input, an incomplete run, missing flows, and then
    // reasons to doubt the metrics.
    let mut found = Found(input.warnings.clone());
    if status == RunStatus::Partial {
        found.add(
            WarningKind::Interrupted,
            format!(
                "The run was interrupted at {} of at most {}: all results describe the part that ran.",
                outcome.end, input.run.stop
            ),
        );
    }
    if let Some(deadlock) = &outcome.deadlock {
        found.extend(
            WarningKind::Deadlock,
            deadlock::warnings(deadlock, &input.names, outcome.end, input.run.stop),
        );
    }
    if let Some(text) = storms(outcome) {
        found.add(WarningKind::WatchdogStorm, text);
    }
    let total = flows.len();
    let mut counts = [0; FlowState::ALL.len()];
    for (flow, times) in flows.distinct_entries() {
        counts[flow.status as usize] += times.times as usize;
    }
    let count = |status: FlowState| counts[status as usize];
    let completed = count(FlowState::Completed);
    let unfinished = count(FlowState::Unfinished);
    // After an interruption unfinished flows are expected, and the first warning covers them.
    if completed == 0 && total > 0 && status != RunStatus::Partial {
        let text = match outcome.counters.data_received {
            0 => "No flow finished, and no data packet reached its receiver.",
            _ => "No flow finished: there are no completion times and no slowdowns.",
        };
        found.add(WarningKind::NothingFinished, text.into());
    }
    let ended_early = status == RunStatus::Completed && outcome.end.as_ps() < input.run.stop.as_ps();
    // Without further events nothing can wake these flows. A deadlock has its own warning, with the cause.
    if unfinished > 0 && ended_early && outcome.deadlock.is_none() {
        found.add(WarningKind::StuckFlows, format!(
            "Nothing was left to happen after {}, before the end of the run at {}, and {unfinished} of {total} flows had not \
             finished: they can never finish.",
            outcome.end, input.run.stop
        ));
    }
    if unfinished > 0 {
        found.add(WarningKind::UnfinishedFlows, format!(
            "{unfinished} of {total} flows ({}) had not finished when the run ended: completion times and \
             slowdowns leave them out, so they look better than they are.",
            percent(unfinished, total)
        ));
    }
    let mut not_started = count(FlowState::NotStarted);
    let waiting = waiting(input, outcome);
    if waiting > 0 {
        not_started -= waiting;
        found.add(WarningKind::NotStartedFlows, format!(
            "{waiting} of {total} flows did not start: they wait for flows that were unfinished when the run ended."
        ));
    }
    if not_started > 0 {
        found.add(
            WarningKind::NotStartedFlows,
            format!("{not_started} of {total} flows start after the end of the run."),
        );
    }
    let unreachable = count(FlowState::Unreachable);
    if unreachable > 0 {
        found.add(
            WarningKind::UnreachableFlows,
            format!("{unreachable} of {total} flows have no path between their hosts."),
        );
    }
    let given_up = count(FlowState::GivenUp);
    if given_up > 0 {
        found.add(WarningKind::GivenUpFlows, format!(
            "{given_up} of {total} flows ({}) were given up by their senders after too many timeouts in a row: \
             completion times and slowdowns leave them out, so they look better than they are.",
            percent(given_up, total)
        ));
    }
    if (1..FLOWS_FOR_P99).contains(&completed) {
        found.add(
            WarningKind::FewFlows,
            format!(
                "The 99th percentiles of completion times and slowdowns rest on {}: \
             they are close to the largest value.",
                if completed == 1 {
                    "1 flow".to_string()
                } else {
                    format!("{completed} flows")
                }
            ),
        );
    }
    found.extend(WarningKind::FasterThanIdeal, sooner_than_alone(input, flows));
    found.extend(
        WarningKind::SentBeforeFeedback,
        feedback::warning(&input.run, outcome, flows, all),
    );
    found.extend(
        WarningKind::OtherLineRate,
        rate_scaling::warnings(&input.run, flows),
    );
    found.extend(
        WarningKind::LowestRate,
        send_floor::warnings(&input.run, outcome, flows),
    );
    found.extend(WarningKind::OneSidedTies, one_sided_ties(outcome));
    found.extend(WarningKind::UnexpectedLosses, not_conserved(input, outcome));
    found.extend(WarningKind::EarlyTimeouts, early_timeouts(input, outcome));
    found.extend(WarningKind::NoDecisions, unanswered(outcome));
    let counters = &outcome.counters;
    if counters.lossless_drops > 0 {
        found.add(
            WarningKind::LosslessDrops,
            format!(
                "{} packets were dropped for lack of buffer although flow control should prevent it: \
             the headroom does not cover the worst case.",
                counters.lossless_drops
            ),
        );
    }
    found.0
}

/// Warnings in the order in which they were found.
struct Found(Vec<Warning>);

impl Found {
    fn add(&mut self, kind: WarningKind, text: String) {
        self.0.push(Warning::new(kind, text));
    }

    fn extend(&mut self, kind: WarningKind, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.add(kind, text));
    }
}

/// Warns of retransmission timeouts that expired before acknowledgements could arrive.
fn early_timeouts(input: &Resolved, outcome: &Outcome) -> Option<String> {
    let run = &input.run;
    let timeouts = outcome.counters.timeouts;
    let longest = outcome.rtt_per_ack.max_ps;
    let shortest = run.nic.recovery.shortest_timeout(&run.nic)?;
    if run.model.is_some() || timeouts == 0 || longest <= shortest {
        return None;
    }
    let counters = &outcome.counters;
    let lost = counters.buffer_drops + counters.link_drops + counters.trimmed;
    let us = |ps: u64| duration_us(Some(ps as f64 / 1e6));
    Some(format!(
        "Round trips took up to {}, longer than the retransmission timeout of {}, which expired {timeouts} times: {}.",
        us(longest),
        us(shortest),
        match lost {
            0 => "no packet was lost, and all that was sent again was sent for nothing".to_string(),
            _ => format!("{lost} packets were lost, and others were sent again for nothing"),
        }
    ))
}

/// Warns of flows under an external scheme in a run without an agent.
fn unanswered(outcome: &Outcome) -> Option<String> {
    let asked = outcome.decisions?;
    let unmade = asked.under_way + asked.flow_ended;
    (asked.started == 0 && unmade > 0).then(|| {
        format!(
            "{unmade} flows requested decisions and got none: the scheme `external` needs an agent, such as a \
             learning environment; without one, flows keep their initial rate."
        )
    })
}

/// Warns of simultaneous arrivals of which one side always loses.
fn one_sided_ties(outcome: &Outcome) -> Option<String> {
    let (loser, winner) = outcome.ties.one_sided()?;
    let drops = outcome.counters.buffer_drops;
    let tied = outcome.ties.drops;
    Some(format!(
        "The order of simultaneous arrivals decided which packets were dropped: {tied} of {drops} were dropped at \
         instants with other arrivals for the same port. At {} those from node {} were dropped {} times of {}, those from node {} {} \
         times of {}. `--shuffle-ties 1` shows what depends on that order. With `ties = \"drawn\"`, the default of lossy \
         classes in fidelity `exact`, the seed draws it.",
        loser.egress,
        loser.ingress.peer.0,
        loser.dropped,
        loser.dropped + loser.taken,
        winner.ingress.peer.0,
        winner.dropped,
        winner.dropped + winner.taken,
    ))
}

/// Warns of losses under schemes that assume a lossless network.
fn not_conserved(input: &Resolved, outcome: &Outcome) -> Option<String> {
    let counters = &outcome.counters;
    let lost = counters.buffer_drops + counters.link_drops;
    let mut schemes = input.run.schemes.iter().map(|scheme| &scheme.config);
    let scheme = schemes.find(|scheme| lost > 0 && scheme.assumes_lossless())?;
    Some(format!(
        "{lost} packets were lost, and {} assumes a lossless network: its measurements after a loss are wrong.",
        scheme.scheme().title
    ))
}

/// Warns of many flows that completed sooner than the fidelity's formula gives for a flow alone: their slowdown is 1
/// regardless of the delays they met.
fn sooner_than_alone(input: &Resolved, flows: &FlowRows) -> Option<String> {
    let alone = IdealFct::of(&input.run);
    let author = alone.author()?;
    let (mut sooner, mut done) = (0, 0);
    for (flow, times) in flows.distinct_entries() {
        let Some(fct) = flow.fct_ps else { continue };
        let times = times.times as usize;
        done += times;
        sooner += times * usize::from(fct < flow.ideal_ps);
    }
    (sooner as f64 > SOONER * done as f64).then(|| {
        format!(
            "{} of the flows were faster than the ideal by {author}, and count as slowdown 1; that formula is too \
             slow for small flows. `--fidelity exact` divides by the simulated time of a flow alone.",
            percent(sooner, done)
        )
    })
}

/// Counts flows that did not start because they waited for others.
fn waiting(input: &Resolved, outcome: &Outcome) -> usize {
    if input.run.dependencies.is_empty() {
        return 0;
    }
    let mut waits = vec![false; outcome.flows.len()];
    for dependency in &input.run.dependencies {
        waits[dependency.flow as usize] = true;
    }
    let waits = waits.iter().zip(&outcome.flows);
    waits
        .filter(|(waits, flow)| **waits && flow.status == FlowStatus::NotStarted && flow.start <= outcome.end)
        .count()
}

/// Formats `part` of `whole` in percent, never rounded to 0 or 100 %.
fn percent(part: usize, whole: usize) -> String {
    let value = part as f64 * 100.0 / whole as f64;
    if value < 1.0 {
        "less than 1%".to_string()
    } else if part < whole && value > 99.0 {
        "more than 99%".to_string()
    } else {
        format!("{value:.0}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn got(input: &Resolved, outcome: &Outcome, status: RunStatus) -> Vec<String> {
        let found = warnings(input, outcome, &sample::rows(input, outcome), None, status);
        found.iter().map(Warning::to_string).collect()
    }

    #[test]
    fn what_looks_better_than_it_is_gets_a_warning() {
        let (input, mut outcome) = sample::incast();
        assert_eq!(got(&input, &outcome, RunStatus::Completed).len(), 2);
        outcome.counters.lossless_drops = 7;
        outcome.flows[1].status = FlowStatus::NotStarted;
        insta::assert_snapshot!("warnings", got(&input, &outcome, RunStatus::Partial).join("\n"));
    }

    #[test]
    fn flows_that_were_given_up_get_a_warning_of_their_own() {
        let (input, mut outcome) = sample::incast();
        outcome.flows[2].status = FlowStatus::GivenUp;
        let warnings = got(&input, &outcome, RunStatus::Completed);
        let about = |what: &str| warnings.iter().filter(|text| text.contains(what)).count();
        assert_eq!(about("1 of 3 flows (33%) were given up"), 1, "{warnings:?}");
        assert_eq!(about("had not finished"), 0, "{warnings:?}");
    }

    #[test]
    fn shares_are_honest() {
        assert_eq!(percent(1, 1000), "less than 1%");
        assert_eq!(percent(999, 1000), "more than 99%");
        assert_eq!(percent(10, 10), "100%");
        assert_eq!(percent(17, 100), "17%");
    }
}
