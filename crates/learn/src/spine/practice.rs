//! Flows that decide by SPINE's network with a random part inside a run, and record their decisions.

use std::sync::{Arc, Mutex, PoisonError};

use paceline_congestion::CongestionControl;
use paceline_congestion::api::PathInfo;
use paceline_congestion::learned::activation::sigmoid;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::registry::{Definition as _, SchemeConfig, SchemeFactory};
use paceline_congestion::spine::{Agent, INPUTS, Moment, OUTPUTS, Params, Spine};
use paceline_fabric::{Factories, Simulation};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_scenario::Resolved;

use super::{Course, GAMMA, KNOWN, Step};
use crate::Error;
use crate::course::Drawn;
use crate::decc::delivered;
use crate::ppo::{Chance, FORCED};
use crate::rng::normal;

/// Cost of a trigger in the reward.
const TRIGGER: f64 = 0.02;
/// Ratio of the round-trip time to the empty network's up to which the reward is not reduced.
const TOLERATED: f64 = 1.1;
/// Cost of a loss fraction of 1, and upper limit of the cost of losses.
const LOSS: (f64, f64) = (10.0, 1.0);

/// State shared by all flows of an episode.
#[derive(Debug)]
struct Episode {
    policy: Arc<Network>,
    /// Standard deviation of the generator's outputs; `None` without a random part.
    deviation: Option<f64>,
    seed: u64,
    log: Mutex<Log>,
}

/// Records of all flows of an episode.
#[derive(Debug, Default)]
struct Log {
    /// Decisions of each flow.
    courses: Vec<Course>,
    /// Last delivery rate of each flow as a fraction of the line; `None` before its first decision.
    shares: Vec<Option<f64>>,
}

impl Log {
    /// Returns the number of flows that have decided at least once, at least 1.
    fn begun(&self) -> f64 {
        self.shares.iter().flatten().count().max(1) as f64
    }

    /// Returns the mean over active flows of the delivery rate relative to the fair share, each limited to 1.
    fn served(&self) -> f64 {
        let begun = self.begun();
        let served = self.shares.iter().flatten().map(|share| (share * begun).min(1.0));
        served.sum::<f64>() / begun
    }

    /// Returns the inputs of the critic.
    fn known(&self, agent: usize, seen: &[f32; INPUTS]) -> [f32; KNOWN] {
        let begun = self.begun();
        let own = self.shares[agent].unwrap_or(0.0) * begun;
        let all = [
            libm::log2(begun) / 8.0,
            self.served(),
            libm::log2(own.clamp(1.0 / 256.0, 256.0)) / 8.0,
        ];
        let mut known = [0.0; KNOWN];
        known[..INPUTS].copy_from_slice(seen);
        known[INPUTS..].copy_from_slice(&all.map(|value| value as f32));
        known
    }
}

/// Runs SPINE in a network with these parameters and this random part; returns the flows' decisions and the
/// simulation.
pub(super) fn practise(
    input: &Resolved,
    params: &Params,
    policy: &Arc<Network>,
    deviation: Option<f64>,
) -> Result<(Vec<Course>, Simulation), Error> {
    let mut run = (*input.run).clone();
    run.schemes[0] = SchemeConfig::from(params.clone()).into();
    let episode = Arc::new(Episode {
        policy: Arc::clone(policy),
        deviation,
        seed: input.seed,
        log: Mutex::default(),
    });
    let (needs, shared, params) = (params.needs(), Arc::clone(&episode), params.clone());
    let make = move |path: &PathInfo| -> Box<dyn CongestionControl> {
        let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = log.courses.len();
        // Every flow has a share before it delivers anything, so that its number is its index in both lists.
        log.shares.push(None);
        log.courses.push(Course {
            steps: Vec::new(),
            after: [0.0; KNOWN],
        });
        let pupil = Pupil {
            rng: Rng::stream(shared.seed, Purpose::Training, (2 << 20) | agent as u64),
            episode: Arc::clone(&shared),
            agent,
            last: None,
        };
        Box::new(Spine::sender(&params, path, pupil))
    };
    let factories = Factories::from([(0, SchemeFactory::new(make).needing(needs))]);
    let built = Simulation::with_factories(run, factories);
    let mut simulation = built.map_err(|error| Error::Options(error.to_string()))?;
    simulation.advance_to(paceline_fabric::Until::Time(input.run.stop));
    let mut log = episode.log.lock().unwrap_or_else(PoisonError::into_inner);
    let mut courses = std::mem::take(&mut log.courses);
    // Flows that ended before their second decision have no reward to learn from.
    courses.retain(|course| !course.steps.is_empty());
    Ok((courses, simulation))
}

