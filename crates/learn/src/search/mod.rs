//! Direct search for a rate law ([`paceline_congestion::decc::law`]), or for Swift's parameters, in the
//! simulator.
//!
//! 1. For each generation networks are drawn (`network.rs`), from few flows to many, and with messages. All
//!    candidates of a generation run in the same networks. The next generation gets others, which avoids
//!    overfitting.
//! 2. A run's cost (`cost.rs`) covers the complete run. It is divided by the cost of a reference in the same
//!    network: an oracle, or rules that send messages at line rate. A candidate's cost is the root mean
//!    square of these ratios: with means of roots or logarithms the search sacrificed the networks with the
//!    most flows. CMA-ES ([`paceline_lab::cma`]) moves to the better half.
//! 3. Every few generations the mean of the search is tested in networks with separate seeds, and the best
//!    mean is kept.
//!
//! The same options give bit-identical values on any number of threads, including after a restart from a
//! checkpoint.

mod cost;
mod files;
mod network;
mod refine;
mod subject;

use std::sync::Arc;

use paceline_congestion::learned::card::{Card, Data, DataSource, Metrics, RoundMetrics, Training};
use paceline_congestion::registry::SchemeConfig;
use paceline_congestion::{bolt, hpcc};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::cma::Cma;
use paceline_lab::run::{Control, side_by_side};
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

pub use cost::{Measured, Quality, Slowdowns};
pub(crate) use files::{law as law_files, model_of};
pub(crate) use network::{HEADER, SPREAD_US, draw_endless};
pub use network::{Messages, Network, Shape};
pub use refine::{
    CostChange, Costs, FORGETS, Judges, Law, Refined, Start, Step, Tried, WatchRefining, refine,
    refined_model, start_of,
};
pub use subject::{SWIFT_BY_HAND, SWIFT_SEARCHED, Subject, decc_of, oracle};

use crate::Error;
use crate::checkpoint::{Checkpoints, expect_length};
use crate::course::{SELECTION, TRAINING};
use crate::write::ModelFiles;

/// Settings of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Parameters to search for.
    pub subject: Subject,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of generations to run.
    pub generations: u32,
    /// Candidates drawn per generation.
    pub candidates: usize,
    /// Generations between two trials.
    pub trial: u32,
    /// Limit of networks per generation and per trial; 0 for all.
    pub networks: usize,
    /// Number of threads; the values do not depend on it.
    pub threads: usize,
}

impl Options {
    /// Returns the settings of a complete search.
    pub const fn new(subject: Subject) -> Self {
        Self {
            subject,
            seed: 1,
            generations: match subject {
                Subject::Law => 20,
                Subject::Swift => 60,
            },
            candidates: match subject {
                Subject::Law => 24,
                Subject::Swift => 12,
            },
            trial: 5,
            networks: 0,
            threads: 2,
        }
    }

    /// Returns settings that end within seconds, as a test of the search itself.
    pub const fn quick(self) -> Self {
        Self {
            generations: 4,
            candidates: 6,
            trial: 2,
            networks: 2,
            ..self
        }
    }

    /// Returns true if there is a trial after this generation.
    const fn tries_after(&self, generations: u32) -> bool {
        generations.is_multiple_of(self.trial) || generations == self.generations
    }
}

/// Returns the first `count` networks; all if it is 0.
fn first(count: usize, mut networks: Vec<Network>) -> Vec<Network> {
    if count > 0 {
        networks.truncate(count);
    }
    networks
}

/// Initial step size, as a fraction of an axis.
const SIGMA: f64 = 0.03;

/// Progress of a search after a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Number of completed generations.
    pub generation: u32,
    /// Cost of the generation's best candidate, in its networks.
    pub best: f64,
    /// Median cost of the generation's candidates, in its networks.
    pub median: f64,
    /// Present step size of the search.
    pub sigma: f64,
    /// Cost of the present mean and of the best mean, if there was a trial.
    pub trial: Option<(f64, f64)>,
}

