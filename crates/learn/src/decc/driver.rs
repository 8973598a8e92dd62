//! Flows of an environment, who decides for them, and what they go through.

use paceline_congestion::decc::features::{INPUTS, ONCE, latency};
use paceline_congestion::decc::{SILENCE, STEP};
use paceline_congestion::learned::layers::Policy;
use paceline_env::{Action, Agents, Batch, Config, Environment, Feature, Reward};
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::replay::Transition;
use super::rule;
use super::state::{GLOBAL, state};
use crate::Error;
use crate::checkpoint::Actions;
use crate::course::{Drawn, Facts, SELECTION, Stage, TRAINING, draw};
use crate::rng::normal;

/// Who decides.
#[derive(Clone, Copy)]
pub(super) enum Decider<'a> {
    /// The rule that the policy begins with.
    Rule,
    /// A policy.
    Policy(&'a dyn Policy),
}

impl Decider<'_> {
    fn decide(self, seen: &[f32; INPUTS]) -> f32 {
        match self {
            Self::Rule => rule::action(last(seen)),
            Self::Policy(policy) => policy.decide(seen),
        }
    }
}

/// The latest round trip of what is seen.
pub(super) fn last(seen: &[f32; INPUTS]) -> &[f32; ONCE] {
    seen.last_chunk().expect("a round trip is seen")
}

/// Discount of a round trip of the empty network.
const GAMMA: f64 = 0.98;
/// Critics learn ten times what a reward is above about that of flows that do well: so what they say is near zero there,
/// and what an action changes of it is not small beside it.
const SCALE: f32 = 10.0;
const WELL: f32 = 0.07;

/// How a driver decides and rewards.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    pub(super) decider: Decider<'a>,
    /// Deviation of the noise on its actions.
    pub(super) noise: f64,
    /// Weight of the part of a reward that is an agent's own.
    pub(super) shaping: f32,
}

/// What an agent saw and did last.
#[derive(Clone, Serialize, Deserialize)]
struct Seat {
    begun: bool,
    all: [f32; GLOBAL],
    seen: [f32; INPUTS],
    action: f32,
    tried: f32,
    at_ps: u64,
}

const NOBODY: Seat = Seat {
    begun: false,
    all: [0.0; GLOBAL],
    seen: [0.0; INPUTS],
    action: 0.0,
    tried: 0.0,
    at_ps: 0,
};

/// An environment under way.
struct Episode {
    environment: Environment,
    facts: Facts,
    seats: Vec<Seat>,
    /// Agents of each bottleneck, and the bottleneck of each agent.
    members: Vec<Vec<usize>>,
    bottleneck: Vec<usize>,
    batch: Batch,
}

impl Episode {
    fn new(drawn: &Drawn, seed: u64) -> Result<Self, Error> {
        let features = [
            "delivered-log2",
            "rtt",
            "loss",
            "in-flight-log2",
            "rate-log2",
            "action",
        ];
        let features = features.map(Feature::find);
        let config = Config {
            features: features.into_iter().collect::<Result<_, _>>()?,
            history: INPUTS / ONCE,
            action: Action::WindowMultiplier,
            step: STEP,
            reward: Reward::Decc,
            agents: Agents::Flow,
            ..Config::default()
        };
        let mut source = drawn.source();
        source.overrides.seed = Some(seed);
        source
            .overrides
            .set
            .push(format!("cc.external.silence={SILENCE}"));
        let environment = Environment::new(source, config)?;
        let (mut receivers, mut members, mut bottleneck) = (Vec::new(), Vec::new(), Vec::new());
        for (agent, flow) in environment.scenario().run.flows.iter().enumerate() {
            let place = receivers.iter().position(|dst| *dst == flow.dst);
            let place = place.unwrap_or_else(|| {
                receivers.push(flow.dst);
                members.push(Vec::new());
                receivers.len() - 1
            });
            members[place].push(agent);
            bottleneck.push(place);
        }
        Ok(Self {
            seats: vec![NOBODY; environment.agents()],
            environment,
            facts: drawn.facts,
            members,
            bottleneck,
            batch: Batch::default(),
        })
    }

