//! Gains and target that each predictor gets for itself.

use crate::{Done, Numbers, Panel, Step, StepError, Work};
use paceline_lab::stats::mean;

use super::super::watched::{Seen, in_chunks};
use super::{
    FINISH, From, Line, ORDERS, P99, QUANTITIES, TEST, Trial, VALIDATION, changes, columns, label, panel,
    points, value, values,
};

pub(super) const STEP: Step = Step {
    name: "own gains",
    title: "gains and targets for each predictor",
    work,
};

/// A column: what it is called, in whose colour, the series of its choice, and its kind of model if it has one.
struct Entry {
    name: &'static str,
    scheme: &'static str,
    choice: &'static str,
    from: From,
}

const fn entry(name: &'static str, scheme: &'static str, choice: &'static str, from: From) -> Entry {
    Entry {
        name,
        scheme,
        choice,
        from,
    }
}

/// The first is what the others are compared with.
const ENTRIES: [Entry; 3] = [
    entry("none", "none", "choice of none", From::None),
    entry("LSTM", "lstm-pid", "choice of LSTM", From::Model(0, Some(0))),
    entry("AR(3)", "timely", "choice of AR(3)", From::Model(3, Some(0))),
];

const LSTM: usize = 1;
const AR3: usize = 2;

/// What is tried: each with each, the thesis's first, and about those that are trained here.
const K_P: [f64; 2] = [-0.358, -0.2];
const K_I: [f64; 2] = [-0.06, -0.11];
const K_D: [f64; 3] = [0.04, -0.2, -0.5];
const TARGETS_US: [f64; 2] = [4.7, 5.0];

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

/// Candidates that run in all orders of validation.
const BEST: usize = 4;

/// A last completion that is not too late: the thesis's.
const FINISH_MS: f64 = 53.756;

/// What candidates are put in order by: whether they end in time, then the tail; or how late they end. A run that
/// does not end is behind all.
fn rank(runs: &[[Option<f64>; QUANTITIES.len()]]) -> (bool, f64) {
    let of = |quantity: usize| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run[quantity]).collect();
        values.and_then(|values| mean(&values))
    };
    match (of(FINISH), of(P99)) {
        (Some(finish), Some(p99)) if finish <= FINISH_MS => (false, p99),
        (Some(finish), _) => (true, finish),
        (None, _) => (true, f64::INFINITY),
    }
}

fn work(work: &mut Work<'_>) -> Result<Numbers, StepError> {
    let done = work.done;
    let candidates = candidates();
    let tried = |all: &[(usize, usize, u64)], work: &mut Work<'_>, share| -> Result<Vec<Seen>, StepError> {
        in_chunks(all, work, (share, "candidate"), &|&(entry, candidate, order)| {
            Trial::incast(ENTRIES[entry].from, order, &settings(candidates[candidate])).run(done)
        })
    };
    let first: Vec<_> = (0..ENTRIES.len())
        .flat_map(|entry| (0..candidates.len()).map(move |candidate| (entry, candidate, VALIDATION.start)))
        .collect();
    let seen = tried(&first, work, 0.0..0.45)?;
    let mut results = vec![vec![Vec::new(); candidates.len()]; ENTRIES.len()];
    let mut keep = |all: &[(usize, usize, u64)], seen: Vec<Seen>| {
        for (&(entry, candidate, _), seen) in all.iter().zip(seen) {
            results[entry][candidate].push(values(&seen));
        }
        results.clone()
    };
    let results = keep(&first, seen);
    let best = |of: &[Vec<_>], count: usize| -> Vec<usize> {
        let mut order: Vec<usize> = (0..of.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (rank(&of[a]), rank(&of[b]));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        order.truncate(count);
        order
    };
    let shortlist: Vec<Vec<usize>> = results.iter().map(|of| best(of, BEST)).collect();
    let second: Vec<_> = shortlist
        .iter()
        .enumerate()
        .flat_map(|(entry, list)| {
            let orders = VALIDATION.skip(1);
            orders.flat_map(move |order| list.iter().map(move |&candidate| (entry, candidate, order)))
        })
        .collect();
    let seen = tried(&second, work, 0.45..0.7)?;
    let results = keep(&second, seen);
    let mut numbers = Numbers::default();
    let mut chosen = Vec::new();
    for ((entry, list), results) in ENTRIES.iter().zip(&shortlist).zip(&results) {
        let of: Vec<_> = list.iter().map(|&candidate| results[candidate].clone()).collect();
        let gains = candidates[list[best(&of, 1)[0]]];
        let points = gains
            .iter()
            .enumerate()
            .map(|(place, &gain)| (place as f64, gain));
        numbers.series.insert(entry.choice, points.collect());
        chosen.push(gains);
    }
    judge(work, &chosen, &mut numbers)?;
    Ok(numbers)
}

