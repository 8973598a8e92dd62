//! Fine-tuning of a compressed network: the selection of weights and the steps stay fixed.

use std::sync::Arc;

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::card::Card;
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::layers::{Network, Policy};
use paceline_congestion::learned::model::Model;
use paceline_congestion::learned::whole::{Quantisation, Whole};
use paceline_kernel::rng::Rng;
use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use super::compress::{Asked, Compressed, Grid, compress};
use super::practice::{Manner, episodes, fixed, practise_all};
use super::{BATCH, model, start, stream};
use crate::Error;
use crate::checkpoint::{Checkpoints, Floats, Slot};
use crate::pass::{Adam, backward, forward, network, sample};
use crate::search::{SWIFT_BY_HAND, SWIFT_SEARCHED, Subject, Trials, decc_of};

/// Settings of fine-tuning after compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Requested degree of compression.
    pub asked: Asked,
    /// Number of observations to learn from.
    pub observations: usize,
    /// Number of passes over the observations.
    pub epochs: usize,
    /// Seed of the observations.
    pub seed: u64,
    /// Number of trial networks, 0 for all.
    pub networks: usize,
    /// Upper limit of the flows in a training network.
    pub flows: u32,
    /// Number of threads; the weights do not depend on it.
    pub threads: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            asked: Asked::default(),
            observations: 100_000,
            epochs: 20,
            seed: 1,
            networks: 0,
            flows: 8192,
            threads: 2,
        }
    }
}

impl Tuning {
    /// Returns settings for a tuning of seconds.
    pub fn quick(self) -> Self {
        Self {
            observations: 4000,
            networks: 2,
            flows: 64,
            ..self
        }
    }
}

/// Initial step size of the optimiser; it falls to zero.
pub(super) const RATE: f64 = 3e-4;
/// Upper limit of a gradient's length.
const LONGEST: f32 = 1.0;

/// Distance between two networks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Mean difference of their actions in the first one's states, relative to the range of the first one's
    /// actions.
    pub difference: f64,
    /// Costs in trials of the first and the second.
    pub costs: (f64, f64),
}

/// Network that was compressed and tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// Law on which the policy is based.
    pub law: Vec<f32>,
    /// Network after pruning and quantisation.
    pub compressed: Compressed,
    /// Quantisation for integer arithmetic.
    pub quantisation: Quantisation,
    /// Distance from the original network after rounding.
    pub rounded: Apart,
    /// Distance from the original network after tuning.
    pub tuned: Apart,
    /// Distance from the original network in integer arithmetic.
    pub whole: Apart,
    /// Number of completed tuning steps.
    pub steps: usize,
    /// Observations used for tuning.
    pub observations: usize,
}

/// Callback after each step with the steps done and the total before the next observations; may stop the
/// tuning.
pub type WatchTuning<'a> = &'a mut dyn FnMut(usize, usize) -> Control;

/// Compresses and tunes a network, from the checkpoint if there is one.
///
/// # Errors
/// A scenario fails, the network does not fit integer arithmetic, a checkpoint cannot be read or written, or
/// the tuning was stopped.
pub fn tuned(
    law: &Law,
    teacher: &Network,
    tuning: &Tuning,
    checkpoints: &Checkpoints,
    watch: WatchTuning<'_>,
) -> Result<Tuned, Error> {
    let (mut compressed, grid) = compress(teacher, &tuning.asked);
    let judge = Judge::new(law, teacher, tuning)?;
    let rounded = judge.apart(&compressed.network, None)?;
    let mut observed = Observations::default();
    let (mut moving, mut done) = (teacher.clone(), 0);
    for (part, name) in (0..).zip(NAMES) {
        // First the teacher's states, then those of the rounded network as well.
        let drives = if part == 0 { teacher } else { &compressed.network };
        let more = observations(law, teacher, drives, part, tuning)?;
        observed.seen.extend(more.seen);
        observed.labels.extend(more.labels);
        let course = Course {
            moving,
            steps: steps(tuning.epochs, observed.labels.len()),
            rng: stream(tuning.seed, TUNING, 8 + part),
        };
        done += course.steps;
        moving = taught(&grid, &observed, course, checkpoints.slot(name), watch)?;
        compressed.network = grid.rounded(&moving);
    }
    let seen = observed.seen;
    compressed.most = grid.most(&compressed.network);
    let quantisation = Quantisation {
        steps: compressed.steps.iter().map(|step| *step as f32).collect(),
        largest: largest(&compressed.network, &seen[..seen.len().min(CALIBRATED)]),
    };
    Ok(Tuned {
        law: law.values(),
        rounded,
        tuned: judge.apart(&compressed.network, None)?,
        whole: judge.apart(&compressed.network, Some(&quantisation))?,
        compressed,
        quantisation,
        steps: done,
        observations: seen.len(),
    })
}

