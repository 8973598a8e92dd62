//! The learner: a policy whose actions are spread about its mean, a critic, and steps that go no further than what was
//! gone through can tell (PPO, with the surrogate that is clipped).

use paceline_congestion::aurora::INPUTS;
use paceline_congestion::learned::card::AURORA;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::Rng;

use crate::pass::{Adam, Fitted, backward, first, forward};

/// Discount of a decision, and how far ahead advantages look.
const GAMMA: f64 = 0.99;
const LAMBDA: f64 = 0.95;
/// How much more or less likely an action may become in a round.
const CLIP: f64 = 0.2;
/// What spread is worth, and the logarithm of the first one: actions of 2 change a rate by 5 %.
const ENTROPY: f64 = 0.01;
const SPREAD: f32 = std::f32::consts::LN_2;
/// The optimisers' step at the beginning; it falls to nothing.
pub(super) const RATE: f64 = 1e-3;
/// Passes over what was gone through, and rows of a step.
const EPOCHS: usize = 4;
pub(super) const BATCH: usize = 512;
/// The critic learns rewards in this unit, so that what it says is near 1.
const SCALE: f64 = 0.02;

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// What the flow saw.
    pub(super) seen: [f32; INPUTS],
    /// What it did.
    pub(super) action: f32,
    /// The logarithm of how likely that was.
    pub(super) likelihood: f32,
    /// What came of it.
    pub(super) reward: f32,
}

/// Decisions of a flow one after another, and what it saw after the last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    pub(super) steps: Vec<Step>,
    pub(super) after: [f32; INPUTS],
}

/// The logarithm of the density of a normal distribution, less a constant.
pub(super) fn likelihood(action: f64, mean: f64, deviation: f64) -> f64 {
    let off = (action - mean) / deviation;
    -0.5 * off * off - libm::log(deviation)
}

/// What is learned from a decision.
struct Lesson {
    step: Step,
    /// How much better it came than expected, in deviations of that.
    advantage: f64,
    /// What the critic should have said.
    worth: f64,
}

/// Policy, spread and critic.
pub(super) struct Learner {
    actor: Fitted,
    critic: Fitted,
    /// The logarithm of the deviation of actions.
    spread: [f32; 1],
    spread_adam: Adam,
}

