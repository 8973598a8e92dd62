//! Refinement of a law for networks that its agents met and the search did not have: [`crate::experience`].
//!
//! The search starts at the law. Half of the networks of a generation resemble those of the experience, the
//! others are drawn as in the original search, so that the law stays good there. Every few generations the
//! mean of the search is tried in networks of both kinds. If it gets too much worse in the old ones, points
//! closer to the law are tried. The result is better in the networks of the experience, and at most
//! [`FORGETS`] worse in the old ones.
//!
//! Trials select, so they cannot judge: the reported costs before and after are from seeds used neither for
//! learning nor for selection.

use std::sync::Arc;

use paceline_congestion::learned::card::{Card, Data, DataSource, Metrics, RoundMetrics, Training};
use paceline_congestion::learned::{Model, ModelKind};
use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use super::{
    Checkpoints, Cma, Configured, Options, SIGMA, Seeded, Subject, Trials, decc_of, described, drawn,
    expect_length, files, seeded, step, stream,
};
use crate::Error;
use crate::course::{EVALUATION, SELECTION};
use crate::experience::{Gathered, MOST_FLOWS};
use crate::write::ModelFiles;

/// Upper limit of the relative cost increase in the old networks: 2 %.
pub const FORGETS: f64 = 0.02;
/// Default number of generations: about ten minutes on two cores.
const GENERATIONS: u32 = 25;
/// Number of trial runs in networks of the experience: the same as in the old ones.
const RUNS: usize = 18;
/// Number of trial runs of a quick refinement, and its upper limit of flows per network.
const QUICK: (usize, u32) = (4, 32);
/// Fractions of the way from the law to the mean of the search, tried in this order until one does not forget
/// too much.
const SHARES: [f64; 3] = [1.0, 0.5, 0.25];
/// Name of the refinement's checkpoint.
const NAME: &str = "refined";

/// Law to refine, and the experience with it.
#[derive(Clone, Debug)]
pub struct Start {
    /// Law to start from. With `None` the search starts at its usual point, and only in networks of the
    /// experience.
    pub law: Option<Law>,
    /// Experience of agents under the law.
    pub experience: Gathered,
    /// Coefficients of the original law if it was refined before; forgetting is measured against them.
    pub first: Option<Vec<f64>>,
}

impl Start {
    fn values(&self) -> Vec<f64> {
        self.law.as_ref().map_or_else(
            || Subject::Law.values(&Subject::Law.start()),
            |law| law.values.clone(),
        )
    }
}

/// Rate law of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// Name of the model.
    pub name: String,
    /// Coefficients in the order of the law's axes.
    pub values: Vec<f64>,
    /// SHA-256 of the model's weights.
    pub sha256: String,
    /// True if the model is a network or a forest that was cloned from the law.
    pub cloned: bool,
}

/// Returns the law of a model as the start of a search. For a network or a forest it is the law from which it
/// was cloned.
///
/// # Errors
/// The model has no law, or it has a residual network in addition.
pub fn start_of(model: &Model) -> Result<Law, Error> {
    let card = model.card();
    match (card.kind, model.law()) {
        (ModelKind::Law | ModelKind::Decc | ModelKind::Forest, Some(law)) => Ok(Law {
            name: card.name.clone(),
            values: law.values().into_iter().map(f64::from).collect(),
            sha256: card.weights_sha256.to_lowercase(),
            cloned: card.kind != ModelKind::Law,
        }),
        (ModelKind::Residual, _) => Err(Error::Options(format!(
            "`{}` is of kind residual: its network fits the law next to it, and another law needs another one; expected a rate \
             law, or a network or trees cloned from one. Refine the law, then train the residual again: `paceline train decc \
             residual --from MODEL`",
            card.name
        ))),
        _ => Err(Error::Options(format!(
            "`{}` is of kind {} and has no rate law; expected one of DECC's: a law, or a network or trees cloned from one",
            card.name, card.kind
        ))),
    }
}

impl Options {
    /// Returns the default settings of a refinement.
    pub const fn refining() -> Self {
        Self {
            generations: GENERATIONS,
            trial: 3,
            ..Self::new(Subject::Law)
        }
    }
}

/// Costs relative to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Cost in networks that resemble the experience.
    pub experience: f64,
    /// Cost in the networks of the original search.
    pub old: f64,
}

