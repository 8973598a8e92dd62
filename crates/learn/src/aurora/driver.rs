//! Flows of environments that decide by a policy with exploration, and their recorded experience.

use paceline_congestion::aurora::{CUT, HISTORY, INPUTS, ONCE, STEP, latency};
use paceline_congestion::learned::layers::{Network, Policy as _};
use paceline_env::{Action, Agents, Batch, Config, Environment, Feature, Reward};
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::{Course, GAMMA, Step};
use crate::Error;
use crate::checkpoint::Actions;
use crate::course::{Drawn, SELECTION, TRAINING, draw};
use crate::ppo::{Explorer, likelihood};
use crate::rng::normal;

/// Lower bound of rewards in learning: otherwise one loss among ten acknowledgements would outweigh
/// everything else, and flows would learn to brake first.
const LEAST: f32 = -5.0;

/// Record of an agent: complete steps, and the last decision, whose reward is not known yet.
#[derive(Clone, Default)]
struct Seat {
    steps: Vec<Step>,
    last: Option<Step>,
}

/// Running episode of an environment.
struct Episode {
    environment: Environment,
    batch: Batch,
    seats: Vec<Seat>,
}

/// Returns the agents' observations, actions and rewards: those of the scheme.
pub(super) fn config() -> Result<Config, Error> {
    let features = ["rtt-growth", "rtt", "sent"].map(Feature::find);
    Ok(Config {
        features: features
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(paceline_env::Error::from)?,
        history: HISTORY,
        action: Action::RateMultiplier,
        step: STEP * f64::from(CUT),
        reward: Reward::Aurora,
        agents: Agents::Flow,
        ..Config::default()
    })
}

impl Episode {
    fn new(drawn: &Drawn, seed: u64) -> Result<Self, Error> {
        let mut source = drawn.source();
        source.overrides.seed = Some(seed);
        let half_ns = (500.0 * drawn.base_us) as u64;
        source.overrides.set.extend([
            "cc.external.clock=feedback".to_string(),
            format!("cc.external.interval={half_ns}ns"),
        ]);
        let environment = Environment::new(source, config()?)?;
        Ok(Self {
            seats: vec![Seat::default(); environment.agents()],
            environment,
            batch: Batch::default(),
        })
    }

    /// Advances to the next decisions and answers them with `decide`, which returns an action and its
    /// log-likelihood. Returns the number of decisions; 0 if the episode is over.
    fn go_on(&mut self, decide: &mut dyn FnMut(&[f32; INPUTS]) -> (f32, f32)) -> Result<usize, Error> {
        self.environment.poll(&mut self.batch)?;
        let mut actions = Vec::with_capacity(self.batch.len());
        for (row, &agent) in self.batch.agents.iter().enumerate() {
            let mut seen = [0.0; INPUTS];
            seen.copy_from_slice(self.batch.observation(row));
            let delays = seen.iter_mut().skip(1).step_by(ONCE);
            // The scheme transforms delays in the same manner: a policy must have the same inputs in
            // training.
            delays.for_each(|rtt| *rtt = latency(*rtt));
            let seat = &mut self.seats[agent as usize];
            // A reward belongs to the decision before this one.
            if let Some(last) = seat.last.take() {
                let reward = self.batch.rewards[row].max(LEAST);
                seat.steps.push(Step { reward, ..last });
            }
            let (action, likelihood) = decide(&seen);
            actions.push((action / CUT).clamp(-1.0, 1.0));
            seat.last = Some(Step {
                seen,
                known: seen,
                action: [action],
                likelihood,
                reward: 0.0,
                discount: GAMMA,
            });
        }
        if !actions.is_empty() {
            self.environment.submit(&actions)?;
        }
        Ok(actions.len())
    }

    /// Takes the agents' steps since the last call. Pending decisions stay.
    fn courses(&mut self) -> Vec<Course> {
        let mut courses = Vec::new();
        for seat in &mut self.seats {
            let steps = std::mem::take(&mut seat.steps);
            // The critic needs the state after the last step.
            if let (false, Some(last)) = (steps.is_empty(), &seat.last) {
                courses.push(Course {
                    steps,
                    after: last.seen,
                });
            }
        }
        courses
    }
}

