//! Check of the best candidate on other seeds, and of the parameters that do not matter.

use paceline_kernel::order::Sort as _;

use super::bench::{Bench, Measured, Ran, is_fixed};
use super::search::{Judge, Searched, floored, mean_of};
use super::{Found, HeldOut, ParameterResult, Plan, ProfilePoint, Standing, Trial, Verdict};
use crate::stats::{CONFIDENCE, Interval, paired};
use crate::sweep::SweepError;
use crate::text::number;

/// Returns the ratio of two lists of runs in a measure, by seed.
fn ratio(written: &[Ran], other: &[Ran], measure: usize, confidence: f64) -> Option<Interval> {
    let of = |runs: &[Ran]| -> Vec<f64> { runs.iter().map(|ran| ran.values[measure]).collect() };
    let (written, other) = (of(written), of(other));
    let other: Vec<f64> = written.iter().zip(&other).map(|(a, b)| floored(*b, *a)).collect();
    paired(&written, &other, confidence)?.ratio
}

/// Compares the best candidate on the held-out seeds and measures the profiles; `None` if the observer stopped it.
pub(super) fn judge(plan: &Plan, bench: &Bench<'_>, searched: Searched) -> Result<Option<Found>, SweepError> {
    let best = searched.trials[searched.best].clone();
    let mut candidates = vec![Vec::new(), best.values.clone()];
    let mut profiles = Vec::new();
    for (index, parameter) in plan.parameters.iter().enumerate() {
        let mut known = vec![best.values[index].clone()];
        for at in parameter.profile() {
            let value = parameter.value(at);
            if !known.contains(&value) {
                known.push(value.clone());
                let mut values = best.values.clone();
                values[index] = value.clone();
                profiles.push((index, parameter.position(&value).unwrap_or(at), value));
                candidates.push(values);
            }
        }
    }
    let Some(measured) = bench.measure(&candidates, &plan.held_out)? else {
        return Ok(None);
    };
    let mut measured = measured.into_iter();
    let (written, of_best) = match (measured.next(), measured.next()) {
        (Some(Measured::Done(written)), Some(Measured::Done(best))) => (written, best),
        (Some(Measured::Refused(why) | Measured::Failed(why)), _)
        | (_, Some(Measured::Refused(why) | Measured::Failed(why))) => {
            return Err(super::plan::refused(format!(
                "a run with a held-out seed fails: {why}"
            )));
        }
        _ => unreachable!("two candidates have two results"),
    };
    let judge = Judge {
        plan,
        written: &written,
    };
    let fixed = is_fixed(&written) && is_fixed(&of_best);
    let profiled: Vec<(usize, ProfilePoint)> = profiles
        .into_iter()
        .zip(measured)
        .map(|((index, at, value), result)| {
            let among = plan.parameters[index].profile().len();
            (index, point(&judge, (at, value), &result, (&of_best, among)))
        })
        .collect();
    let held_out = held_out(&judge, &of_best, fixed);
    let parameters = (plan.parameters.iter().enumerate()).map(|(index, parameter)| {
        let mine = profiled.iter().filter(|(of, _)| *of == index);
        let profile: Vec<ProfilePoint> = mine.map(|(_, point)| point.clone()).collect();
        let measured = profile.iter().filter(|point| point.ratio.is_some()).count();
        // Of a range that other parameters mostly forbid, too little is seen.
        let seen = measured > 0 && 2 * measured >= profile.len();
        let value = &best.values[index];
        ParameterResult {
            name: parameter.name(),
            written: plan.written[index].clone(),
            edge: parameter.edge(value).map(str::to_string),
            flat: seen && !profile.iter().any(|point| point.differs || point.over_limit),
            best: value.clone(),
            profile,
        }
    });
    let parameters: Vec<ParameterResult> = parameters.collect();
    let (agreement, agree) = agreement(&searched.trials);
    let mut found = Found {
        verdict: Verdict::of(held_out.ratio, plan.objective.maximise, fixed),
        flat: !agree,
        agreement,
        search: search_ratio(&searched, &best),
        best: searched.best,
        counts: searched.counts,
        plan: plan.clone(),
        held_out,
        parameters,
        warnings: Vec::new(),
        trials: searched.trials,
    };
    found.warnings = warnings(&found, &best);
    Ok(Some(found))
}

fn search_ratio(searched: &Searched, best: &Trial) -> Option<Interval> {
    let written: Vec<f64> = searched.written.iter().map(|ran| ran.values[0]).collect();
    let best: Vec<f64> = written
        .iter()
        .zip(&best.objective)
        .map(|(a, b)| floored(*b, *a))
        .collect();
    paired(&written, &best, CONFIDENCE)?.ratio
}

