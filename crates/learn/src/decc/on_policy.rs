//! The other way through a stage: proximal policy optimisation, with a critic that sees all flows of a bottleneck
//! ([`By::Proximal`]).
//!
//! Flows decide by the policy and some chance; then it goes towards what was better than the critic expected. The critic
//! reads what those of the gradients read, but for the action. It begins anew in each stage, and learns for some rounds
//! before the policy moves. Networks, rewards, trials and what is kept are as there.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::card::DECC;
use paceline_congestion::learned::layers::{Layer, Network, Policy as _, Units};
use paceline_lab::run::side_by_side;

use super::driver::{Decider, Driver, Manner};
use super::replay::Transition;
use super::resume::{Best, Part, UnderWay};
use super::state::GLOBAL;
use super::{DRIVERS, Stage, Training, stream, trial};
use crate::Error;
use crate::checkpoint::Floats;
use crate::pass::{first, network};
use crate::ppo::{self, likelihood};

/// Numbers that the critic reads: all agents, and one agent's features.
const KNOWN: usize = GLOBAL + INPUTS;

type Step = ppo::Step<INPUTS, KNOWN>;
type Course = ppo::Course<INPUTS, KNOWN>;
type Learner = ppo::Learner<INPUTS, KNOWN>;

const CRITIC: [Layer; 4] = [
    Layer::new(KNOWN, 128, Units::Rectified),
    Layer::new(128, 64, Units::Rectified),
    Layer::new(64, 32, Units::Rectified),
    Layer::new(32, 1, Units::Linear),
];

pub(super) const MANNER: ppo::Manner = ppo::Manner {
    entropy: 1e-4,
    rate: 3e-4,
    scale: 0.2,
};

/// The logarithm of the first deviation of actions, a tenth.
const SPREAD: f32 = -std::f32::consts::LN_10;
/// Decisions of each environment in a round, and the rounds in which only the critic learns.
const DECISIONS: usize = 2048;
const FIRST: usize = 5;
/// Steps that a round counts for.
const STEPS: usize = 4 * DRIVERS * DECISIONS / ppo::BATCH;

impl Training<'_> {
    /// Goes through a stage, from the policy that there is or where it was.
    pub(super) fn refine(
        &mut self,
        number: usize,
        stage: Stage,
        mut from: Option<UnderWay>,
    ) -> Result<(), Error> {
        let options = self.options;
        let mut rng = stream(options.seed, number, 3);
        let drivers = self.drivers(number, stage, from.as_mut())?;
        let drivers: Vec<Mutex<Driver>> = drivers.into_iter().map(Mutex::new).collect();
        let networks = (self.learner.actor().clone(), first(&CRITIC, &mut rng));
        let mut learner = Learner::new(MANNER, networks, SPREAD);
        let (rounds, mut round) = (stage.steps.div_ceil(STEPS), 0);
        let mut best;
        if let Some(UnderWay {
            part: Part::Refine(kept, was_best),
            rng: was,
            done,
            ..
        }) = from
        {
            (rng, round) = (was, done);
            learner.go_on_from(kept)?;
            best = was_best.with(None);
            best.kept = was_best.kept.map(|kept| network(&DECC, kept)).transpose()?;
        } else {
            best = Best::beside(trial(stage, Decider::Rule, options.threads)?);
            let reward = trial(stage, Decider::Policy(learner.actor()), options.threads)?;
            best.offer(reward, learner.actor());
            best.streak = 0;
            self.report(stage.name, 0, 0.0, Some((reward, &best)));
        }
        let last = number == options.stages.len();
        while round < rounds && !self.stopped && (last || best.streak < 3) {
            let part = round as f64 / rounds as f64;
            let courses = self.go_through(&drivers, &learner, part)?;
            let unexplained = learner.learn(&courses, (1.0 - part, round >= FIRST), &mut rng);
            round += 1;
            self.step += STEPS;
            let before = (round - 1) * STEPS / options.trial;
            let tried = match round * STEPS / options.trial > before || round == rounds {
                true => Some(trial(stage, Decider::Policy(learner.actor()), options.threads)?),
                false => None,
            };
            if let Some(reward) = tried {
                best.offer(reward, learner.actor());
            }
            self.report(
                stage.name,
                round * STEPS,
                unexplained,
                tried.map(|reward| (reward, &best)),
            );
            self.keep_if_due(number, || {
                let kept = best.kept.as_ref().map(|kept| Floats(kept.values().to_vec()));
                UnderWay::of_locked(
                    round,
                    &rng,
                    &drivers,
                    Part::Refine(learner.state(), best.with(kept)),
                )
            })?;
        }
        if let Some(kept) = best.kept {
            self.learner.act_as(kept);
        }
        Ok(())
    }

    /// A round: all environments at a time, put together in their order.
    fn go_through(
        &mut self,
        drivers: &[Mutex<Driver>],
        learner: &Learner,
        part: f64,
    ) -> Result<Vec<Course>, Error> {
        let spread = (learner.actor(), learner.deviation());
        let manner = Manner {
            decider: Decider::Policy(spread.0),
            noise: spread.1,
            shaping: (3.0 - 3.0 * part).clamp(0.0, 1.0) as f32,
        };
        let driven = side_by_side(drivers.len(), self.options.threads, &|place| {
            let mut driver = drivers[place].lock().unwrap_or_else(PoisonError::into_inner);
            let (gone_through, _) = driver.drive(manner, DECISIONS)?;
            Ok(courses(gone_through, spread))
        });
        let courses = driven.into_iter().collect::<Result<Vec<_>, Error>>()?.concat();
        self.decisions += courses
            .iter()
            .map(|course| course.steps.len() as u64)
            .sum::<u64>();
        Ok(courses)
    }
}

