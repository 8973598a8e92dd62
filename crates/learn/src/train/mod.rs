//! Training a predictor of the next round-trip time.
//!
//! A training is some rounds; a round is a chunk of the dataset that no other round sees: first pairs to
//! learn from, in small batches, then pairs to test on. (What the thesis calls an epoch: 19 rounds of
//! 800 and 200 use up its 19 058 pairs once.)

mod adam;
mod linear;
mod net;
mod resume;
#[cfg(test)]
mod tests;
mod weights;

use std::fmt;
use std::str::FromStr;

use adam::Adam;
use linear::LeastSquares;
use net::Net;
use paceline_kernel::rng::Rng;
pub use paceline_lab::run::Control;
use resume::{RecurrentState, State};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::Checkpoints;
use crate::dataset::{Dataset, Pair};
use crate::rng::Stream;
pub use weights::{Tensor, Weights};
pub use weights::{flat, shaped};

/// What predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// A long short-term memory.
    Lstm,
    /// Gated recurrent units.
    Gru,
    /// A simple recurrent network (tanh).
    Rnn,
    /// A weight for each of the three features and a constant, by least squares.
    Ar3,
    /// The next round-trip time is the last: `K[t]` itself, nothing to learn.
    Persistence,
}

impl Network {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Lstm, Self::Gru, Self::Rnn, Self::Ar3, Self::Persistence];

    /// Its name on the command line and in model cards.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Rnn => "rnn",
            Self::Ar3 => "ar3",
            Self::Persistence => "persistence",
        }
    }

    /// Its name in a table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Lstm => "LSTM",
            Self::Gru => "GRU",
            Self::Rnn => "simple RNN",
            Self::Ar3 => "AR(3)",
            Self::Persistence => "persistence",
        }
    }

    /// Names and shapes of its tensors.
    pub fn shapes(self, hidden: usize) -> Vec<(String, Vec<usize>)> {
        match self {
            Self::Ar3 => vec![
                ("linear.weight".to_string(), vec![1, 3]),
                ("linear.bias".to_string(), vec![1]),
            ],
            Self::Persistence => Vec::new(),
            network => net::shapes(network, hidden).into(),
        }
    }

    /// Whether it is trained by steps.
    pub const fn is_recurrent(self) -> bool {
        matches!(self, Self::Lstm | Self::Gru | Self::Rnn)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|network| network.name() == text)
            .ok_or_else(|| {
                format!("unknown network `{text}`: expected one of lstm, gru, rnn, ar3, persistence")
            })
    }
}

/// How to train. The defaults are the thesis's, and where it says nothing what gives its curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What is trained.
    pub network: Network,
    /// Size of the hidden state.
    pub hidden: usize,
    /// Rounds.
    pub rounds: usize,
    /// Pairs of a round to learn from.
    pub train_pairs: usize,
    /// Pairs of a round to test on.
    pub test_pairs: usize,
    /// Pairs of a step.
    pub batch: usize,
    /// Learning rate.
    pub learning_rate: f64,
    /// Whether the learning rate falls to nothing over the training, by equal steps. The thesis's does not; but with
    /// one that stays the weights at the end are those of the last few steps' errors.
    pub decay: bool,
    /// Of initial weights and of the order of a round's pairs.
    pub seed: u64,
}

impl Options {
    /// The defaults.
    pub const fn new(network: Network) -> Self {
        Self {
            network,
            hidden: 16,
            rounds: 19,
            train_pairs: 800,
            test_pairs: 200,
            batch: 10,
            learning_rate: 1e-3,
            decay: false,
            seed: 1,
        }
    }

    /// Pairs that the rounds use.
    pub const fn pairs(&self) -> usize {
        self.rounds * (self.train_pairs + self.test_pairs)
    }

    fn check(&self, data: &Dataset) -> Result<(), Error> {
        let nothing = |what: &str| Err(Error::Options(format!("a training without {what} is none")));
        if self.rounds == 0 {
            return nothing("rounds");
        }
        if self.train_pairs == 0 || self.test_pairs == 0 {
            return nothing("pairs to learn from and to test on");
        }
        if self.batch == 0 || self.hidden == 0 {
            return nothing("pairs in a batch and a hidden state");
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return Err(Error::Options(format!(
                "a learning rate of {} is not above 0",
                self.learning_rate
            )));
        }
        if data.pairs.len() < self.pairs() {
            return Err(Error::Options(format!(
                "{} rounds of {} pairs to learn from and {} to test on need {} pairs, the dataset has {}",
                self.rounds,
                self.train_pairs,
                self.test_pairs,
                self.pairs(),
                data.pairs.len()
            )));
        }
        Ok(())
    }
}

/// What a round came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// Mean relative error of the predicted round-trip time over the pairs that were learned from, each
    /// before it was.
    pub train_mape: f64,
    /// The same over the test pairs, when the round was over.
    pub test_mape: f64,
    /// Mean loss of the round's steps.
    pub loss: f64,
    /// Loss of each step.
    pub losses: Vec<f32>,
}

