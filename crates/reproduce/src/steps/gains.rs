//! Training of the controller: figure 13, and what other gains do.

use std::ops::Range;

use paceline_congestion::lstm_pid::Gains;
use paceline_lab::results::Summary;
use paceline_lab::run::Control;
use paceline_learn::Checkpoints;
use paceline_learn::pidnn::{Options, THESIS, TrainedGains, train};
use paceline_report::decimate::{POINTS_MAX, extremes};
use paceline_scenario::Fidelity;

use super::watched::run_all;
use crate::need::Input;
use crate::reference::INCAST_20;
use crate::{Metrics, RunRequest, Step, StepError, Work};

pub(super) const TRAIN: Step = Step {
    name: "train gains",
    title: "training the controller's gains",
    work: |work| {
        let options = Options {
            beyond: BEYOND,
            ..Options::default()
        };
        let found = learn(work, &options, 0.0..1.0)?;
        Ok(numbers(&found))
    },
};

/// Names of the gains' series and values.
const NAMES: [&str; 3] = ["K_P", "K_I", "K_D"];
const UPDATES: &str = "updates";
const LATER: [&str; 3] = ["later K_P", "later K_I", "later K_D"];

/// Runs after the gains came to rest.
const BEYOND: usize = 10;
const CHANGES: [&str; 3] = ["change of K_P", "change of K_I", "change of K_D"];

fn each(gains: Gains) -> [f64; 3] {
    [gains.p, gains.i, gains.d]
}

/// Trains; `share` is the part of the step that this is.
fn learn(work: &mut Work<'_>, options: &Options, share: Range<f64>) -> Result<TrainedGains, StepError> {
    let mut stopped = Ok(());
    let found = train(options, &Checkpoints::none(), &mut |episode, now, gains| {
        let done = now.now.as_secs_f64().clamp(0.0, 1.0);
        let part = (episode as f64 + done) / (options.episodes + options.beyond) as f64;
        let words = format!(
            "run {}, gains {:.3} {:.3} {:.3}",
            episode + 1,
            gains.p,
            gains.i,
            gains.d
        );
        stopped = work.inform(share.start + (share.end - share.start) * part.min(1.0), &words);
        match stopped {
            Ok(()) => Control::Continue,
            Err(_) => Control::Stop,
        }
    });
    stopped?;
    found.map_err(StepError::of)
}

fn numbers(found: &TrainedGains) -> Metrics {
    let mut numbers = Metrics::default();
    let last = found.history.last().map_or(0, |point| point.update);
    numbers.values.insert(UPDATES, last as f64);
    for k in 0..NAMES.len() {
        let course: Vec<(f64, f64)> = found
            .history
            .iter()
            .map(|point| (point.update as f64, each(point.gains)[k]))
            .collect();
        let quarter = 0.75 * last as f64;
        let late = course.iter().filter(|&&(update, _)| update >= quarter);
        let of_last = each(found.gains)[k];
        let change = late
            .map(|&(_, gain)| (gain / of_last - 1.0).abs())
            .fold(0.0, f64::max);
        numbers.values.insert(CHANGES[k], 100.0 * change);
        numbers.values.insert(NAMES[k], of_last);
        numbers.values.insert(LATER[k], each(found.later)[k]);
        numbers.series.insert(NAMES[k], extremes(&course, POINTS_MAX));
    }
    numbers
}

/// Gains that are compared: what tables call them, and the series in which their runs are.
const SETS: [(&str, &str); 7] = [
    ("the thesis's", "thesis"),
    ("K_D = 0", "zero"),
    ("K_D = -0.04", "little"),
    ("K_D = -0.2", "some"),
    ("K_D = -0.4", "much"),
    ("trained as in figure 13", "trained"),
    ("trained from K_D = 0", "retrained"),
];

const PREDICTORS: [(&str, &str); 2] = [("without prediction", "pidnn"), ("with the LSTM", "lstm-pid")];

/// Name, unit, digits, and where a summary has it.
type Quantity = ((&'static str, &'static str, usize), fn(&Summary) -> Option<f64>);

const QUANTITIES: [Quantity; 6] = [
    (("mean RTT, one sample per round trip", "µs", 3), |s| {
        s.rtt_per_round_trip_us.mean
    }),
    (("p99 RTT, one sample per round trip", "µs", 3), |s| {
        s.rtt_per_round_trip_us.p99
    }),
    (("max RTT, one sample per round trip", "µs", 2), |s| {
        s.rtt_per_round_trip_us.max
    }),
    (("mean rate", "Gbit/s", 2), |s| s.rate_while_active_gbps),
    (("Jain's index of goodput", "", 4), |s| s.jain),
    (("last completion", "ms", 2), |s| s.makespan_us.map(|us| us / 1e3)),
];

pub(super) const RETRAIN: Step = Step {
    name: "retrain gains",
    title: "training gains with a free derivative",
    work: retrain,
};

/// Where a predictor's quantity is in the series of a set of gains.
fn place(predictor: usize, quantity: usize) -> f64 {
    (predictor * QUANTITIES.len() + quantity) as f64
}

fn retrain(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let flat = |d| Gains { d, ..THESIS };
    let options = Options {
        start: flat(0.0),
        ..Options::default()
    };
    let found = learn(work, &options, 0.0..0.5)?;
    let first = work.done.step(TRAIN.name).and_then(|numbers| {
        let value = |name: &str| numbers.values.get(name).copied();
        Some(Gains {
            p: value(NAMES[0])?,
            i: value(NAMES[1])?,
            d: value(NAMES[2])?,
        })
    });
    let first = first.ok_or_else(|| StepError::of("the gains of figure 13 are missing"))?;
    let sets = [
        flat(0.04),
        flat(0.0),
        flat(-0.04),
        flat(-0.2),
        flat(-0.4),
        first,
        found.gains,
    ];
    let needs: Vec<RunRequest> = sets
        .iter()
        .flat_map(|gains| PREDICTORS.map(|(_, scheme)| with(gains, scheme)))
        .collect();
    let seen = run_all(&needs, work)?;
    let mut numbers = numbers(&found);
    for ((_, name), runs) in SETS.iter().zip(seen.chunks(PREDICTORS.len())) {
        let points = runs.iter().enumerate().flat_map(|(predictor, run)| {
            let values = QUANTITIES.iter().enumerate();
            values
                .filter_map(move |(quantity, (_, of))| Some((place(predictor, quantity), of(&run.summary)?)))
        });
        numbers.series.insert(name, points.collect());
    }
    Ok(numbers)
}

fn with(gains: &Gains, scheme: &'static str) -> RunRequest {
    let setting = |(key, value): (&str, f64)| format!("cc.lstm-pid.{key}={value:.6}");
    RunRequest {
        fidelity: Fidelity::Ns3Hpcc,
        settings: [("k-p", gains.p), ("k-i", gains.i), ("k-d", gains.d)]
            .map(setting)
            .to_vec(),
        ..RunRequest::of(Input::Reference(&INCAST_20), scheme)
    }
}
