//! Proximal policy optimisation (PPO) with the clipped surrogate objective: a stochastic policy, a critic,
//! and updates that are limited to the range in which the collected data are valid.
//!
//! A policy reads `SEEN` numbers and outputs `ACTS`. Its critic reads `KNOWN`, which may be others, because
//! more is known during training than a flow can observe. A policy whose first layer is recurrent
//! ([`Units::Gated`]) learns from sequences of [`SPAN`] decisions, by backpropagation through its hidden
//! state. The state before the first decision of a sequence is the recorded one.
//!
//! # References
//! J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017: equation (7). J. Schulman et al.,
//! "High-Dimensional Continuous Control Using Generalized Advantage Estimation", ICLR 2016.

use paceline_congestion::learned::layers::{Network, Units};
use paceline_kernel::order::Sort as _;
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use crate::Error;
pub(crate) use crate::chance::{Chance, FORCED, likelihood};
use crate::pass::{Adam, Fitted, FittedState, Pass, backward, backward_through, forward};

/// Parameter λ of generalised advantage estimation.
const LAMBDA: f64 = 0.95;
/// Clip range ε: the maximum change of an action's likelihood ratio in a round.
const CLIP: f64 = 0.2;
/// Passes over the decisions of a round, and decisions per optimiser step.
const EPOCHS: usize = 4;
pub(crate) const BATCH: usize = 512;
/// Consecutive decisions in a training sequence of a recurrent policy.
const SPAN: usize = 8;

/// Parameters that differ between trainings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Manner {
    /// Distribution of actions around the policy's output.
    pub(crate) chance: Chance,
    /// Coefficient of the entropy bonus.
    pub(crate) entropy: f64,
    /// Initial learning rate. It falls to zero over the training.
    pub(crate) rate: f64,
    /// Factor on rewards before the critic learns them, so that its outputs are near 1.
    pub(crate) scale: f64,
}

/// One decision of a flow with its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step<const SEEN: usize, const KNOWN: usize, const ACTS: usize> {
    /// Inputs of the policy.
    pub(crate) seen: [f32; SEEN],
    /// Inputs of the critic.
    pub(crate) known: [f32; KNOWN],
    /// Action taken, including its random part.
    pub(crate) action: [f32; ACTS],
    /// Log-likelihood of the action when it was drawn.
    pub(crate) likelihood: f32,
    /// Reward up to the next decision.
    pub(crate) reward: f32,
    /// Discount factor for the rewards after the next decision.
    pub(crate) discount: f64,
}

/// Consecutive decisions of a flow, and the critic's inputs after the last one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Course<const SEEN: usize, const KNOWN: usize, const ACTS: usize> {
    pub(crate) steps: Vec<Step<SEEN, KNOWN, ACTS>>,
    pub(crate) after: [f32; KNOWN],
}

/// Training example derived from a decision.
struct Lesson<const SEEN: usize, const KNOWN: usize, const ACTS: usize> {
    step: Step<SEEN, KNOWN, ACTS>,
    /// Advantage, normalised to mean 0 and standard deviation 1 over a round.
    advantage: f64,
    /// Target of the critic: the estimated return.
    worth: f64,
}

/// Policy, spread of its actions, and critic, with their optimisers.
pub(crate) struct Learner<const SEEN: usize, const KNOWN: usize, const ACTS: usize> {
    manner: Manner,
    actor: Fitted,
    critic: Fitted,
    /// Logarithm of the standard deviation of actions.
    spread: [f32; 1],
    spread_adam: Adam,
}

/// Serialised policy, critic, spread and optimisers between two rounds.
#[derive(Serialize, Deserialize)]
pub(crate) struct LearnerState {
    actor: FittedState,
    critic: FittedState,
    spread: f32,
    spread_adam: Adam,
}

/// Policy that explores: the mean of its actions, and their deviation.
#[derive(Clone, Copy)]
pub(crate) struct Explorer<'a> {
    pub(crate) policy: &'a Network,
    /// Standard deviation of the actions.
    pub(crate) deviation: f64,
}

impl<const SEEN: usize, const KNOWN: usize, const ACTS: usize> Learner<SEEN, KNOWN, ACTS> {
    /// Returns a learner for a policy and its critic. `spread` is the logarithm of the initial standard
    /// deviation of actions.
    pub(crate) fn new(manner: Manner, actor: Network, critic: Network, spread: f32) -> Self {
        Self {
            manner,
            actor: Fitted::new(actor),
            critic: Fitted::new(critic),
            spread: [spread],
            spread_adam: Adam::new(1),
        }
    }

    pub(crate) fn actor(&self) -> &Network {
        &self.actor.network
    }