/// Returns the number of steps for `epochs` passes over the observations.
fn steps(epochs: usize, observations: usize) -> usize {
    epochs * observations.div_ceil(BATCH)
}

/// State of tuning between two steps.
#[derive(Serialize, Deserialize)]
struct State {
    done: usize,
    rng: Rng,
    moving: Floats,
    adam: Adam,
}

/// Names of the checkpoints, part by part.
const NAMES: [&str; 2] = ["tuning", "tuning-again"];

/// Trains the unrounded weights so that their rounded versions match the labels.
fn taught(
    grid: &Grid,
    observed: &Observations,
    course: Course,
    slot: Slot<'_>,
    watch: WatchTuning<'_>,
) -> Result<Network, Error> {
    let Observations { seen, labels } = observed;
    let Course {
        mut moving,
        steps,
        mut rng,
    } = course;
    let Slot { checkpoints, name } = slot;
    let mut adam = Adam::new(moving.values().len());
    let mut begun = 0;
    if let Some(state) = checkpoints.take::<State>(name)? {
        moving = network(moving.layers(), state.moving)?;
        (begun, rng, adam) = (state.done, state.rng, state.adam);
    }
    for step in begun..steps {
        let (input, goals) = sample(seen.as_flattened(), INPUTS, labels, BATCH, &mut rng);
        // The loss is of the rounded network, the step moves the unrounded weights: most steps are smaller than the
        // grid and would be lost by rounding.
        let rounded = grid.rounded(&moving);
        let pass = forward(&rounded, BATCH, input);
        let off = pass.output.iter().zip(&goals);
        let by = off.map(|(a, goal)| 2.0 * (a - goal) / BATCH as f32).collect();
        let mut slope = vec![0.0; moving.values().len()];
        backward(&rounded, &pass, by, Some(&mut slope));
        // A removed weight would otherwise grow back.
        grid.cut(&mut slope);
        // Steps end at zero, or weights near a boundary of the grid would change sides to the end.
        let rate = RATE * (1.0 - step as f64 / steps as f64);
        adam.step(moving.values_mut(), &slope, rate, LONGEST);
        let stopped = watch(step + 1, steps) == Control::Stop;
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            let state = State {
                done: step + 1,
                rng: rng.clone(),
                moving: Floats(moving.values().to_vec()),
                adam: adam.clone(),
            };
            checkpoints.keep(name, &state)?;
        }
        if stopped {
            return Err(Error::Stopped("the network was compressed"));
        }
    }
    Ok(moving)
}

/// Number of observations that determine the scale of outputs.
const CALIBRATED: usize = 10_000;

/// Returns the largest absolute output of each layer.
fn largest(network: &Network, seen: &[[f32; INPUTS]]) -> Vec<f32> {
    let pass = forward(network, seen.len(), seen.concat());
    // The outputs of a layer are the inputs of the next.
    let outputs = pass.inputs[1..].iter().chain([&pass.output]);
    let most = |values: &Vec<f32>| values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    outputs.map(|values| most(values).max(1e-6)).collect()
}

/// Number of the random streams of this stage.
const TUNING: u64 = 4;

/// States that a policy met, with the teacher's actions.
#[derive(Default)]
struct Observations {
    seen: Vec<[f32; INPUTS]>,
    labels: Vec<f32>,
}

/// Start of a course of tuning, and its length.
struct Course {
    /// Weights of the law before they are rounded.
    moving: Network,
    steps: usize,
    rng: Rng,
}

/// Records states in random networks where `drives` decides with a little noise, and labels them with the
/// teacher's actions.
fn observations(
    law: &Law,
    teacher: &Network,
    drives: &Network,
    part: u64,
    tuning: &Tuning,
) -> Result<Observations, Error> {
    let mut rng: Rng = stream(tuning.seed, TUNING, 1 + part);
    let (mut seen, mut draws) = (Vec::with_capacity(tuning.observations), 0);
    while seen.len() < tuning.observations {
        let manner = Manner::instead(law, Arc::new(drives.clone()), 0.03, tuning.observations / 16);
        let met = practise_all(&episodes(&mut rng, tuning.flows), &manner, tuning.threads)?;
        seen.extend(met.iter().flatten().map(|one| one.seen));
        draws += 1;
        if draws > 64 {
            return Err(Error::Options("flows decide too seldom to learn from".into()));
        }
    }
    let labels = seen.iter().map(|row| teacher.decide(row)).collect();
    Ok(Observations { seen, labels })
}

