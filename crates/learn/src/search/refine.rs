//! Going on with a law where agents met other networks than the search had: [`crate::experience`].
//!
//! The search starts at the law. Half of the networks of a generation are like those that were met, the
//! others are drawn as always, so that the law is not lost where it was good. The middle of the search is tried every few
//! generations in networks of both kinds. If it forgets too much in the old ones, points nearer to the law are tried: what is
//! kept is better in the networks that were met, and at most [`FORGETS`] worse in the old ones.
//!
//! Trials choose, so they do not judge: costs before and after are of seeds that neither taught nor chose.

use std::sync::Arc;

use paceline_congestion::learned::card::{Card, Data, DataSource, Metrics, RoundMetrics, Training};
use paceline_congestion::learned::{Kind, Model};
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

/// How much worse a law may be in the old networks: 2 %.
pub const FORGETS: f64 = 0.02;
/// Generations, unless a command says otherwise: about ten minutes of two cores.
const GENERATIONS: u32 = 25;
/// Runs of a trial in the networks that were met: as many as in the old ones.
const RUNS: usize = 18;
/// The same of a quick one, and the most flows of its networks.
const QUICK: (usize, u32) = (4, 32);
/// How far towards the middle of the search a trial goes: less where that forgets too much.
const SHARES: [f64; 3] = [1.0, 0.5, 0.25];
/// The name of its checkpoint.
const NAME: &str = "refined";

/// A law to go on with, and what was met.
#[derive(Clone, Debug)]
pub struct Start {
    /// The law; nothing: the search starts where all do, in the networks that were met alone.
    pub law: Option<Law>,
    /// What was met.
    pub experience: Gathered,
    /// Of a law that was refined before, the numbers of the first one: forgetting is measured against it.
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

/// A law.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// Its name.
    pub name: String,
    /// Its numbers.
    pub values: Vec<f64>,
    /// SHA-256 of the model's weights.
    pub sha256: String,
    /// Whether the model is a network, or trees, that were cloned from it.
    pub cloned: bool,
}

/// Takes the law of a model as what a search starts from: of a network, or of trees, the law that they were cloned from.
///
/// # Errors
/// It has no law, or a residual network beside it.
pub fn start_of(model: &Model) -> Result<Law, Error> {
    let card = model.card();
    match (card.kind, model.law()) {
        (Kind::Law | Kind::Decc | Kind::Forest, Some(law)) => Ok(Law {
            name: card.name.clone(),
            values: law.values().into_iter().map(f64::from).collect(),
            sha256: card.weights_sha256.to_lowercase(),
            cloned: card.kind != Kind::Law,
        }),
        (Kind::Residual, _) => Err(Error::Options(format!(
            "`{}` is of kind residual: its network fits the law next to it, and another law needs another one; expected a rate \
             law, or a network or trees cloned from one. Refine the law, then train the residual again: `paceline train decc \
             --algorithm td3 --from MODEL`",
            card.name
        ))),
        _ => Err(Error::Options(format!(
            "`{}` is of kind {} and has no rate law; expected one of DECC's: a law, or a network or trees cloned from one",
            card.name, card.kind
        ))),
    }
}

impl Options {
    /// A search that goes on with a law.
    pub const fn refining() -> Self {
        Self {
            generations: GENERATIONS,
            trial: 3,
            ..Self::new(Subject::Law)
        }
    }
}

/// Costs over the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// In networks like those that were met.
    pub experience: f64,
    /// In the search's own.
    pub old: f64,
}

impl Costs {
    /// How much of what was good in the old networks is lost since `before`, in per cent; below 0 it is better.
    pub fn forgotten(&self, before: &Self) -> f64 {
        100.0 * (self.old / before.old - 1.0)
    }
}

/// A generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Generations done.
    pub generation: u32,
    /// The cost of the best candidate and of the median, in the networks of this generation.
    pub best: f64,
    /// See above.
    pub median: f64,
    /// How far candidates are drawn.
    pub sigma: f64,
    /// Where there was a trial.
    pub trial: Option<Tried>,
}

/// A trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// How far from the law to the middle of the search it was.
    pub share: f64,
    /// Its costs.
    pub costs: Costs,
    /// Whether it was kept.
    pub kept: bool,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// How.
    pub options: Options,
    /// The law's numbers.
    pub values: Vec<f64>,
    /// In trials: what it started from, and what was kept.
    pub trials: (Costs, Costs),
    /// The same on seeds that neither taught nor chose, once it is judged.
    pub judged: Option<(Costs, Costs)>,
    /// What `watch` heard on the way.
    pub steps: Vec<Step>,
    /// Whether it was stopped early.
    pub stopped: bool,
}

/// Where a search is between two generations.
#[derive(Serialize, Deserialize)]
struct State {
    /// What it started from: hashes of law and experience.
    of: String,
    search: Cma,
    generation: u32,
    start: Costs,
    /// What forgetting is measured against.
    first: Costs,
    best: (Costs, Vec<f64>),
    steps: Vec<Step>,
}

