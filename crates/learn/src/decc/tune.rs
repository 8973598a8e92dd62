//! Fine tuning of a network that was compressed, once: which weights are there and how large steps are stays.

use std::sync::Arc;

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::card::Card;
use paceline_congestion::learned::kind::Kind;
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
use crate::checkpoint::{Checkpoints, Floats};
use crate::pass::{Adam, backward, forward, network, sample};
use crate::search::{SWIFT_BY_HAND, SWIFT_SEARCHED, Subject, Trials, decc_of};

/// How much it learns from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// What is asked of the compressed network.
    pub asked: Asked,
    /// Observations, and how often it goes through them.
    pub observations: usize,
    /// See above.
    pub epochs: usize,
    /// Seed of what it learns from.
    pub seed: u64,
    /// Networks of trials: the first so many, 0 for all.
    pub networks: usize,
    /// Flows of a network that teaches, at most.
    pub flows: u32,
    /// Threads; the weights do not depend on them.
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
    /// One that ends within seconds.
    pub fn quick(self) -> Self {
        Self {
            observations: 4000,
            networks: 2,
            flows: 64,
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
    /// The cost in trials, of the first and of the other.
    pub costs: (f64, f64),
}

/// A network compressed and tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The law that it builds on.
    pub law: Vec<f32>,
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

/// Called after each step with steps done, and how many there are before observations are made again; may stop it.
pub type WatchTuning<'a> = &'a mut dyn FnMut(usize, usize) -> Control;

/// Compresses and tunes, from the checkpoint if there is one.
///
/// # Errors
/// A scenario does not run, or the network cannot decide in whole numbers; a checkpoint cannot be read or written; or it was
/// stopped.
pub fn tuned(
    (law, teacher): (&Law, &Network),
    tuning: &Tuning,
    checkpoints: &Checkpoints,
    watch: WatchTuning<'_>,
) -> Result<Tuned, Error> {
    let (mut compressed, grid) = compress(teacher, &tuning.asked);
    let judge = Judge::new(law, teacher, tuning)?;
    let rounded = judge.apart(&compressed.network, None)?;
    let mut observed: Observations = (Vec::new(), Vec::new());
    let (mut moving, mut done) = (teacher.clone(), 0);
    for (part, name) in (0..).zip(NAMES) {
        // First what the teacher meets, then also what the rounded network does.
        let drives = if part == 0 { teacher } else { &compressed.network };
        let (seen, labels) = observations(law, (teacher, drives), (part, tuning))?;
        observed.0.extend(seen);
        observed.1.extend(labels);
        done += steps(tuning.epochs, observed.1.len());
        let with = (&*observed.0, &*observed.1);
        let rng = stream(tuning.seed, TUNING, 8 + part);
        let how = (tuning.epochs, rng);
        moving = taught(moving, &grid, with, how, (name, checkpoints, watch))?;
        compressed.network = grid.rounded(&moving);
    }
    let (seen, _) = observed;
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

/// The names of its checkpoints, part after part.
const NAMES: [&str; 2] = ["tuning", "tuning-again"];

/// Numbers, moved so that what they are rounded to does what labels say.
fn taught(
    mut moving: Network,
    grid: &Grid,
    (seen, labels): (&[[f32; INPUTS]], &[f32]),
    (epochs, mut rng): (usize, Rng),
    (name, checkpoints, watch): (&str, &Checkpoints, WatchTuning<'_>),
) -> Result<Network, Error> {
    let mut adam = Adam::new(moving.values().len());
    let steps = steps(epochs, labels.len());
    let mut begun = 0;
    if let Some(state) = checkpoints.take::<State>(name)? {
        moving = network(moving.layers(), state.moving)?;
        (begun, rng, adam) = (state.done, state.rng, state.adam);
    }
    for step in begun..steps {
        let (input, goals) = sample((seen.as_flattened(), INPUTS), labels, BATCH, &mut rng);
        let rounded = grid.rounded(&moving);
        let pass = forward(&rounded, BATCH, input);
        let off = pass.output.iter().zip(&goals);
        let by = off.map(|(a, goal)| 2.0 * (a - goal) / BATCH as f32).collect();
        let mut slope = vec![0.0; moving.values().len()];
        backward(&rounded, &pass, by, Some(&mut slope));
        grid.cut(&mut slope);
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
const TUNING: u64 = 4;

/// What a policy sees, and what it does then.
type Observations = (Vec<[f32; INPUTS]>, Vec<f32>);

/// In networks that are drawn, where `drives` decides, with a little noise; and what the teacher would have done.
fn observations(
    law: &Law,
    (teacher, drives): (&Network, &Network),
    (part, tuning): (u64, &Tuning),
) -> Result<Observations, Error> {
    let mut rng: Rng = stream(tuning.seed, TUNING, 1 + part);
    let (mut seen, mut draws) = (Vec::with_capacity(tuning.observations), 0);
    while seen.len() < tuning.observations {
        let how = (0.03, tuning.observations / 16);
        let manner = Manner::instead(law, Arc::new(drives.clone()), how);
        let met = practise_all(&episodes(&mut rng, tuning.flows), &manner, tuning.threads)?;
        seen.extend(met.iter().flatten().map(|one| one.seen));
        draws += 1;
        if draws > 64 {
            return Err(Error::Options("flows decide too seldom to learn from".into()));
        }
    }
    let labels = seen.iter().map(|row| teacher.decide(row)).collect();
    Ok((seen, labels))
}

/// What a network sees in trials, where it decides.
fn met_in(
    networks: &[(crate::search::Network, u64)],
    (law, teacher): (&Law, &Network),
    threads: usize,
) -> Result<Vec<[f32; INPUTS]>, Error> {
    let manner = Manner::instead(law, Arc::new(teacher.clone()), (0.0, 2000));
    let met = practise_all(&fixed(networks), &manner, threads)?;
    Ok(met.iter().flatten().map(|one| one.seen).collect())
}

/// The mean difference of two policies' actions, over the range of the first one's.
fn apart(seen: &[[f32; INPUTS]], one: &dyn Policy, other: &dyn Policy) -> f64 {
    let (mut off, mut low, mut high) = (0.0, f64::MAX, f64::MIN);
    for row in seen {
        let (action, others) = (f64::from(one.decide(row)), f64::from(other.decide(row)));
        off += (action - others).abs();
        (low, high) = (low.min(action), high.max(action));
    }
    off / seen.len().max(1) as f64 / (high - low).max(1e-9)
}

/// How far the actions of another policy are from a network's in what that meets in trials, over their range.
///
/// # Errors
/// The first is no network of DECC, the other does not decide, or a trial does not run.
pub fn difference(teacher: &Model, other: &Model, threads: usize) -> Result<f64, Error> {
    let (law, network) = start::clone_of(teacher)?;
    let decides = other
        .decides()
        .ok_or_else(|| start::other(other, "a policy of DECC"))?;
    let seen = met_in(&Trials::networks_of(0), (&law, &network), threads)?;
    Ok(apart(&seen, &network, decides))
}

/// Costs in trials, over the oracle's: of Swift by hand and as it was searched for, then of DECC under each of these models.
///
/// # Errors
/// A trial does not run.
pub fn in_trials(models: &[Arc<Model>], threads: usize) -> Result<Vec<f64>, Error> {
    let trials = Trials::new(0, threads)?;
    let swift = [SWIFT_BY_HAND, SWIFT_SEARCHED].into_iter();
    let swift = swift.map(|values| trials.cost(&|network| Subject::Swift.config(&values, network)));
    let decc = models
        .iter()
        .map(|model| trials.cost(&|_| Ok(decc_of(Arc::clone(model)))));
    swift.chain(decc).collect()
}

/// What compressed networks are held against.
struct Judge<'a> {
    law: Law,
    teacher: &'a Network,
    trials: Trials,
    cost: f64,
    /// What the teacher sees in trials.
    seen: Vec<[f32; INPUTS]>,
}

impl<'a> Judge<'a> {
    fn new(law: &Law, teacher: &'a Network, tuning: &Tuning) -> Result<Self, Error> {
        let trials = Trials::new(tuning.networks, tuning.threads)?;
        Ok(Self {
            law: *law,
            teacher,
            cost: cost(&trials, law, teacher, None)?,
            seen: met_in(trials.networks(), (law, teacher), tuning.threads)?,
            trials,
        })
    }

    /// How far another network is from the teacher; in whole numbers if it says how.
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
    let candidate = (Kind::Decc, "candidate");
    let files = model::on_law(candidate, &law.values(), policy, |card| Card {
        quantisation: quantisation.cloned(),
        ..card
    })?;
    trials.cost_of(&files)
}
