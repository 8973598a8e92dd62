//! Training a predictor on the runs in which it predicts.
//!
//! A predictor that was trained on runs of other schemes sees other round-trip times once a controller acts on
//! what it says: its errors are largest where nobody trained it. So the loop itself is recorded (as in DAgger:
//! S. Ross et al., "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning",
//! AISTATS 2011):
//!
//! 1. round 0: a training on the runs that there are, of other controllers;
//! 2. each further round: the loop runs with the predictor so far, its samples join those of the loop in the rounds
//!    before, and the predictor is trained again, from its first weights, on pairs drawn from them.
//!
//! Round 0's runs are not drawn from again: with them among the data the predictor is worse in the loop than before (its
//! error 6.2 instead of 3.1 % of the round trip, one seed, two rounds). After round 0 the learning rate falls to nothing
//! over the training, so that the weights are not those of its last few steps.
//!
//! [`OnPolicy`] is the state between the steps; who drives it records ([`OnPolicy::sources`]), draws
//! ([`OnPolicy::draw`]) and trains, so that each can be watched and stopped.

use std::sync::Arc;

use paceline_congestion::learned::{Model, ModelRef};

use paceline_lab::stats::mean;

use crate::dataset::{Dataset, Pair, Recorded, Source, THESIS_PAIRS, Trace};
use crate::train::{self, Round, Trained, Weights};
use crate::{Error, write};

/// Runs of the loop in a round.
pub const RUNS: usize = 2;

/// Pairs that each training draws after round 0, which draws as many as the thesis had.
pub const PAIRS: usize = 60_000;

/// Pairs between two steps of the optimiser, and its first rate, after round 0.
const BATCH: usize = 20;
const LEARNING_RATE: f64 = 2e-3;

/// Orders of simultaneous events of the loop's runs begin here, far from those of all others.
pub const FIRST_ORDER: u64 = 10_000;

/// What is run and drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The loop: runs of `lstm-pid` with the gains that it is to have; each gets the predictor and an order.
    pub courses: Vec<Source>,
    /// Rounds after the first training.
    pub rounds: usize,
    /// Runs of each course in a round, each with simultaneous events in another order.
    pub runs: usize,
    /// Pairs that each training draws after round 0.
    pub pairs: usize,
    /// Of the draws, and which orders the runs have.
    pub seed: u64,
}

impl Options {
    /// The default: the thesis's incast under the tuned controller.
    pub fn new(rounds: usize, seed: u64) -> Self {
        Self {
            courses: vec![Source::tuned()],
            rounds,
            runs: RUNS,
            pairs: PAIRS,
            seed,
        }
    }

    /// The order of a run.
    fn order(&self, round: usize, run: usize) -> u64 {
        let seed = self.seed % 1_000_000_000;
        FIRST_ORDER + (seed * 100 + round as u64) * 100 + run as u64
    }
}

/// A round that is over.
#[derive(Clone, Debug)]
pub struct OnPolicyRound {
    /// The predictor that it ended with.
    pub trained: Trained,
    /// What that was trained on.
    pub dataset: Dataset,
    /// What the loop came to with the predictor of the round before; nothing in round 0.
    pub recorded: Vec<Recorded>,
}

/// A training on the loop's own runs, between two of its steps.
#[derive(Clone, Debug)]
pub struct OnPolicy {
    options: Options,
    /// The runs that it began with.
    first: Vec<Trace>,
    /// The runs of the round that is on its way.
    recorded: Vec<Recorded>,
    laps: Vec<OnPolicyRound>,
}

impl OnPolicy {
    /// Before round 0.
    pub fn new(options: Options, first: Vec<Trace>) -> Self {
        Self {
            options,
            first,
            recorded: Vec::new(),
            laps: Vec::new(),
        }
    }

    /// The rounds that are over.
    pub fn laps(&self) -> &[OnPolicyRound] {
        &self.laps
    }

    /// The runs of the next round: of the loop, with the predictor so far. None before the first training.
    ///
    /// # Errors
    /// The predictor makes no model.
    pub fn sources(&self) -> Result<Vec<Source>, Error> {
        let Some(last) = self.laps.last() else {
            return Ok(Vec::new());
        };
        let round = self.laps.len();
        let model = model(&last.trained, &last.trained.weights, round - 1)?;
        let runs = (0..self.options.runs).flat_map(|run| {
            let order = self.options.order(round, run);
            let model = &model;
            self.options
                .courses
                .iter()
                .map(move |course| course.clone().shuffled(order).predicted_by(model.clone()))
        });
        Ok(runs.collect())
    }

    /// Takes what those came to, and draws the pairs of the round's training from all runs so far.
    ///
    /// # Errors
    /// There are too few.
    pub fn draw(&mut self, recorded: Vec<Recorded>) -> Result<Dataset, Error> {
        self.recorded = recorded;
        if self.laps.is_empty() {
            let found = self
                .first
                .iter()
                .map(|trace| trace.candidates(0).len())
                .sum::<usize>();
            return Dataset::draw(
                &self.first,
                self.options.pairs.min(THESIS_PAIRS).min(found),
                self.options.seed,
            );
        }
        let own = self
            .laps
            .iter()
            .flat_map(|lap| &lap.recorded)
            .chain(&self.recorded);
        let traces: Vec<Trace> = own.map(|run| run.trace.clone()).collect();
        let found = traces
            .iter()
            .map(|trace| trace.candidates(0).len())
            .sum::<usize>();
        Dataset::draw(&traces, self.options.pairs.min(found), self.options.seed)
    }