/// Networks of both kinds.
struct Both {
    experience: Trials,
    old: Trials,
}

impl Both {
    fn new(options: &Options, experience: &Gathered, (met, old): (u64, u64)) -> Result<Self, Error> {
        let (runs, most) = bounds(options);
        let networks: Seeded = experience.trials(runs, most).into_iter().zip(met..).collect();
        Ok(Self {
            experience: Trials::of(networks, options.threads)?,
            old: Trials::of(Trials::twice(options.networks, old), options.threads)?,
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

/// Networks of both kinds, on seeds that neither teach nor choose.
pub struct Judges(Both);

impl Judges {
    /// Runs the oracle in them.
    ///
    /// # Errors
    /// A network cannot be built.
    pub fn new(options: &Options, experience: &Gathered) -> Result<Self, Error> {
        let seeds = (EVALUATION + 2000, EVALUATION + 1000);
        Both::new(options, experience, seeds).map(Self)
    }

    /// Runs DECC in them under a model.
    ///
    /// # Errors
    /// A network cannot be built.
    pub fn costs(&self, model: &Arc<Model>) -> Result<Costs, Error> {
        self.0.costs_under(&|_| Ok(decc_of(Arc::clone(model))))
    }

    /// The same under a law of these numbers.
    ///
    /// # Errors
    /// A network cannot be built, or the numbers are no law.
    pub fn costs_of_law(&self, values: &[f64]) -> Result<Costs, Error> {
        self.0.costs(values)
    }
}

/// Runs of a trial, and the most flows to a host.
const fn bounds(options: &Options) -> (usize, u32) {
    match options.networks {
        0 => (RUNS, MOST_FLOWS),
        _ => QUICK,
    }
}

/// Called before the first generation with the costs of the start, and after each; may stop it.
pub type WatchRefining<'a> = &'a mut dyn FnMut(&Costs, Option<&Step>) -> Control;

/// Searches, from the checkpoint if there is one.
///
/// # Errors
/// A network cannot be built; a checkpoint cannot be read or written, or is of another law or other experience.
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
    let seeds = (SELECTION.start + 2000, SELECTION.start + 1000);
    let trials = Both::new(options, &start.experience, seeds)?;
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(state) => {
            if state.of != of {
                return Err(Error::Options(
                    "the model or the experience has changed since this training was stopped: put it back, or start \
                     again with --force"
                        .into(),
                ));
            }
            expect_length(state.best.1.len(), values.len())?;
            if !state.search.fits(values.len()) {
                return Err(Error::Options("a checkpoint is of another search".to_string()));
            }
            state
        }
        None => {
            let costs = trials.costs(&values)?;
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
        let step = generation(options, start, (&values, &trials), &mut state)?;
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

/// Networks of a generation: every other one is like one of those that were met, the others in the next generation.
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
        |((met, old), place)| match start.law.is_some() && place % 2 == 1 {
            true => old,
            false => met,
        },
    );
    seeded(mixed.collect(), rng)
}

/// A generation, and a trial where one is due.
fn generation(
    options: &Options,
    start: &Start,
    (law, trials): (&[f64], &Both),
    state: &mut State,
) -> Result<Step, Error> {
    let networks = networks(options, start, state.generation);
    let (best, median) = step(options, &mut state.search, state.generation, &networks)?;
    state.generation += 1;
    let trial = match options.tries_after(state.generation) {
        true => Some(tried(start.law.is_some(), (law, trials), state)?),
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

/// A trial of the middle, or of what lies between it and the law; what is better is kept.
fn tried(bound: bool, (law, trials): (&[f64], &Both), state: &mut State) -> Result<Tried, Error> {
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
        if remembers {
            break;
        }
    }
    trial.ok_or_else(|| Error::Options("a trial goes nowhere".into()))
}

/// The model of a law that was refined.
///
/// # Errors
/// The format refuses.
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

impl Refined {
    /// Runs both laws on seeds that neither taught nor chose.
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

    /// Costs before and after, and how they were found.
    pub fn costs(&self) -> ((Costs, Costs), &'static str) {
        match self.judged {
            Some(judged) => (judged, "on seeds that neither taught nor chose"),
            None => (self.trials, "in trials, which chose it"),
        }
    }

    /// Costs before and after, in a sentence.
    pub fn summary(&self) -> String {
        let ((before, after), how) = self.costs();
        format!(
            "Cost over the reference's {how}: from {:.3} to {:.3} in the networks of the experience, from {:.3} to {:.3} in the old \
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

    /// Every other network of a generation is like one that was met; of a search from nothing all are.
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
            for (place, (network, seed)) in drawn.iter().enumerate() {
                let is_met = (place + generation as usize).is_multiple_of(2);
                assert_eq!(network.gbps == 800.0, is_met, "{place}: {network:?}");
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
