//! What prediction is worth: the same controller under several predictors.
//!
//! Every predictor that learns is trained on runs that it predicts in, by the same number of rounds and pairs, the two
//! that are compared with one another with five seeds ([`trained`]). They are compared with the thesis's gains and target
//! ([`paired`]), with gains and target that each got for itself ([`tuned`]), and in networks and under loads that none has
//! seen ([`elsewhere`]). Orders of simultaneous events by which they are trained, chosen and judged have nothing in
//! common, and that is asserted.

mod elsewhere;
mod paired;
mod trained;
mod tuned;

use std::ops::Range;

use crate::{Column, Done, ON_POLICY, Panel, Reproduction, StepError};
use paceline_lab::results::Summary;
use paceline_lab::stats::{CONFIDENCE, interval};
use paceline_scenario::{Fidelity, Resolved};

use super::watched::{self, Seen};
use super::{Line, OWN, column, panel};
use paceline_learn::dataset::Source;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "prediction-value",
    title: "What prediction is worth: one controller under several predictors",
    source: OWN,
    setting: "The incast of table 6 in exact fidelity under the thesis's controller. Its prediction is from an LSTM, a GRU, a \
              simple network or AR(3), from none (the last round trip stands for the next), or from an oracle that knows \
              what a packet that leaves now would meet. What learns is trained by `paceline train NETWORK --on-policy 2 \
              --seed SEED`: LSTM and AR(3) with seeds 1 to 5, GRU and simple network with seed 1; those of seed 1 are the \
              models that ship. Judging runs have simultaneous events in ten orders of which none was trained on or chosen \
              by; LSTM and AR(3) run in each with each of their seeds.",
    notes: &[
        "Nothing is judged. Changes are paired: the same order of events with and without, or under one and the other. An \
         interval is over the orders, of means over seeds, unless a row says otherwise.",
        "Off-policy predictors are trained as in the thesis, on runs of TIMELY and of the untuned controller (seed 1).",
        "The error is that of the predictions made in the run, against the samples that followed: a better controller makes \
         a calmer series, which is easier to predict, so errors of different columns are of different series.",
        "The oracle says which round trip a packet would have that left right now, not what the sample will be that is \
         taken a round trip later: it sees the queue as it is, and knows nothing of what other senders will do.",
        "Own gains: each predictor gets, of the same candidates, those with the shortest tail on orders for validation whose \
         last completion is not later than the thesis's, 53.756 ms, or the earliest completion where none is that early. \
         24 candidates (K_P -0.358 or -0.2, K_I -0.06 or -0.11, K_D 0.04, -0.2 or -0.5, target 4.7 or 5 µs) run in one \
         order, the best four in three. Predictors are those that ship (seed 1), trained with the thesis's \
         gains; the oracle, ten times as slow, is left out here and elsewhere.",
        "Elsewhere gains are the thesis's and the target is 1.2 times the longest path's empty round trip, as 5 µs is in \
         the thesis's network; nothing is trained again. Predictors are those that ship (seed 1), in ten orders.",
    ],
    choices: &[ON_POLICY],
    steps: &[trained::STEP, paired::STEP, tuned::STEP, elsewhere::STEP],
    needs: Vec::new,
    panels,
};

/// Rounds on the loop's own runs.
const ROUNDS: usize = 2;

/// Seeds of training.
const SEEDS: usize = 5;

/// Orders of simultaneous events by which predictors are judged, and those by which something is chosen.
const TEST: Range<u64> = 221..231;
const VALIDATION: Range<u64> = 301..304;

const _: () = assert!(TEST.end <= VALIDATION.start, "what chooses does not judge");

/// Orders that judge.
const ORDERS: usize = (TEST.end - TEST.start) as usize;

/// Where a prediction is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Nowhere: the last sample.
    None,
    /// A model: its kind, and its seed, or off-policy.
    Model(usize, Option<usize>),
    /// The network's state.
    Oracle,
}

/// A run of the trial.
#[derive(Clone, Debug)]
struct Trial {
    source: Source,
    from: From,
}

impl Trial {
    /// The thesis's incast.
    fn incast(from: From, order: u64, settings: &[String]) -> Self {
        let mut source = Source::tuned();
        source.fidelity = Some(Fidelity::Exact);
        Self::of(source, from, order, settings)
    }

    fn of(mut source: Source, from: From, order: u64, settings: &[String]) -> Self {
        source.settings.extend_from_slice(settings);
        Self {
            source: source.shuffled(order),
            from,
        }
    }

