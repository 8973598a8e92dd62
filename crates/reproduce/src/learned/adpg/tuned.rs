//! Swift with settings that were searched for: one setting for all numbers of flows, as a policy is one for all.

use paceline_lab::run::{self, Control};
use paceline_lab::stats::mean;

use super::super::watched::in_chunks;
use super::super::{Line, column, panel};
use super::{CASES, Case, EVALUATION, Estimate, QUANTITIES, estimate};
use crate::{Done, DoneRun, Metrics, Panel, RunRequest, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "swift for the grid",
    title: "searching settings for Swift",
    work,
};

/// Seeds of the search, and the numbers of flows in it.
const SEARCH: [u64; 2] = [101, 102];
const SEARCHED: [u32; 6] = [2, 16, 1024, 8192, 132, 260];

const _: () = assert!(
    SEARCH[0] > EVALUATION[EVALUATION.len() - 1],
    "no seed that is evaluated"
);

/// What is tried: each with each.
const BASE_DELAYS_US: [f64; 5] = [8.5, 9.0, 10.0, 12.0, 16.0];
const RANGES_US: [f64; 6] = [0.5, 1.0, 2.0, 8.0, 30.0, 100.0];
const INITIAL_WINDOWS: [f64; 3] = [0.01, 0.05, 1.0];

/// A candidate: base delay and range of flow scaling in µs, first window in packets.
type Setting = [f64; 3];

fn candidates() -> Vec<Setting> {
    let mut all = Vec::new();
    for base in BASE_DELAYS_US {
        for range in RANGES_US {
            all.extend(INITIAL_WINDOWS.map(|window| [base, range, window]));
        }
    }
    all
}

fn settings([base, range, window]: Setting) -> Vec<String> {
    vec![
        format!("cc.swift.base-delay={base}us"),
        "cc.swift.hop-delay=0us".to_string(),
        format!("cc.swift.fs-range={range}us"),
        "cc.swift.min-window=0.001".to_string(),
        format!("cc.swift.initial-window={window}"),
    ]
}

/// What a run came to, in the order of [`QUANTITIES`].
type Values = [Option<f64>; QUANTITIES.len()];

fn run(need: &RunRequest) -> Result<Values, StepError> {
    let input = need.load().map_err(StepError::of)?;
    let finished = run::execute(&input, &mut |_| Control::Continue).map_err(StepError::of)?;
    let done = Done {
        runs: vec![DoneRun::of(need.clone(), input, finished)],
        ..Done::default()
    };
    Ok(QUANTITIES.map(|(_, of)| of(&done, need)))
}

fn needs<'a>(cases: impl Iterator<Item = &'a Case>, seeds: &[u64], setting: Setting) -> Vec<RunRequest> {
    let set = settings(setting);
    let of = |case: &Case| -> Vec<RunRequest> {
        let one = |&seed: &u64| case.need(seed, "swift", "-tried", &set);
        seeds.iter().map(one).collect()
    };
    cases.flat_map(of).collect()
}

fn searched() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| SEARCHED.contains(&case.flows))
}

/// RL-CC's base round trip, in µs.
const BASE_RTT_US: f64 = 8.192;