fn point(
    judge: &Judge<'_>,
    (at, value): (f64, String),
    measured: &Measured,
    (best, among): (&[Ran], usize),
) -> ProfilePoint {
    let none = |why: Option<&String>| ProfilePoint {
        value: value.clone(),
        at,
        ratio: None,
        differs: false,
        over_limit: false,
        message: why.cloned(),
    };
    let runs = match measured {
        Measured::Done(runs) => runs,
        Measured::Refused(why) | Measured::Failed(why) => return none(Some(why)),
    };
    // Bonferroni: of several points that are all noise, one would differ too often otherwise.
    let fixed = is_fixed(best) && is_fixed(runs);
    let ratio = ratio(best, runs, 0, 1.0 - (1.0 - CONFIDENCE) / among as f64);
    ProfilePoint {
        ratio,
        differs: Verdict::of(ratio, false, fixed) != Verdict::NoDifference,
        over_limit: judge.excess(runs) > 0.0,
        ..none(None)
    }
}

fn held_out(judge: &Judge<'_>, best: &[Ran], fixed: bool) -> HeldOut {
    let written = judge.written;
    let of = |runs: &[Ran]| runs.iter().map(|ran| ran.values[0]).collect();
    let limit = |(i, limit): (usize, &super::Limit)| {
        let (a, b) = (mean_of(written, 2 + i), mean_of(best, 2 + i));
        (a, b, limit.excess(b, a) == 0.0)
    };
    let completed = |runs: &[Ran]| runs.iter().map(|ran| ran.completed).sum();
    HeldOut {
        written: of(written),
        best: of(best),
        ratio: ratio(written, best, 0, CONFIDENCE),
        against: ratio(written, best, 1, CONFIDENCE),
        limits: judge.plan.limits.iter().enumerate().map(limit).collect(),
        completed: (completed(written), completed(best)),
        fixed,
    }
}

/// Returns Kendall's coefficient of concordance of the seeds on the order of candidates, and true if Friedman's test
/// rejects with 95 % that the order is chance. Ranks ignore the size of single values, which tail latencies need.
fn agreement(trials: &[Trial]) -> (Option<f64>, bool) {
    let mut rows: Vec<&Trial> = Vec::new();
    for trial in trials.iter().filter(|trial| !trial.objective.is_empty()) {
        // Equal candidates are one: their ties would look like agreement.
        if !rows.iter().any(|known| known.values == trial.values) {
            rows.push(trial);
        }
    }
    let all_equal = rows.windows(2).all(|pair| pair[0].objective == pair[1].objective);
    let seeds = rows.first().map_or(0, |trial| trial.objective.len());
    if rows.len() < 2 || all_equal {
        return (None, false);
    }
    if seeds < 2 {
        return (None, true);
    }
    let (n, k) = (seeds as f64, rows.len() as f64);
    let (mut sums, mut ties) = (vec![0.0; rows.len()], 0.0);
    for seed in 0..seeds {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.order_by(|&a, &b| rows[a].objective[seed].total_cmp(&rows[b].objective[seed]));
        let mut below = 0;
        for tied in order.chunk_by(|&a, &b| rows[a].objective[seed] == rows[b].objective[seed]) {
            let count = tied.len() as f64;
            let rank = below as f64 + (count + 1.0) / 2.0;
            tied.iter().for_each(|&row| sums[row] += rank);
            ties += count * count * count - count;
            below += tied.len();
        }
    }
    let middle = n * (k + 1.0) / 2.0;
    let squares: f64 = sums.iter().map(|sum| (sum - middle) * (sum - middle)).sum();
    let most = n * n * (k * k * k - k) - n * ties;
    if most <= 0.0 {
        return (None, false);
    }
    let w = 12.0 * squares / most;
    // Wilson and Hilferty: the cube root of chi-squared over its freedom is nearly normal.
    let freedom = k - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    let z = (libm::cbrt(n * w) - (1.0 - spread)) / libm::sqrt(spread);
    /// 95 % quantile of the normal distribution, one-sided.
    const CLEAR: f64 = 1.645;
    (Some(w), z > CLEAR)
}

/// Formats a ratio as a change: `-12.3 % (-15.0 to -9.5 %)`.
pub fn change(ratio: Option<Interval>) -> String {
    let percent = |ratio: f64| {
        let percent = 100.0 * (ratio - 1.0);
        let sign = if percent > 0.0 { "+" } else { "" };
        // Changes that round to zero have no sign.
        match format!("{sign}{percent:.1}").as_str() {
            "-0.0" | "+0.0" => "0.0".to_string(),
            text => text.to_string(),
        }
    };
    match ratio {
        None => "-".to_string(),
        Some(ratio) => match ratio.ends() {
            None => format!("{} %", percent(ratio.mean)),
            Some((lo, hi)) => format!("{} % ({} to {} %)", percent(ratio.mean), percent(lo), percent(hi)),
        },
    }
}