impl Learner {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            actor: Fitted::new(first(&AURORA, rng)),
            // As the policy, with other weights.
            critic: Fitted::new(first(&AURORA, rng)),
            spread: [SPREAD],
            spread_adam: Adam::new(1),
        }
    }

    pub(super) fn actor(&self) -> &Network {
        &self.actor.network
    }

    /// The deviation of actions.
    pub(super) fn deviation(&self) -> f64 {
        libm::exp(f64::from(self.spread[0]))
    }

    /// Learns from a round, with `part` of the rate; says which part of the variance of returns the critic did not know.
    pub(super) fn learn(&mut self, courses: &[Course], part: f64, rng: &mut Rng) -> f64 {
        let (lessons, unexplained) = self.lessons(courses);
        let mut order: Vec<usize> = (0..lessons.len()).collect();
        for _ in 0..EPOCHS {
            for place in (1..order.len()).rev() {
                order.swap(place, rng.below(place as u64 + 1) as usize);
            }
            for rows in order.chunks(BATCH) {
                let rows: Vec<&Lesson> = rows.iter().map(|&place| &lessons[place]).collect();
                self.step(&rows, part * RATE);
            }
        }
        unexplained
    }

    /// Generalised advantages (Schulman et al., 2016), normalised.
    fn lessons(&self, courses: &[Course]) -> (Vec<Lesson>, f64) {
        let critic = &self.critic.network;
        let mut lessons = Vec::new();
        for course in courses {
            let rows = course.steps.iter().map(|step| step.seen).chain([course.after]);
            let input: Vec<f32> = rows.flatten().collect();
            let said = forward(critic, course.steps.len() + 1, input).output;
            let begin = lessons.len();
            let mut advantage = 0.0;
            for (place, step) in course.steps.iter().enumerate().rev() {
                let [here, next] = [said[place], said[place + 1]].map(f64::from);
                let off = SCALE * f64::from(step.reward) + GAMMA * next - here;
                advantage = off + GAMMA * LAMBDA * advantage;
                lessons.push(Lesson {
                    step: *step,
                    advantage,
                    worth: here + advantage,
                });
            }
            lessons[begin..].reverse();
        }
        let unexplained = unexplained(&lessons);
        let (mean, deviation) = moments(lessons.iter().map(|lesson| lesson.advantage));
        for lesson in &mut lessons {
            lesson.advantage = (lesson.advantage - mean) / deviation.max(1e-8);
        }
        (lessons, unexplained)
    }

    /// A step of policy, spread and critic.
    fn step(&mut self, rows: &[&Lesson], rate: f64) {
        let input: Vec<f32> = rows.iter().flat_map(|lesson| lesson.step.seen).collect();
        let share = 1.0 / rows.len() as f64;
        let deviation = self.deviation();
        let pass = forward(&self.actor.network, rows.len(), input.clone());
        let mut by_spread = -ENTROPY;
        let by_mean = rows.iter().zip(&pass.output).map(|(lesson, &mean)| {
            let (by_mean, spread) = surrogate(lesson, f64::from(mean), deviation);
            by_spread += share * spread;
            (share * by_mean) as f32
        });
        let by_mean: Vec<f32> = by_mean.collect();
        let mut slope = vec![0.0; self.actor.network.values().len()];
        backward(&self.actor.network, &pass, by_mean, Some(&mut slope));
        self.actor.step(&slope, rate);
        self.spread_adam
            .step(&mut self.spread, &[by_spread as f32], rate, 1.0);

        let pass = forward(&self.critic.network, rows.len(), input);
        let off = rows.iter().zip(&pass.output);
        let by = off.map(|(lesson, &said)| (2.0 * share * (f64::from(said) - lesson.worth)) as f32);
        let by: Vec<f32> = by.collect();
        let mut slope = vec![0.0; self.critic.network.values().len()];
        backward(&self.critic.network, &pass, by, Some(&mut slope));
        self.critic.step(&slope, rate);
    }
}

/// Derivatives of -min(r A, clip(r) A) by the mean and by the logarithm of the deviation, r being how much more likely the
/// action is now.
fn surrogate(lesson: &Lesson, mean: f64, deviation: f64) -> (f64, f64) {
    let action = f64::from(lesson.step.action);
    let now = likelihood(action, mean, deviation);
    let ratio = libm::exp((now - f64::from(lesson.step.likelihood)).clamp(-20.0, 20.0));
    let gain = lesson.advantage;
    // Where the clipped one is the smaller it is constant.
    if (gain > 0.0 && ratio > 1.0 + CLIP) || (gain < 0.0 && ratio < 1.0 - CLIP) {
        return (0.0, 0.0);
    }
    let off = (action - mean) / deviation;
    (-gain * ratio * off / deviation, -gain * ratio * (off * off - 1.0))
}

fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let square = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, square.sqrt())
}

