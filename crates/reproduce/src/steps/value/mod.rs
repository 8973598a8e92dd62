//! Value of prediction: the steps of `prediction-value`.
//!
//! Every learned predictor is trained on runs in which it predicts, with the same number of rounds and pairs, and
//! with five seeds ([`trained`]). The predictors are compared with the thesis's gains and target ([`COMPARED`]), with
//! gains and a target selected for each ([`tuned`]), and in networks and under loads that none was trained on
//! ([`ELSEWHERE`]). The orders of simultaneous events for training, selection and judging are disjoint, which is
//! asserted.

mod trained;
mod tuned;

use std::ops::Range;

use paceline_lab::results::Summary;
use paceline_learn::dataset::Source;
use paceline_learn::train::Network;
use paceline_scenario::EXACT;

use super::watched::{self, WatchedRun, in_chunks};
use crate::{Metrics, Step, StepError, Work};

pub(super) const STEPS: [Step; 4] = [trained::STEP, COMPARED, tuned::STEP, ELSEWHERE];

/// Rounds of training on runs with the predictor in the loop.
const ROUNDS: usize = 2;

/// Number of training seeds.
const SEEDS: usize = 5;

/// Orders of simultaneous events for judging predictors, and for selecting gains.
const TEST: Range<u64> = 221..231;
const VALIDATION: Range<u64> = 301..304;

const _: () = assert!(TEST.end <= VALIDATION.start, "what chooses does not judge");

/// Source of a run's predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Last sample, without a prediction.
    Last,
    /// Model trained on runs in which it predicts, with a seed from 1 on.
    OnPolicy(Network, usize),
    /// Model trained on runs of other controllers.
    OffPolicy(Network),
    /// State of the network.
    Oracle,
}