/// Of each agent, what it went through without a break. Agents of another episode have the same numbers, and saw
/// something else before their first decision.
fn courses(gone_through: Vec<Transition>, spread: (&Network, f64)) -> Vec<Course> {
    let mut under_way: BTreeMap<u32, (Course, [f32; INPUTS])> = BTreeMap::new();
    let mut done = Vec::new();
    for one in gone_through {
        let (step, after) = (step(&one, spread), known(&one.next_all, &one.next_seen));
        match under_way.get_mut(&one.agent) {
            Some((course, next)) if *next == one.seen => {
                course.steps.push(step);
                (course.after, *next) = (after, one.next_seen);
            }
            _ => {
                let begun = Course {
                    steps: vec![step],
                    after,
                };
                let before = under_way.insert(one.agent, (begun, one.next_seen));
                done.extend(before.map(|(course, _)| course));
            }
        }
    }
    done.extend(under_way.into_values().map(|(course, _)| course));
    done
}

fn step(one: &Transition, (policy, deviation): (&Network, f64)) -> Step {
    let mean = f64::from(policy.decide(&one.seen));
    Step {
        seen: one.seen,
        known: known(&one.all, &one.seen),
        action: one.tried,
        likelihood: likelihood(f64::from(one.tried), mean, deviation) as f32,
        reward: one.reward,
        discount: f64::from(one.discount),
    }
}

/// What the critic reads.
fn known(all: &[f32; GLOBAL], seen: &[f32; INPUTS]) -> [f32; KNOWN] {
    let mut known = [0.0; KNOWN];
    let (of_all, own) = known.split_at_mut(GLOBAL);
    of_all.copy_from_slice(all);
    own.copy_from_slice(seen);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(agent: u32, from: f32, to: f32) -> Transition {
        Transition {
            agent,
            tried: 0.0,
            all: [from; GLOBAL],
            seen: [from; INPUTS],
            action: 0.0,
            reward: from,
            discount: 0.98,
            next_all: [to; GLOBAL],
            next_seen: [to; INPUTS],
        }
    }

    /// Two agents by turns, and one of the next episode with the number of the first.
    #[test]
    fn courses_are_without_a_break() {
        let policy = first(&DECC, &mut stream(1, 0, 0));
        let gone_through = vec![
            one(0, 0.1, 0.2),
            one(1, 0.5, 0.6),
            one(0, 0.2, 0.3),
            one(1, 0.6, 0.7),
            one(0, 0.8, 0.9),
        ];
        let courses = courses(gone_through, (&policy, 0.1));
        let rewards = courses
            .iter()
            .map(|course| course.steps.iter().map(|step| step.reward));
        let rewards: Vec<Vec<f32>> = rewards.map(Iterator::collect).collect();
        assert_eq!(rewards, [vec![0.1, 0.2], vec![0.8], vec![0.5, 0.6]]);
        assert_eq!(courses[0].after, [0.3; KNOWN]);
        // An action that is the mean is as likely as any can be.
        let mean = policy.decide(&[0.1; INPUTS]);
        let near = Transition {
            tried: mean,
            ..one(0, 0.1, 0.2)
        };
        let likely = step(&near, (&policy, 0.1)).likelihood;
        assert!((likely - std::f32::consts::LN_10).abs() < 1e-6, "{likely}");
    }
}
