//! Steps for figure 13 and for other gains: training of the controller.

use std::ops::Range;

use paceline_congestion::lstm_pid::Gains;
use paceline_lab::results::Summary;
use paceline_lab::run::Control;
use paceline_learn::Checkpoints;
use paceline_learn::pidnn::{Options, THESIS, TrainedGains, train};
use paceline_report::decimate::{POINTS_MAX, extremes};
use paceline_scenario::NS3_HPCC;

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

/// Number of runs after the gains have converged.
const BEYOND: usize = 10;

fn each(gains: Gains) -> [f64; 3] {
    [gains.p, gains.i, gains.d]
}

/// Trains the gains; `share` is the part of the step's progress for this training.
fn learn(work: &mut Work<'_>, options: &Options, share: Range<f64>) -> Result<TrainedGains, StepError> {
    // The callback can only stop the training, so its error is kept outside.
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
    // Checked first: a stopped training returns gains, too, but unfinished ones.
    stopped?;
    found.map_err(StepError::of)
}

fn numbers(found: &TrainedGains) -> Metrics {
    let mut numbers = Metrics::default();
    let last = found.history.last().map_or(0, |point| point.update);
    numbers.set("updates", last as f64);
    for (k, name) in NAMES.into_iter().enumerate() {
        let course: Vec<(f64, f64)> = found
            .history
            .iter()
            .map(|point| (point.update as f64, each(point.gains)[k]))
            .collect();
        // Changes in the last quarter show if the gains have settled.
        let quarter = 0.75 * last as f64;
        let late = course.iter().filter(|&&(update, _)| update >= quarter);
        let of_last = each(found.gains)[k];
        let change = late
            .map(|&(_, gain)| (gain / of_last - 1.0).abs())
            .fold(0.0, f64::max);
        numbers.set(format!("change of {name}"), 100.0 * change);
        numbers.set(name, of_last);
        numbers.set(format!("later {name}"), each(found.later)[k]);
        // Extremes, so that thinning loses no excursion.
        numbers.draw(name, extremes(&course, POINTS_MAX));
    }
    numbers
}

/// Series of runs with given gains: the thesis's, four with another derivative gain, and the trained ones.
const SETS: [&str; 7] = ["thesis", "zero", "little", "some", "much", "trained", "retrained"];

/// Schemes: without prediction, and with the LSTM.
const SCHEMES: [&str; 2] = ["pidnn", "lstm-pid"];

/// Returns the values of a run. The experiment names these quantities, in this order.
fn values(s: &Summary) -> [Option<f64>; 6] {
    [
        s.rtt_per_round_trip_us.mean,
        s.rtt_per_round_trip_us.p99,
        s.rtt_per_round_trip_us.max,
        s.rate_while_active_gbps,
        s.jain,
        s.makespan_us.map(|us| us / 1e3),
    ]
}

pub(super) const RETRAIN: Step = Step {
    name: "retrain gains",
    title: "training gains with a free derivative",
    work: retrain,
};

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
        .flat_map(|gains| SCHEMES.map(|scheme| with(gains, scheme)))
        .collect();
    let seen = run_all(&needs, work)?;
    let mut numbers = numbers(&found);
    for (name, runs) in SETS.into_iter().zip(seen.chunks(SCHEMES.len())) {
        let all = runs.iter().flat_map(|run| values(&run.summary)).zip(0..);
        numbers.draw(
            name,
            all.filter_map(|(value, index)| Some((f64::from(index), value?))),
        );
    }
    Ok(numbers)
}

fn with(gains: &Gains, scheme: &'static str) -> RunRequest {
    let setting = |(key, value): (&str, f64)| format!("cc.lstm-pid.{key}={value:.6}");
    RunRequest {
        fidelity: NS3_HPCC,
        settings: [("k-p", gains.p), ("k-i", gains.i), ("k-d", gains.d)]
            .map(setting)
            .to_vec(),
        ..RunRequest::of(Input::Reference(&INCAST_20), scheme)
    }
}
