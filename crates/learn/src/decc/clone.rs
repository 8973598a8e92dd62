//! Cloning of a law, with or without a residual, into a network.
//!
//! A network trained only on its teacher's states knows nothing of the states to which its own small errors
//! lead. Therefore training proceeds in rounds (DAgger): the network decides, and the teacher labels each
//! state with its own decision. In the first round the teacher decides. The round whose network costs least
//! in trials is kept.
//!
//! S. Ross, G. Gordon, D. Bagnell, "A Reduction of Imitation Learning and Structured Prediction to No-Regret
//! Online Learning", AISTATS 2011.

use std::sync::Arc;

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::kind::DECC;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::{Model, ModelKind};
use paceline_kernel::rng::Rng;
use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use super::practice::{Manner, PracticePolicy, Shared, episodes, practise_all};
use super::{model, start, stream};
use crate::Error;
use crate::checkpoint::{Checkpoints, Floats};
use crate::pass::{Fitted, FittedState, backward, first, forward, network, sample};
use crate::search::Trials;

/// Settings of cloning a law into a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloning {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of rounds of cloning.
    pub rounds: usize,
    /// Steps of the optimiser per round.
    pub steps: usize,
    /// Approximate number of decisions that a network contributes.
    pub rows: usize,
    /// Number of trial networks, 0 for all.
    pub networks: usize,
    /// Upper limit of the flows in a training network.
    pub flows: u32,
    /// Number of threads; the weights do not depend on it.
    pub threads: usize,
}

impl Default for Cloning {
    fn default() -> Self {
        Self {
            seed: 1,
            rounds: 10,
            steps: 6000,
            rows: 4000,
            networks: 0,
            flows: 8192,
            threads: 2,
        }
    }
}

impl Cloning {
    /// Returns settings for a cloning of seconds.
    pub const fn quick(self) -> Self {
        Self {
            rounds: 2,
            steps: 600,
            networks: 2,
            flows: 64,
            ..self
        }
    }
}

/// Result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of the round, from 1.
    pub number: usize,
    /// Root mean square of the deviation from the teacher's actions on the training data.
    pub off: f64,
    /// Cost in trials after the round.
    pub cost: f64,
}

/// Cloned policy with its history.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloned {
    /// Settings used for the cloning.
    pub options: Cloning,
    /// Values of the law.
    pub law: Vec<f32>,
    /// Network of the clone.
    pub policy: Network,
    /// Cost of the teacher in trials.
    pub teacher: f64,
    /// Results of the rounds in order.
    pub rounds: Vec<Round>,
    /// Decisions used for learning.
    pub decisions: u64,
    /// True if cloning was stopped early.
    pub stopped: bool,
}

impl Cloned {
    /// Returns the cost in trials of the kept network.
    pub fn best(&self) -> f64 {
        let costs = self.rounds.iter().map(|round| round.cost);
        costs.fold(f64::INFINITY, f64::min)
    }
}

/// Rows per step; `RATE` is the optimiser's step size in the first round, which falls to a tenth.
const BATCH: usize = 256;
pub(super) const RATE: f64 = 2e-3;
/// Draws of networks per round.
const DRAWS: usize = 2;

/// State of cloning between two rounds.
#[derive(Serialize, Deserialize)]
struct State {
    rounds: Vec<Round>,
    teacher: f64,
    decisions: u64,
    learner: FittedState,
    best: (f64, Floats),
    seen: Floats,
    labels: Floats,
}

/// Name of the checkpoint.
const NAME: &str = "clone";