impl Costs {
    /// Returns the cost increase in the old networks since `before`, in per cent; it is negative for an
    /// improvement.
    pub fn forgotten(&self, before: &Self) -> f64 {
        100.0 * (self.old / before.old - 1.0)
    }
}

/// Progress of a refinement after a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Number of completed generations.
    pub generation: u32,
    /// Cost of the generation's best candidate, in its networks.
    pub best: f64,
    /// Median cost of the generation's candidates, in its networks.
    pub median: f64,
    /// Present step size of the search.
    pub sigma: f64,
    /// Last trial of this generation, if there was one.
    pub trial: Option<Tried>,
}

/// Trial of a point between the law and the mean of the search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Fraction of the way from the law to the mean.
    pub share: f64,
    /// Costs of the point in trials.
    pub costs: Costs,
    /// True if the point was kept as the best.
    pub kept: bool,
}

/// Result of a refinement.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// Settings of the search.
    pub options: Options,
    /// Coefficients of the refined law.
    pub values: Vec<f64>,
    /// Costs of the start and of the result in trials.
    pub trials: (Costs, Costs),
    /// Costs of both on seeds used neither for learning nor for selection; `None` before
    /// [`judge`](Self::judge).
    pub judged: Option<(Costs, Costs)>,
    /// Progress after each generation.
    pub steps: Vec<Step>,
    /// True if the search was stopped early.
    pub stopped: bool,
}

/// Checkpoint of a refinement between two generations.
#[derive(Serialize, Deserialize)]
struct State {
    /// Hashes of law and experience, which must match on a restart.
    of: String,
    search: Cma,
    generation: u32,
    start: Costs,
    /// Costs of the original law, against which forgetting is measured.
    first: Costs,
    best: (Costs, Vec<f64>),
    steps: Vec<Step>,
}

/// Trials in the networks of the experience and in those of the original search.
struct Both {
    experience: Trials,
    old: Trials,
}

impl Both {
    fn new(options: &Options, experience: &Gathered, seed: u64) -> Result<Self, Error> {
        let (runs, most) = bounds(options);
        let networks: Seeded = experience
            .trials(runs, most)
            .into_iter()
            .zip(seed + 2000..)
            .collect();
        Ok(Self {
            experience: Trials::of(networks, options.threads)?,
            old: Trials::of(Trials::twice(options.networks, seed + 1000), options.threads)?,
        })
    }

    fn costs(&self, values: &[f64]) -> Result<Costs, Error> {
        self.costs_under(&|network: &super::Network| Subject::Law.config(values, network))
    }

    fn costs_under(&self, config: Configured<'_>) -> Result<Costs, Error> {
        Ok(Costs {
            experience: self.experience.cost(config)?,
            old: self.old.cost(config)?,
        })
    }
}

/// Networks of both kinds with seeds used neither for learning nor for selection.
pub struct Judges(Both);

impl Judges {
    /// Runs the oracle in them to obtain the reference costs.
    ///
    /// # Errors
    /// A network cannot be built.
    pub fn new(options: &Options, experience: &Gathered) -> Result<Self, Error> {
        Both::new(options, experience, EVALUATION).map(Self)
    }

    /// Returns the costs of DECC under a model.
    ///
    /// # Errors
    /// A network cannot be built.
    pub fn costs(&self, model: &Arc<Model>) -> Result<Costs, Error> {
        self.0.costs_under(&|_| Ok(decc_of(Arc::clone(model))))
    }

    /// Returns the costs of DECC under a law with these coefficients.
    ///
    /// # Errors
    /// A network cannot be built, or the coefficients do not fit the law.
    pub fn costs_of_law(&self, values: &[f64]) -> Result<Costs, Error> {
        self.0.costs(values)
    }
}

/// Returns the number of trial runs, and the upper limit of flows to a host.
const fn bounds(options: &Options) -> (usize, u32) {
    match options.networks {
        0 => (RUNS, MOST_FLOWS),
        _ => QUICK,
    }
}

/// Callback before the first generation, with the costs of the start, and after each generation; may stop the
/// search.
pub type WatchRefining<'a> = &'a mut dyn FnMut(&Costs, Option<&Step>) -> Control;

