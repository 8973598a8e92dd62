//! The search itself: generations of candidates, ranked by limits and score.

use std::cmp::Ordering;

use paceline_kernel::order::Sort as _;
use paceline_kernel::rng::{Purpose, Rng};

use super::bench::{Bench, Measured, Ran};
use super::plan::{candidates, refused};
use super::{Counts, Plan, Standing, Trial};
use crate::cma::Cma;
use crate::stats::mean;
use crate::sweep::SweepError;

/// First step of the search, as a fraction of each range.
const SIGMA: f64 = 0.3;
/// Extent of a generation in each range below which the search has converged.
const CONVERGED: f64 = 0.005;
/// Ratio to the scenario as written at which a value counts as zero, since zero has no logarithm.
const FLOOR: f64 = 1e-6;
/// Share of the flows as written that a candidate may leave unfinished: completion times cover finished flows alone, so
/// more would look like a gain.
const UNFINISHED: f64 = 1e-3;

/// Candidates and results of a search.
pub(super) struct Searched {
    /// Scenario as written, and all candidates.
    pub(super) trials: Vec<Trial>,
    pub(super) best: usize,
    pub(super) counts: Counts,
    /// Runs of the scenario as written.
    pub(super) written: Vec<Ran>,
}

/// Searches until the budget is used up or the candidates do not differ any more; `None` if the observer stopped it.
pub(super) fn search(plan: &Plan, bench: &Bench<'_>) -> Result<Option<Searched>, SweepError> {
    let Some(first) = bench.measure(&[Vec::new()], &plan.seeds)? else {
        return Ok(None);
    };
    let written = match first.into_iter().next() {
        Some(Measured::Done(written)) => written,
        Some(Measured::Refused(why) | Measured::Failed(why)) => {
            return Err(refused(format!("the scenario as written does not run: {why}")));
        }
        None => unreachable!("one candidate has one result"),
    };
    let judge = Judge {
        plan,
        written: &written,
    };
    judge.check()?;
    let values = plan.written.iter().map(|value| value.clone().unwrap_or_default());
    let mut trials = vec![judge.trial(0, values.collect(), Measured::Done(written.clone()))];
    let start: Vec<f64> = (plan.parameters.iter().zip(&plan.written))
        .map(|(parameter, value)| value.as_ref().and_then(|value| parameter.position(value)))
        .map(|at| at.unwrap_or(0.5))
        .collect();
    let mut search = Cma::new(start, SIGMA);
    let count = candidates(plan.parameters.len());
    let mut counts = Counts::default();
    // The last trial is the mean of the search, which averages over the noise of single candidates.
    while trials.len() + count <= plan.trials && !counts.converged {
        counts.generations += 1;
        let mut rng = Rng::stream(
            plan.seeds[0],
            Purpose::Training,
            7 << 40 | counts.generations as u64,
        );
        let mut points = search.draw(count, &mut rng);
        points
            .iter_mut()
            .flatten()
            .for_each(|at| *at = at.clamp(0.0, 1.0));
        let values: Vec<Vec<String>> = points.iter().map(|point| decoded(plan, point)).collect();
        let Some(measured) = bench.measure(&values, &plan.seeds)? else {
            return Ok(None);
        };
        counts.converged = extent(&points) < CONVERGED;
        let from = trials.len();
        let new = values.into_iter().zip(measured);
        trials.extend(new.map(|(values, measured)| judge.trial(counts.generations, values, measured)));
        search.learn(&points, &ranks(&trials[from..]));
        bench
            .watch
            .trials(trials.len() - 1, plan.trials, best_ratio(plan, &trials));
    }
    let middle = decoded(plan, search.mean());
    let Some(measured) = bench.measure(std::slice::from_ref(&middle), &plan.seeds)? else {
        return Ok(None);
    };
    let last = measured.into_iter().next().expect("one candidate has one result");
    trials.push(judge.trial(counts.generations + 1, middle, last));
    bench
        .watch
        .trials(trials.len() - 1, plan.trials, best_ratio(plan, &trials));
    let best = best(&trials);
    for trial in &trials[1..] {
        counts.trials += 1;
        match trial.standing {
            Standing::Feasible => {}
            Standing::OverLimit(_) => counts.over_limit += 1,
            Standing::Refused(_) => counts.refused += 1,
            Standing::Failed(_) => counts.failed += 1,
        }
    }
    Ok(Some(Searched {
        best,
        counts,
        written,
        trials,
    }))
}

fn decoded(plan: &Plan, point: &[f64]) -> Vec<String> {
    let pairs = plan.parameters.iter().zip(point);
    pairs.map(|(parameter, &at)| parameter.value(at)).collect()
}

/// Returns the largest extent of points along any axis.
fn extent(points: &[Vec<f64>]) -> f64 {
    let along = |axis: usize| {
        let all = points.iter().map(|point| point[axis]);
        all.clone().fold(f64::NEG_INFINITY, f64::max) - all.fold(f64::INFINITY, f64::min)
    };
    (0..points[0].len()).map(along).fold(0.0, f64::max)
}

