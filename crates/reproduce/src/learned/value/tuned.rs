//! Gains and target that each predictor gets for itself.

use std::ops::Range;

use crate::{Done, Metrics, Panel, Step, StepError, Work};
use paceline_lab::stats::mean;

use super::runs::{AR3, ENTRIES, Entry, LSTM, NONE, Over, Runs, changes, label, points};
use super::{
    ALL, FINISH, From, Line, P99, QUANTITIES, TEST, Trial, VALIDATION, Values, columns, panel, values,
};
use crate::steps::watched::{Seen, in_chunks};

pub(super) const STEP: Step = Step {
    name: "own gains",
    title: "gains and targets for each predictor",
    work,
};

/// The series in which the choices are.
const CHOICES: [&str; ENTRIES.len()] = ["choice of none", "choice of LSTM", "choice of AR(3)"];

/// What is tried: each with each.
const K_P: [f64; 5] = [-0.05, -0.1, -0.2, -0.358, -0.6];
const K_I: [f64; 4] = [-0.015, -0.03, -0.06, -0.11];
const K_D: [f64; 5] = [0.04, -0.2, -0.5, -0.8, -1.2];
const TARGETS_US: [f64; 6] = [4.3, 4.4, 4.5, 4.6, 4.7, 4.8];

/// A candidate: K_P, K_I, K_D, target.
type Gains = [f64; 4];

fn candidates() -> Vec<Gains> {
    let mut all = Vec::new();
    for p in K_P {
        for i in K_I {
            for d in K_D {
                all.extend(TARGETS_US.map(|target| [p, i, d, target]));
            }
        }
    }
    all
}

fn settings([p, i, d, target]: Gains) -> Vec<String> {
    vec![
        format!("cc.lstm-pid.k-p={p}"),
        format!("cc.lstm-pid.k-i={i}"),
        format!("cc.lstm-pid.k-d={d}"),
        format!("cc.lstm-pid.target={}ns", (target * 1e3).round()),
    ]
}

/// A last completion that is not too late: 2 % after the earliest that there is, 635 MB with headers of 48 bytes on
/// every 1000 at 100 Gbit/s.
const FINISH_MS: f64 = 1.02 * 53.24;

/// Candidates that run in all orders of validation at a time.
const BEST: usize = 10;

/// By what candidates are put in order, if they are in time: the tail. And when they end.
fn rank(runs: &[Values]) -> Option<(f64, f64)> {
    let of = |quantity: usize| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run[quantity]).collect();
        mean(&values?)
    };
    of(FINISH)
        .filter(|&finish| finish <= FINISH_MS)
        .and_then(|finish| Some((of(P99)?, finish)))
}

/// Those that are in time, the shortest tail first.
fn ranked(tried: &[Vec<Values>]) -> Vec<(usize, (f64, f64))> {
    let found = tried.iter().enumerate();
    let mut found: Vec<_> = found
        .filter_map(|(place, runs)| Some((place, rank(runs)?)))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    found
}

/// Runs each of `gains` with each of `predictions` in each of `orders`: what came of each, one after the other.
fn run_all(
    work: &mut Work<'_>,
    gains: &[Gains],
    (predictions, orders): (&[From], Range<u64>),
    share: (Range<f64>, &str),
) -> Result<Vec<Seen>, StepError> {
    let done = work.done;
    let mut trials = Vec::new();
    for &gains in gains {
        for order in orders.clone() {
            trials.extend(
                predictions
                    .iter()
                    .map(|&from| Trial::incast(from, order, &settings(gains))),
            );
        }
    }
    in_chunks(&trials, work, share, &|trial| trial.run(done))
}

/// What each of `gains` came to.
fn tried(gains: &[Gains], seen: &[Seen]) -> Vec<Vec<Values>> {
    let runs = seen.len() / gains.len();
    let of = |runs: &[Seen]| runs.iter().map(values).collect();
    seen.chunks(runs).map(of).collect()
}

/// The gains of a predictor, with the tail and the last completion that it was chosen by.
struct Choice {
    gains: Gains,
    p99: f64,
    finish: f64,
}

