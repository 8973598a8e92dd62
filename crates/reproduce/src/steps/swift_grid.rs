//! Step for Swift with searched settings: one setting for all numbers of flows in ADPG's grid, just as there is one
//! policy for all.

use paceline_lab::run::{self, Control};
use paceline_lab::stats::mean;

use super::watched::in_chunks;
use crate::need::{DoneRun, Input, RunRequest};
use crate::{Metrics, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "swift for the grid",
    title: "searching settings for Swift",
    work,
};

/// Experiment with the networks of the grid.
const GRID: &str = "adpg-grid";

/// Seeds of the search, outside of those used for training, and the variants that it runs.
const SEARCH: [u64; 2] = [
    paceline_learn::adpg::SEEDS + 101,
    paceline_learn::adpg::SEEDS + 102,
];
const SEARCHED: [&str; 6] = ["2", "16", "1024", "8192", "132", "260"];

/// Values to try, in all combinations.
const BASE_DELAYS_US: [f64; 5] = [8.5, 9.0, 10.0, 12.0, 16.0];
const RANGES_US: [f64; 6] = [0.5, 1.0, 2.0, 8.0, 30.0, 100.0];
const INITIAL_WINDOWS: [f64; 3] = [0.01, 0.05, 1.0];

/// Measures of a run, with their names in the step.
const QUANTITIES: [(&str, &str); 6] = [
    ("utilisation", "delivered, of link capacity"),
    ("jain", "Jain's index of delivered bytes"),
    ("rtt", "mean RTT"),
    ("rtt_p99", "p99 RTT"),
    ("loss", "packets dropped"),
    ("short", "mean completion of short flows"),
];

/// Candidate: base delay and range of flow scaling in µs, initial window in packets.
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

fn settings([base, range, window]: Setting) -> [String; 5] {
    [
        format!("cc.swift.base-delay={base}us"),
        "cc.swift.hop-delay=0us".to_string(),
        format!("cc.swift.fs-range={range}us"),
        "cc.swift.min-window=0.001".to_string(),
        format!("cc.swift.initial-window={window}"),
    ]
}

/// Returns the runs of the grid under Swift: network by network, seed by seed.
fn grid() -> Vec<RunRequest> {
    let needs = crate::find(GRID).map_or(&[][..], crate::Reproduction::needs);
    let of_swift = needs.iter().filter(|need| need.scheme == "swift");
    of_swift.cloned().collect()
}

/// Returns the first run of each network in the search.
fn searched() -> Vec<RunRequest> {
    let mut all = grid();
    all.retain(|need| SEARCHED.contains(&need.variant.as_str()));
    all.dedup_by(|a, b| a.variant == b.variant);
    all
}

/// Returns a run with another setting of Swift.
fn with(need: &RunRequest, setting: Setting) -> RunRequest {
    let mut need = need.clone();
    need.settings.retain(|set| !set.starts_with("cc.swift."));
    need.settings.extend(settings(setting));
    need
}

/// Returns a run with another seed.
fn seeded(need: &RunRequest, seed: u64) -> RunRequest {
    let Input::Shipped(scenario, _) = need.input else {
        return need.clone();
    };
    RunRequest {
        input: Input::Shipped(scenario, seed),
        ..need.clone()
    }
}

/// Values of a run, in the order of [`QUANTITIES`].
type Values = [Option<f64>; QUANTITIES.len()];

fn run(need: &RunRequest) -> Result<Values, StepError> {
    let input = need.load().map_err(StepError::of)?;
    let finished = run::execute(&input, &mut |_| Control::Continue).map_err(StepError::of)?;
    let numbers = DoneRun::of(need.clone(), input, finished)
        .numbers
        .unwrap_or_default();
    Ok(QUANTITIES.map(|(name, _)| numbers.values.get(name).copied()))
}

/// Base round-trip time of RL-CC, in µs.
const BASE_RTT_US: f64 = 8.192;

/// Returns DECC's reward (`paceline explain rewards`) of a run as a whole, without the rates over time.
fn reward([delivered, jain, rtt, _, loss, _]: Values) -> Option<f64> {
    let (latency, lost) = ((rtt? / BASE_RTT_US - 1.1).max(0.0), loss? / 100.0);
    let unfair = (1.0 / jain? - 1.0).max(0.0).sqrt();
    Some(0.1 * delivered? / 100.0 - 0.02 * latency - lost - 0.02 * unfair)
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let (candidates, networks) = (candidates(), searched());
    let of = |setting: &Setting| -> Vec<RunRequest> {
        let of_network = |need: &RunRequest| SEARCH.map(|seed| with(&seeded(need, seed), *setting));
        networks.iter().flat_map(of_network).collect()
    };
    let trials: Vec<RunRequest> = candidates.iter().flat_map(of).collect();
    let seen = in_chunks(&trials, work, 0.0..0.7, "candidate, run", &run)?;
    let worth = |runs: &[Values]| mean(&runs.iter().map(|&run| reward(run)).collect::<Option<Vec<_>>>()?);
    let all: Vec<(f64, f64)> = seen
        .chunks(trials.len() / candidates.len())
        .zip(0..)
        .filter_map(|(runs, number)| Some((f64::from(number), worth(runs)?)))
        .collect();
    let best = all.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let (number, value) = best.ok_or_else(|| StepError::of("no setting came to an end"))?;
    let setting = candidates[number as usize];
    let evaluated: Vec<RunRequest> = grid().iter().map(|need| with(need, setting)).collect();
    let seen = in_chunks(&evaluated, work, 0.7..1.0, "run", &run)?;
    let mut numbers = Metrics::default();
    let [base, range, window] = setting;
    numbers.extend([
        ("base delay", base),
        ("range", range),
        ("first window", window),
        ("worth", value),
    ]);
    numbers.draw("search", all);
    for (index, (_, name)) in QUANTITIES.iter().enumerate() {
        let points = seen.iter().zip(0..);
        let points = points.filter_map(|(run, number)| Some((f64::from(number), run[index]?)));
        numbers.draw(*name, points);
    }
    Ok(numbers)
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
        assert_eq!((searched().len(), grid().len()), (SEARCHED.len(), 100));
    }
}
