//! On-line training of the PID controller's gains, in the simulator.
//!
//! All flows of a run share one vector of gains. Whenever a sender measures the round-trip time after a
//! decision, it moves the gains along the negative gradient of `J = (R[t+1] - T)² / 2` (thesis §3.5.2):
//! ```text
//! dJ/dw_k = (R[t+1] - T) β rate[t-1] out_k[t],   β = dR/drate ≈ 1                       (1)
//! w_k = w_k - μ(t) clip(dJ/dw_k, -0.1, 0.1),     μ(t) = 0.01 / √(t + 1)                 (2)
//! ```
//! `rate[t-1]` is the rate before the decision, `out_k[t]` are the outputs of its three terms. The next
//! decision of any flow uses the new gains. The training consists of consecutive runs of one scenario
//! ([`Options::episodes`]); each starts with the gains of the previous one.
//!
//! # Which sample is the consequence of a decision
//! (1) takes the next sample. But its packet leaves right after the decision and meets the existing queue,
//! which the decision has not changed. The product of the errors of neighbouring samples is positive whenever
//! round-trip times vary, so K_P only falls: to -1.2 in 8 runs, while J does not fall. With the second sample
//! half of this remains. The third is the first that follows a whole flight at the new rate, and with it the
//! gains converge ([`Options::lag`]).
//!
//! # Effect of the units
//! β is a constant without a unit, so the size of (1) is arbitrary. With the thesis's units (µs, Gbit/s) the
//! gradient is nearly always clipped, and only its sign remains ([`Units::Seed`]). With errors relative to
//! the target and rates relative to the line ([`Units::Norm`]) it is hardly ever clipped. Steps by sign move
//! far but do not converge, so the last runs use relative units ([`Options::settle`]). `t` counts the updates
//! of all flows and runs: with a count per flow the learning rate would restart with every flow, and the
//! gains diverge (K_P to -7 in 8 runs).

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

/// Units of the gradient in (1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// Errors in µs, rates in Gbit/s.
    #[default]
    Seed,
    /// Errors relative to the target, rates relative to the line's.
    Norm,
}

/// Count that `t` stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Updates of all flows together.
    #[default]
    Global,
    /// Updates of the flow itself.
    PerFlow,
}

/// Constraint on the sign of the derivative gain. The thesis's is positive before and after training, which
/// answers a rising round-trip time with a higher rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damping {
    /// The gain stays at 0 or above.
    Kept,
    /// The gain follows the gradient.
    #[default]
    Free,
}

/// Settings of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Run to repeat; its scheme is `pidnn`, or a variant of it.
    pub source: Source,
    /// Gains at the start of training.
    pub start: Gains,
    /// Units of the gradient.
    pub units: Units,
    /// Count that lowers the learning rate.
    pub count: Count,
    /// Constraint on the sign of the derivative gain.
    pub damping: Damping,
    /// Number of samples after a decision's own until its effect is measured: 1 in the thesis.
    pub lag: usize,
    /// First decisions of a flow, which are not learned from because it starts far from the target.
    pub warm_up: u64,
    /// Coefficient β of (1).
    pub beta: f64,
    /// Bound of each component of the gradient.
    pub clip: f64,
    /// Initial learning rate μ(0).
    pub learning_rate: f64,
    /// Upper limit of runs.
    pub episodes: usize,
    /// Number of final runs in [`Units::Norm`], regardless of the units of the others: steps in proportion to the
    /// gradient let the gains converge, if they can. At most three in ten.
    pub settle: usize,
    /// Additional runs after convergence or the last run: they check the convergence, and do not change the
    /// result.
    pub beyond: usize,
}

/// Gains of the thesis before training.
pub const START: Gains = Gains {
    p: -0.2,
    i: -0.05,
    d: 0.1,
};

/// Gains of the thesis after training.
pub const THESIS: Gains = Gains {
    p: -0.358,
    i: -0.060,
    d: 0.040,
};

/// Largest relative change over the last quarter of the updates that counts as convergence.
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

/// Gains at a moment of the training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Updates up to then.
    pub update: u64,
    /// Values of the gains.
    pub gains: Gains,
}

/// Result of a run of the training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Updates over all runs up to its end.
    pub updates: u64,
    /// Gains at its end.
    pub gains: Gains,
    /// Mean of the round-trip times measured in it, in µs.
    pub mean_rtt_us: f64,
    /// Mean of `J` over these, in µs².
    pub mean_loss: f64,
    /// Share of gradient components that were clipped.
    pub clipped: f64,
}

/// Trained gains with their history.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedGains {
    /// Settings of the training.
    pub options: Options,
    /// Gains at the end of training.
    pub gains: Gains,
    /// Gains over time, evenly spaced: up to a few thousand points.
    pub history: Vec<Point>,
    /// Results of the runs, in order.
    pub episodes: Vec<Episode>,
    /// Largest relative deviation of a gain from its last value over the last quarter of the updates.
    pub change: f64,
    /// Gains after [`Options::beyond`] additional runs.
    pub later: Gains,
    /// True if the training was stopped early.
    pub stopped: bool,
}

impl TrainedGains {
    /// Returns true if the gains hardly changed at the end.
    pub fn has_converged(&self) -> bool {
        self.change < CONVERGED
    }
}

/// Callback for progress: number of the run, its progress, and the present gains.
pub type Watch<'a> = &'a mut dyn FnMut(usize, &Progress, Gains) -> Control;

/// State of a training between two runs.
#[derive(Serialize, Deserialize)]
struct State {
    shared: SharedState,
    episodes: Vec<EpisodeState>,
    /// True if the gains have converged.
    rests: bool,
}

/// Result of a run, as plain numbers.
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

/// Name of the checkpoint.
const NAME: &str = "pidnn";

/// Trains the gains, from the checkpoint if there is one: repeats the scenario until the gains have
/// converged, or up to the limit of runs.
///
/// # Errors
/// The scenario is invalid, a run failed, `watch` stopped the first run, or a checkpoint cannot be read or
/// written.
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

/// Creates factories of learning senders, for all schemes of the run.
fn learners(input: &Resolved, shared: &Arc<Mutex<Shared>>) -> Result<Factories, Error> {
    let factory = |(index, scheme): (u16, &SchemeSpec)| {
        let params = learner::params(&scheme.config).ok_or_else(|| {
            Error::Options(format!(
                "the gains of `{}` cannot be trained: the scheme has to be `lstm-pid` or `pidnn`",
                scheme.config.name()
            ))
        })?;
        let (params, shared) = (params.clone(), shared.clone());
        let factory = SchemeFactory::new(move |path| Box::new(Learner::new(&params, path, shared.clone())));
        Ok((index, factory))
    };
    (0..).zip(&input.run.schemes).map(factory).collect()
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