    /// Returns the policy with its exploration.
    pub(crate) fn explorer(&self) -> Explorer<'_> {
        Explorer {
            policy: self.actor(),
            deviation: self.deviation(),
        }
    }

    /// Returns its state for a checkpoint.
    pub(crate) fn state(&self) -> LearnerState {
        LearnerState {
            actor: self.actor.state(),
            critic: self.critic.state(),
            spread: self.spread[0],
            spread_adam: self.spread_adam.clone(),
        }
    }

    /// Restores the state from a checkpoint of a learner with the same layers.
    pub(crate) fn go_on_from(&mut self, state: LearnerState) -> Result<(), Error> {
        self.actor = Fitted::of(self.actor.network.layers(), state.actor)?;
        self.critic = Fitted::of(self.critic.network.layers(), state.critic)?;
        (self.spread, self.spread_adam) = ([state.spread], state.spread_adam);
        Ok(())
    }

    /// Returns the distribution of actions.
    pub(crate) fn chance(&self) -> Chance {
        self.manner.chance
    }

    /// Returns the standard deviation of actions.
    pub(crate) fn deviation(&self) -> f64 {
        libm::exp(f64::from(self.spread[0]))
    }

    /// Learns from a round with the fraction `part` of the learning rate; the policy is updated only if
    /// `moves` is true. Returns the unexplained fraction of the returns' variance.
    pub(crate) fn learn(
        &mut self,
        courses: &[Course<SEEN, KNOWN, ACTS>],
        part: f64,
        moves: bool,
        rng: &mut Rng,
    ) -> f64 {
        let (lessons, unexplained) = self.lessons(courses);
        let spans = self.spans(courses);
        let longest = spans.iter().map(std::ops::Range::len).max().unwrap_or(1);
        let mut order: Vec<usize> = (0..spans.len()).collect();
        for _ in 0..EPOCHS {
            // A random order in each pass, as consecutive decisions are correlated.
            for index in (1..order.len()).rev() {
                order.swap(index, rng.below(index as u64 + 1) as usize);
            }
            for rows in order.chunks((BATCH / longest).max(1)) {
                // A batch has about the same number of decisions for sequences of any length.
                let mut rows: Vec<&[Lesson<SEEN, KNOWN, ACTS>]> =
                    rows.iter().map(|&index| &lessons[spans[index].clone()]).collect();
                if moves {
                    // Longest spans first, so that the rows of each time step are a prefix of the spans.
                    rows.order_by_key(|span| std::cmp::Reverse(span.len()));
                    self.move_policy(&rows, part * self.manner.rate);
                }
                let rows: Vec<&Lesson<SEEN, KNOWN, ACTS>> = rows.into_iter().flatten().collect();
                self.teach_critic(&rows, part * self.manner.rate);
            }
        }
        unexplained
    }

    /// Returns the number of leading policy inputs that hold its recurrent state; 0 if it has none.
    fn memory(&self) -> usize {
        let first = self.actor.network.layers()[0];
        if first.units == Units::Gated {
            first.outputs
        } else {
            0
        }
    }

    /// Returns the index ranges of training sequences over the concatenated lessons of all courses.
    fn spans(&self, courses: &[Course<SEEN, KNOWN, ACTS>]) -> Vec<std::ops::Range<usize>> {
        let span = if self.memory() > 0 { SPAN } else { 1 };
        let (mut spans, mut begin) = (Vec::new(), 0);
        for course in courses {
            let end = begin + course.steps.len();
            let cuts = (begin..end).step_by(span);
            spans.extend(cuts.map(|from| from..end.min(from + span)));
            begin = end;
        }
        spans
    }

    /// Computes normalised generalised advantages (Schulman et al., 2016) and the unexplained fraction of the
    /// returns' variance.
    fn lessons(&self, courses: &[Course<SEEN, KNOWN, ACTS>]) -> (Vec<Lesson<SEEN, KNOWN, ACTS>>, f64) {
        let critic = &self.critic.network;
        let mut lessons = Vec::new();
        for course in courses {
            let rows = course.steps.iter().map(|step| step.known).chain([course.after]);
            let input: Vec<f32> = rows.flatten().collect();
            let said = forward(critic, course.steps.len() + 1, input).output;
            let begin = lessons.len();
            // Backwards in time, because an advantage contains the later ones.
            let mut advantage = 0.0;
            for (index, step) in course.steps.iter().enumerate().rev() {
                let [here, next] = [said[index], said[index + 1]].map(f64::from);
                let off = self.manner.scale * f64::from(step.reward) + step.discount * next - here;
                advantage = off + step.discount * LAMBDA * advantage;
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

    /// Makes one optimiser step of policy and spread.
    fn move_policy(&mut self, spans: &[&[Lesson<SEEN, KNOWN, ACTS>]], rate: f64) {
        let (memory, network) = (self.memory(), &self.actor.network);
        let longest = spans.first().map_or(0, |span| span.len());
        let rows_at = |time: usize| spans.iter().map_while(move |span| span.get(time));
        let mut passes: Vec<Pass> = Vec::new();
        for time in 0..longest {
            let mut input: Vec<f32> = rows_at(time).flat_map(|lesson| lesson.step.seen).collect();
            // The state is recomputed with the present weights, except for the first decision's.
            if let Some(before) = passes.last().filter(|_| memory > 0) {
                let rows = input
                    .chunks_exact_mut(SEEN)
                    .zip(before.memory().chunks_exact(memory));
                rows.for_each(|(row, known)| row[..memory].copy_from_slice(known));
            }
            passes.push(forward(network, rows_at(time).count(), input));
        }
        let share = 1.0 / spans.iter().map(|span| span.len()).sum::<usize>() as f64;
        let deviation = self.deviation();
        // The entropy grows with the logarithm of the deviation, with a derivative of 1.
        let mut by_spread = -self.manner.entropy;
        let mut slope = vec![0.0; network.values().len()];
        let mut by_memory: Vec<f32> = Vec::new();
        for (time, pass) in passes.iter().enumerate().rev() {
            let mut by_said = Vec::with_capacity(pass.output.len());
            for (lesson, said) in rows_at(time).zip(pass.output.chunks_exact(ACTS)) {
                let (by, spread) = surrogate(lesson, self.manner.chance, said, deviation);
                by_spread += share * spread;
                by_said.extend(by.map(|by| (share * by) as f32));
            }
            let by_seen = backward_through(network, pass, by_said, &by_memory, Some(&mut slope));
            by_memory.clear();
            by_memory.extend(by_seen.chunks_exact(SEEN).flat_map(|row| &row[..memory]));
        }
        self.actor.step(&slope, rate);
        self.spread_adam
            .step(&mut self.spread, &[by_spread as f32], rate, 1.0);
    }

    /// Makes one optimiser step of the critic.
    fn teach_critic(&mut self, rows: &[&Lesson<SEEN, KNOWN, ACTS>], rate: f64) {
        let share = 1.0 / rows.len() as f64;
        let known: Vec<f32> = rows.iter().flat_map(|lesson| lesson.step.known).collect();
        let pass = forward(&self.critic.network, rows.len(), known);
        let off = rows.iter().zip(&pass.output);
        let by = off.map(|(lesson, &said)| (2.0 * share * (f64::from(said) - lesson.worth)) as f32);
        let by: Vec<f32> = by.collect();
        let mut slope = vec![0.0; self.critic.network.values().len()];
        backward(&self.critic.network, &pass, by, Some(&mut slope));
        self.critic.step(&slope, rate);
    }
}

/// Returns the derivatives of -min(r A, clip(r) A) by the policy's outputs and by the logarithm of the
/// deviation. r is the likelihood ratio of the action under the present and the recorded policy.
fn surrogate<const SEEN: usize, const KNOWN: usize, const ACTS: usize>(
    lesson: &Lesson<SEEN, KNOWN, ACTS>,
    chance: Chance,
    said: &[f32],
    deviation: f64,
) -> ([f64; ACTS], f64) {
    let action = &lesson.step.action;
    let now = chance.likelihood(action, said, deviation);
    // The bound avoids an overflow; such ratios are clipped anyway.
    let ratio = libm::exp((now - f64::from(lesson.step.likelihood)).clamp(-20.0, 20.0));
    let (gain, mut by) = (lesson.advantage, [0.0; ACTS]);
    // The minimum is the clipped term here, which is constant.
    if (gain > 0.0 && ratio > 1.0 + CLIP) || (gain < 0.0 && ratio < 1.0 - CLIP) {
        return (by, 0.0);
    }
    let by_spread = chance.slopes(action, said, deviation, -gain * ratio, &mut by);
    (by, by_spread)
}

fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let square = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, square.sqrt())
}