/// Predictor: its name in lists, and the source of its predictions. One trained on policy runs with every seed.
#[derive(Clone, Copy)]
struct Predictor(&'static str, From);

const LAST: Predictor = Predictor("none", From::Last);
const LSTM: Predictor = Predictor("LSTM", From::OnPolicy(Network::Lstm, 1));
const AR3: Predictor = Predictor("AR(3)", From::OnPolicy(Network::Ar3, 1));

const PREDICTORS: [Predictor; 8] = [
    LAST,
    LSTM,
    Predictor("GRU", From::OnPolicy(Network::Gru, 1)),
    Predictor("simple RNN", From::OnPolicy(Network::Rnn, 1)),
    AR3,
    Predictor("oracle", From::Oracle),
    Predictor("LSTM, off-policy", From::OffPolicy(Network::Lstm)),
    Predictor("AR(3), off-policy", From::OffPolicy(Network::Ar3)),
];

/// Predictors that get their own gains, and run in other networks.
const CHOSEN: [Predictor; 3] = [LAST, LSTM, AR3];

impl Predictor {
    /// Returns the sources of its predictions for one order of events: one run each.
    fn runs(self) -> Vec<From> {
        match self.1 {
            From::OnPolicy(network, _) => (1..=SEEDS).map(|seed| From::OnPolicy(network, seed)).collect(),
            one => vec![one],
        }
    }
}

/// Values of a run. The experiment names these quantities, in this order.
type Values = [Option<f64>; 8];

/// Indices of the values for selecting gains, which are also recorded for other networks.
const P99: usize = 1;
const FINISH: usize = 6;

fn values(seen: &WatchedRun) -> Values {
    let s: &Summary = &seen.summary;
    // While flows are unfinished, the last end seen is not the makespan.
    let all = s.flows.completed == s.flows.total;
    [
        s.rtt_per_round_trip_us.mean,
        s.rtt_per_round_trip_us.p99,
        s.rtt_per_round_trip_us.max,
        s.rate_while_active_gbps,
        s.jain,
        s.fct_slowdown.mean,
        s.makespan_us.filter(|_| all).map(|us| us / 1e3),
        seen.log.mape().map(|error| 100.0 * error),
    ]
}

/// Returns the thesis's incast with its gains and target in exact fidelity, with further settings.
fn incast(settings: impl IntoIterator<Item = String>) -> Source {
    let mut source = Source::tuned();
    source.fidelity = Some(EXACT);
    source.settings.extend(settings);
    source
}

/// Run with a fixed order of events.
type Trial = (Source, From);

/// Returns runs of `source` in each of `orders` with each of `predictions`.
fn trials(source: &Source, predictions: &[From], orders: Range<u64>) -> Vec<Trial> {
    let in_order = |order: u64| {
        let source = source.clone().shuffled(order);
        predictions.iter().map(move |&from| (source.clone(), from))
    };
    orders.flat_map(in_order).collect()
}

fn run_all(
    work: &mut Work<'_>,
    trials: &[Trial],
    share: Range<f64>,
    name: &str,
) -> Result<Vec<Values>, StepError> {
    let done = work.done;
    in_chunks(trials, work, share, name, &|(source, from)| {
        let mut source = source.clone();
        match from {
            From::Last => source.settings.push("cc.lstm-pid.predictor=none".into()),
            From::Oracle => source.settings.push("cc.lstm-pid.predictor=oracle".into()),
            From::OnPolicy(..) | From::OffPolicy(_) => source.model = Some(trained::model(done, *from)?),
        }
        let input = source.load().map_err(StepError::of)?;
        Ok(values(&watched::run(input)?))
    })
}

/// Returns some quantities of every judging run as a list: quantity `q` of run `r` is at `8 r + q`.
fn judge(
    work: &mut Work<'_>,
    source: &Source,
    predictor: Predictor,
    quantities: &[usize],
    share: Range<f64>,
) -> Result<Vec<(f64, f64)>, StepError> {
    let trials = trials(source, &predictor.runs(), TEST);
    let runs = run_all(work, &trials, share, predictor.0)?;
    let of_run = |(run, values): (usize, &Values)| {
        let kept = quantities.iter().map(|&quantity| (quantity, values[quantity]));
        let points = kept.filter_map(|(quantity, value)| Some(((8 * run + quantity) as f64, value?)));
        points.collect::<Vec<_>>()
    };
    Ok(runs.iter().enumerate().flat_map(of_run).collect())
}

/// Returns part `index` of `count` equal parts of a range of progress.
fn part(share: &Range<f64>, index: usize, count: usize) -> Range<f64> {
    let at = |index: usize| share.start + (share.end - share.start) * index as f64 / count as f64;
    at(index)..at(index + 1)
}

const WHOLE: Range<f64> = 0.0..1.0;

/// Indices of all quantities.
const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Step with the thesis's gains and target.
const COMPARED: Step = Step {
    name: "prediction value",
    title: "one controller under several predictors",
    work: |work| {
        let mut numbers = Metrics::default();
        for (place, predictor) in PREDICTORS.into_iter().enumerate() {
            let share = part(&WHOLE, place, PREDICTORS.len());
            numbers.draw(predictor.0, judge(work, &incast([]), predictor, &ALL, share)?);
        }
        Ok(numbers)
    },
};

/// Networks and loads outside of the training: name, scenario, and settings. All but the last have flows of 160 MB
/// together into one port.
const NETWORKS: [(&str, &str, &[&str]); 6] = [
    (
        "8 senders",
        INCAST,
        &[
            "topology.star.hosts=9",
            "workload.0.incast.fan-in=8",
            "workload.0.incast.receiver=9",
            "workload.0.incast.size=20MB",
        ],
    ),
    (
        "40 senders",
        INCAST,
        &[
            "topology.star.hosts=41",
            "workload.0.incast.fan-in=40",
            "workload.0.incast.receiver=41",
            "workload.0.incast.size=4MB",
        ],
    ),
    (
        "25 Gbit/s",
        INCAST,
        &[
            "topology.star.rate=25Gbps",
            "workload.0.incast.size=10MB",
            "cc.lstm-pid.initial-rate=2500Mbps",
            "cc.lstm-pid.min-rate=250Mbps",
        ],
    ),
    (
        "400 Gbit/s",
        INCAST,
        &["topology.star.rate=400Gbps", "workload.0.incast.size=10MB"],
    ),
    (
        "round trip 20 µs",
        INCAST,
        &["topology.star.delay=4950ns", "workload.0.incast.size=10MB"],
    ),
    ("leaf-spine, cross traffic", "lstm-pid-leaf-spine", &[]),
];

const INCAST: &str = "incast-16";

const ELSEWHERE: Step = Step {
    name: "elsewhere",
    title: "other networks and loads",
    work: |work| {
        let mut numbers = Metrics::default();
        for (place, (name, scenario, settings)) in NETWORKS.into_iter().enumerate() {
            let own: &[&str] = match scenario {
                INCAST => &[
                    "duration=200ms",
                    "cc.lstm-pid.target-rtts=1.2",
                    "cc.lstm-pid.initial-rate=10Gbps",
                ],
                _ => &[],
            };
            let all = [
                settings,
                &["record.queue=off", "record.rates=off", "record.flows=off"],
                own,
            ];
            let mut source = incast(all.into_iter().flatten().map(ToString::to_string));
            source.scenario = scenario.to_string();
            let share = part(&WHOLE, place, NETWORKS.len());
            for (number, predictor) in CHOSEN.into_iter().enumerate() {
                let share = part(&share, number, CHOSEN.len());
                let points = judge(work, &source, predictor, &[P99, FINISH], share)?;
                numbers.draw(format!("{name}, {}", predictor.0), points);
            }
        }
        Ok(numbers)
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_learn::on_policy::FIRST_ORDER;

    /// No training with any seed uses an order that is meant for judging or selecting.
    #[test]
    fn no_order_both_trains_and_judges() {
        let trained: Vec<Option<u64>> = Source::thesis().iter().map(|source| source.order).collect();
        for order in TEST.chain(VALIDATION) {
            assert!(!trained.contains(&Some(order)) && order < FIRST_ORDER);
        }
    }

    /// A run with a model that was trained here has the recorded result.
    #[test]
    fn a_run_is_the_recorded_one() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../experiments/prediction-value/outcome.json"
        );
        let outcomes: crate::Outcomes =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let one = crate::find("prediction-value").unwrap();
        assert_eq!(
            one.choices.len(),
            2,
            "one of its own, and one that others have, too"
        );
        let done = outcomes.done(one).unwrap();
        let (order, seed) = (TEST.start, 3);
        let trials = trials(
            &incast([]),
            &[From::OnPolicy(Network::Ar3, seed)],
            order..order + 1,
        );
        let mut go_on = |_: f64, _: &str| paceline_lab::run::Control::Continue;
        let mut work = Work::new(&done, 1, &mut go_on);
        let found = run_all(&mut work, &trials, WHOLE, "run").unwrap();
        let recorded = &done.step(COMPARED.name).unwrap().series["AR(3)"][8 * (seed - 1)..];
        for (&(_, recorded), found) in recorded.iter().zip(found[0]) {
            let off = found.unwrap() / recorded - 1.0;
            assert!(off.abs() < 1e-12, "{recorded} {found:?}");
        }
    }
}
