//! Fine tuning of a network that was compressed, once: which weights are there and how large steps are stays.

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::layers::{Network, Policy};
use paceline_congestion::learned::whole::{Quantisation, Whole};
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::compress::{Asked, Compressed, Grid, compress};
use super::driver::{Decider, Driver, Manner, judge};
use super::replay::Transition;
use super::{BATCH, DRIVERS, Options, STAGES, stream};
use crate::checkpoint::{Checkpoints, Floats};
use crate::pass::{Adam, backward, forward, network};
use crate::{Error, course};

/// How much it learns from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// What is asked of the compressed network.
    pub asked: Asked,
    /// Observations, and how often it goes through them.
    pub observations: usize,
    /// See above.
    pub epochs: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            asked: Asked::default(),
            observations: 40_000,
            epochs: 5,
        }
    }
}

impl Tuning {
    /// One that ends within seconds.
    pub fn quick(self) -> Self {
        Self {
            observations: 4000,
            ..self
        }
    }
}

/// The step of the optimiser at its beginning; it falls to nothing.
pub(super) const RATE: f64 = 3e-4;
/// The longest gradient.
const LONGEST: f32 = 1.0;

/// How far one network is from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// The mean difference of actions, over the range of the first one's, in what the first one sees.
    pub difference: f64,
    /// The mean reward in trials, of the first and of the other.
    pub rewards: (f64, f64),
}

/// A network compressed and tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The network.
    pub compressed: Compressed,
    /// How it decides in whole numbers.
    pub quantisation: Quantisation,
    /// How far from the network that it was made of: as it was rounded, after tuning, and in whole numbers.
    pub rounded: Apart,
    /// See above.
    pub tuned: Apart,
    /// See above.
    pub whole: Apart,
    /// Steps of tuning, and observations that it learned from.
    pub steps: usize,
    /// See above.
    pub observations: usize,
}

/// Compresses and tunes, from the checkpoint if there is one.
///
/// # Errors
/// A scenario does not run, or the network cannot decide in whole numbers; or a checkpoint cannot be read or written.
pub fn tuned(
    teacher: &Network,
    tuning: &Tuning,
    options: &Options,
    checkpoints: &Checkpoints,
) -> Result<Tuned, Error> {
    let (mut compressed, grid) = compress(teacher, &tuning.asked);
    let before = tried(teacher, options.threads)?;
    let far = |other: &dyn Policy| apart((teacher, &before), other, options.threads);
    let rounded = far(&compressed.network)?;
    let (seen, labels) = observations(teacher, tuning.observations, options.seed)?;
    compressed.network = grid.rounded(&taught(
        teacher,
        &grid,
        (&seen, &labels),
        (tuning.epochs, options.seed),
        checkpoints,
    )?);
    compressed.most = grid.most(&compressed.network);
    let quantisation = Quantisation {
        steps: compressed.steps.iter().map(|step| *step as f32).collect(),
        largest: largest(&compressed.network, &seen[..seen.len().min(CALIBRATED)]),
    };
    let whole = Whole::new(&compressed.network, &quantisation).map_err(Error::Options)?;
    Ok(Tuned {
        rounded,
        tuned: far(&compressed.network)?,
        whole: far(&whole)?,
        compressed,
        quantisation,
        steps: steps(tuning.epochs, seen.len()),
        observations: seen.len(),
    })
}

/// Steps in which so many observations are gone through so often.
fn steps(epochs: usize, observations: usize) -> usize {
    epochs * observations.div_ceil(BATCH)
}

/// Where tuning is, between two steps.
#[derive(Serialize, Deserialize)]
struct State {
    done: usize,
    rng: Rng,
    moving: Floats,
    adam: Adam,
}

/// The name of its checkpoint.
const NAME: &str = "tuning";