    /// Goes on to the next questions and answers them: what came of the actions before, and the rewards as they are.
    /// `None` if the episode is over.
    fn go_on(
        &mut self,
        manner: Manner<'_>,
        rng: &mut Rng,
        gone_through: &mut Vec<Transition>,
    ) -> Result<Option<(f64, usize)>, Error> {
        self.environment.poll(&mut self.batch)?;
        if self.batch.is_empty() {
            return Ok(None);
        }
        let mut seen = Vec::with_capacity(self.batch.len());
        for (row, &agent) in self.batch.agents.iter().enumerate() {
            let mut now = [0.0; INPUTS];
            now.copy_from_slice(self.batch.observation(row));
            now.iter_mut()
                .skip(1)
                .step_by(ONCE)
                .for_each(|rtt| *rtt = latency(*rtt));
            seen.push((agent as usize, now));
        }
        let mut known: Vec<Option<[f32; GLOBAL]>> = vec![None; self.members.len()];
        let mut actions = Vec::with_capacity(seen.len());
        let (mut rewards, mut count) = (0.0, 0);
        let before: Vec<Seat> = seen.iter().map(|(agent, _)| self.seats[*agent].clone()).collect();
        for (agent, now) in &seen {
            let seat = &mut self.seats[*agent];
            (seat.begun, seat.seen) = (true, *now);
        }
        for (row, ((agent, now), before)) in seen.iter().zip(before).enumerate() {
            let place = self.bottleneck[*agent];
            let all = *known[place].get_or_insert_with(|| {
                let present = self.members[place].iter().map(|&member| &self.seats[member]);
                let present = present.filter(|seat| seat.begun);
                state(&self.facts, present.map(|seat| last(&seat.seen)))
            });
            let at_ps = self.batch.times[row];
            if before.begun {
                let reward = self.batch.rewards[row];
                (rewards, count) = (rewards + f64::from(reward), count + 1);
                let own = manner.shaping * rule::shaping(last(now), before.action);
                let round_trips = (at_ps - before.at_ps) as f64 * 1e-6 / self.facts.base_us;
                gone_through.push(Transition {
                    agent: *agent as u32,
                    tried: before.tried,
                    all: before.all,
                    seen: before.seen,
                    action: before.action,
                    reward: SCALE * (reward - WELL + own),
                    discount: libm::pow(GAMMA, round_trips.max(1.0)) as f32,
                    next_all: all,
                    next_seen: *now,
                });
            }
            let noise = if manner.noise > 0.0 {
                manner.noise * normal(rng)
            } else {
                0.0
            };
            let tried = (f64::from(manner.decider.decide(now)) + noise) as f32;
            let action = tried.clamp(-1.0, 1.0);
            actions.push(action);
            let seat = &mut self.seats[*agent];
            (seat.all, seat.action, seat.tried, seat.at_ps) = (all, action, tried, at_ps);
        }
        self.environment.submit(&actions)?;
        Ok(Some((rewards, count)))
    }
}

/// Episode after episode of a stage.
pub(super) struct Driver {
    stage: Stage,
    rng: Rng,
    /// As it was before this episode was drawn.
    before: Rng,
    episode: Episode,
}

/// Where one is, between two rounds.
#[derive(Serialize, Deserialize)]
pub(super) struct DriverState {
    rng: Rng,
    before: Rng,
    actions: Actions,
    seats: Vec<Seat>,
}

impl Driver {
    pub(super) fn new(stage: Stage, mut rng: Rng) -> Result<Self, Error> {
        let before = rng.clone();
        let episode = begin(&stage, &mut rng)?;
        Ok(Self {
            stage,
            rng,
            before,
            episode,
        })
    }

    pub(super) fn state(&self) -> DriverState {
        DriverState {
            rng: self.rng.clone(),
            before: self.before.clone(),
            actions: Actions::of(&self.episode.environment),
            seats: self.episode.seats.clone(),
        }
    }

    pub(super) fn go_on_from(&mut self, state: DriverState) -> Result<(), Error> {
        self.episode = begin(&self.stage, &mut state.before.clone())?;
        state.actions.replay(&mut self.episode.environment)?;
        self.episode.seats = state.seats;
        (self.rng, self.before) = (state.rng, state.before);
        Ok(())
    }

    /// What agents go through in the next so many decisions, or a few more; and how they were rewarded in the mean.
    pub(super) fn drive(
        &mut self,
        manner: Manner<'_>,
        decisions: usize,
    ) -> Result<(Vec<Transition>, f64), Error> {
        let mut gone_through = Vec::with_capacity(decisions);
        let (mut rewards, mut count) = (0.0, 0);
        while gone_through.len() < decisions {
            match self.episode.go_on(manner, &mut self.rng, &mut gone_through)? {
                Some((more, further)) => (rewards, count) = (rewards + more, count + further),
                None => {
                    self.before = self.rng.clone();
                    self.episode = begin(&self.stage, &mut self.rng)?;
                }
            }
        }
        Ok((gone_through, rewards / count.max(1) as f64))
    }
}

fn begin(stage: &Stage, rng: &mut Rng) -> Result<Episode, Error> {
    let drawn = draw(stage, rng);
    Episode::new(&drawn, TRAINING.start + rng.below(TRAINING.end - TRAINING.start))
}

/// The mean reward of a decider in a network, over an episode that nobody learns from; `see` is shown what agents go
/// through in it.
pub(super) fn judge(
    drawn: &Drawn,
    decider: Decider<'_>,
    number: u64,
    see: &mut dyn FnMut(&[Transition]),
) -> Result<f64, Error> {
    let seed = SELECTION.start + number;
    let mut episode = Episode::new(drawn, seed)?;
    let mut rng = Rng::stream(seed, paceline_kernel::rng::Purpose::Training, 0);
    let manner = Manner {
        decider,
        noise: 0.0,
        shaping: 0.0,
    };
    let (mut rewards, mut count) = (0.0, 0);
    let mut gone_through = Vec::new();
    while let Some((more, further)) = episode.go_on(manner, &mut rng, &mut gone_through)? {
        (rewards, count) = (rewards + more, count + further);
        see(&gone_through);
        gone_through.clear();
    }
    Ok(rewards / count.max(1) as f64)
}
