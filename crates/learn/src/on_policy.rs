//! On-policy training of a predictor, on runs in which it predicts itself.
//!
//! A predictor trained on runs of other schemes meets different round-trip times once a controller acts on
//! its output: its errors are largest outside its training data. Therefore the closed loop is recorded (as in
//! DAgger: S. Ross et al., "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
//! Learning", AISTATS 2011):
//!
//! 1. round 0: training on the given runs of other controllers;
//! 2. each further round: the loop runs with the present predictor, its samples are added to those of earlier
//!    rounds, and the predictor is trained again from its initial weights on pairs drawn from them.
//!
//! Later rounds do not use round 0's runs: with them the predictor gets worse in the loop (its error is 6.2
//! instead of 3.1 % of the round trip, one seed, two rounds). After round 0 the learning rate falls to zero
//! over the training, so that the weights do not depend on its last few steps.
//!
//! [`OnPolicy`] is the state between these steps. Its caller records ([`OnPolicy::sources`]), draws
//! ([`OnPolicy::draw`]) and trains, so that each step can be watched and stopped.

use std::sync::Arc;

use paceline_congestion::learned::{Model, ModelRef};

use paceline_lab::stats::mean;

use crate::dataset::{Dataset, Pair, Recorded, Source, THESIS_PAIRS, Trace};
use crate::train::{self, Round, Trained, Weights};
use crate::{Error, Snapshot, write};

/// Runs of the loop per round.
pub const RUNS: usize = 2;

/// Pairs per training after round 0, which uses as many as the thesis.
pub const PAIRS: usize = 60_000;

/// Pairs per optimiser step after round 0; `LEARNING_RATE` is its initial learning rate.
const BATCH: usize = 20;
const LEARNING_RATE: f64 = 2e-3;

/// First order of simultaneous events of the loop's runs, far from those of all others.
pub const FIRST_ORDER: u64 = 10_000;

/// Settings of on-policy training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Loop to run: `lstm-pid` with the gains to use; each run gets the predictor and an order of events.
    pub courses: Vec<Source>,
    /// Number of rounds after the first training.
    pub rounds: usize,
    /// Runs of each course per round, each with another order of simultaneous events.
    pub runs: usize,
    /// Pairs per training after round 0.
    pub pairs: usize,
    /// Seed of the draws and of the runs' orders.
    pub seed: u64,
}

impl Options {
    /// Creates the default settings: the thesis's incast under the tuned controller.
    pub fn new(rounds: usize, seed: u64) -> Self {
        Self {
            courses: vec![Source::tuned()],
            rounds,
            runs: RUNS,
            pairs: PAIRS,
            seed,
        }
    }

    /// Returns the order of simultaneous events of a run.
    fn order(&self, round: usize, run: usize) -> u64 {
        let seed = self.seed % 1_000_000_000;
        FIRST_ORDER + (seed * 100 + round as u64) * 100 + run as u64
    }
}

/// Completed round of an on-policy training.
#[derive(Clone, Debug)]
pub struct OnPolicyRound {
    /// Predictor that it trained.
    pub trained: Trained,
    /// Training data of that predictor.
    pub dataset: Dataset,
    /// Runs of the loop with the previous round's predictor; empty in round 0.
    pub recorded: Vec<Recorded>,
}

/// State of an on-policy training between two steps.
#[derive(Clone, Debug)]
pub struct OnPolicy {
    options: Options,
    /// Runs of round 0.
    first: Vec<Trace>,
    /// Runs of the present round.
    recorded: Vec<Recorded>,
    laps: Vec<OnPolicyRound>,
}

impl OnPolicy {
    /// Creates the state before round 0.
    pub fn new(options: Options, first: Vec<Trace>) -> Self {
        Self {
            options,
            first,
            recorded: Vec::new(),
            laps: Vec::new(),
        }
    }

    /// Returns the completed rounds.
    pub fn laps(&self) -> &[OnPolicyRound] {
        &self.laps
    }

    /// Returns the runs of the next round: of the loop, with the present predictor. Empty before the first
    /// training.
    ///
    /// # Errors
    /// The predictor cannot be made into a model.
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