/// Reference costs in trials, relative to those of flows that know their number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// Cost of Swift with parameters set by hand.
    pub by_hand: f64,
    /// Cost of Swift with parameters from this search ([`SWIFT_SEARCHED`]).
    pub searched: f64,
    /// Cost at the start of the search.
    pub start: f64,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Settings of the search.
    pub options: Options,
    /// Best values, in the order of the subject's axes.
    pub values: Vec<f64>,
    /// Reference costs in the same trials.
    pub lines: Lines,
    /// Progress after each generation.
    pub updates: Vec<Update>,
    /// True if the search was stopped early.
    pub stopped: bool,
}

impl Found {
    /// Returns the cost of the kept values in trials.
    pub fn best(&self) -> f64 {
        let trials = self.updates.iter().filter_map(|update| update.trial);
        trials.fold(self.lines.start, |_, (_, best)| best)
    }
}

/// Checkpoint of a search between two generations.
#[derive(Serialize, Deserialize)]
struct State {
    search: Cma,
    generation: u32,
    best: (f64, Vec<f64>),
    lines: Lines,
    updates: Vec<Update>,
}

/// Name of the search's checkpoint.
const NAME: &str = "search";

/// Callback before the first generation, with the reference costs, and after each generation; may stop the
/// search.
pub type Watch<'a> = &'a mut dyn FnMut(&Lines, Option<&Update>) -> Control;

/// Searches for the best values, from the checkpoint if there is one.
///
/// # Errors
/// A network cannot be built, or a checkpoint cannot be read or written.
pub fn search(options: &Options, checkpoints: &Checkpoints, watch: Watch<'_>) -> Result<Found, Error> {
    let subject = options.subject;
    let trials = Trials::new(options.networks, options.threads)?;
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(state) => {
            expect_length(state.best.1.len(), subject.values(&subject.start()).len())?;
            if !state.search.fits(subject.start().len()) {
                return Err(Error::Options("a checkpoint is of another search".to_string()));
            }
            state
        }
        None => {
            let start = subject.start();
            let lines = lines(options, &trials, &start)?;
            State {
                best: (lines.start, subject.values(&start)),
                search: Cma::new(start, SIGMA),
                generation: 0,
                lines,
                updates: Vec::new(),
            }
        }
    };
    let mut stopped = watch(&state.lines, None) == Control::Stop;
    while state.generation < options.generations && !stopped {
        let update = generation(options, &trials, &mut state)?;
        stopped = watch(&state.lines, Some(&update)) == Control::Stop;
        state.updates.push(update);
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            checkpoints.keep(NAME, &state)?;
        }
    }
    Ok(Found {
        options: *options,
        values: state.best.1,
        lines: state.lines,
        updates: state.updates,
        stopped,
    })
}

/// Networks with the seeds of their runs.
pub(crate) type Seeded = Vec<(Network, u64)>;

fn lines(options: &Options, trials: &Trials, start: &[f64]) -> Result<Lines, Error> {
    let values = options.subject.values(start);
    Ok(Lines {
        by_hand: trials.cost(&|network| Subject::Swift.config(&SWIFT_BY_HAND, network))?,
        searched: trials.cost(&|network| Subject::Swift.config(&SWIFT_SEARCHED, network))?,
        start: trials.cost(&|network| options.subject.config(&values, network))?,
    })
}

/// Runs a generation, and a trial if one is due.
fn generation(options: &Options, trials: &Trials, state: &mut State) -> Result<Update, Error> {
    let subject = options.subject;
    let (networks, rng) = drawn(options, state.generation);
    let networks = seeded(first(options.networks, networks), rng);
    let (best, median) = step(options, &mut state.search, state.generation, &networks)?;
    state.generation += 1;
    let trial = match options.tries_after(state.generation) {
        true => {
            let middle = subject.values(state.search.mean());
            let of_middle = |network: &Network| subject.config(&middle, network);
            let cost = trials.cost(&of_middle)?;
            if cost < state.best.0 {
                state.best = (cost, middle);
            }
            Some((cost, state.best.0))
        }
        false => None,
    };
    Ok(Update {
        generation: state.generation,
        best,
        median,
        sigma: state.search.sigma(),
        trial,
    })
}

/// Returns a random stream of a generation.
fn stream(options: &Options, purpose: u64, generation: u32) -> Rng {
    Rng::stream(
        options.seed,
        Purpose::Training,
        purpose << 20 | u64::from(generation),
    )
}