/// Clones a law, with its residual if the model has one, from the checkpoint if there is one; `watch` is
/// called with the teacher's cost, and after each round.
///
/// # Errors
/// The model has no law, a network fails, or a checkpoint cannot be read or written.
pub fn clone(
    options: &Cloning,
    teacher: &Model,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(f64, Option<&Round>) -> Control,
) -> Result<Cloned, Error> {
    let (law, residual) = start::teacher(teacher)?;
    let trials = Trials::new(options.networks, options.threads)?;
    let mut rng = stream(options.seed, 2, 0);
    let mut learner = Fitted::new(first(&DECC, &mut rng));
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(mut state) => {
            let fresh = learner.state();
            learner = Fitted::of(&DECC, std::mem::replace(&mut state.learner, fresh))?;
            state
        }
        None => State {
            rounds: Vec::new(),
            teacher: trials.cost_of(&model::same(&law, residual.as_deref())?)?,
            decisions: 0,
            learner: learner.state(),
            best: (f64::INFINITY, Floats(learner.network.values().to_vec())),
            seen: Floats::default(),
            labels: Floats::default(),
        },
    };
    let residual: Option<Shared> = residual.map(|network| network as Shared);
    let mut stopped = watch(state.teacher, None) == Control::Stop;
    while state.rounds.len() < options.rounds && !stopped {
        let number = state.rounds.len();
        // A stream per round, so that a resumed training draws the same numbers.
        let mut rng = stream(options.seed, 3, number as u64);
        let decider = match (number, &residual) {
            // In the first round the teacher itself decides, because the network has not learned anything.
            (0, None) => PracticePolicy::Law,
            (0, Some(residual)) => PracticePolicy::Residual(Arc::clone(residual)),
            _ => PracticePolicy::Policy(Arc::new(learner.network.clone())),
        };
        let manner = Manner {
            law,
            decider,
            residual: residual.clone(),
            // Without noise the network would only know states that its teacher leads to, not those after a small
            // mistake of its own.
            noise: 0.03,
            kept: options.rows,
        };
        for _ in 0..DRAWS {
            let met = practise_all(&episodes(&mut rng, options.flows), &manner, options.threads)?;
            for one in met.iter().flatten() {
                // States of earlier rounds stay: on the newest alone, the network would forget those of its teacher.
                state.seen.0.extend(one.seen);
                state.labels.0.push(one.label);
                state.decisions += 1;
            }
        }
        let part = number as f64 / options.rounds as f64;
        let off = learn(&mut learner, &state, options.steps, part, &mut rng);
        let files = model::on_law(
            ModelKind::Decc,
            "candidate",
            &law.values(),
            &learner.network,
            |card| card,
        )?;
        // A network that is closer to the labels may still be worse in whole runs, so trials choose.
        let cost = trials.cost_of(&files)?;
        if cost < state.best.0 {
            state.best = (cost, Floats(learner.network.values().to_vec()));
        }
        let round = Round {
            number: number + 1,
            off,
            cost,
        };
        stopped = watch(state.teacher, Some(&round)) == Control::Stop;
        state.rounds.push(round);
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            state.learner = learner.state();
            checkpoints.keep(NAME, &state)?;
        }
    }
    Ok(Cloned {
        options: options.clone(),
        law: law.values(),
        policy: network(&DECC, state.best.1)?,
        teacher: state.teacher,
        rounds: state.rounds,
        decisions: state.decisions,
        stopped,
    })
}

/// Trains towards the labels; returns the root mean square error over the second half of the steps.
fn learn(learner: &mut Fitted, state: &State, steps: usize, part: f64, rng: &mut Rng) -> f64 {
    let mut squares = 0.0;
    for step in 0..steps {
        let (seen, labels) = sample(&state.seen.0, INPUTS, &state.labels.0, BATCH, rng);
        let pass = forward(&learner.network, BATCH, seen);
        let off = pass.output.iter().zip(&labels).map(|(a, label)| a - label);
        let off: Vec<f32> = off.collect();
        if step >= steps / 2 {
            squares += off.iter().map(|off| f64::from(off * off)).sum::<f64>();
        }
        let by = off.iter().map(|off| 2.0 * off / BATCH as f32).collect();
        let mut slope = vec![0.0; learner.network.values().len()];
        backward(&learner.network, &pass, by, Some(&mut slope));
        // The step size falls to a tenth over all rounds, and to half within each.
        let rate = RATE * (1.0 - 0.9 * part) * (1.0 - 0.5 * step as f64 / steps as f64);
        learner.step(&slope, rate);
    }
    (squares / ((steps - steps / 2) * BATCH).max(1) as f64).sqrt()
}