/// Runs what was chosen in the orders that judge.
fn judge(work: &mut Work<'_>, chosen: &[Gains], numbers: &mut Numbers) -> Result<(), StepError> {
    let done = work.done;
    let trials: Vec<Trial> = ENTRIES
        .iter()
        .zip(chosen)
        .flat_map(|(entry, &gains)| TEST.map(move |order| Trial::incast(entry.from, order, &settings(gains))))
        .collect();
    let seen = in_chunks(&trials, work, (0.7..1.0, "run"), &|trial| trial.run(done))?;
    for (entry, runs) in ENTRIES.iter().zip(seen.chunks(ORDERS)) {
        numbers.series.insert(entry.name, points(runs));
    }
    Ok(())
}

fn in_orders(done: &Done, place: usize, quantity: usize) -> Option<Vec<f64>> {
    (0..ORDERS)
        .map(|order| value(done, STEP.name, ENTRIES[place].name, order, quantity))
        .collect()
}

pub(super) fn panels(done: &Done) -> Vec<Panel> {
    let names = ENTRIES.map(|entry| (entry.name, entry.scheme));
    let gain = |place: usize, what: &'static str, unit: &'static str| {
        let ours = ENTRIES.iter().map(|entry| {
            let series = done.step(STEP.name)?.series.get(entry.choice)?;
            Some(series.get(place)?.1)
        });
        Line::shown(label((what, unit, 3)), (what, unit, 3), ours)
    };
    let mut lines = vec![
        gain(0, "K_P", ""),
        gain(1, "K_I", ""),
        gain(2, "K_D", ""),
        gain(3, "target", "µs"),
    ];
    lines.extend(QUANTITIES.iter().enumerate().map(|(k, &quantity)| {
        let ours = (0..ENTRIES.len()).map(|place| mean(&in_orders(done, place, k)?));
        Line::shown(label(quantity), quantity, ours)
    }));
    let against_none = [P99, FINISH].into_iter().flat_map(|k| {
        let metric = QUANTITIES[k].0;
        changes(metric, metric, ENTRIES.len() - 1, &|column| {
            Some((in_orders(done, column + 1, k)?, in_orders(done, 0, k)?))
        })
    });
    let against_ar3 = [P99, FINISH].into_iter().flat_map(|k| {
        let metric = QUANTITIES[k].0;
        changes(metric, metric, 1, &|_| {
            Some((in_orders(done, LSTM, k)?, in_orders(done, AR3, k)?))
        })
    });
    vec![
        panel(
            "Own gains and target: means over orders",
            "",
            columns(&names),
            &lines,
        ),
        panel(
            "Own gains and target: change against no prediction",
            "",
            columns(&names[1..]),
            &against_none.collect::<Vec<_>>(),
        ),
        panel(
            "Own gains and target: the LSTM against AR(3)",
            "",
            columns(&[names[LSTM]]),
            &against_ar3.collect::<Vec<_>>(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who ends in time is before who does not, then the shorter tail; among the late the earlier.
    #[test]
    fn candidates_are_put_in_order() {
        let run = |p99: f64, finish: Option<f64>| {
            let mut run = [None; QUANTITIES.len()];
            (run[P99], run[FINISH]) = (Some(p99), finish);
            run
        };
        let in_time = rank(&[run(6.0, Some(53.5)), run(8.0, Some(53.7))]);
        let shorter = rank(&[run(5.0, Some(53.75))]);
        let late = rank(&[run(4.0, Some(53.8))]);
        let later = rank(&[run(3.0, Some(55.0))]);
        let never = rank(&[run(3.0, None)]);
        assert_eq!(in_time, (false, 7.0));
        assert!(shorter < in_time && in_time < late && late < later && later < never);
        assert_eq!(candidates().len(), 24);
    }
}