/// Returns the networks of a generation, and the random stream from which they were drawn.
fn drawn(options: &Options, generation: u32) -> (Vec<Network>, Rng) {
    let mut rng = stream(options, 1, generation);
    (network::draw(&mut rng), rng)
}

/// Adds seeds to the networks of a generation, from the stream of their draw.
fn seeded(networks: Vec<Network>, mut rng: Rng) -> Seeded {
    // Training seeds are never used by trials or judges.
    let seeds = (0..).map(|_| TRAINING.start + rng.below(TRAINING.end - TRAINING.start));
    networks.into_iter().zip(seeds).collect()
}

/// Draws the candidates of a generation and updates the search with their costs in these networks. Returns
/// the best and the median cost.
fn step(
    options: &Options,
    search: &mut Cma,
    generation: u32,
    networks: &Seeded,
) -> Result<(f64, f64), Error> {
    let subject = options.subject;
    let candidates = search.draw(options.candidates, &mut stream(options, 2, generation));
    let values: Vec<Vec<f64>> = candidates.iter().map(|point| subject.values(point)).collect();
    let of = |values: &Vec<f64>| {
        let values = values.clone();
        move |network: &Network| subject.config(&values, network)
    };
    let configs: Vec<_> = values.iter().map(of).collect();
    let columns: Vec<Configured<'_>> = configs.iter().map(|config| config as Configured<'_>).collect();
    let count = columns.len();
    // The reference runs are jobs like the candidates' runs, so that no thread waits for them.
    let all = cells(
        networks,
        count + 1,
        options.threads,
        &|row, column| match columns.get(column) {
            Some(config) => counted(row, config),
            None => best(row),
        },
    )?;
    let cost = |column: usize| {
        let rows = all.chunks_exact(count + 1);
        over_best(rows.map(|row| (row[column], row[count])))
    };
    let mut costs: Vec<f64> = (0..candidates.len()).map(cost).collect();
    search.learn(&candidates, &costs);
    costs.sort_by(f64::total_cmp);
    Ok((costs[0], costs[costs.len() / 2]))
}

/// Returns the scheme to run in a network.
pub(crate) type Configured<'a> = &'a (dyn Fn(&Network) -> Result<SchemeConfig, Error> + Sync);

/// A network with its run.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) network: &'a Network,
    /// Resolved scenario of the run.
    pub(crate) input: &'a Resolved,
}

