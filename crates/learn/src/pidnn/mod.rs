//! Training the gains of the PID controller on-line, in the simulator.
//!
//! All flows of a run share one vector of gains. Whenever a sender measures the round-trip time that
//! followed a decision, it moves the gains against the gradient of `J = (R[t+1] - T)² / 2` by them
//! (thesis §3.5.2):
//! ```text
//! dJ/dw_k = (R[t+1] - T) β rate[t-1] out_k[t],   β = dR/drate ≈ 1                       (1)
//! w_k = w_k - μ(t) clip(dJ/dw_k, -0.1, 0.1),     μ(t) = 0.01 / √(t + 1)                 (2)
//! ```
//! `rate[t-1]` is the rate that the decision found, `out_k[t]` are the outputs of its three terms. The
//! next decision, of whichever flow, is made with the new gains. What the training does is all in one run
//! after another of the same scenario ([`Options::episodes`]); the gains of one are the first of the next.
//!
//! # Which sample is the consequence of a decision
//! (1) says the next. But the packet that gives the next sample leaves right after the decision, and
//! meets the queue that there is: nothing of the decision. The product of the errors of neighbouring
//! samples is positive as long as round-trip times swing at all, so K_P only falls: in 8 runs to -1.2,
//! while J does not. With the sample after the next that holds half; the third is the first that the
//! whole flight of the new rate precedes, and with it the gains come to rest ([`Options::lag`]).
//!
//! # What the units decide
//! β is a constant without a unit, so the size of (1) is arbitrary, and with the thesis's units (µs,
//! Gbit/s) the clip nearly always is the gradient: only its sign is left ([`Units::Seed`]). With errors
//! relative to the target and rates relative to the line ([`Units::Norm`]) it hardly ever is. Steps by
//! signs get far, and do not end; so the last runs are in the other units ([`Options::settle`]).
//! `t` counts the updates of all flows and runs: with each flow's own count the rate of learning starts
//! again with every flow, and the gains run off (K_P to -7 in 8 runs).

mod learner;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use paceline_congestion::lstm_pid::Gains;
use paceline_congestion::registry::SchemeFactory;
use paceline_fabric::spec::{RecordSpec, SchemeSpec};
use paceline_fabric::{Factories, Progress};
use paceline_lab::results::RunStatus;
use paceline_lab::run::{self, Control};
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::Checkpoints;
use crate::dataset::Source;
use learner::{Learner, Shared, SharedState};

/// In what (1) is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// The error in µs, rates in Gbit/s.
    #[default]
    Seed,
    /// The error relative to the target, rates relative to the line's.
    Norm,
}

/// Which number of updates `t` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Of all flows together.
    #[default]
    Global,
    /// Of the flow that updates.
    PerFlow,
}

/// Whether the derivative gain may change its sign: the thesis's is positive before and after training,
/// which answers a rising round-trip time with a higher rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damping {
    /// It stays at 0 or above.
    Kept,
    /// It goes where the gradient leads.
    #[default]
    Free,
}

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The run that is repeated; its scheme is `pidnn`, or another form of it.
    pub source: Source,
    /// The gains at the start.
    pub start: Gains,
    /// Units of the gradient.
    pub units: Units,
    /// What the learning rate falls with.
    pub count: Count,
    /// Whether the derivative gain may become negative.
    pub damping: Damping,
    /// How many samples after that of a decision its consequence is measured: 1 in the thesis.
    pub lag: usize,
    /// A flow's first decisions, from which it does not learn: it starts far from the target.
    pub warm_up: u64,
    /// β of (1).
    pub beta: f64,
    /// The bound of each component of the gradient.
    pub clip: f64,
    /// μ(0).
    pub learning_rate: f64,
    /// Runs at most.
    pub episodes: usize,
    /// How many of them, the last, are in [`Units::Norm`] whatever the others are in: where steps follow
    /// the size of the gradient the gains come to rest, if there is a place to rest. At most three in ten.
    pub settle: usize,
    /// Runs after the gains came to rest or the last run was over: they show whether it is a rest, and change
    /// nothing of what was found.
    pub beyond: usize,
}

/// The thesis's gains before training.
pub const START: Gains = Gains {
    p: -0.2,
    i: -0.05,
    d: 0.1,
};

/// The thesis's gains after training.
pub const THESIS: Gains = Gains {
    p: -0.358,
    i: -0.060,
    d: 0.040,
};

/// Changes by less than this over the last quarter of a training's updates count as convergence.
pub const CONVERGED: f64 = 0.01;

impl Default for Options {
    fn default() -> Self {
        Self {
            source: Source::incast("pidnn", &[]),
            start: START,
            units: Units::Seed,
            count: Count::Global,
            damping: Damping::Free,
            lag: 3,
            warm_up: 40,
            beta: 1.0,
            clip: 0.1,
            learning_rate: 0.01,
            episodes: 40,
            settle: 11,
            beyond: 0,
        }
    }
}

/// The gains at some moment of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Updates until then.
    pub update: u64,
    /// The gains.
    pub gains: Gains,
}

/// What a run of the training came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Updates, over all runs, at its end.
    pub updates: u64,
    /// The gains at its end.
    pub gains: Gains,
    /// Mean of the round-trip times that were measured in it, in µs.
    pub mean_rtt_us: f64,
    /// Mean of `J` over them, in µs².
    pub mean_loss: f64,
    /// Which share of the components of gradients was cut by the clip.
    pub clipped: f64,
}

