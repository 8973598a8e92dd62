//! Distillation of ADPG's policy: scenarios for learning, selection and judging.

use std::ops::Range;
use std::sync::Arc;

use paceline_congestion::learned::forest::{Claim, Feature, Scale, Trend};
use paceline_congestion::learned::mlp::INPUTS;
use paceline_congestion::learned::{Model, ModelKind};
use paceline_env::{Batch, Environment, Source};
use paceline_forest::distill::{Met, Policy, Stage};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::side_by_side;
use paceline_lab::stats::RttSummary;
use paceline_scenario::Overrides;

use super::judge::score;
use super::{Compared, Episodes, Judged, Options, Score, Subject, use_of};
use crate::Error;
use crate::adpg::{CASES, SEEDS, config, sources};

pub(super) const SUBJECT: Subject = Subject {
    kind: ModelKind::Adpg,
    teach,
    features,
    claims,
    sources: |options| {
        let duration = format!("duration={}ms", options.episode_ms);
        sources([&SET[1..], &[&duration]], options.seed)
    },
    world,
    judge,
};

fn teach(teacher: &Arc<Model>) -> Policy {
    let teacher = Arc::clone(teacher);
    Arc::new(move |row| teacher.act(&seen(row)))
}

/// Fractional bits of an action; `ERROR_BITS` are those of z, which saturates at 16, where all policies brake
/// as hard as they can.
const ACTION_BITS: u8 = 14;
const ERROR_BITS: u8 = 11;

fn features() -> Vec<Feature> {
    let feature = |name: &&str| Feature {
        name: (*name).into(),
        scale: Scale::Fixed(if name.starts_with('z') {
            ERROR_BITS
        } else {
            ACTION_BITS
        }),
        trend: (*name == "z[t]").then_some(Trend::Falling),
    };
    ModelKind::Adpg.features().iter().map(feature).collect()
}

fn claims() -> Vec<Claim> {
    /// Value of z without a queue: 12.5 (0 - 0.064).
    const EMPTY: [f32; 2] = [-0.8, -0.8];
    let within = |name: &str, range: [f32; 2]| (name.to_string(), range);
    vec![
        Claim {
            what: "the action is one".into(),
            within: Vec::new(),
            output: [-1.0, 1.0],
        },
        Claim {
            what: "no stall: without a queue the rate rises".into(),
            within: vec![within("z", EMPTY), within("a", [-1.0, 1.0])],
            output: [0.001, 1.0],
        },
    ]
}

/// Purpose of a run's seed; each purpose has its own range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Runs whose decisions are used for learning.
    Learning,
    /// Runs that select the round whose forest is kept.
    Choosing,
    /// Runs that judge the final forest.
    Judging,
}

impl Use {
    /// Returns the range of its seeds.
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

/// Settings common to all runs: flows start as those of the scheme do.
pub(super) const SET: [&str; 4] = [
    "cc.scheme=external",
    "cc.external.initial-rate=100Gbps",
    "cc.external.ecn=false",
    "record.accounts=off",
];

/// First number of the streams that draw seeds for learning and selection.
const STREAMS: u64 = 128;

/// Run in which a policy decides.
pub(super) struct Episode<'a> {
    pub(super) scenario: &'a str,
    pub(super) set: &'a [&'a str],
    pub(super) seed: u64,
    pub(super) ms: u32,
}

/// Result of an episode.
#[derive(Clone, Debug)]
pub(super) struct Played {
    /// Inputs of the policy, row by row.
    pub(super) features: Vec<f32>,
    /// Mean reward per decision (`adpg`).
    pub(super) reward: f64,
    /// Delivered payload, in Gbit/s.
    pub(super) delivered_gbps: f64,
    /// Mean round-trip time, in us.
    pub(super) rtt_us: f64,
}

/// Converts a row to the inputs of the policy's network.
pub(super) fn seen(row: &[f32]) -> [f32; INPUTS] {
    std::array::from_fn(|k| row.get(k).copied().unwrap_or(0.0))
}