    fn load(&self, done: &Done) -> Result<Resolved, StepError> {
        let mut source = self.source.clone();
        match self.from {
            From::None => source.settings.push("cc.lstm-pid.predictor=none".into()),
            From::Oracle => source.settings.push("cc.lstm-pid.predictor=oracle".into()),
            From::Model(kind, seed) => source.model = Some(trained::model(done, kind, seed)?),
        }
        source.load().map_err(StepError::of)
    }

    fn run(&self, done: &Done) -> Result<Seen, StepError> {
        watched::run(self.load(done)?)
    }
}

/// Name, unit, digits.
type Quantity = (&'static str, &'static str, usize);

const QUANTITIES: [Quantity; 8] = [
    ("mean RTT", "µs", 3),
    ("p99 RTT", "µs", 3),
    ("max RTT", "µs", 2),
    ("mean rate", "Gbit/s", 2),
    ("Jain's index of goodput", "", 4),
    ("mean slowdown of completion", "×", 2),
    ("last completion", "ms", 2),
    ("error of predictions", "%", 2),
];

/// Places of those by which much is told.
const P99: usize = 1;
const FINISH: usize = 6;

/// What a run came to, in the order of the quantities.
fn values(seen: &Seen) -> [Option<f64>; QUANTITIES.len()] {
    let s: &Summary = &seen.summary;
    let all = s.flows.completed == s.flows.total;
    [
        s.rtt_us.mean,
        s.rtt_us.p99,
        s.rtt_us.max,
        s.rate_mean_gbps,
        s.jain,
        s.fct_slowdown.mean,
        s.finish_us.filter(|_| all).map(|us| us / 1e3),
        seen.log.mape().map(|error| 100.0 * error),
    ]
}

/// Runs in a series: a run's values are at its number times as many quantities, and a quantity's.
fn points(runs: &[Seen]) -> Vec<(f64, f64)> {
    let of_run = |(run, seen): (usize, &Seen)| {
        let values = values(seen).into_iter().enumerate();
        let place = move |quantity: usize| (run * QUANTITIES.len() + quantity) as f64;
        values
            .filter_map(move |(quantity, value)| Some((place(quantity), value?)))
            .collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

/// A quantity of a run in such a series.
fn value(done: &Done, step: &str, name: &str, run: usize, quantity: usize) -> Option<f64> {
    let series = done.step(step)?.series.get(name)?;
    let wanted = (run * QUANTITIES.len() + quantity) as f64;
    series
        .iter()
        .find(|&&(place, _)| place == wanted)
        .map(|&(_, value)| value)
}

/// `mean RTT, µs`.
fn label((metric, unit, _): Quantity) -> String {
    match unit {
        "" => metric.to_string(),
        unit => format!("{metric}, {unit}"),
    }
}

/// Rows of how much the columns change against what they stand beside, pair by pair, in percent: the mean, and half
/// of its 95 % interval.
fn changes(
    name: &str,
    metric: &'static str,
    columns: usize,
    pairs: &dyn Fn(usize) -> Option<(Vec<f64>, Vec<f64>)>,
) -> [Line; 2] {
    let found = |column: usize| {
        let (with, without) = pairs(column)?;
        let changes = with
            .iter()
            .zip(&without)
            .map(|(with, without)| 100.0 * (with / without - 1.0));
        interval(&changes.collect::<Vec<_>>(), CONFIDENCE)
    };
    let means = (0..columns).map(|column| found(column).map(|found| found.mean));
    let halves = (0..columns).map(|column| found(column).map(|found| found.half_width()));
    [
        Line::shown(format!("{name}: change, %"), (metric, "%", 1), means),
        Line::shown(
            format!("{name}: half of the 95 % interval"),
            (metric, "%", 1),
            halves,
        ),
    ]
}

fn panels(done: &Done) -> Vec<Panel> {
    let mut panels = paired::panels(done);
    panels.extend(tuned::panels(done));
    panels.extend(elsewhere::panels(done));
    panels
}

/// Columns of predictors.
fn columns(names: &[(&'static str, &'static str)]) -> Vec<Column> {
    names
        .iter()
        .map(|&(title, scheme)| column(title, scheme))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_learn::on_policy::FIRST_ORDER;

    /// Orders by which predictors are judged or chosen are none of a training's, whatever its seed.
    #[test]
    fn no_order_both_trains_and_judges() {
        let trained: Vec<Option<u64>> = Source::thesis().iter().map(|source| source.order).collect();
        for order in TEST.chain(VALIDATION) {
            assert!(!trained.contains(&Some(order)) && order < FIRST_ORDER);
        }
    }
}