/// What a run is worth: DECC's reward (`paceline explain rewards`) of the whole of it, without the course of rates.
fn reward([delivered, jain, rtt, _, loss, _]: Values) -> Option<f64> {
    let (latency, lost) = ((rtt? / BASE_RTT_US - 1.1).max(0.0), loss? / 100.0);
    let unfair = (1.0 / jain? - 1.0).max(0.0).sqrt();
    Some(0.1 * delivered? / 100.0 - 0.02 * latency - lost - 0.02 * unfair)
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let candidates = candidates();
    let trials: Vec<RunRequest> = candidates
        .iter()
        .flat_map(|&setting| needs(searched(), &SEARCH, setting))
        .collect();
    let seen = in_chunks(&trials, work, (0.0..0.7, "candidate, run"), &run)?;
    let worth = |runs: &[Values]| mean(&runs.iter().map(|&run| reward(run)).collect::<Option<Vec<_>>>()?);
    let all: Vec<(f64, f64)> = seen
        .chunks(trials.len() / candidates.len())
        .zip(0..)
        .filter_map(|(runs, number)| Some((f64::from(number), worth(runs)?)))
        .collect();
    let best = all.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let (number, value) = best.ok_or_else(|| StepError::of("no setting came to an end"))?;
    let setting = candidates[number as usize];
    let evaluated = needs(CASES.iter(), &EVALUATION, setting);
    let seen = in_chunks(&evaluated, work, (0.7..1.0, "run"), &run)?;
    let mut numbers = Metrics::default();
    let [base, range, window] = setting;
    numbers.values = [
        ("base delay", base),
        ("range", range),
        ("first window", window),
        ("worth", value),
    ]
    .into();
    numbers.series.insert("search", all);
    for (place, ((name, ..), _)) in QUANTITIES.iter().enumerate() {
        let points = seen.iter().zip(0..);
        let points = points.filter_map(|(run, number)| Some((f64::from(number), run[place]?)));
        numbers.series.insert(name, points.collect());
    }
    Ok(numbers)
}

/// A quantity of a case.
pub(super) fn estimated(done: &Done, case: &Case, quantity: &str) -> Estimate {
    let number = CASES.iter().position(|one| one.flows == case.flows)? * EVALUATION.len();
    let of_case = number..number + EVALUATION.len();
    let points = done.step(STEP.name)?.series.get(quantity)?.iter();
    let values: Vec<f64> = points
        .filter(|(number, _)| of_case.contains(&(*number as usize)))
        .map(|&(_, value)| value)
        .collect();
    (values.len() == EVALUATION.len()).then(|| estimate(&values))?
}

/// The search: what each setting was worth, and which was taken.
pub(super) fn panel_of_search(done: &Done) -> Panel {
    let numbers = done.step(STEP.name);
    let value = |name: &str| numbers?.values.get(name).copied();
    let quantity = |name, unit, decimals| (name, unit, decimals);
    let mut lines = vec![
        Line::shown(
            "taken: base delay",
            quantity("base delay", "µs", 0),
            [value("base delay")],
        ),
        Line::shown(
            "taken: range of flow scaling",
            quantity("range", "µs", 0),
            [value("range")],
        ),
        Line::shown(
            "taken: first window",
            quantity("first window", "packets", 2),
            [value("first window")],
        ),
        Line::shown("taken: reward", quantity("reward", "", 4), [value("worth")]),
    ];
    for ([base, range, window], number) in candidates().into_iter().zip(0..) {
        let tried = numbers.and_then(|numbers| numbers.series.get("search"));
        let worth = tried.and_then(|all| all.iter().find(|(one, _)| *one == f64::from(number)));
        let label = format!("{base} µs, up to {range} µs more, from {window} packets");
        lines.push(Line::shown(
            label,
            ("mean reward", "", 4),
            [worth.map(|(_, worth)| *worth)],
        ));
    }
    panel(
        "The search for Swift's setting: mean reward of two seeds of six networks",
        "setting",
        vec![column("swift", "swift")],
        &lines,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_by_hand() {
        // 0.1 * 0.9 - 0.02 * (16.384 / 8.192 - 1.1) - 0.01 - 0.02 * sqrt(1 / 0.8 - 1).
        let value = reward([Some(90.0), Some(0.8), Some(16.384), None, Some(1.0), None]).unwrap();
        assert!((value - (0.09 - 0.018 - 0.01 - 0.01)).abs() < 1e-12, "{value}");
        assert_eq!(reward([Some(90.0), None, Some(9.0), None, Some(0.0), None]), None);
        assert_eq!(candidates().len(), 90);
        assert_eq!(searched().count(), SEARCHED.len());
    }
}