/// Refines a law, from the checkpoint if there is one.
///
/// # Errors
/// A network cannot be built, a checkpoint cannot be read or written, or it belongs to another law or other
/// experience.
pub fn refine(
    options: &Options,
    start: &Start,
    checkpoints: &Checkpoints,
    watch: WatchRefining<'_>,
) -> Result<Refined, Error> {
    let law = start.law.as_ref();
    let hash = law.map_or("none", |law| &law.sha256);
    let of = format!("{hash} {}", start.experience.sha256);
    let values = start.values();
    // Trials have seeds of their own: a law that is chosen in the networks that it learned from would look better
    // than it is.
    let trials = Both::new(options, &start.experience, SELECTION.start)?;
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(state) => {
            // Costs in the checkpoint would not be comparable.
            if state.of != of {
                return Err(Error::Options(
                    "the model or the experience has changed since this training was stopped: put it back, or start \
                     again with --force"
                        .into(),
                ));
            }
            expect_length(state.best.1.len(), values.len())?;
            // A search of other dimensions would panic in its first step.
            if !state.search.fits(values.len()) {
                return Err(Error::Options("a checkpoint is of another search".to_string()));
            }
            state
        }
        None => {
            let costs = trials.costs(&values)?;
            // For an original law the costs of the start serve as the reference.
            let first = start.first.as_ref().filter(|first| **first != values);
            State {
                of,
                search: Cma::new(Subject::Law.point(&values), SIGMA),
                generation: 0,
                start: costs,
                first: first.map_or(Ok(costs), |first| trials.costs(first))?,
                best: (costs, values.clone()),
                steps: Vec::new(),
            }
        }
    };
    let mut stopped = watch(&state.start, None) == Control::Stop;
    while state.generation < options.generations && !stopped {
        let step = generation(options, start, &values, &trials, &mut state)?;
        stopped = watch(&state.start, Some(&step)) == Control::Stop;
        state.steps.push(step);
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            checkpoints.keep(NAME, &state)?;
        }
    }
    Ok(Refined {
        options: *options,
        trials: (state.start, state.best.0),
        values: state.best.1,
        judged: None,
        steps: state.steps,
        stopped,
    })
}

/// Returns the networks of a generation: alternately one that resembles the experience and one of the
/// original search. The assignment alternates between generations.
fn networks(options: &Options, start: &Start, generation: u32) -> Seeded {
    let (old, rng) = drawn(options, generation);
    let count = match options.networks {
        0 => old.len(),
        count => count.min(old.len()),
    };
    let (_, most) = bounds(options);
    let met = start
        .experience
        .draw(&mut stream(options, 3, generation), count, most);
    let pairs = met.into_iter().zip(old).zip(generation as usize..);
    let mixed = pairs.map(
        |((met, old), index)| match start.law.is_some() && index % 2 == 1 {
            true => old,
            false => met,
        },
    );
    seeded(mixed.collect(), rng)
}

/// Runs a generation, and a trial if one is due.
fn generation(
    options: &Options,
    start: &Start,
    law: &[f64],
    trials: &Both,
    state: &mut State,
) -> Result<Step, Error> {
    let networks = networks(options, start, state.generation);
    let (best, median) = step(options, &mut state.search, state.generation, &networks)?;
    state.generation += 1;
    let trial = match options.tries_after(state.generation) {
        true => Some(tried(start.law.is_some(), law, trials, state)?),
        false => None,
    };
    Ok(Step {
        generation: state.generation,
        best,
        median,
        sigma: state.search.sigma(),
        trial,
    })
}

/// Tries the mean of the search and then points closer to the law. A better point is kept.
fn tried(bound: bool, law: &[f64], trials: &Both, state: &mut State) -> Result<Tried, Error> {
    let from = Subject::Law.point(law);
    let mut trial = None;
    for share in SHARES {
        let towards = from.iter().zip(state.search.mean());
        let point: Vec<f64> = towards.map(|(from, to)| from + share * (to - from)).collect();
        let values = Subject::Law.values(&point);
        let costs = trials.costs(&values)?;
        let remembers = !bound || costs.forgotten(&state.first) <= 100.0 * FORGETS;
        let kept = remembers && costs.experience < state.best.0.experience;
        trial = Some(Tried { share, costs, kept });
        if kept {
            state.best = (costs, values);
        }
        // Closer points are only needed if this one forgets too much.
        if remembers {
            break;
        }
    }
    trial.ok_or_else(|| Error::Options("a trial goes nowhere".into()))
}