/// How far a training is.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A step of a round is done.
    Step {
        /// The round, from 1.
        round: usize,
        /// The step in it, from 1.
        step: usize,
        /// Its loss.
        loss: f32,
    },
    /// A round is done, and these are the weights: a checkpoint.
    Round(&'a Round, &'a Weights),
}

/// A predictor that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// How.
    pub options: Options,
    /// The weights after the last whole round; none for persistence.
    pub weights: Weights,
    /// The rounds.
    pub rounds: Vec<Round>,
    /// Whether it was stopped early.
    pub stopped: bool,
}

impl Trained {
    /// The last round.
    pub fn last(&self) -> &Round {
        self.rounds.last().expect("a training has a round")
    }
}

/// Called after every step and every round; may stop the training, which then has its rounds so far.
pub type Watch<'a> = &'a mut dyn FnMut(Progress<'_>) -> Control;

/// Trains on the pairs of `data`, in their order. The result is the same bits every time, on every machine.
///
/// # Errors
/// The options do not fit the data, or it was stopped before the first round was over.
pub fn train(data: &Dataset, options: &Options, watch: Watch<'_>) -> Result<Trained, Error> {
    run(data, options, None, (&Checkpoints::none(), ""), watch)
}

/// As [`train`], from the checkpoint `name` if there is one, and from the weights of an earlier training if they are
/// given: then the optimiser starts from nothing. Rounds that the checkpoint has are shown to `watch` again.
///
/// # Errors
/// Also if the weights are not those of the network, or it is not trained by steps; or a checkpoint cannot be read or
/// written, or is of other data.
pub fn train_from(
    data: &Dataset,
    options: &Options,
    start: Option<&Weights>,
    kept: (&Checkpoints, &str),
    watch: Watch<'_>,
) -> Result<Trained, Error> {
    if start.is_some() && !options.network.is_recurrent() {
        return Err(Error::Options(format!(
            "{} has no steps to go on with: it is solved from all pairs at once",
            options.network.title()
        )));
    }
    run(data, options, start, kept, watch)
}

fn run(
    data: &Dataset,
    options: &Options,
    start: Option<&Weights>,
    (checkpoints, name): (&Checkpoints, &str),
    watch: Watch<'_>,
) -> Result<Trained, Error> {
    options.check(data)?;
    let mut training = Training::new(options, start)?;
    let mut rounds = Vec::with_capacity(options.rounds);
    let mut weights = Weights::new();
    let mut over: Vec<(Round, Weights)> = Vec::new();
    if let Training::Recurrent(recurrent) = &mut training
        && let Some(state) = checkpoints.take::<State>(name)?
    {
        let state = state.check(data)?;
        recurrent.go_on_from(state.recurrent);
        over = state.rounds;
        for (round, then) in &over {
            watch(Progress::Round(round, then));
            rounds.push(round.clone());
            weights.clone_from(then);
        }
    }
    let keep = |over: &[(Round, Weights)], recurrent: Option<RecurrentState>| match recurrent {
        Some(recurrent) => checkpoints.keep(name, &State::new(data, over, recurrent)),
        None => Ok(()),
    };
    let chunks = data.pairs.chunks(options.train_pairs + options.test_pairs);
    for (pairs, number) in chunks.take(options.rounds).zip(1..).skip(over.len()) {
        let (learn, test) = pairs.split_at(options.train_pairs);
        let before = training.state();
        let Some((train_mape, losses)) = training.learn(number, learn, watch)? else {
            if checkpoints.are_quick() && !over.is_empty() {
                keep(&over, before)?;
            }
            break;
        };
        let round = Round {
            number,
            train_mape,
            test_mape: mape(test, &training.predict(test)?),
            loss: losses.iter().copied().map(f64::from).sum::<f64>() / losses.len().max(1) as f64,
            losses,
        };
        weights = training.weights();
        let control = watch(Progress::Round(&round, &weights));
        over.push((round.clone(), weights.clone()));
        rounds.push(round);
        let stopped = control == Control::Stop;
        // One that is over is kept, too: it may be followed by others.
        if checkpoints.are_due() || number == options.rounds || stopped && checkpoints.are_quick() {
            keep(&over, training.state())?;
        }
        if stopped {
            break;
        }
    }
    if rounds.is_empty() {
        return Err(Error::Stopped("the first round was over"));
    }
    Ok(Trained {
        options: options.clone(),
        weights,
        stopped: rounds.len() < options.rounds,
        rounds,
    })
}

/// Mean relative error of the predicted round-trip times: `out` are the outputs for `pairs`.
pub fn mape(pairs: &[Pair], out: &[f32]) -> f64 {
    let errors = pairs.iter().zip(out).map(|(pair, &out)| pair.error(out));
    errors.sum::<f64>() / pairs.len().max(1) as f64
}

/// The outputs for `pairs` of a trained predictor.
///
/// # Errors
/// The weights are not those of such a network.
pub fn predict(network: Network, weights: &Weights, pairs: &[Pair]) -> Result<Vec<f32>, Error> {
    match network {
        Network::Lstm | Network::Gru | Network::Rnn => {
            let hidden = weights
                .get("linear.weight")
                .and_then(|tensor| tensor.shape.get(1));
            let net = Net::new(network, hidden.copied().unwrap_or_default(), weights)?;
            Ok(net.predict(pairs))
        }
        Network::Ar3 => Ok(linear::predict(weights, pairs)),
        Network::Persistence => Ok(pairs.iter().map(|pair| pair.k[2]).collect()),
    }
}

/// A predictor on its way.
enum Training {
    Recurrent(Box<Recurrent>),
    Linear(LeastSquares, Weights),
    Persistence,
}

struct Recurrent {
    net: Net,
    adam: Adam,
    rng: Rng,
    batch: usize,
    /// Steps that are done, and the rate of learning by them.
    steps: usize,
    rate: Rate,
}

/// The learning rate over a training.
#[derive(Clone, Copy, Debug)]
struct Rate {
    first: f64,
    /// Steps after which nothing is left of it; `None` if it stays.
    end: Option<usize>,
}

impl Rate {
    fn of(options: &Options) -> Self {
        let steps = options.rounds * options.train_pairs.div_ceil(options.batch);
        Self {
            first: options.learning_rate,
            end: options.decay.then_some(steps),
        }
    }

    /// At a step, counted from 0.
    fn at(self, step: usize) -> f64 {
        self.end.map_or(self.first, |end| {
            self.first * (end.saturating_sub(step) as f64 / end as f64)
        })
    }
}

impl Training {
    fn new(options: &Options, start: Option<&Weights>) -> Result<Self, Error> {
        Ok(match options.network {
            Network::Ar3 => Self::Linear(LeastSquares::default(), Weights::new()),
            Network::Persistence => Self::Persistence,
            network => {
                let mut rng = Stream::Weights.rng(options.seed);
                let drawn = net::initial(network, options.hidden, &mut rng);
                let weights = start.cloned().unwrap_or(drawn);
                let net = Net::new(network, options.hidden, &weights)?;
                let adam = Adam::new(&net.values);
                Self::Recurrent(Box::new(Recurrent {
                    net,
                    adam,
                    rng: Stream::Order.rng(options.seed),
                    batch: options.batch,
                    steps: 0,
                    rate: Rate::of(options),
                }))
            }
        })
    }

    /// Learns from a round's pairs: their error before they were learned from, and the loss of each step.
    fn learn(
        &mut self,
        round: usize,
        pairs: &[Pair],
        watch: Watch<'_>,
    ) -> Result<Option<(f64, Vec<f32>)>, Error> {
        let recurrent = match self {
            Self::Recurrent(recurrent) => recurrent,
            Self::Linear(sums, weights) => {
                pairs.iter().for_each(|pair| sums.add(pair));
                *weights = sums.weights();
                let out = linear::predict(weights, pairs);
                return Ok(Some((mape(pairs, &out), vec![mean_loss(pairs, &out)])));
            }
            Self::Persistence => {
                let out = predict(Network::Persistence, &Weights::new(), pairs)?;
                return Ok(Some((mape(pairs, &out), vec![mean_loss(pairs, &out)])));
            }
        };
        let mut order = pairs.to_vec();
        recurrent.rng.shuffle(&mut order);
        let (mut errors, mut losses) = (0.0, Vec::new());
        for (batch, step) in order.chunks(recurrent.batch).zip(1..) {
            let (out, loss, slopes) = recurrent.net.learn(batch);
            let rate = recurrent.rate.at(recurrent.steps);
            recurrent.adam.step(&mut recurrent.net.values, &slopes, rate);
            recurrent.steps += 1;
            errors += mape(batch, &out) * batch.len() as f64;
            losses.push(loss);
            if watch(Progress::Step { round, step, loss }) == Control::Stop {
                return Ok(None);
            }
        }
        Ok(Some((errors / pairs.len() as f64, losses)))
    }

    fn predict(&self, pairs: &[Pair]) -> Result<Vec<f32>, Error> {
        match self {
            Self::Recurrent(recurrent) => Ok(recurrent.net.predict(pairs)),
            Self::Linear(_, weights) => Ok(linear::predict(weights, pairs)),
            Self::Persistence => predict(Network::Persistence, &Weights::new(), pairs),
        }
    }

    fn weights(&self) -> Weights {
        match self {
            Self::Recurrent(recurrent) => recurrent.net.weights(),
            Self::Linear(_, weights) => weights.clone(),
            Self::Persistence => Weights::new(),
        }
    }
}

fn mean_loss(pairs: &[Pair], out: &[f32]) -> f32 {
    let errors = pairs.iter().zip(out).map(|(pair, out)| (out - pair.l).abs());
    errors.sum::<f32>() / pairs.len().max(1) as f32
}
