//! A network that does what a law, and a residual alongside it, do.
//!
//! A network that was taught only where its teacher goes knows nothing of where its own small mistakes take it. So rounds
//! follow each other (DAgger): the network decides, and of everything that it meets the teacher says what it would have
//! done. In the first round the teacher decides. Which round's network is kept is decided by what it costs in trials.
//!
//! S. Ross, G. Gordon, D. Bagnell, "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
//! Learning", AISTATS 2011.

use std::sync::Arc;

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::kind::DECC;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::{Kind, Model};
use paceline_kernel::rng::Rng;
use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use super::practice::{Manner, Shared, Who, episodes, practise_all};
use super::{model, start, stream};
use crate::Error;
use crate::checkpoint::{Checkpoints, Floats};
use crate::pass::{Fitted, FittedState, backward, first, forward, network, sample};
use crate::search::Trials;

/// How to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloning {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Rounds.
    pub rounds: usize,
    /// Steps of the optimiser in a round.
    pub steps: usize,
    /// Decisions of a network that are learned from, about.
    pub rows: usize,
    /// Networks of trials: the first so many, 0 for all.
    pub networks: usize,
    /// Flows of a network that teaches, at most.
    pub flows: u32,
    /// Threads; the weights do not depend on them.
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
    /// One that ends within seconds.
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

/// A round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// How far actions are from the teacher's, on what is learned from: root of the mean square.
    pub off: f64,
    /// The cost in trials.
    pub cost: f64,
}

/// A clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloned {
    /// How.
    pub options: Cloning,
    /// The law's numbers.
    pub law: Vec<f32>,
    /// The network.
    pub policy: Network,
    /// What its teacher costs in trials.
    pub teacher: f64,
    /// Round by round.
    pub rounds: Vec<Round>,
    /// Decisions that it learned from.
    pub decisions: u64,
    /// Whether it was stopped early.
    pub stopped: bool,
}

impl Cloned {
    /// The cost in trials of what was kept.
    pub fn best(&self) -> f64 {
        let costs = self.rounds.iter().map(|round| round.cost);
        costs.fold(f64::INFINITY, f64::min)
    }
}

/// Rows of a step, and the optimiser's step in the first round; it falls to a tenth.
const BATCH: usize = 256;
pub(super) const RATE: f64 = 2e-3;
/// Draws of networks in a round.
const DRAWS: usize = 2;

/// Where cloning is between two rounds.
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

/// The name of the checkpoint.
const NAME: &str = "clone";

/// Clones a law, with a residual if the model has one, from the checkpoint if there is one; `watch` hears what the teacher
/// costs, and of each round.
///
/// # Errors
/// The model has no law, a network does not run, or a checkpoint cannot be read or written.
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
        let mut rng = stream(options.seed, 3, number as u64);
        let who = match (number, &residual) {
            (0, None) => Who::Law,
            (0, Some(residual)) => Who::Beside(Arc::clone(residual)),
            _ => Who::Instead(Arc::new(learner.network.clone())),
        };
        let manner = Manner {
            law,
            who,
            residual: residual.clone(),
            noise: 0.03,
            kept: options.rows,
        };
        for _ in 0..DRAWS {
            let met = practise_all(&episodes(&mut rng, options.flows), &manner, options.threads)?;
            for one in met.iter().flatten() {
                state.seen.0.extend(one.seen);
                state.labels.0.push(one.label);
                state.decisions += 1;
            }
        }
        let part = number as f64 / options.rounds as f64;
        let off = learn(&mut learner, &state, (options.steps, part), &mut rng);
        let candidate = (Kind::Decc, "candidate");
        let files = model::on_law(candidate, &law.values(), &learner.network, |card| card)?;
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

/// Steps towards the labels: the root of the mean square of what was off, over the last half of them.
fn learn(learner: &mut Fitted, state: &State, (steps, part): (usize, f64), rng: &mut Rng) -> f64 {
    let mut squares = 0.0;
    for step in 0..steps {
        let (seen, labels) = sample((&state.seen.0, INPUTS), &state.labels.0, BATCH, rng);
        let pass = forward(&learner.network, BATCH, seen);
        let off = pass.output.iter().zip(&labels).map(|(a, label)| a - label);
        let off: Vec<f32> = off.collect();
        if step >= steps / 2 {
            squares += off.iter().map(|off| f64::from(off * off)).sum::<f64>();
        }
        let by = off.iter().map(|off| 2.0 * off / BATCH as f32).collect();
        let mut slope = vec![0.0; learner.network.values().len()];
        backward(&learner.network, &pass, by, Some(&mut slope));
        // Over all rounds to a tenth, and within each to half.
        let rate = RATE * (1.0 - 0.9 * part) * (1.0 - 0.5 * step as f64 / steps as f64);
        learner.step(&slope, rate);
    }
    (squares / ((steps - steps / 2) * BATCH).max(1) as f64).sqrt()
}