/// Returns the states that a network meets in trials, where it decides.
fn met_in(
    networks: &[(crate::search::Network, u64)],
    law: &Law,
    teacher: &Network,
    threads: usize,
) -> Result<Vec<[f32; INPUTS]>, Error> {
    let manner = Manner::instead(law, Arc::new(teacher.clone()), 0.0, 2000);
    let met = practise_all(&fixed(networks), &manner, threads)?;
    Ok(met.iter().flatten().map(|one| one.seen).collect())
}

/// Returns the mean difference of two policies' actions, relative to the range of the first one's.
fn apart(seen: &[[f32; INPUTS]], one: &dyn Policy, other: &dyn Policy) -> f64 {
    let (mut off, mut low, mut high) = (0.0, f64::MAX, f64::MIN);
    for row in seen {
        let (action, others) = (f64::from(one.decide(row)), f64::from(other.decide(row)));
        off += (action - others).abs();
        (low, high) = (low.min(action), high.max(action));
    }
    off / seen.len().max(1) as f64 / (high - low).max(1e-9)
}

/// Returns the mean difference between the actions of a network and another policy in the network's states in
/// trials, relative to the range of its actions.
///
/// # Errors
/// The first is no network of DECC, the other is no policy, or a trial fails.
pub fn difference(teacher: &Model, other: &Model, threads: usize) -> Result<f64, Error> {
    let start::LawClone { law, network } = start::clone_of(teacher)?;
    let decides = other
        .decides()
        .ok_or_else(|| start::other(other, "a policy of DECC"))?;
    let seen = met_in(&Trials::networks_of(0), &law, &network, threads)?;
    Ok(apart(&seen, &network, decides))
}

/// Returns costs in trials relative to the oracle's: of Swift with parameters set by hand and with searched
/// ones, then of DECC under each model.
///
/// # Errors
/// A trial fails.
pub fn in_trials(models: &[Arc<Model>], threads: usize) -> Result<Vec<f64>, Error> {
    let trials = Trials::new(0, threads)?;
    let swift = [SWIFT_BY_HAND, SWIFT_SEARCHED].into_iter();
    let swift = swift.map(|values| trials.cost(&|network| Subject::Swift.config(&values, network)));
    let decc = models
        .iter()
        .map(|model| trials.cost(&|_| Ok(decc_of(Arc::clone(model)))));
    swift.chain(decc).collect()
}

/// Reference for compressed networks: teacher, its states and its cost.
struct Judge<'a> {
    law: Law,
    teacher: &'a Network,
    trials: Trials,
    cost: f64,
    /// States of the teacher in trials.
    seen: Vec<[f32; INPUTS]>,
}

impl<'a> Judge<'a> {
    fn new(law: &Law, teacher: &'a Network, tuning: &Tuning) -> Result<Self, Error> {
        let trials = Trials::new(tuning.networks, tuning.threads)?;
        Ok(Self {
            law: *law,
            teacher,
            cost: cost(&trials, law, teacher, None)?,
            seen: met_in(trials.networks(), law, teacher, tuning.threads)?,
            trials,
        })
    }

    /// Returns the distance of another network from the teacher; in integer arithmetic if `quantisation` is
    /// given.
    fn apart(&self, other: &Network, quantisation: Option<&Quantisation>) -> Result<Apart, Error> {
        let whole = quantisation.map(|said| Whole::new(other, said));
        let whole = whole.transpose().map_err(Error::Options)?;
        let decides: &dyn Policy = match &whole {
            Some(whole) => whole,
            None => other,
        };
        Ok(Apart {
            difference: apart(&self.seen, self.teacher, decides),
            costs: (self.cost, cost(&self.trials, &self.law, other, quantisation)?),
        })
    }
}

fn cost(
    trials: &Trials,
    law: &Law,
    policy: &Network,
    quantisation: Option<&Quantisation>,
) -> Result<f64, Error> {
    let files = model::on_law(ModelKind::Decc, "candidate", &law.values(), policy, |card| Card {
        quantisation: quantisation.cloned(),
        ..card
    })?;
    trials.cost_of(&files)
}