    /// Takes the results of those runs, and draws the pairs of the round's training from all runs of the loop
    /// so far.
    ///
    /// # Errors
    /// There are too few pairs.
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

    /// Completes the round with the predictor trained on `dataset`.
    pub fn finish(&mut self, dataset: Dataset, trained: Trained) {
        self.laps.push(OnPolicyRound {
            trained,
            dataset,
            recorded: std::mem::take(&mut self.recorded),
        });
    }

    /// Returns true if all rounds are complete.
    pub fn is_done(&self) -> bool {
        self.laps.len() > self.options.rounds
    }
}

/// Returns the settings of a round's training on this many pairs: `base` in round 0, later larger steps that
/// fall to zero.
pub fn options(base: train::Options, round: usize, pairs: usize) -> train::Options {
    let mut options = shared_out(base, pairs);
    if round > 0 {
        options.decay = true;
        options.batch = BATCH;
        options.learning_rate = LEARNING_RATE;
    }
    options
}

/// One in this many pairs is for testing: 200 of 1000 in the thesis.
pub const TESTED: usize = 5;

/// Returns the options with separate pairs for each round.
pub fn shared_out(options: train::Options, pairs: usize) -> train::Options {
    let test_pairs = pairs / options.rounds.max(1) / TESTED;
    train::Options {
        test_pairs,
        train_pairs: test_pairs * (TESTED - 1),
        ..options
    }
}

/// Returns the path of a round's predictor in the folder of a training.
pub fn checkpoint(round: usize) -> String {
    format!("checkpoints/on-policy-{round}")
}

/// Returns a round's predictor as a run's model, under its path in the folder of the training.
///
/// # Errors
/// The predictor cannot be made into a model.
pub fn model(trained: &Trained, weights: &Weights, round: usize) -> Result<ModelRef, Error> {
    let name = format!("rtt-{}", trained.options.network);
    let nothing = Dataset::whole(&[]);
    let snapshot = Snapshot {
        weights,
        rounds: &trained.rounds,
    };
    let files = write(&name, trained, snapshot, &nothing, "")?;
    let model =
        Model::parse(&files.card, &files.weights).map_err(|error| Error::Options(error.to_string()))?;
    let path = format!("{}/{name}", checkpoint(round));
    Ok(ModelRef::read_from(path, Arc::new(model)))
}

/// Result of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Number of the round, from 0.
    pub number: usize,
    /// Number of runs from which its pairs come.
    pub sources: usize,
    /// Pairs for training and testing.
    pub pairs: usize,
    /// Rounds of its training.
    pub rounds: Vec<Round>,
    /// Results of the loop with its predictor, in runs that it had not learned from; `None` if there are
    /// none.
    pub driven: Option<Driven>,
}

/// Results of the loop: means over its runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Driven {
    /// Number of runs in the round.
    pub runs: usize,
    /// Mean round-trip time, in µs.
    pub mean_us: f64,
    /// 99th percentile of round-trip times, in µs.
    pub p99_us: f64,
    /// Time of the last completion, in ms; `None` if a flow did not complete.
    pub finish_ms: Option<f64>,
    /// Mean relative error of predictions, over all pairs.
    pub error: f64,
    /// Mean relative error of persistence, which takes the last round-trip time as the next.
    pub persistence: f64,
}

impl OnPolicy {
    /// Returns the runs of round 0.
    pub fn first(&self) -> &[Trace] {
        &self.first
    }

    /// Returns the result of each round. `check` are runs of the loop with the last predictor, after the last
    /// round.
    ///
    /// # Errors
    /// The weights do not fit the network.
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

/// Returns the results of `runs`, in which `trained` predicted.
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
            // The last end means nothing while flows are missing.
            let all = run.summary.flows.completed == run.summary.flows.total;
            run.summary.makespan_us.filter(|_| all).map(|us| us / 1e3)
        }),
        error: train::mape(&pairs, &out),
        persistence: train::mape(&pairs, &last),
    }))
}
