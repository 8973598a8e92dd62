//! Runs in which policies decide.

use std::ops::Range;

use paceline_congestion::learned::mlp::INPUTS;
use paceline_env::{Batch, Environment, Source};
use paceline_forest::distill::{Met, Policy, Stage, World};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::side_by_side;
use paceline_lab::stats::RttSummary;
use paceline_scenario::Overrides;

use super::{Options, said, use_of};
use crate::Error;
use crate::adpg::{CASES, SEEDS, config};

/// What a run's seed is for: each use has seeds of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Decisions that are learned from.
    Learning,
    /// Which round's forest is kept.
    Choosing,
    /// What is said of the forest in the end.
    Judging,
}

impl Use {
    /// Its seeds.
    pub const fn seeds(self) -> Range<u64> {
        match self {
            Self::Learning => 0..SEEDS / 2,
            Self::Choosing => SEEDS / 2..SEEDS,
            Self::Judging => SEEDS..SEEDS + (1 << 16),
        }
    }
}

const _: () = assert!(
    Use::Learning.seeds().end <= Use::Choosing.seeds().start
        && Use::Choosing.seeds().end <= Use::Judging.seeds().start
        && SEEDS <= Use::Judging.seeds().start,
    "no seed is of two uses, and none that judges can have been drawn in the teacher's training"
);

/// What is set in all runs: flows begin as those of the scheme do.
pub(super) const SET: [&str; 4] = [
    "cc.scheme=external",
    "cc.external.initial-rate=100Gbps",
    "cc.external.ecn=false",
    "record.accounts=off",
];

/// The streams from which seeds of learning and choosing are drawn, from this on.
const STREAMS: u64 = 128;

/// A run in which a policy decides.
pub(super) struct Episode<'a> {
    pub(super) scenario: &'a str,
    pub(super) set: &'a [&'a str],
    pub(super) seed: u64,
    pub(super) ms: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Played {
    /// Row by row.
    pub(super) features: Vec<f32>,
    /// The mean reward of a decision (`adpg`).
    pub(super) reward: f64,
    /// What arrived, in Gbit/s.
    pub(super) delivered_gbps: f64,
    /// The mean round-trip time, in us.
    pub(super) rtt_us: f64,
}

/// A row, as the policy's network reads it.
pub(super) fn seen(row: &[f32]) -> [f32; INPUTS] {
    std::array::from_fn(|k| row.get(k).copied().unwrap_or(0.0))
}

/// Lets `policy` decide to the end of the episode.
pub(super) fn play(episode: &Episode<'_>, policy: &Policy<'_>) -> Result<Played, Error> {
    let set = SET.iter().chain(episode.set).map(|text| (*text).to_string());
    let source = Source {
        name: episode.scenario.to_string(),
        overrides: Overrides {
            set: set.chain([format!("duration={}ms", episode.ms)]).collect(),
            seed: Some(episode.seed),
            ..Overrides::default()
        },
    };
    let mut environment = Environment::new(source, config()?)?;
    let (mut batch, mut actions) = (Batch::default(), Vec::new());
    let (mut features, mut rewards) = (Vec::new(), 0.0);
    loop {
        environment.poll(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        actions.clear();
        actions.extend(batch.observations.chunks_exact(batch.width).map(policy));
        features.extend_from_slice(&batch.observations);
        rewards += batch.rewards.iter().map(|reward| f64::from(*reward)).sum::<f64>();
        environment.submit(&actions)?;
    }
    let decisions = (features.len() / INPUTS).max(1);
    let outcome = environment.finish()?.outcome;
    let delivered: f64 = outcome.flows.iter().map(|flow| flow.delivered.get() as f64).sum();
    Ok(Played {
        features,
        reward: rewards / decisions as f64,
        delivered_gbps: delivered * 8e-9 / outcome.end.as_secs_f64(),
        rtt_us: RttSummary::of(&outcome.rtt_per_ack).mean.unwrap_or(f64::NAN),
    })
}

/// The scenarios that teach.
pub(super) struct Cases<'a> {
    pub(super) options: &'a Options,
    pub(super) watch: &'a mut dyn FnMut(&str),
}

impl World for Cases<'_> {
    type Error = Error;

    /// Each scenario counts alike in what it was worth.
    fn episode(&mut self, stage: Stage, policy: &Policy<'_>) -> Result<Met, Error> {
        (self.watch)(&said(stage));
        let (purpose, round) = use_of(stage);
        let cases: Vec<_> = CASES.iter().zip(0..).collect();
        let played = side_by_side(cases.len(), self.options.threads, &|place| {
            let (case, number) = cases[place];
            let stream = STREAMS + 1024 * number + round as u64;
            let range = purpose.seeds();
            let drawn =
                Rng::stream(self.options.seed, Purpose::Training, stream).below(range.end - range.start);
            let episode = Episode {
                scenario: case.scenario,
                set: case.set,
                seed: range.start + drawn,
                ms: self.options.episode_ms,
            };
            play(&episode, policy)
        });
        let played = played.into_iter().collect::<Result<Vec<Played>, Error>>()?;
        Ok(Met {
            worth: played.iter().map(|one| one.reward).sum::<f64>() / played.len().max(1) as f64,
            features: played.into_iter().flat_map(|one| one.features).collect(),
        })
    }
}