/// Gains that were trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedGains {
    /// How.
    pub options: Options,
    /// The gains at the end.
    pub gains: Gains,
    /// The gains over time, evenly spaced: at most some thousands of points.
    pub history: Vec<Point>,
    /// Run by run.
    pub episodes: Vec<Episode>,
    /// How far a gain was from its last value, relative to that, over the last quarter of the updates: the
    /// largest.
    pub change: f64,
    /// The gains after [`Options::beyond`] further runs.
    pub later: Gains,
    /// Whether it was stopped early.
    pub stopped: bool,
}

impl TrainedGains {
    /// Whether the gains hardly changed at the end.
    pub fn has_converged(&self) -> bool {
        self.change < CONVERGED
    }
}

/// Called as runs go on: the number of the run, how far it is, and the gains at this moment.
pub type Watch<'a> = &'a mut dyn FnMut(usize, &Progress, Gains) -> Control;

/// Where a training is, between two runs.
#[derive(Serialize, Deserialize)]
struct State {
    shared: SharedState,
    episodes: Vec<EpisodeState>,
    /// Whether the gains came to rest.
    rests: bool,
}

/// An episode: its numbers in a row.
#[derive(Serialize, Deserialize)]
struct EpisodeState(u64, [f64; 3], [f64; 3]);

impl EpisodeState {
    fn of(episode: &Episode) -> Self {
        let Gains { p, i, d } = episode.gains;
        let means = [episode.mean_rtt_us, episode.mean_loss, episode.clipped];
        Self(episode.updates, [p, i, d], means)
    }

    fn episode(&self) -> Episode {
        let Self(updates, [p, i, d], [mean_rtt_us, mean_loss, clipped]) = *self;
        Episode {
            updates,
            gains: Gains { p, i, d },
            mean_rtt_us,
            mean_loss,
            clipped,
        }
    }
}

/// The name of its checkpoint.
const NAME: &str = "pidnn";

/// Trains, from its checkpoint if there is one: runs the scenario again and again until the gains have converged, or
/// as often as the options say.
///
/// # Errors
/// The scenario is wrong, a run failed, or `watch` stopped the first; or a checkpoint cannot be read or written.
pub fn train(options: &Options, checkpoints: &Checkpoints, watch: Watch<'_>) -> Result<TrainedGains, Error> {
    let mut input = paceline_lab::load(&options.source.scenario, &options.source.overrides()?)?;
    input.run_mut().record = RecordSpec::default();
    let shared = Arc::new(Mutex::new(Shared::new(options)));
    let factories = learners(&input, &shared)?;
    let (mut episodes, mut stopped, mut rests) = (Vec::new(), false, false);
    if let Some(state) = checkpoints.take::<State>(NAME)? {
        lock(&shared).go_on_from(state.shared);
        episodes = state.episodes.iter().map(EpisodeState::episode).collect();
        rests = state.rests;
    }
    let settle = options.settle.min(options.episodes * 3 / 10);
    for number in episodes.len()..options.episodes.max(1) {
        if rests {
            break;
        }
        let settling = number + settle >= options.episodes;
        lock(&shared).begin(settling);
        let mut progress = |now: &Progress| watch(number, now, lock(&shared).gains);
        let finished = run::execute_with(&input, factories.clone(), &mut progress)?;
        if finished.summary.status == RunStatus::Partial {
            stopped = true;
            break;
        }
        let now = lock(&shared);
        episodes.push(now.episode());
        rests = settling && now.history.change() < CONVERGED;
        if checkpoints.are_due() {
            let state = State {
                shared: now.state(),
                episodes: episodes.iter().map(EpisodeState::of).collect(),
                rests,
            };
            checkpoints.keep(NAME, &state)?;
        }
    }
    if episodes.is_empty() {
        return Err(Error::Stopped("the first run was over"));
    }
    let found = lock(&shared).clone();
    let mut later = found.gains;
    for number in 0..if stopped { 0 } else { options.beyond } {
        lock(&shared).begin(true);
        let mut progress = |now: &Progress| watch(options.episodes + number, now, lock(&shared).gains);
        if run::execute_with(&input, factories.clone(), &mut progress)?
            .summary
            .status
            == RunStatus::Partial
        {
            break;
        }
        later = lock(&shared).gains;
    }
    Ok(TrainedGains {
        options: options.clone(),
        gains: found.gains,
        change: found.history.change(),
        history: found.history.points,
        later,
        episodes,
        stopped,
    })
}

/// Makes senders that learn, for all schemes of the run.
fn learners(input: &Resolved, shared: &Arc<Mutex<Shared>>) -> Result<Factories, Error> {
    let factory = |(place, scheme): (u16, &SchemeSpec)| {
        let params = learner::params(&scheme.config).ok_or_else(|| {
            Error::Options(format!(
                "the gains of `{}` cannot be trained: the scheme has to be `lstm-pid` or `pidnn`",
                scheme.config.name()
            ))
        })?;
        let (params, shared) = (params.clone(), shared.clone());
        let factory = SchemeFactory::new(move |path| Box::new(Learner::new(&params, path, shared.clone())));
        Ok((place, factory))
    };
    (0..).zip(&input.run.schemes).map(factory).collect()
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