/// Compares candidates, best first: those within the limits by score, those over one by excess, the others last.
fn compare(a: &Trial, b: &Trial) -> Ordering {
    let key = |trial: &Trial| match trial.standing {
        Standing::Feasible => (0, trial.score.unwrap_or(f64::INFINITY)),
        Standing::OverLimit(excess) => (1, excess),
        Standing::Refused(_) | Standing::Failed(_) => (2, 0.0),
    };
    let ((a, of_a), (b, of_b)) = (key(a), key(b));
    a.cmp(&b).then(of_a.total_cmp(&of_b))
}

/// Returns each candidate's rank, the only thing that the search learns from.
fn ranks(trials: &[Trial]) -> Vec<f64> {
    let rank = |trial: &Trial| {
        trials
            .iter()
            .filter(|other| compare(other, trial) == Ordering::Less)
            .count() as f64
    };
    trials.iter().map(rank).collect()
}

/// Returns the index of the best candidate; the earliest of equal ones, so the scenario as written wins ties.
fn best(trials: &[Trial]) -> usize {
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.order_by(|&a, &b| compare(&trials[a], &trials[b]));
    order[0]
}

fn best_ratio(plan: &Plan, trials: &[Trial]) -> Option<f64> {
    let trial = &trials[best(trials)];
    trial
        .ratio(plan.objective.maximise)
        .filter(|_| trial.standing == Standing::Feasible)
}

/// Judge of candidates against the scenario as written.
pub(super) struct Judge<'a> {
    pub(super) plan: &'a Plan,
    pub(super) written: &'a [Ran],
}

impl Judge<'_> {
    /// Refuses an objective of which no ratio can be formed.
    fn check(&self) -> Result<(), SweepError> {
        let zero = self.written.iter().position(|ran| ran.values[0] <= 0.0);
        zero.map_or(Ok(()), |at| {
            Err(refused(format!(
                "--objective: `{}` is {} in the scenario as written with seed {}, so there is no ratio to it: use a measure \
                 above zero, and this one as a --limit",
                self.plan.objective.measure, self.written[at].values[0], self.plan.seeds[at]
            )))
        })
    }

    /// Returns the mean of a measure over the seeds of the scenario as written.
    fn mean_written(&self, measure: usize) -> f64 {
        mean_of(self.written, measure)
    }

    /// Returns the sum of the excesses over all limits, and over the flows that may stay unfinished.
    pub(super) fn excess(&self, runs: &[Ran]) -> f64 {
        let limits = self.plan.limits.iter().enumerate();
        let over: f64 = limits
            .map(|(i, limit)| limit.excess(mean_of(runs, 2 + i), self.mean_written(2 + i)))
            .sum();
        let completed = |runs: &[Ran]| runs.iter().map(|ran| ran.completed).sum::<u64>() as f64;
        let missing = 1.0 - completed(runs) / completed(self.written).max(1.0);
        over + (missing - UNFINISHED).max(0.0)
    }

    /// Returns the score: the mean logarithm of the ratio to the scenario as written, negative if it is better.
    fn score(&self, runs: &[Ran]) -> f64 {
        let pairs = runs.iter().zip(self.written);
        let sum: f64 = pairs
            .map(|(ran, written)| libm::log(floored(ran.values[0], written.values[0]) / written.values[0]))
            .sum();
        let score = sum / self.written.len() as f64;
        if self.plan.objective.maximise {
            -score
        } else {
            score
        }
    }

    fn trial(&self, generation: usize, values: Vec<String>, measured: Measured) -> Trial {
        let none = |standing| Trial {
            generation,
            values: values.clone(),
            standing,
            score: None,
            objective: Vec::new(),
            against: None,
            limits: Vec::new(),
        };
        let runs = match measured {
            Measured::Done(runs) => runs,
            Measured::Refused(why) => return none(Standing::Refused(why)),
            Measured::Failed(why) => return none(Standing::Failed(why)),
        };
        let excess = self.excess(&runs);
        Trial {
            score: Some(self.score(&runs)),
            objective: runs.iter().map(|ran| ran.values[0]).collect(),
            against: Some(mean_of(&runs, 1)),
            limits: (0..self.plan.limits.len())
                .map(|i| mean_of(&runs, 2 + i))
                .collect(),
            ..none(if excess > 0.0 {
                Standing::OverLimit(excess)
            } else {
                Standing::Feasible
            })
        }
    }
}

/// Returns a value, or what counts as zero next to `written`.
pub(super) fn floored(value: f64, written: f64) -> f64 {
    value.max(FLOOR * written)
}

/// Returns the mean of a measure over runs.
pub(super) fn mean_of(runs: &[Ran], measure: usize) -> f64 {
    let values: Vec<f64> = runs.iter().map(|ran| ran.values[measure]).collect();
    mean(&values).unwrap_or(0.0)
}
