//! What agents went through, to be learned from again.

use paceline_congestion::decc::features::INPUTS;
use paceline_kernel::rng::Rng;

use super::state::GLOBAL;

/// A decision and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transition {
    /// Whose it is, of an episode's agents.
    pub(super) agent: u32,
    /// The action before it was cut to what actions may be.
    pub(super) tried: f32,
    pub(super) all: [f32; GLOBAL],
    pub(super) seen: [f32; INPUTS],
    pub(super) action: f32,
    pub(super) reward: f32,
    /// Of what comes later, by the time from one decision to the next.
    pub(super) discount: f32,
    pub(super) next_all: [f32; GLOBAL],
    pub(super) next_seen: [f32; INPUTS],
}

/// Rows to learn from.
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

/// The latest transitions, those of each source apart: each is drawn from as often, however many agents it has.
pub(super) struct Replay {
    sources: Vec<Vec<Transition>>,
    /// Where the next goes, once a source is full.
    next: Vec<usize>,
    room: usize,
}

impl Replay {
    /// For so many sources, and so many transitions in all.
    pub(super) fn new(sources: usize, room: usize) -> Self {
        Self {
            sources: vec![Vec::new(); sources],
            next: vec![0; sources],
            room: (room / sources.max(1)).max(1),
        }
    }

    pub(super) fn push(&mut self, source: usize, transition: Transition) {
        let own = &mut self.sources[source];
        if own.len() < self.room {
            own.push(transition);
            return;
        }
        let place = &mut self.next[source];
        own[*place] = transition;
        *place = (*place + 1) % self.room;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sources.iter().all(Vec::is_empty)
    }

    pub(super) fn draw(&self, rows: usize, rng: &mut Rng) -> Sample {
        let filled: Vec<&Vec<Transition>> = self.sources.iter().filter(|own| !own.is_empty()).collect();
        let mut sample = Sample::default();
        for _ in 0..rows {
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