/// Environment that draws a network for each episode.
pub(super) struct Driver {
    rng: Rng,
    /// State of the generator before this episode was drawn.
    before: Rng,
    episode: Episode,
}

/// State of an environment between two rounds.
#[derive(Serialize, Deserialize)]
pub(super) struct DriverState {
    rng: Rng,
    before: Rng,
    actions: Actions,
    /// Last decision of each agent.
    last: Vec<Option<Last>>,
}

/// Decision whose reward is not known yet.
#[derive(Serialize, Deserialize)]
struct Last {
    seen: [f32; INPUTS],
    action: f32,
    likelihood: f32,
}

impl Last {
    const fn step(&self) -> Step {
        Step {
            seen: self.seen,
            known: self.seen,
            action: [self.action],
            likelihood: self.likelihood,
            reward: 0.0,
            discount: GAMMA,
        }
    }
}

impl Driver {
    pub(super) fn new(mut rng: Rng) -> Result<Self, Error> {
        let before = rng.clone();
        let episode = begin(&mut rng)?;
        Ok(Self { rng, before, episode })
    }

    pub(super) fn state(&self) -> DriverState {
        let last = |step: &Step| Last {
            seen: step.seen,
            action: step.action[0],
            likelihood: step.likelihood,
        };
        let seats = self.episode.seats.iter();
        DriverState {
            rng: self.rng.clone(),
            before: self.before.clone(),
            actions: Actions::of(&self.episode.environment),
            last: seats.map(|seat| seat.last.as_ref().map(last)).collect(),
        }
    }

    pub(super) fn go_on_from(&mut self, state: DriverState) -> Result<(), Error> {
        self.episode = begin(&mut state.before.clone())?;
        state.actions.replay(&mut self.episode.environment)?;
        for (seat, last) in self.episode.seats.iter_mut().zip(state.last) {
            seat.last = last.map(|last| last.step());
        }
        (self.rng, self.before) = (state.rng, state.before);
        Ok(())
    }

    /// Runs about `decisions` decisions of a policy with this exploration, and returns the agents'
    /// experience.
    pub(super) fn drive(&mut self, explorer: Explorer<'_>, decisions: usize) -> Result<Vec<Course>, Error> {
        let Explorer { policy, deviation } = explorer;
        let (mut courses, mut done) = (Vec::new(), 0);
        while done < decisions {
            let rng = &mut self.rng;
            let now = self.episode.go_on(&mut |seen| {
                let mean = f64::from(policy.decide(seen));
                let action = mean + deviation * normal(rng);
                (action as f32, likelihood(action, mean, deviation) as f32)
            })?;
            if now == 0 {
                courses.extend(self.episode.courses());
                // A checkpoint in this episode draws it again from this state.
                self.before = self.rng.clone();
                self.episode = begin(&mut self.rng)?;
            }
            done += now;
        }
        // Decisions of the unfinished episode are of this policy, so they are used now.
        courses.extend(self.episode.courses());
        Ok(courses)
    }
}

fn begin(rng: &mut Rng) -> Result<Episode, Error> {
    let drawn = draw(rng);
    Episode::new(&drawn, TRAINING.start + rng.below(TRAINING.end - TRAINING.start))
}

/// Returns the mean reward of the policy without exploration in a network, over an episode that is not used
/// for learning.
pub(super) fn judge(drawn: &Drawn, policy: &Network, number: u64) -> Result<f64, Error> {
    let seed = SELECTION.start + number;
    let mut episode = Episode::new(drawn, seed)?;
    while episode.go_on(&mut |seen| (policy.decide(seen), 0.0))? > 0 {}
    let courses = episode.courses();
    let (mut sum, mut count) = (0.0, 0);
    for step in courses.iter().flat_map(|course| &course.steps) {
        (sum, count) = (sum + f64::from(step.reward), count + 1);
    }
    Ok(sum / f64::from(count.max(1)))
}
