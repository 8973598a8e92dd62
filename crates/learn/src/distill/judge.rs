//! What a policy and what was made of it come to where neither learned.

use paceline_forest::distill::Policy;
use paceline_lab::run::side_by_side;
use paceline_lab::stats::{CONFIDENCE, Interval, interval, paired};
use serde::{Deserialize, Serialize};

use super::Options;
use super::world::{Episode, Played, Use, play};
use crate::Error;

/// A scenario that judges: other numbers of flows than those that teach, and flows that come and go.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    /// What it is called.
    pub label: &'static str,
    /// The scenario.
    pub scenario: &'static str,
    /// What is set.
    pub set: &'static [&'static str],
}

/// Those that judge.
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

/// Quantities of a run, and how each is called.
type Quantity = (&'static str, &'static str, fn(&Played) -> f64);
const QUANTITIES: [Quantity; 3] = [
    ("mean reward of a decision", "", |played| played.reward),
    ("delivered", "Gbit/s", |played| played.delivered_gbps),
    ("mean RTT", "us", |played| played.rtt_us),
];

/// A quantity of a scenario, over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Which.
    pub what: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Of the teacher.
    pub teacher: Interval,
    /// Of the forest.
    pub forest: Interval,
    /// The forest's less the teacher's, seed by seed.
    pub difference: Interval,
}

/// A scenario that judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// What it is called.
    pub scenario: String,
    /// Quantity by quantity.
    pub scores: Vec<Score>,
}

/// The head of the table of what judged.
pub const JUDGED: [&str; 5] = ["scenario", "quantity", "teacher", "forest", "difference"];

impl Judged {
    /// Its rows of that table: means and half of their intervals.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let estimate = |one: &Interval| format!("{:.4} ± {:.4}", one.mean, one.half_width());
        let row = |score: &Score| {
            let what = match &*score.unit {
                "" => score.what.clone(),
                unit => format!("{}, {unit}", score.what),
            };
            let [teacher, forest, difference] =
                [&score.teacher, &score.forest, &score.difference].map(estimate);
            vec![self.scenario.clone(), what, teacher, forest, difference]
        };
        self.scores.iter().map(row).collect()
    }
}

/// Teacher and forest in each scenario, with the same seeds.
pub(super) fn judge(
    policies: &[&Policy<'_>; 2],
    options: &Options,
    watch: &mut dyn FnMut(&str),
) -> Result<Vec<Judged>, Error> {
    watch("judging: scenarios and seeds that nothing learned from");
    let seeds = options.judging.max(2);
    let first = Use::Judging.seeds().start + 1;
    let runs: Vec<(&Judge, u64, &Policy<'_>)> = JUDGES
        .iter()
        .flat_map(|judge| {
            policies
                .iter()
                .flat_map(move |policy| (0..seeds).map(move |k| (judge, k, *policy)))
        })
        .collect();
    let played = side_by_side(runs.len(), options.threads, &|place| {
        let (judge, seed, policy) = runs[place];
        let episode = Episode {
            scenario: judge.scenario,
            set: judge.set,
            seed: first + seed,
            ms: options.episode_ms,
        };
        play(&episode, policy)
    });
    let played = played.into_iter().collect::<Result<Vec<Played>, Error>>()?;
    let of_each = played.chunks_exact(2 * seeds as usize);
    let judged = JUDGES.iter().zip(of_each).map(|(judge, played)| {
        let (teacher, forest) = played.split_at(seeds as usize);
        let score = |&(what, unit, of): &Quantity| {
            score(
                (what, unit),
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

fn score((what, unit): (&str, &str), teacher: Vec<f64>, forest: Vec<f64>) -> Option<Score> {
    Some(Score {
        what: what.into(),
        unit: unit.into(),
        teacher: interval(&teacher, CONFIDENCE)?,
        forest: interval(&forest, CONFIDENCE)?,
        difference: paired(&teacher, &forest, CONFIDENCE)?.difference,
    })
}
