//! Proximal policy optimisation with a critic that sees all flows of a bottleneck ([`super::By::Proximal`]).
//!
//! Flows decide by the policy with exploration; then the policy moves towards actions that were better than
//! the critic expected. The critic has the inputs of the gradients' critics without the action, and learns
//! alone for some rounds before the policy moves.

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::layers::{Layer, Network, Policy as _, Units};
use paceline_kernel::rng::Rng;
use paceline_kernel::sorted::SortedMap;

use super::replay::Transition;
use super::state::GLOBAL;
use crate::pass::first;
use crate::ppo::{self, Explorer, likelihood};

/// Inputs of the critic: all agents, and one agent's features.
const KNOWN: usize = GLOBAL + INPUTS;

type Step = ppo::Step<INPUTS, KNOWN, 1>;
pub(super) type Course = ppo::Course<INPUTS, KNOWN, 1>;
pub(super) type Learner = ppo::Learner<INPUTS, KNOWN, 1>;

const CRITIC: [Layer; 4] = [
    Layer::new(KNOWN, 128, Units::Rectified),
    Layer::new(128, 64, Units::Rectified),
    Layer::new(64, 32, Units::Rectified),
    Layer::new(32, 1, Units::Linear),
];

const MANNER: ppo::Manner = ppo::Manner {
    chance: ppo::Chance::Spread,
    entropy: 1e-4,
    rate: 3e-4,
    scale: 0.3,
};

/// Logarithm of the initial standard deviation of actions, a tenth.
const SPREAD: f32 = -std::f32::consts::LN_10;
/// Creates a learner that starts with this policy.
pub(super) fn learner(policy: Network, rng: &mut Rng) -> Learner {
    Learner::new(MANNER, policy, first(&CRITIC, rng), SPREAD)
}

/// Splits transitions into uninterrupted sequences per agent. Agents of the next episode reuse the numbers,
/// but their first observation differs.
pub(super) fn courses(gone_through: Vec<Transition>, explorer: Explorer<'_>) -> Vec<Course> {
    let mut under_way: SortedMap<u32, (Course, [f32; INPUTS])> = SortedMap::new();
    let mut done = Vec::new();
    for one in gone_through {
        let (step, after) = (step(&one, explorer), known(&one.next_all, &one.next_seen));
        match under_way.get_mut(&one.agent) {
            // A decision that was not stored interrupts the sequence.
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

fn step(one: &Transition, explorer: Explorer<'_>) -> Step {
    let Explorer { policy, deviation } = explorer;
    let mean = f64::from(policy.decide(&one.seen));
    Step {
        seen: one.seen,
        known: known(&one.all, &one.seen),
        action: [one.tried],
        likelihood: likelihood(f64::from(one.tried), mean, deviation) as f32,
        reward: one.reward,
        discount: f64::from(one.discount),
    }
}

/// Returns the critic's inputs.
fn known(all: &[f32; GLOBAL], seen: &[f32; INPUTS]) -> [f32; KNOWN] {
    let mut known = [0.0; KNOWN];
    let (of_all, own) = known.split_at_mut(GLOBAL);
    of_all.copy_from_slice(all);
    own.copy_from_slice(seen);
    known
}

#[cfg(test)]
mod tests {
    use paceline_congestion::learned::kind::DECC;

    use super::*;

    fn one(agent: u32, from: f32, to: f32) -> Transition {
        Transition {
            agent,
            tried: 0.0,
            label: 0.0,
            all: [from; GLOBAL],
            seen: [from; INPUTS],
            action: 0.0,
            reward: from,
            discount: 0.98,
            next_all: [to; GLOBAL],
            next_seen: [to; INPUTS],
        }
    }

    /// Two agents alternately, and one of the next episode with the first one's number.
    #[test]
    fn courses_are_without_a_break() {
        let policy = first(&DECC, &mut super::super::stream(1, 0, 0));
        let gone_through = vec![
            one(0, 0.1, 0.2),
            one(1, 0.5, 0.6),
            one(0, 0.2, 0.3),
            one(1, 0.6, 0.7),
            one(0, 0.8, 0.9),
        ];
        let explorer = Explorer {
            policy: &policy,
            deviation: 0.1,
        };
        let courses = courses(gone_through, explorer);
        let rewards = courses
            .iter()
            .map(|course| course.steps.iter().map(|step| step.reward));
        let rewards: Vec<Vec<f32>> = rewards.map(Iterator::collect).collect();
        assert_eq!(rewards, [vec![0.1, 0.2], vec![0.8], vec![0.5, 0.6]]);
        assert_eq!(courses[0].after, [0.3; KNOWN]);
        // An action equal to the mean has the largest likelihood.
        let mean = policy.decide(&[0.1; INPUTS]);
        let near = Transition {
            tried: mean,
            ..one(0, 0.1, 0.2)
        };
        let likely = step(&near, explorer).likelihood;
        assert!((likely - std::f32::consts::LN_10).abs() < 1e-6, "{likely}");
    }
}