fn warnings(found: &Found, best: &Trial) -> Vec<String> {
    let plan = &found.plan;
    let mut all = Vec::new();
    if matches!(best.standing, Standing::OverLimit(_)) {
        all.push("No candidate keeps the limits; the best is the one with the least excess.".to_string());
    }
    for (limit, (_, mean, kept)) in plan.limits.iter().zip(&found.held_out.limits) {
        if !kept {
            all.push(format!(
                "The best breaks the limit `{}` on the held-out seeds: the mean is {}.",
                limit.text,
                number(Some(*mean))
            ));
        }
    }
    let (written, of_best) = found.held_out.completed;
    if of_best < written {
        all.push(format!(
            "The best completes {of_best} flows of the held-out seeds, the scenario as written {written}: completion \
             times cover completed flows alone."
        ));
    }
    let made = found.counts.trials - found.counts.refused - found.counts.failed;
    if found.flat {
        let why = match found.agreement {
            Some(w) => format!(
                "The seeds do not agree on the order of the {made} candidates that ran (Kendall's W = {w:.2}): the spread of \
                 the objective is within its noise"
            ),
            None => format!("All {made} candidates that ran have the same objective"),
        };
        all.push(format!("The objective is flat. {why}."));
    }
    for parameter in &found.parameters {
        let range = plan.parameters.iter().find(|one| one.name() == parameter.name);
        let range = range.map(super::Parameter::domain_text).unwrap_or_default();
        if parameter.flat {
            let others = parameter
                .profile
                .iter()
                .filter(|point| point.ratio.is_some())
                .count();
            let refused = match parameter.profile.len() - others {
                0 => String::new(),
                refused => format!(", and {refused} cannot run"),
            };
            all.push(format!(
                "`{}` is flat: on the held-out seeds {others} other values of {range} do not differ from {}{refused}.",
                parameter.name, parameter.best
            ));
        } else if let Some(edge) = &parameter.edge {
            all.push(format!(
                "`{}`: the best value {} lies at the {edge} end of {range}: a wider range may have a better one.",
                parameter.name, parameter.best
            ));
        }
    }
    if plan.seeds.len() < 2 && !found.held_out.fixed {
        all.push("The search had one seed: its gain has no interval. Use --repeats.".to_string());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(name: usize, objective: &[f64]) -> Trial {
        Trial {
            generation: 1,
            values: vec![name.to_string()],
            standing: Standing::Feasible,
            score: Some(0.0),
            objective: objective.to_vec(),
            against: None,
            limits: Vec::new(),
        }
    }

    fn table(rows: &[&[f64]]) -> (Option<f64>, bool) {
        let trials: Vec<Trial> = rows.iter().enumerate().map(|(i, row)| trial(i, row)).collect();
        agreement(&trials)
    }

    #[test]
    fn concordance_by_hand() {
        // All seeds agree.
        let (w, clear) = table(&[
            &[1.0, 1.0, 1.0],
            &[2.0, 2.0, 2.0],
            &[3.0, 3.0, 3.0],
            &[4.0, 9.0, 5.0],
        ]);
        assert!((w.unwrap() - 1.0).abs() < 1e-12 && clear);
        // Rank sums 5, 6, 7 of a mean of 6: 12 * 2 / (9 * 24).
        let (w, clear) = table(&[&[1.0, 1.0, 3.0], &[2.0, 3.0, 1.0], &[3.0, 2.0, 2.0]]);
        assert!((w.unwrap() - 12.0 * 2.0 / 216.0).abs() < 1e-12 && !clear);
        // Values without a spread are flat; so is one candidate.
        assert_eq!(table(&[&[2.0, 3.0], &[2.0, 3.0]]), (None, false));
        assert_eq!(table(&[&[2.0, 3.0]]), (None, false));
    }

    /// The test of flatness errs with chance alone in about one of twenty.
    #[test]
    fn chance_is_rarely_agreement() {
        use paceline_kernel::rng::{Purpose, Rng};
        let one = |draw: u64| {
            let mut rng = Rng::stream(1, Purpose::Workload, draw);
            let rows: Vec<Vec<f64>> = (0..40)
                .map(|_| (0..4).map(|_| rng.next_f64()).collect())
                .collect();
            let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            table(&rows).1
        };
        let share = (0..1000).filter(|&draw| one(draw)).count() as f64 / 1000.0;
        assert!((0.02..=0.08).contains(&share), "{share}");
    }

    #[test]
    fn verdicts() {
        let interval = |lo, hi| Some(Interval::new((lo + hi) / 2.0, lo, hi, 8));
        assert_eq!(Verdict::of(interval(0.8, 0.9), false, false), Verdict::Better);
        assert_eq!(Verdict::of(interval(0.8, 0.9), true, false), Verdict::Worse);
        assert_eq!(
            Verdict::of(interval(0.8, 1.1), false, false),
            Verdict::NoDifference
        );
        let exact = Some(Interval::of_one(0.9, 8));
        assert_eq!(Verdict::of(exact, false, true), Verdict::Better);
        assert_eq!(Verdict::of(exact, false, false), Verdict::NoDifference);
        assert_eq!(change(interval(0.8, 0.9)), "-15.0 % (-20.0 to -10.0 %)");
        assert_eq!(change(Some(Interval::of_one(1.0, 8))), "0.0 %");
    }
}