/// All candidates run in one order, with one seed; the best of those that are in time run in all orders of
/// validation with all seeds, some at a time, until one of them is in time there, too.
fn choose(work: &mut Work<'_>, entry: &Entry, share: &Range<f64>) -> Result<Choice, StepError> {
    let part = |from: f64, to: f64| {
        let length = share.end - share.start;
        share.start + length * from..share.start + length * to
    };
    let candidates = candidates();
    let predictions = entry.runs();
    let first = VALIDATION.start..VALIDATION.start + 1;
    let name = format!("{}, candidate", entry.name);
    let seen = run_all(
        work,
        &candidates,
        (&predictions[..1], first),
        (part(0.0, 0.7), &name),
    )?;
    let in_time = ranked(&tried(&candidates, &seen));
    for best in in_time.chunks(BEST) {
        let gains: Vec<Gains> = best.iter().map(|&(place, _)| candidates[place]).collect();
        let name = format!("{}, one of the best", entry.name);
        let seen = run_all(work, &gains, (&predictions, VALIDATION), (part(0.7, 0.9), &name))?;
        if let Some(&(place, (p99, finish))) = ranked(&tried(&gains, &seen)).first() {
            let gains = gains[place];
            return Ok(Choice { gains, p99, finish });
        }
    }
    Err(StepError::of(format!(
        "no candidate of {} is in time",
        entry.name
    )))
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let mut numbers = Metrics::default();
    let count = ENTRIES.len() as f64;
    for (place, entry) in ENTRIES.iter().enumerate() {
        let share = place as f64 / count..(place + 1) as f64 / count;
        let Choice { gains, p99, finish } = choose(work, entry, &share)?;
        let last = share.end - 0.1 / count..share.end;
        let seen = run_all(work, &[gains], (&entry.runs(), TEST), (last, entry.name))?;
        numbers.series.insert(entry.name, points(&seen, &ALL));
        let choice = gains.into_iter().chain([p99, finish]).enumerate();
        let choice = choice.map(|(place, value)| (place as f64, value)).collect();
        numbers.series.insert(CHOICES[place], choice);
    }
    Ok(numbers)
}

fn runs(place: usize) -> Runs {
    ENTRIES[place].in_series(STEP.name, ENTRIES[place].name)
}

pub(super) fn panels(done: &Done) -> Vec<Panel> {
    let names = ENTRIES.map(|entry| (entry.name, entry.scheme));
    let chosen = |place: usize, what: &'static str, unit: &'static str| {
        let ours = CHOICES.map(|choice| Some(done.step(STEP.name)?.series.get(choice)?.get(place)?.1));
        Line::shown(label((what, unit, 3)), (what, unit, 3), ours)
    };
    let mut lines = vec![
        chosen(0, "K_P", ""),
        chosen(1, "K_I", ""),
        chosen(2, "K_D", ""),
        chosen(3, "target", "µs"),
        chosen(4, "p99 RTT by which it was chosen", "µs"),
        chosen(5, "last completion by which it was chosen", "ms"),
    ];
    lines.extend(QUANTITIES.iter().enumerate().map(|(k, &quantity)| {
        let ours = (0..ENTRIES.len()).map(|place| runs(place).mean(done, k));
        Line::shown(label(quantity), quantity, ours)
    }));
    let against = |pairs: &[(Runs, Runs)]| -> Vec<Line> {
        let of = |k: usize| Over::BOTH.map(|over| changes(done, QUANTITIES[k].0, (pairs, over), k));
        [P99, FINISH].into_iter().flat_map(of).flatten().collect()
    };
    vec![
        panel(
            "Own gains and target: means over orders and seeds",
            "",
            columns(&names),
            &lines,
        ),
        panel(
            "Own gains and target: change against no prediction",
            "",
            columns(&names[1..]),
            &against(&[(runs(LSTM), runs(NONE)), (runs(AR3), runs(NONE))]),
        ),
        panel(
            "Own gains and target: the LSTM against AR(3)",
            "",
            columns(&[names[LSTM]]),
            &against(&[(runs(LSTM), runs(AR3))]),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who is late, in the mean or because a run does not end, is not chosen; of the others the shortest tail is.
    #[test]
    fn candidates_are_put_in_order() {
        let run = |p99: f64, finish: Option<f64>| {
            let mut run = [None; QUANTITIES.len()];
            (run[P99], run[FINISH]) = (Some(p99), finish);
            run
        };
        let tried = [
            vec![run(6.0, Some(53.5)), run(8.0, Some(53.7))],
            vec![run(4.0, Some(54.0)), run(4.0, Some(54.7))],
            vec![run(3.0, Some(53.5)), run(3.0, None)],
            vec![run(5.0, Some(54.0)), run(5.0, Some(54.5))],
        ];
        let order: Vec<usize> = ranked(&tried).iter().map(|&(place, _)| place).collect();
        assert_eq!(order, [3, 0]);
        assert_eq!(rank(&tried[0]), Some((7.0, 53.6)));
        assert_eq!(candidates().len(), 600);
    }
}