/// The mean square of what was not expected, over the variance of what came.
fn unexplained(lessons: &[Lesson]) -> f64 {
    let (_, deviation) = moments(lessons.iter().map(|lesson| lesson.worth));
    let squares = lessons.iter().map(|lesson| lesson.advantage * lesson.advantage);
    squares.sum::<f64>() / lessons.len().max(1) as f64 / (deviation * deviation).max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Step = Step {
        seen: [0.1; INPUTS],
        action: 0.0,
        likelihood: 0.0,
        reward: 0.0,
    };

    fn lesson(action: f32, before: f64, advantage: f64) -> Lesson {
        Lesson {
            step: Step {
                action,
                likelihood: before as f32,
                ..STEP
            },
            advantage,
            worth: 0.0,
        }
    }

    /// By hand, at mean 1 and deviation 2: an action of 2 is half a deviation off.
    #[test]
    fn derivatives_of_the_surrogate() {
        let before = likelihood(2.0, 1.0, 2.0);
        assert!((before - (-0.125 - 2.0f64.ln())).abs() < 1e-12);
        let (by_mean, by_spread) = surrogate(&lesson(2.0, before, 3.0), 1.0, 2.0);
        assert!((by_mean + 3.0 * 0.25).abs() < 1e-6, "{by_mean}");
        assert!((by_spread - 3.0 * 0.75).abs() < 1e-6, "{by_spread}");
        // As differences say.
        let loss = |mean: f64, spread: f64| {
            let now = likelihood(2.0, mean, spread.exp());
            -3.0 * (now - before).exp()
        };
        let (spread, h) = (2.0f64.ln(), 1e-5);
        let by = (loss(1.0 + h, spread) - loss(1.0 - h, spread)) / (2.0 * h);
        assert!((by - by_mean).abs() < 1e-6);
        let by = (loss(1.0, spread + h) - loss(1.0, spread - h)) / (2.0 * h);
        assert!((by - by_spread).abs() < 1e-6);
    }

    /// What is 20 % more likely already does not become more so; what became less likely by chance may come back.
    #[test]
    fn steps_go_no_further_than_the_clip() {
        let before = likelihood(2.0, 1.0, 2.0);
        let much = before - 0.3;
        assert_eq!(surrogate(&lesson(2.0, much, 1.0), 1.0, 2.0), (0.0, 0.0));
        assert_ne!(surrogate(&lesson(2.0, much, -1.0), 1.0, 2.0).0, 0.0);
        let little = before + 0.3;
        assert_eq!(surrogate(&lesson(2.0, little, -1.0), 1.0, 2.0), (0.0, 0.0));
        assert_ne!(surrogate(&lesson(2.0, little, 1.0), 1.0, 2.0).0, 0.0);
    }

    /// Three decisions and a critic that says nothing: sums of discounted rewards, by hand.
    #[test]
    fn advantages_by_hand() {
        let mut learner = Learner::new(&mut super::super::stream(1, 0));
        learner.critic.network.values_mut().fill(0.0);
        let steps = [1.0f32, 0.0, 2.0].map(|reward| Step { reward, ..STEP });
        let course = Course {
            steps: steps.to_vec(),
            after: [0.0; INPUTS],
        };
        let (lessons, _) = learner.lessons(&[course]);
        let k = GAMMA * LAMBDA;
        let expected = [1.0 + k * k * 2.0, k * 2.0, 2.0].map(|sum| SCALE * sum);
        for (lesson, expected) in lessons.iter().zip(expected) {
            assert!(
                (lesson.worth - expected).abs() < 1e-12,
                "{} {expected}",
                lesson.worth
            );
        }
        let (mean, deviation) = moments(lessons.iter().map(|lesson| lesson.advantage));
        assert!(mean.abs() < 1e-12 && (deviation - 1.0).abs() < 1e-9);
    }

    /// Where high actions are rewarded, actions become high.
    #[test]
    fn it_goes_where_the_reward_is() {
        let mut rng = super::super::stream(1, 7);
        let mut learner = Learner::new(&mut rng);
        for _ in 0..30 {
            let mean = {
                use paceline_congestion::learned::layers::Policy as _;
                f64::from(learner.actor().decide(&STEP.seen))
            };
            let deviation = learner.deviation();
            let courses = (0..512).map(|_| {
                let action = mean + deviation * crate::rng::normal(&mut rng);
                Course {
                    steps: vec![Step {
                        action: action as f32,
                        likelihood: likelihood(action, mean, deviation) as f32,
                        reward: action as f32,
                        ..STEP
                    }],
                    after: [0.0; INPUTS],
                }
            });
            let courses: Vec<Course> = courses.collect();
            learner.learn(&courses, 1.0, &mut rng);
        }
        use paceline_congestion::learned::layers::Policy as _;
        let action = learner.actor().decide(&STEP.seen);
        assert!(action > 1.0, "{action}");
    }
}