/// Runs an episode to its end with `policy`.
pub(super) fn play(episode: &Episode<'_>, policy: &Policy) -> Result<Played, Error> {
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
        actions.extend(
            batch
                .observations
                .chunks_exact(batch.width)
                .map(|row| policy(row)),
        );
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

/// Returns the runs for learning and selection; each scenario has the same weight.
fn world(_: &Arc<Model>, options: &Options) -> Result<Episodes, Error> {
    let options = options.clone();
    Ok(Box::new(move |stage: Stage, policy: &Policy| {
        let (purpose, round) = use_of(stage);
        let cases: Vec<_> = CASES.iter().zip(0..).collect();
        let played = side_by_side(cases.len(), options.threads, &|index| {
            let (case, number) = cases[index];
            let stream = STREAMS + 1024 * number + round as u64;
            let range = purpose.seeds();
            let drawn = Rng::stream(options.seed, Purpose::Training, stream).below(range.end - range.start);
            let episode = Episode {
                scenario: case.scenario,
                set: case.set,
                seed: range.start + drawn,
                ms: options.episode_ms,
            };
            play(&episode, policy)
        });
        let played = played.into_iter().collect::<Result<Vec<Played>, Error>>()?;
        Ok(Met {
            worth: played.iter().map(|one| one.reward).sum::<f64>() / played.len().max(1) as f64,
            features: played.into_iter().flat_map(|one| one.features).collect(),
        })
    }))
}

/// Scenario that judges: other numbers of flows than in learning, and flows that come and go.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    /// Name of the scenario in tables.
    pub label: &'static str,
    /// Name of the scenario file.
    pub scenario: &'static str,
    /// Settings that differ from the file.
    pub set: &'static [&'static str],
}

/// Scenarios used only for judging.
pub const JUDGES: [Judge; 5] = [
    Judge {
        label: "2 flows to one host",
        scenario: "rl-cc",
        set: &[
            "topology.star.hosts=3",
            "workload.many-to-one.incast.fan-in=2",
            "workload.many-to-one.incast.receiver=3",
        ],
    },
    Judge {
        label: "16 flows to one host",
        scenario: "rl-cc",
        set: &[
            "topology.star.hosts=17",
            "workload.many-to-one.incast.fan-in=16",
            "workload.many-to-one.incast.receiver=17",
        ],
    },
    Judge {
        label: "128 flows to one host",
        scenario: "rl-cc",
        set: &[
            "topology.star.hosts=33",
            "workload.many-to-one.incast.fan-in=32",
            "workload.many-to-one.incast.receiver=33",
            "workload.many-to-one.incast.rounds=4",
        ],
    },
    Judge {
        label: "12 flows among four hosts",
        scenario: "rl-cc-all-to-all",
        set: &[
            "workload.to-1.incast.rounds=1",
            "workload.to-2.incast.rounds=1",
            "workload.to-3.incast.rounds=1",
            "workload.to-4.incast.rounds=1",
        ],
    },
    Judge {
        label: "4 long flows and short ones",
        scenario: "rl-cc-long-short",
        set: &[],
    },
];

/// Quantity of a run: name, unit and value.
type Quantity = (&'static str, &'static str, fn(&Played) -> f64);
const QUANTITIES: [Quantity; 3] = [
    ("mean reward of a decision", "", |played| played.reward),
    ("delivered", "Gbit/s", |played| played.delivered_gbps),
    ("mean RTT", "us", |played| played.rtt_us),
];

/// Compares teacher and forest in each scenario, with the same seeds.
fn judge(_: &Arc<Model>, compared: Compared<'_>, options: &Options) -> Result<Vec<Judged>, Error> {
    let policies = [compared.teacher, compared.student];
    // An interval needs two values.
    let seeds = options.judging.max(2);
    let first = Use::Judging.seeds().start + 1;
    let runs: Vec<(&Judge, u64, &Policy)> = JUDGES
        .iter()
        .flat_map(|judge| {
            policies
                .iter()
                .flat_map(move |policy| (0..seeds).map(move |k| (judge, k, *policy)))
        })
        .collect();
    let played = side_by_side(runs.len(), options.threads, &|index| {
        let (judge, seed, policy) = runs[index];
        let episode = Episode {
            scenario: judge.scenario,
            set: judge.set,
            seed: first + seed,
            ms: options.episode_ms,
        };
        play(&episode, policy)
    });
    let played = played.into_iter().collect::<Result<Vec<Played>, Error>>()?;
    // The order of `runs`: per scenario all seeds of the teacher, then those of the forest.
    let of_each = played.chunks_exact(2 * seeds as usize);
    let judged = JUDGES.iter().zip(of_each).map(|(judge, played)| {
        // Both meet the same seeds, so their difference is free of most of the spread between networks.
        let (teacher, forest) = played.split_at(seeds as usize);
        let score = |&(measure, unit, of): &Quantity| {
            score(
                measure,
                unit,
                teacher.iter().map(of).collect(),
                forest.iter().map(of).collect(),
            )
        };
        let scores: Option<Vec<Score>> = QUANTITIES.iter().map(score).collect();
        scores.map(|scores| Judged {
            scenario: judge.label.into(),
            scores,
        })
    });
    let judged: Option<Vec<Judged>> = judged.collect();
    judged
        .ok_or_else(|| Error::Options("a run that judges measured nothing: its episode is too short".into()))
}