/// Returns the mean squared temporal-difference error relative to the variance of returns.
fn unexplained<const SEEN: usize, const KNOWN: usize, const ACTS: usize>(
    lessons: &[Lesson<SEEN, KNOWN, ACTS>],
) -> f64 {
    let (_, deviation) = moments(lessons.iter().map(|lesson| lesson.worth));
    let squares = lessons.iter().map(|lesson| lesson.advantage * lesson.advantage);
    squares.sum::<f64>() / lessons.len().max(1) as f64 / (deviation * deviation).max(1e-12)
}

#[cfg(test)]
mod tests {
    use paceline_congestion::learned::layers::{Layer, Units};
    use paceline_kernel::rng::Purpose;

    use super::*;
    use crate::pass::first;

    const INPUTS: usize = 3;
    const GAMMA: f64 = 0.99;
    const SCALE: f64 = 0.02;

    type One = Step<INPUTS, INPUTS, 1>;

    const STEP: One = Step {
        seen: [0.1; INPUTS],
        known: [0.1; INPUTS],
        discount: GAMMA,
        action: [0.0],
        likelihood: 0.0,
        reward: 0.0,
    };

    fn learner(rng: &mut Rng) -> Learner<INPUTS, INPUTS, 1> {
        let layers = [
            Layer::new(INPUTS, 16, Units::Tanh),
            Layer::new(16, 1, Units::Linear),
        ];
        let manner = Manner {
            chance: Chance::Spread,
            entropy: 0.01,
            rate: 1e-3,
            scale: SCALE,
        };
        let networks = (first(&layers, rng), first(&layers, rng));
        Learner::new(manner, networks.0, networks.1, std::f32::consts::LN_2)
    }