    /// Ends the round with what was trained on `dataset`.
    pub fn finish(&mut self, dataset: Dataset, trained: Trained) {
        self.laps.push(OnPolicyRound {
            trained,
            dataset,
            recorded: std::mem::take(&mut self.recorded),
        });
    }

    /// Whether all rounds are over.
    pub fn is_done(&self) -> bool {
        self.laps.len() > self.options.rounds
    }
}

/// How a predictor is trained in a round, on so many pairs: `base` in round 0; after that in larger steps that end at
/// nothing.
pub fn options(base: train::Options, round: usize, pairs: usize) -> train::Options {
    let mut options = shared_out(base, pairs);
    if round > 0 {
        options.decay = true;
        options.batch = BATCH;
        options.learning_rate = LEARNING_RATE;
    }
    options
}

/// One pair of so many is only tested on: 200 of 1000 in the thesis.
pub const TESTED: usize = 5;

/// With pairs of its own for each round.
pub fn shared_out(options: train::Options, pairs: usize) -> train::Options {
    let test_pairs = pairs / options.rounds.max(1) / TESTED;
    train::Options {
        test_pairs,
        train_pairs: test_pairs * (TESTED - 1),
        ..options
    }
}

/// Where the predictor of a round is kept in the folder of a training.
pub fn checkpoint(round: usize) -> String {
    format!("checkpoints/on-policy-{round}")
}

/// What was trained in a round, as a run reads it: by the path that it has in the folder of the training.
///
/// # Errors
/// It makes no model.
pub fn model(trained: &Trained, weights: &Weights, round: usize) -> Result<ModelRef, Error> {
    let name = format!("rtt-{}", trained.options.network);
    let nothing = Dataset::whole(&[]);
    let files = write(&name, trained, (weights, &trained.rounds), &nothing, "")?;
    let model =
        Model::parse(&files.card, &files.weights).map_err(|error| Error::Options(error.to_string()))?;
    let path = format!("{}/{name}", checkpoint(round));
    Ok(ModelRef::read_from(path, Arc::new(model)))
}

/// What a round came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its number, from 0.
    pub number: usize,
    /// Runs that its pairs are from.
    pub sources: usize,
    /// Pairs that it learned from and was tested on.
    pub pairs: usize,
    /// Its training, round by round.
    pub rounds: Vec<Round>,
    /// What the loop came to with its predictor, in runs that this had not learned from; `None` where they were not
    /// run.
    pub driven: Option<Driven>,
}

/// What runs of the loop came to: means over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Driven {
    /// Runs.
    pub runs: usize,
    /// Mean round-trip time, µs.
    pub mean_us: f64,
    /// 99th percentile of round-trip times, µs.
    pub p99_us: f64,
    /// The last completion, ms; `None` where some flow has none.
    pub finish_ms: Option<f64>,
    /// Mean relative error of what was predicted, over all pairs.
    pub error: f64,
    /// The same if the last round-trip time had stood for the next.
    pub persistence: f64,
}

impl OnPolicy {
    /// The runs that it began with.
    pub fn first(&self) -> &[Trace] {
        &self.first
    }

    /// What each round came to. `check` are runs of the loop with the last predictor, after the last round.
    ///
    /// # Errors
    /// The weights are not those of such a network.
    pub fn report(&self, check: &[Recorded]) -> Result<Vec<Report>, Error> {
        let report = |(number, lap): (usize, &OnPolicyRound)| {
            let next = self.laps.get(number + 1);
            let runs = next.map_or(check, |next| &next.recorded);
            Ok(Report {
                number,
                sources: lap.dataset.origins.len(),
                pairs: lap.dataset.pairs.len(),
                rounds: lap.trained.rounds.clone(),
                driven: driven(&lap.trained, runs)?,
            })
        };
        self.laps.iter().enumerate().map(report).collect()
    }
}

/// What `runs` came to, which `trained` predicted in.
fn driven(trained: &Trained, runs: &[Recorded]) -> Result<Option<Driven>, Error> {
    if runs.is_empty() {
        return Ok(None);
    }
    let traces = runs.iter().zip(0..);
    let pairs: Vec<Pair> = traces
        .flat_map(|(run, source)| run.trace.candidates(source))
        .collect();
    let out = train::predict(trained.options.network, &trained.weights, &pairs)?;
    let last: Vec<f32> = pairs.iter().map(|pair| pair.k[2]).collect();
    let of = |value: fn(&Recorded) -> Option<f64>| {
        let values: Option<Vec<f64>> = runs.iter().map(value).collect();
        mean(&values?)
    };
    Ok(Some(Driven {
        runs: runs.len(),
        mean_us: of(|run| run.summary.rtt_per_round_trip_us.mean).unwrap_or_default(),
        p99_us: of(|run| run.summary.rtt_per_round_trip_us.p99).unwrap_or_default(),
        finish_ms: of(|run| {
            let all = run.summary.flows.completed == run.summary.flows.total;
            run.summary.makespan_us.filter(|_| all).map(|us| us / 1e3)
        }),
        error: train::mape(&pairs, &out),
        persistence: train::mape(&pairs, &last),
    }))
}
