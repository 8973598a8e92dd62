//! Training of a predictor of the next round-trip time.
//!
//! A training consists of rounds. Each round uses a separate chunk of the dataset: first training pairs in
//! small batches, then test pairs. (The thesis calls this an epoch: 19 rounds of 800 and 200 use its 19 058
//! pairs once.)

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
use crate::checkpoint::{Checkpoints, Slot};
use crate::dataset::{Dataset, Pair};
use crate::rng::Stream;
pub use weights::{Tensor, Weights};
pub use weights::{flat, shaped};

/// Kinds of predictors of the next round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Long short-term memory (LSTM).
    Lstm,
    /// Gated recurrent unit (GRU).
    Gru,
    /// Simple recurrent network with tanh.
    Rnn,
    /// Linear model with a weight for each of the three features and a constant, by least squares.
    Ar3,
    /// Predicts that the next round-trip time equals the last, `K[t]`; has no weights.
    Persistence,
}

impl Network {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 5] = [Self::Lstm, Self::Gru, Self::Rnn, Self::Ar3, Self::Persistence];

    /// Returns its name on the command line and in model cards.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Rnn => "rnn",
            Self::Ar3 => "ar3",
            Self::Persistence => "persistence",
        }
    }

    /// Returns its name in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Lstm => "LSTM",
            Self::Gru => "GRU",
            Self::Rnn => "simple RNN",
            Self::Ar3 => "AR(3)",
            Self::Persistence => "persistence",
        }
    }

    /// Returns the names and shapes of its tensors.
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

    /// Returns true if it is trained by gradient steps.
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

/// Settings of a training. The defaults are from the thesis. Values it does not give are chosen to reproduce
/// its curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Kind of predictor to train.
    pub network: Network,
    /// Size of the hidden state.
    pub hidden: usize,
    /// Number of training rounds.
    pub rounds: usize,
    /// Training pairs per round.
    pub train_pairs: usize,
    /// Test pairs per round.
    pub test_pairs: usize,
    /// Pairs per optimiser step.
    pub batch: usize,
    /// Learning rate of the first step.
    pub learning_rate: f64,
    /// True if the learning rate falls linearly to zero over the training. It is constant in the thesis, but
    /// then the final weights depend on the errors of the last few steps.
    pub decay: bool,
    /// Seed of the initial weights and of the order of a round's pairs.
    pub seed: u64,
}

impl Options {
    /// Returns the default settings.
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

    /// Returns the number of pairs used by all rounds.
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

/// Result of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Round number from 1.
    pub number: usize,
    /// Mean relative error of the predicted round-trip time over the training pairs, each predicted before it
    /// was used.
    pub train_mape: f64,
    /// Mean relative error over the test pairs after the round.
    pub test_mape: f64,
    /// Mean loss of the round's steps.
    pub loss: f64,
    /// Loss of each step in the round.
    pub losses: Vec<f32>,
}

/// Progress of a training.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Completed step of a round.
    Step {
        /// Round number from 1.
        round: usize,
        /// Step number within the round from 1.
        step: usize,
        /// Loss of the step.
        loss: f32,
    },
    /// Completed round with the present weights.
    Round(&'a Round, &'a Weights),
}

/// Result of a predictor's training.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Settings of the training.
    pub options: Options,
    /// Weights after the last complete round; empty for persistence.
    pub weights: Weights,
    /// Results of the complete rounds.
    pub rounds: Vec<Round>,
    /// True if the training was stopped early.
    pub stopped: bool,
}

impl Trained {
    /// Returns the last round.
    pub fn last(&self) -> &Round {
        self.rounds.last().expect("a training has a round")
    }
}

/// Callback after every step and every round; may stop the training, which then keeps its complete rounds.
pub type Watch<'a> = &'a mut dyn FnMut(Progress<'_>) -> Control;

/// Trains on the pairs of `data` in their order. The result is bit-identical on every machine.
///
/// # Errors
/// The options do not fit the data, or the training was stopped before the end of the first round.
pub fn train(data: &Dataset, options: &Options, watch: Watch<'_>) -> Result<Trained, Error> {
    run(data, options, None, Checkpoints::none().slot(""), watch)
}

/// Trains like [`train`], but from the checkpoint in `slot` if there is one, and from `start` if these weights
/// are given: then the optimiser has no history. Rounds in the checkpoint are passed to `watch` again.
///
/// # Errors
/// In addition to those of [`train`]: the weights do not fit the network, it is not trained by steps, or a
/// checkpoint cannot be read or written or belongs to other data.
pub fn train_from(
    data: &Dataset,
    options: &Options,
    start: Option<&Weights>,
    slot: Slot<'_>,
    watch: Watch<'_>,
) -> Result<Trained, Error> {
    if start.is_some() && !options.network.is_recurrent() {
        return Err(Error::Options(format!(
            "{} has no steps to go on with: it is solved from all pairs at once",
            options.network.title()
        )));
    }
    run(data, options, start, slot, watch)
}

fn run(
    data: &Dataset,
    options: &Options,
    start: Option<&Weights>,
    slot: Slot<'_>,
    watch: Watch<'_>,
) -> Result<Trained, Error> {
    options.check(data)?;
    let Slot { checkpoints, name } = slot;
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
        // A round that is stopped is learned again from its beginning after a restart.
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
        // A complete training is kept as well, because more rounds may follow.
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

/// Returns the mean relative error of the predicted round-trip times, where `out` are the outputs for
/// `pairs`.
pub fn mape(pairs: &[Pair], out: &[f32]) -> f64 {
    let errors = pairs.iter().zip(out).map(|(pair, &out)| pair.error(out));
    errors.sum::<f64>() / pairs.len().max(1) as f64
}

/// Returns the outputs of a trained predictor for `pairs`.
///
/// # Errors
/// The weights do not fit the network.
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

/// State of a predictor's training.
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
    /// Completed steps, on which the learning rate depends.
    steps: usize,
    rate: Rate,
}

/// Learning rate over a training.
#[derive(Clone, Copy, Debug)]
struct Rate {
    first: f64,
    /// Step at which it reaches zero; `None` if it is constant.
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

    /// Returns the learning rate of a step, counted from 0.
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

    /// Learns from a round's pairs. Returns their mean error, each predicted before it was used, and the loss
    /// of each step; `None` if it was stopped.
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
                // The solution needs all pairs up to now, so it is recomputed in each round.
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