/// Returns the model files of a refined law.
///
/// # Errors
/// The card or the weights cannot be serialised.
pub fn refined_model(
    name: &str,
    refined: &Refined,
    start: &Start,
    command: &str,
) -> Result<ModelFiles, Error> {
    let rounds = refined.steps.iter().map(|step| RoundMetrics {
        round: u64::from(step.generation),
        loss: step.trial.map_or(step.median, |trial| trial.costs.experience),
        ..RoundMetrics::default()
    });
    let of_run = |one: &crate::experience::Experience| DataSource {
        scenario: one.run.scenario.clone(),
        scheme: one.run.scheme.clone(),
        settings: vec![format!(
            "experience: cost {:.2} under `{}`",
            one.result.cost, one.model.name
        )],
        seed: one.run.seed,
        fidelity: "exact".into(),
        model_sha256: Some(one.model.sha256.clone()),
        version: one.version.clone(),
        ..DataSource::default()
    };
    files::law(name, &refined.values, |card| {
        let card = described(&refined.options, refined.steps.len(), command, card);
        let drawn = card.data.sources.iter().filter(|_| start.law.is_some()).cloned();
        let sources = drawn.chain(start.experience.each.iter().map(of_run)).collect();
        Card {
            data: Data { sources, ..card.data },
            training: Training {
                loss: format!("{}. {}", card.training.loss, refined.summary()),
                ..card.training
            },
            metrics: Metrics {
                rounds: rounds.collect(),
                ..Metrics::default()
            },
            ..card
        }
    })
}

/// Costs of the laws before and after a refinement.
#[derive(Clone, Copy, Debug)]
pub struct CostChange {
    /// Costs of the law that the refinement started from.
    pub before: Costs,
    /// Costs of the refined law.
    pub after: Costs,
    /// Description of the runs behind the costs.
    pub measured: &'static str,
}

impl Refined {
    /// Computes the costs of both laws on seeds used neither for learning nor for selection.
    ///
    /// # Errors
    /// A network cannot be built.
    pub fn judge(&mut self, start: &Start) -> Result<(), Error> {
        let Judges(judges) = Judges::new(&self.options, &start.experience)?;
        let values = start.values();
        let before = judges.costs(&values)?;
        let after = match self.values == values {
            true => before,
            false => judges.costs(&self.values)?,
        };
        self.judged = Some((before, after));
        Ok(())
    }

    /// Returns the costs before and after: those of the final judgement, if there is one.
    pub fn costs(&self) -> CostChange {
        let ((before, after), measured) = match self.judged {
            Some(judged) => (judged, "on seeds that neither taught nor chose"),
            None => (self.trials, "in trials, which chose it"),
        };
        CostChange {
            before,
            after,
            measured,
        }
    }

    /// Returns a sentence with the costs before and after.
    pub fn summary(&self) -> String {
        let CostChange {
            before,
            after,
            measured,
        } = self.costs();
        format!(
            "Cost over the reference's {measured}: from {:.3} to {:.3} in the networks of the experience, from {:.3} to {:.3} in the old \
             ones (forgetting {:.1} %)",
            before.experience,
            after.experience,
            before.old,
            after.old,
            after.forgotten(&before)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::TRAINING;
    use crate::experience::tests::ran;

    /// Every other network of a generation resembles the experience; without a law all do.
    #[test]
    fn half_of_a_generation_is_as_was_met() {
        let (_, met) = ran(|network| network.gbps = 800.0);
        let law = paceline_congestion::learned::shipped::find("decc-law").unwrap();
        let mut start = Start {
            law: Some(start_of(&law).unwrap()),
            experience: Gathered {
                each: vec![met],
                sha256: String::new(),
                warnings: Vec::new(),
            },
            first: None,
        };
        let options = Options::refining();
        for generation in 0..2 {
            let drawn = networks(&options, &start, generation);
            assert_eq!(drawn.len(), 11);
            for (index, (network, seed)) in drawn.iter().enumerate() {
                let is_met = (index + generation as usize).is_multiple_of(2);
                assert_eq!(network.gbps == 800.0, is_met, "{index}: {network:?}");
                assert!(TRAINING.contains(seed));
            }
            assert_eq!(networks(&options, &start, generation), drawn);
        }
        start.law = None;
        let drawn = networks(&options, &start, 0);
        assert!(drawn.iter().all(|(network, _)| network.gbps == 800.0));
    }

    #[test]
    fn forgetting_is_what_the_old_networks_cost_more() {
        let costs = |old| Costs { experience: 1.0, old };
        assert!((costs(2.55).forgotten(&costs(2.5)) - 2.0).abs() < 1e-9);
        assert!(costs(2.0).forgotten(&costs(2.5)) < 0.0);
    }
}
