//! The predictors of the trial, each trained with several seeds on runs that it predicts in.

use crate::{Done, Metrics, Step, StepError, Work};
use paceline_congestion::learned::ModelRef;
use paceline_lab::run::Control;

use super::{ROUNDS, SEEDS, TEST, VALIDATION};
use crate::steps::watched::in_chunks;
use paceline_learn::dataset::{self, Dataset, Source, Trace, apart_from_orders};
use paceline_learn::on_policy::{self, OnPolicy};
use paceline_learn::train::{self, Network, Options, Trained, Weights, flat, shaped};

/// A kind of predictor that learns.
pub(super) struct Kind {
    network: Network,
    /// The one that ships: it has seed 1.
    shipped: &'static str,
    /// The series of the weights of the other seeds, one after the other.
    others: &'static str,
    /// That of what is trained as the thesis trains, on runs of other controllers, where there is one.
    off: Option<&'static str>,
}

pub(super) const KINDS: [Kind; 4] = [
    Kind {
        network: Network::Lstm,
        shipped: "rtt-lstm",
        others: "lstm",
        off: Some("lstm off-policy"),
    },
    Kind {
        network: Network::Gru,
        shipped: "rtt-gru",
        others: "gru",
        off: None,
    },
    Kind {
        network: Network::Rnn,
        shipped: "rtt-rnn",
        others: "rnn",
        off: None,
    },
    Kind {
        network: Network::Ar3,
        shipped: "rtt-ar3",
        others: "ar3",
        off: Some("ar3 off-policy"),
    },
];

pub(super) const STEP: Step = Step {
    name: "on-policy predictors",
    title: "training predictors on runs that they predict in",
    work,
};

/// What is trained: a kind, with a seed from 1 on and so many rounds on its own runs, into a series.
#[derive(Clone, Copy)]
struct Job {
    network: Network,
    seed: usize,
    rounds: usize,
    series: &'static str,
}

impl Kind {
    /// What is trained of it here.
    fn jobs(&self) -> impl Iterator<Item = Job> {
        let job = |seed, rounds, series| Job {
            network: self.network,
            seed,
            rounds,
            series,
        };
        let others = (2..=SEEDS).map(move |seed| job(seed, ROUNDS, self.others));
        others.chain(self.off.map(|series| job(1, 0, series)))
    }
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    work.inform(0.0, "recording")?;
    let go = |_: usize, _: &paceline_fabric::Progress| Control::Continue;
    let first = dataset::record(&Source::thesis(), work.jobs, &go).map_err(StepError::of)?;
    let jobs: Vec<Job> = KINDS.iter().flat_map(Kind::jobs).collect();
    let trained = in_chunks(&jobs, work, (0.05..1.0, "training"), &|job| {
        on_policy_weights(job, &first)
    })?;
    let mut numbers = Metrics::default();
    for (job, weights) in jobs.iter().zip(trained) {
        let series = numbers.series.entry(job.series).or_default();
        for value in flat(&weights) {
            series.push((series.len() as f64, f64::from(value)));
        }
    }
    Ok(numbers)
}

/// The weights that `paceline train NETWORK --on-policy ROUNDS --seed SEED` ends with. Fails if any run that was learned
/// from is in an order by which predictors are chosen or judged.
fn on_policy_weights(job: &Job, first: &[Trace]) -> Result<Weights, StepError> {
    let seed = job.seed as u64;
    let mut state = OnPolicy::new(on_policy::Options::new(job.rounds, seed), first.to_vec());
    while !state.is_done() {
        let sources = state.sources().map_err(StepError::of)?;
        let recorded = dataset::record_runs(&sources, 1, &|_, _| Control::Continue).map_err(StepError::of)?;
        let data = state.draw(recorded).map_err(StepError::of)?;
        apart_from_orders(&data.origins, TEST.chain(VALIDATION)).map_err(StepError::of)?;
        let trained = fit(job.network, seed, state.laps().len(), &data)?;
        state.finish(data, trained);
    }
    let last = state.laps().last().expect("round 0 is one");
    Ok(last.trained.weights.clone())
}

fn fit(network: Network, seed: u64, round: usize, data: &Dataset) -> Result<Trained, StepError> {
    let options = on_policy::options(
        Options {
            seed,
            ..Options::new(network)
        },
        round,
        data.pairs.len(),
    );
    train::train(data, &options, &mut |_| Control::Continue).map_err(StepError::of)
}

/// The predictor of a kind and seed, counted from 0; without a seed the one that was trained off-policy. Of the one
/// that ships its card says which runs it learned from: none of them may be one by which is chosen or judged.
pub(super) fn model(done: &Done, kind: usize, seed: Option<usize>) -> Result<ModelRef, StepError> {
    let of = &KINDS[kind];
    if seed == Some(0) {
        let model = ModelRef::new(of.shipped);
        let card = model.model().map(|model| model.card());
        let sources = card.map_or(&[][..], |card| &card.data.sources);
        let judged = |order: u64| TEST.chain(VALIDATION).any(|other| other == order);
        return match sources.iter().find(|source| source.order.is_none_or(judged)) {
            Some(source) => Err(StepError::of(format!(
                "{} learned from a run in order {:?}, by which is judged",
                of.shipped, source.order
            ))),
            None => Ok(model),
        };
    }
    let name = match seed {
        Some(_) => of.others,
        None => of.off.unwrap_or_default(),
    };
    let series = done.step(STEP.name).and_then(|numbers| numbers.series.get(name));
    let values: Vec<f32> = series
        .into_iter()
        .flatten()
        .map(|&(_, value)| value as f32)
        .collect();
    let trained = if seed.is_some() { SEEDS - 1 } else { 1 };
    let mut each = values.chunks_exact((values.len() / trained).max(1));
    let values = each.nth(seed.map_or(0, |seed| seed - 1));
    let values = values.ok_or_else(|| StepError::of(format!("there is no predictor `{name}`")))?;
    let options = Options::new(of.network);
    let trained = Trained {
        weights: shaped(of.network.shapes(options.hidden), values),
        options,
        rounds: Vec::new(),
        stopped: false,
    };
    on_policy::model(&trained, &trained.weights, ROUNDS).map_err(StepError::of)
}