    fn stream(part: u64) -> Rng {
        Rng::stream(1, Purpose::Training, part)
    }

    fn lesson(action: f32, before: f64, advantage: f64) -> Lesson<INPUTS, INPUTS, 1> {
        Lesson {
            step: Step {
                action: [action],
                likelihood: before as f32,
                ..STEP
            },
            advantage,
            worth: 0.0,
        }
    }

    fn slopes(lesson: &Lesson<INPUTS, INPUTS, 1>) -> ([f64; 1], f64) {
        surrogate(lesson, Chance::Spread, &[1.0], 2.0)
    }

    /// Computed by hand at mean 1 and deviation 2: an action of 2 is half a deviation from the mean.
    #[test]
    fn derivatives_of_the_surrogate() {
        let before = likelihood(2.0, 1.0, 2.0);
        assert!((before - (-0.125 - 2.0f64.ln())).abs() < 1e-12);
        let ([by_mean], by_spread) = slopes(&lesson(2.0, before, 3.0));
        assert!((by_mean + 3.0 * 0.25).abs() < 1e-6, "{by_mean}");
        assert!((by_spread - 3.0 * 0.75).abs() < 1e-6, "{by_spread}");
        // Compared with finite differences.
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

    /// An action that is already 20 % more likely gets no more gradient; one that became less likely does if
    /// it was good.
    #[test]
    fn steps_go_no_further_than_the_clip() {
        let before = likelihood(2.0, 1.0, 2.0);
        let much = before - 0.3;
        assert_eq!(slopes(&lesson(2.0, much, 1.0)), ([0.0], 0.0));
        assert_ne!(slopes(&lesson(2.0, much, -1.0)).0, [0.0]);
        let little = before + 0.3;
        assert_eq!(slopes(&lesson(2.0, little, -1.0)), ([0.0], 0.0));
        assert_ne!(slopes(&lesson(2.0, little, 1.0)).0, [0.0]);
    }

    /// Three decisions and a critic with output 0: advantages are sums of discounted rewards, computed by
    /// hand.
    #[test]
    fn advantages_by_hand() {
        let mut learner = learner(&mut stream(0));
        learner.critic.network.values_mut().fill(0.0);
        let steps = [1.0f32, 0.0, 2.0].map(|reward| One { reward, ..STEP });
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

    /// Rewards for high actions make actions high.
    #[test]
    fn it_goes_where_the_reward_is() {
        let mut rng = stream(7);
        let mut learner = learner(&mut rng);
        for _ in 0..60 {
            let mean = {
                use paceline_congestion::learned::layers::Policy as _;
                f64::from(learner.actor().decide(&STEP.seen))
            };
            let deviation = learner.deviation();
            let courses = (0..512).map(|_| {
                let action = mean + deviation * crate::rng::normal(&mut rng);
                Course {
                    steps: vec![Step {
                        action: [action as f32],
                        likelihood: likelihood(action, mean, deviation) as f32,
                        reward: action as f32,
                        ..STEP
                    }],
                    after: [0.0; INPUTS],
                }
            });
            let courses: Vec<Course<INPUTS, INPUTS, 1>> = courses.collect();
            learner.learn(&courses, 1.0, true, &mut rng);
        }
        use paceline_congestion::learned::layers::Policy as _;
        let action = learner.actor().decide(&STEP.seen);
        assert!(action > 1.0, "{action}");
    }
}
