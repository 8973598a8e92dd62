//! Replay memory: transitions that can be learned from repeatedly.

use paceline_congestion::decc::features::INPUTS;
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::practice::UNIT;
use super::state::GLOBAL;
use crate::Error;
use crate::checkpoint::Floats;

/// Transition: a decision and its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transition<const SEEN: usize = INPUTS, const ALL: usize = GLOBAL> {
    /// Agent, numbered within its episode.
    pub(super) agent: u32,
    /// Action before it was clamped.
    pub(super) tried: f32,
    /// Action that the law, with its residual if any, would have taken in the same state.
    pub(super) label: f32,
    pub(super) all: [f32; ALL],
    pub(crate) seen: [f32; SEEN],
    pub(super) action: f32,
    pub(super) reward: f32,
    /// Discount of the next state, by the time between the two decisions.
    pub(super) discount: f32,
    pub(super) next_all: [f32; ALL],
    pub(super) next_seen: [f32; SEEN],
}

impl Transition {
    /// Returns the reward per moment, as a run's cost over 20 (`practice.rs`).
    pub(crate) fn worth(&self) -> f64 {
        UNIT * f64::from(self.reward / (1.0 - self.discount).max(1e-6))
    }
}

impl<const SEEN: usize, const ALL: usize> Transition<SEEN, ALL> {
    /// Numbers of a transition, without its agent.
    const NUMBERS: usize = 2 * ALL + 2 * SEEN + 5;

    fn write(&self, into: &mut Vec<f32>) {
        into.extend([self.tried, self.label, self.action, self.reward, self.discount]);
        into.extend(self.all.iter().chain(&self.seen));
        into.extend(self.next_all.iter().chain(&self.next_seen));
    }

    fn read(agent: u32, numbers: &[f32]) -> Self {
        fn part<const N: usize>(rest: &mut &[f32]) -> [f32; N] {
            let (part, later) = rest
                .split_first_chunk()
                .expect("they are as many as were written");
            *rest = later;
            *part
        }
        let rest = &mut &*numbers;
        let [tried, label, action, reward, discount] = part(rest);
        Self {
            agent,
            tried,
            label,
            action,
            reward,
            discount,
            all: part(rest),
            seen: part(rest),
            next_all: part(rest),
            next_seen: part(rest),
        }
    }
}

/// State of a replay memory in a checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct ReplayState {
    sources: Vec<(Vec<u32>, Floats)>,
    next: Vec<usize>,
}

/// Batch of rows to learn from.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) all: Vec<f32>,
    pub(super) seen: Vec<f32>,
    pub(super) actions: Vec<f32>,
    pub(super) rewards: Vec<f32>,
    pub(super) discounts: Vec<f32>,
    pub(super) next_all: Vec<f32>,
    pub(super) next_seen: Vec<f32>,
}

/// Latest transitions, stored separately by source: each source is drawn equally often, however many agents
/// it has.
pub(super) struct Replay<const SEEN: usize = INPUTS, const ALL: usize = GLOBAL> {
    sources: Vec<Vec<Transition<SEEN, ALL>>>,
    /// Position of the next transition in each full source.
    next: Vec<usize>,
    room: usize,
}

impl<const SEEN: usize, const ALL: usize> Replay<SEEN, ALL> {
    /// Creates a memory for `sources` sources and `room` transitions in total.
    pub(super) fn new(sources: usize, room: usize) -> Self {
        Self {
            sources: vec![Vec::new(); sources],
            next: vec![0; sources],
            room: (room / sources.max(1)).max(1),
        }
    }

    pub(super) fn push(&mut self, source: usize, transition: Transition<SEEN, ALL>) {
        let own = &mut self.sources[source];
        if own.len() < self.room {
            own.push(transition);
            return;
        }
        let index = &mut self.next[source];
        own[*index] = transition;
        *index = (*index + 1) % self.room;
    }

    pub(super) fn state(&self) -> ReplayState {
        let source = |own: &Vec<Transition<SEEN, ALL>>| {
            let mut numbers = Vec::with_capacity(own.len() * Transition::<SEEN, ALL>::NUMBERS);
            own.iter().for_each(|one| one.write(&mut numbers));
            (own.iter().map(|one| one.agent).collect(), Floats(numbers))
        };
        ReplayState {
            sources: self.sources.iter().map(source).collect(),
            next: self.next.clone(),
        }
    }

    /// Restores the state from a checkpoint.
    pub(super) fn go_on_from(&mut self, state: ReplayState) -> Result<(), Error> {
        self.next = state.next;
        for (own, (agents, numbers)) in self.sources.iter_mut().zip(state.sources) {
            let each = Transition::<SEEN, ALL>::NUMBERS;
            let numbers = numbers.expect(agents.len() * each)?;
            let rows = agents.into_iter().zip(numbers.chunks_exact(each));
            *own = rows.map(|(agent, row)| Transition::read(agent, row)).collect();
        }
        Ok(())
    }

    pub(super) fn draw(&self, rows: usize, rng: &mut Rng) -> Sample {
        let filled: Vec<&Vec<Transition<SEEN, ALL>>> =
            self.sources.iter().filter(|own| !own.is_empty()).collect();
        let mut sample = Sample::default();
        for _ in 0..rows {
            // Every source has the same weight, regardless of the number of its transitions.
            let own = filled[rng.below(filled.len() as u64) as usize];
            let one = &own[rng.below(own.len() as u64) as usize];
            sample.all.extend_from_slice(&one.all);
            sample.seen.extend_from_slice(&one.seen);
            sample.actions.push(one.action);
            sample.rewards.push(one.reward);
            sample.discounts.push(one.discount);
            sample.next_all.extend_from_slice(&one.next_all);
            sample.next_seen.extend_from_slice(&one.next_seen);
        }
        sample
    }
}