/// Runs `columns` configurations in each network and returns the results of `of` in row-major order.
pub(crate) fn cells(
    networks: &Seeded,
    columns: usize,
    threads: usize,
    of: &(dyn Fn(Row<'_>, usize) -> Result<f64, Error> + Sync),
) -> Result<Vec<f64>, Error> {
    let inputs = networks.iter().map(|(network, seed)| network.resolve(*seed));
    let inputs = inputs.collect::<Result<Vec<_>, Error>>()?;
    // Longest runs first, so that no thread is left with one of them at the end.
    let runs = networks.len() * columns;
    let found = side_by_side(runs, threads, &|index| {
        let index = runs - 1 - index;
        let (row, column) = (index / columns, index % columns);
        let row = Row {
            network: &networks[row].0,
            input: &inputs[row],
        };
        of(row, column)
    });
    let mut found = found.into_iter().collect::<Result<Vec<f64>, Error>>()?;
    found.reverse();
    Ok(found)
}

/// Runs a scheme and returns its cost for the search.
pub(crate) fn counted(row: Row<'_>, config: Configured<'_>) -> Result<f64, Error> {
    let Row { network, input } = row;
    Ok(Measured::of(network, input, config(network)?)?.counted(network))
}

/// Returns the reference cost in a network. With long flows it is the second half of an oracle's run: in the
/// first half the flows do not yet know their number. No oracle is known for messages, so it is the better of
/// two schemes that send them at line rate.
fn best(row: Row<'_>) -> Result<f64, Error> {
    let Row { network, input } = row;
    if network.messages.is_none() {
        return Ok(Measured::of(network, input, oracle(network))?.settled.cost());
    }
    let bolt = counted(row, &|_| Ok(bolt::Params::default().into()))?;
    Ok(bolt.min(counted(row, &|_| Ok(hpcc::Params::default().into()))?))
}

/// Returns the root mean square of cost ratios to the reference, so that no network is sacrificed for others.
/// [`LEEWAY`] is added to both costs: a cost near zero in one network must not outweigh all others.
fn over_best(costs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut squares, mut count) = (0.0, 0.0);
    for (cost, best) in costs {
        let ratio = (LEEWAY + cost) / (LEEWAY + best);
        (squares, count) = (squares + ratio * ratio, count + 1.0);
    }
    libm::sqrt(squares / count)
}

/// Constant added to each cost before ratios are computed.
pub(crate) const LEEWAY: f64 = 3.0;

/// Trial networks by which candidates are selected, and the reference cost in each.
pub(crate) struct Trials {
    networks: Seeded,
    best: Vec<f64>,
    threads: usize,
}

impl Trials {
    /// Returns trials in the first `networks` networks, each with two seeds; 0 for all.
    pub(crate) fn new(networks: usize, threads: usize) -> Result<Self, Error> {
        Self::of(Self::networks_of(networks), threads)
    }

    /// Computes the reference costs of these networks.
    fn of(networks: Seeded, threads: usize) -> Result<Self, Error> {
        Ok(Self {
            best: cells(&networks, 1, threads, &|row, _| best(row))?,
            networks,
            threads,
        })
    }

    /// Returns the first `count` networks twice, with different seeds; 0 for all.
    pub(crate) fn networks_of(count: usize) -> Vec<(Network, u64)> {
        Self::twice(count, SELECTION.start + 1000)
    }

    /// Returns the first `count` networks twice, with consecutive seeds from `seed`.
    fn twice(count: usize, seed: u64) -> Seeded {
        let fixed = first(count, network::selection());
        let twice = fixed.iter().chain(&fixed).cloned();
        twice.zip(seed..).collect()
    }

    /// Returns a scheme's cost in the trials, relative to the reference.
    pub(crate) fn cost(&self, config: Configured<'_>) -> Result<f64, Error> {
        let costs = cells(&self.networks, 1, self.threads, &|row, _| counted(row, config))?;
        Ok(over_best(costs.into_iter().zip(self.best.iter().copied())))
    }

    /// Returns DECC's cost in the trials under the model of these files.
    pub(crate) fn cost_of(&self, files: &ModelFiles) -> Result<f64, Error> {
        let model = files::model_of(files)?;
        self.cost(&|_| Ok(decc_of(Arc::clone(&model))))
    }

    /// Returns the networks and the seeds of their runs.
    pub(crate) fn networks(&self) -> &[(Network, u64)] {
        &self.networks
    }
}

/// Returns the model files of a law that was found.
///
/// # Errors
/// The card or the weights cannot be serialised.
pub fn model(name: &str, found: &Found, command: &str) -> Result<ModelFiles, Error> {
    let options = &found.options;
    let rounds = found.updates.iter().map(|update| RoundMetrics {
        round: u64::from(update.generation),
        loss: update.trial.map_or(update.median, |(middle, _)| middle),
        ..RoundMetrics::default()
    });
    files::law(name, &found.values, |card| Card {
        metrics: Metrics {
            rounds: rounds.collect(),
            ..Metrics::default()
        },
        ..described(options, found.updates.len(), command, card)
    })
}

/// Adds a description of the search to a card.
fn described(options: &Options, generations: usize, command: &str, card: Card) -> Card {
    let runs = generations as u64 * options.candidates as u64;
    Card {
        data: Data {
            pairs: runs,
            train: runs,
            sources: vec![DataSource {
                scenario: "drawn".into(),
                scheme: "decc".into(),
                settings: vec![
                    "rate, delay, buffer, packets, flows, shape, late starts and messages drawn for each generation"
                        .into(),
                ],
                seed: options.seed,
                fidelity: "exact".into(),
                version: crate::identity::version().into(),
                ..DataSource::default()
            }],
            ..Data::default()
        },
        training: Training {
            command: command.into(),
            rounds: generations as u64,
            batch: options.candidates as u64,
            learning_rate: SIGMA,
            optimiser: "CMA-ES".into(),
            loss: "root of the mean square of costs over a reference's: unused line, latency, unfairness, loss, what \
                   messages take"
                .into(),
            seed: options.seed,
            library: "none".into(),
        },
        ..card
    }
}

#[cfg(test)]
mod tests;