/// Runs an episode in a drawn network with its number of first packets; returns the flows' decisions.
pub(super) fn episode(
    drawn: &Drawn,
    seed: u64,
    policy: &Arc<Network>,
    deviation: Option<f64>,
) -> Result<Vec<Course>, Error> {
    let mut source = drawn.source();
    source.overrides.seed = Some(seed);
    let input = paceline_lab::load(&source.name, &source.overrides)?;
    let params = Params {
        initial_window: drawn.first_packets,
        ..Params::default()
    };
    Ok(practise(&input, &params, policy, deviation)?.0)
}

/// Agent that records its inputs, actions and rewards.
#[derive(Clone, Debug)]
struct Pupil {
    episode: Arc<Episode>,
    agent: usize,
    rng: Rng,
    /// Last decision, for which the reward is not yet known.
    last: Option<Step>,
}

/// Returns the reward of equation (8) on the scheme's page: from the flows' throughput, the round-trip time
/// relative to the empty network's, losses and the trigger.
fn reward(served: f64, rtt: f64, lost: f64, triggered: bool) -> f64 {
    let cost = if triggered { TRIGGER } else { 0.0 };
    served / (rtt / TOLERATED).max(1.0) - (LOSS.0 * lost).min(LOSS.1) - cost
}

impl Agent for Pupil {
    fn network(&self) -> &Network {
        &self.episode.policy
    }

    fn choose(&mut self, moment: &Moment<'_>, said: &[f32; OUTPUTS]) -> Option<[f32; 4]> {
        let (report, path) = (moment.report, moment.path);
        let episode = &*self.episode;
        let (mut action, rng) = (*said, &mut self.rng);
        let mut triggered = said[0] >= 0.0;
        if let Some(deviation) = episode.deviation {
            // The policy gradient needs a random trigger with a known likelihood; trials and runs decide by its sign.
            triggered = rng.next_f64() < f64::from(sigmoid(said[0]));
            let spread = action[1..].iter_mut();
            spread.for_each(|action| *action += (deviation * normal(rng)) as f32);
        }
        action[0] = match moment.first {
            true => FORCED,
            false => f32::from(u8::from(triggered)),
        };
        let mut log = episode.log.lock().unwrap_or_else(PoisonError::into_inner);
        // The common reward must include this flow's newest delivery rate.
        log.shares[self.agent] = Some(delivered(report, path));
        let known = log.known(self.agent, moment.seen);
        let deviation = episode.deviation.unwrap_or(1.0);
        let now = Step {
            seen: *moment.seen,
            known,
            action,
            likelihood: Chance::Triggered.likelihood(&action, said, deviation) as f32,
            reward: 0.0,
            discount: GAMMA,
        };
        // A reward is known only at the next decision.
        if let Some(last) = self.last.replace(now) {
            let tally = &report.tally;
            let lost = match tally.timeouts {
                0 => f64::from(tally.nacks) / f64::from(tally.acks.max(1)),
                _ => 1.0,
            };
            let rtt = tally.rtt_mean().as_us_f64() / path.base_rtt.as_us_f64().max(1e-9);
            let reward = reward(log.served(), rtt, lost, last.action[0] > 0.5) as f32;
            let course = &mut log.courses[self.agent];
            course.steps.push(Step { reward, ..last });
            course.after = known;
        }
        let [_, policy @ ..] = action;
        (action[0] > 0.5).then_some(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_by_hand() {
        assert_eq!(reward(1.0, 1.0, 0.0, false), 1.0);
        // Delay up to ten per cent is free. A trigger costs 0.02, and a loss of one twentieth costs one half.
        assert_eq!(reward(1.0, 1.1, 0.0, true), 0.98);
        assert_eq!(reward(0.5, 2.2, 0.05, false), 0.25 - 0.5);
        assert_eq!(reward(0.0, 9.0, 1.0, false), -1.0);
    }

    /// Three flows, one of them inactive: one has a quarter of the line, one more than its fair half.
    #[test]
    fn what_flows_are_delivered_by_hand() {
        let log = Log {
            shares: vec![Some(0.25), None, Some(0.75)],
            ..Log::default()
        };
        assert_eq!((log.begun(), log.served()), (2.0, 0.75));
        let known = log.known(0, &[0.5; INPUTS]);
        assert_eq!(known[INPUTS - 1..], [0.5, 0.125, 0.75, -0.125]);
    }
}