/// The teacher's numbers, moved so that what they are rounded to does what it does.
fn taught(
    teacher: &Network,
    grid: &Grid,
    (seen, labels): (&[[f32; INPUTS]], &[f32]),
    (epochs, seed): (usize, u64),
    checkpoints: &Checkpoints,
) -> Result<Network, Error> {
    let mut rng = stream(seed, TUNING, 0);
    let mut moving = teacher.clone();
    let mut adam = Adam::new(moving.values().len());
    let steps = steps(epochs, labels.len());
    let mut begun = 0;
    if let Some(state) = checkpoints.take::<State>(NAME)? {
        moving = network(teacher.layers(), state.moving)?;
        (begun, rng, adam) = (state.done, state.rng, state.adam);
    }
    for step in begun..steps {
        let mut input = Vec::with_capacity(BATCH * INPUTS);
        let mut goals = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            let row = rng.below(labels.len() as u64) as usize;
            input.extend_from_slice(&seen[row]);
            goals.push(labels[row]);
        }
        let rounded = grid.rounded(&moving);
        let pass = forward(&rounded, BATCH, input);
        let off = pass.output.iter().zip(&goals);
        let by = off.map(|(a, goal)| 2.0 * (a - goal) / BATCH as f32).collect();
        let mut slope = vec![0.0; moving.values().len()];
        backward(&rounded, &pass, by, Some(&mut slope));
        grid.cut(&mut slope);
        let rate = RATE * (1.0 - step as f64 / steps as f64);
        adam.step(moving.values_mut(), &slope, rate, LONGEST);
        if checkpoints.are_due() {
            let state = State {
                done: step + 1,
                rng: rng.clone(),
                moving: Floats(moving.values().to_vec()),
                adam: adam.clone(),
            };
            checkpoints.keep(NAME, &state)?;
        }
    }
    Ok(moving)
}

/// Observations by which outputs are scaled.
const CALIBRATED: usize = 10_000;

/// The largest output of each layer.
fn largest(network: &Network, seen: &[[f32; INPUTS]]) -> Vec<f32> {
    let pass = forward(network, seen.len(), seen.concat());
    // What a layer gives is what the next one reads.
    let outputs = pass.inputs[1..].iter().chain([&pass.output]);
    let most = |values: &Vec<f32>| values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    outputs.map(|values| most(values).max(1e-6)).collect()
}

/// The place of its random numbers among those of stages.
const TUNING: usize = 200;

/// What a policy sees, and what it does then.
type Observations = (Vec<[f32; INPUTS]>, Vec<f32>);

/// In networks of the last stage, with some noise in what it does.
fn observations(teacher: &Network, count: usize, seed: u64) -> Result<Observations, Error> {
    let stage = STAGES[STAGES.len() - 1];
    let manner = Manner {
        decider: Decider::Policy(teacher),
        noise: 0.1,
        shaping: 0.0,
    };
    let mut seen = Vec::with_capacity(count);
    for place in 0..DRIVERS {
        let rng: Rng = stream(seed, TUNING, 16 + place as u64);
        let (transitions, _) = Driver::new(stage, rng)?.drive(manner, count.div_ceil(DRIVERS))?;
        seen.extend(transitions.iter().map(|one| one.seen));
    }
    let labels = seen.iter().map(|row| teacher.decide(row)).collect();
    Ok((seen, labels))
}

/// The mean reward of a policy in the networks by which policies are chosen, none of which is learned from; and what it
/// saw there.
type Tried = (f64, Vec<[f32; INPUTS]>);

fn tried(policy: &dyn Policy, threads: usize) -> Result<Tried, Error> {
    let trials = course::trials(&STAGES[STAGES.len() - 1]);
    let of = |place: usize| -> Result<Tried, Error> {
        let mut seen = Vec::new();
        let mut see = |more: &[Transition]| seen.extend(more.iter().map(|one| one.seen));
        let reward = judge(&trials[place], Decider::Policy(policy), place as u64, &mut see)?;
        Ok((reward, seen))
    };
    let each = paceline_lab::run::side_by_side(trials.len(), threads, &of);
    let each = each.into_iter().collect::<Result<Vec<Tried>, Error>>()?;
    let reward = each.iter().map(|(reward, _)| reward).sum::<f64>() / each.len().max(1) as f64;
    Ok((reward, each.into_iter().flat_map(|(_, seen)| seen).collect()))
}

/// How far `other` is from `teacher`.
fn apart(
    (teacher, (reward, seen)): (&dyn Policy, &Tried),
    other: &dyn Policy,
    threads: usize,
) -> Result<Apart, Error> {
    let (mut off, mut low, mut high) = (0.0, f64::MAX, f64::MIN);
    for row in seen {
        let (action, others) = (f64::from(teacher.decide(row)), f64::from(other.decide(row)));
        off += (action - others).abs();
        (low, high) = (low.min(action), high.max(action));
    }
    Ok(Apart {
        difference: off / seen.len().max(1) as f64 / (high - low).max(1e-9),
        rewards: (*reward, tried(other, threads)?.0),
    })
}
