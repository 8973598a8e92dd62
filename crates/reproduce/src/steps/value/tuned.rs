//! Selection of gains and target for each predictor.

use std::ops::Range;

use paceline_kernel::order::Sort as _;
use paceline_lab::stats::mean;

use super::{
    ALL, CHOSEN, FINISH, P99, Predictor, Trial, VALIDATION, Values, WHOLE, incast, judge, part, run_all,
    trials,
};
use crate::{Metrics, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "own gains",
    title: "gains and targets for each predictor",
    work: |work| {
        let mut numbers = Metrics::default();
        for (place, predictor) in CHOSEN.into_iter().enumerate() {
            let share = part(&WHOLE, place, CHOSEN.len());
            let (gains, [p99, finish]) = choose(work, predictor, &share)?;
            let source = incast(settings(gains));
            let last = part(&share, 9, 10);
            numbers.draw(predictor.0, judge(work, &source, predictor, &ALL, last)?);
            let choice = gains.into_iter().chain([p99, finish]).zip(0..);
            let choice = choice.map(|(value, place)| (f64::from(place), value));
            numbers.draw(format!("choice of {}", predictor.0), choice);
        }
        Ok(numbers)
    },
};

/// Values to try, in all combinations.
const K_P: [f64; 5] = [-0.05, -0.1, -0.2, -0.358, -0.6];
const K_I: [f64; 4] = [-0.015, -0.03, -0.06, -0.11];
const K_D: [f64; 5] = [0.04, -0.2, -0.5, -0.8, -1.2];
const TARGETS_US: [f64; 6] = [4.3, 4.4, 4.5, 4.6, 4.7, 4.8];

/// Candidate: K_P, K_I, K_D, target.
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

fn settings([p, i, d, target]: Gains) -> [String; 4] {
    [
        format!("cc.lstm-pid.k-p={p}"),
        format!("cc.lstm-pid.k-i={i}"),
        format!("cc.lstm-pid.k-d={d}"),
        format!("cc.lstm-pid.target={}ns", (target * 1e3).round()),
    ]
}

/// Largest acceptable makespan: 2 % above the minimum, 635 MB with headers of 48 bytes on every 1000 at 100 Gbit/s.
const FINISH_MS: f64 = 1.02 * 53.24;

/// Number of candidates that run in all validation orders at a time.
const BEST: usize = 10;

/// Returns the sort key of a candidate whose makespan is acceptable, its tail, and that makespan.
fn rank(runs: &[Values]) -> Option<[f64; 2]> {
    let of = |quantity: usize| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run[quantity]).collect();
        mean(&values?)
    };
    let finish = of(FINISH).filter(|&finish| finish <= FINISH_MS)?;
    Some([of(P99)?, finish])
}

/// Returns the candidates with an acceptable makespan, the shortest tail first.
fn ranked<'a>(tried: impl Iterator<Item = (Gains, &'a [Values])>) -> Vec<(Gains, [f64; 2])> {
    let found = tried.filter_map(|(gains, runs)| Some((gains, rank(runs)?)));
    let mut found: Vec<_> = found.collect();
    found.order_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]));
    found
}

/// Runs all candidates in one order with one seed. The best acceptable ones then run in all validation orders with
/// all seeds, a few at a time, until one is acceptable there too.
fn choose(
    work: &mut Work<'_>,
    predictor: Predictor,
    share: &Range<f64>,
) -> Result<(Gains, [f64; 2]), StepError> {
    let predictions = predictor.runs();
    let mut try_all =
        |gains: &[Gains], (seeds, orders): (usize, Range<u64>), share: Range<f64>, what: &str| {
            let of = |&gains: &Gains| trials(&incast(settings(gains)), &predictions[..seeds], orders.clone());
            let trials: Vec<Trial> = gains.iter().flat_map(of).collect();
            let name = format!("{}, {what}", predictor.0);
            let runs = run_all(work, &trials, share, &name)?;
            let tried = gains.iter().copied().zip(runs.chunks(runs.len() / gains.len()));
            Ok::<_, StepError>(ranked(tried))
        };
    let at = |index: f64| share.start + (share.end - share.start) * index;
    let first = VALIDATION.start..VALIDATION.start + 1;
    let in_time = try_all(&candidates(), (1, first), at(0.0)..at(0.7), "candidate")?;
    for best in in_time.chunks(BEST) {
        let gains: Vec<Gains> = best.iter().map(|&(gains, _)| gains).collect();
        let seeds = predictions.len();
        let ranked = try_all(&gains, (seeds, VALIDATION), at(0.7)..at(0.9), "one of the best")?;
        if let Some(&found) = ranked.first() {
            return Ok(found);
        }
    }
    Err(StepError::of(format!(
        "no candidate of {} is in time",
        predictor.0
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A candidate that is too slow, on average or because a run does not end, is not selected; the shortest tail
    /// wins among the others.
    #[test]
    fn candidates_are_put_in_order() {
        let run = |p99: f64, finish: Option<f64>| {
            let mut run = [None; 8];
            (run[P99], run[FINISH]) = (Some(p99), finish);
            run
        };
        let tried = [
            [run(6.0, Some(53.5)), run(8.0, Some(53.7))],
            [run(4.0, Some(54.0)), run(4.0, Some(54.7))],
            [run(3.0, Some(53.5)), run(3.0, None)],
            [run(5.0, Some(54.0)), run(5.0, Some(54.5))],
        ];
        let all = candidates();
        assert_eq!(all.len(), 600);
        let found = ranked(all.iter().copied().zip(tried.iter().map(<[Values; 2]>::as_slice)));
        assert_eq!(found, [(all[3], [5.0, 54.25]), (all[0], [7.0, 53.6])]);
    }
}
