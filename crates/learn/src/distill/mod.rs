//! Distilling ADPG's policy into boosted oblivious trees, which decide in whole numbers.
//!
//! [`paceline_forest::distill`] goes round by round; here are the runs in which policies decide, which of them teach,
//! choose and judge, and what a forest's file says of all that. What teaches are the scenarios of ADPG's own training
//! ([`CASES`](crate::adpg::CASES)), with flows that begin as the scheme's do, at the line's rate. What chooses among rounds are these with
//! other seeds; what judges are scenarios ([`JUDGES`]) and seeds that nothing learned from ([`Use`]).

mod judge;
mod model;
#[cfg(test)]
mod tests;
mod world;

use paceline_congestion::learned::Model;
use paceline_congestion::learned::forest::{Claim, Feature, Scale, Trend};
use paceline_forest::distill::{DistillError, Plan, Round, Stage};
use paceline_forest::train::{Options as Trees, Rows, Shape};

use crate::Error;
pub use judge::{JUDGED, JUDGES, Judge, Judged, Score};
pub use world::Use;

/// How to distil.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Trees.
    pub trees: usize,
    /// Questions of a tree.
    pub depth: usize,
    /// Rounds in which a forest decides.
    pub rounds: usize,
    /// How much of what is left a tree takes away.
    pub learning_rate: f64,
    /// Of the scenarios, and of the rows that are set aside.
    pub seed: u64,
    /// How long episodes are, in ms.
    pub episode_ms: u32,
    /// Seeds that judge.
    pub judging: u64,
    /// Threads; the forest does not hang on them.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trees: 300,
            depth: 6,
            rounds: 4,
            learning_rate: 0.1,
            seed: 1,
            episode_ms: 10,
            judging: 10,
            threads: 2,
        }
    }
}

impl Options {
    /// A distillation that ends within seconds: it shows that it goes, not where it ends.
    pub fn quick(self) -> Self {
        Self {
            rounds: 2,
            episode_ms: 1,
            judging: 2,
            ..self
        }
    }
}

/// Rows to learn from at most.
const MOST: usize = 400_000;
/// Bits behind the point of an action, and of z: from there on, at 16, all policies brake as hard as they can.
const ACTION_BITS: u8 = 14;
const ERROR_BITS: u8 = 11;

/// A policy that was distilled.
#[derive(Debug)]
pub struct DistilledPolicy {
    /// How.
    pub options: Options,
    /// The forest, with its file's account of itself.
    pub model: Model,
    /// Round by round; 0 is the teacher's.
    pub rounds: Vec<Round>,
    /// The round whose forest it is.
    pub best: usize,
    /// What all rounds met.
    pub rows: Rows,
    /// What it came to where nobody learned, beside its teacher.
    pub judged: Vec<Judged>,
}

/// Distils `teacher`, a policy of ADPG, into the forest `name`; `watch` hears what is done.
///
/// # Errors
/// The teacher is none, a scenario does not run, or there is nothing to learn from.
pub fn distill(
    name: &str,
    teacher: &Model,
    options: &Options,
    command: &str,
    watch: &mut dyn FnMut(&str),
) -> Result<DistilledPolicy, Error> {
    let Some(network) = teacher.policy() else {
        let card = teacher.card();
        return Err(Error::Options(format!(
            "`{}` is of kind {}; expected a policy of kind adpg",
            card.name, card.kind
        )));
    };
    let teach = |seen: &[f32]| network.act(&world::seen(seen));
    let mut world = world::Cases { options, watch };
    let plan = Plan {
        rounds: options.rounds,
        most: MOST,
        options: Trees {
            trees: options.trees,
            depth: options.depth,
            learning_rate: options.learning_rate,
            bins: 256,
            limits: Some([-1.0, 1.0]),
            seed: options.seed,
            threads: options.threads,
            ..Trees::default()
        },
    };
    let distilled =
        paceline_forest::distill::distill(&shape(name), &teach, &mut world, &plan).map_err(|error| {
            match error {
                DistillError::World(error) => error,
                DistillError::Train(error) => Error::Options(error.to_string()),
            }
        })?;
    let decide = |seen: &[f32]| distilled.forest.decide(seen);
    let judged = judge::judge(&[&teach, &decide], options, watch)?;
    let model = model::model(teacher, &distilled, &judged, options, command)?;
    Ok(DistilledPolicy {
        options: options.clone(),
        model,
        rounds: distilled.rounds,
        best: distilled.best,
        rows: distilled.rows,
        judged,
    })
}

/// What the forest reads and gives: what the network does.
fn shape(name: &str) -> Shape {
    let kind = paceline_congestion::learned::Kind::Adpg;
    let feature = |name: &&str| Feature {
        name: (*name).into(),
        scale: Scale::Fixed(if name.starts_with('z') {
            ERROR_BITS
        } else {
            ACTION_BITS
        }),
        trend: (*name == "z[t]").then_some(Trend::Falling),
    };
    Shape {
        name: name.into(),
        features: kind.features().iter().map(feature).collect(),
        output: kind.output().into(),
    }
}

/// What is said of a distilled policy, to be proved.
fn claims() -> Vec<Claim> {
    /// z where there is no queue: 12.5 (0 - 0.064).
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

/// What an episode of the distillation is for.
fn use_of(stage: Stage) -> (Use, usize) {
    match stage {
        Stage::Learning(round) => (Use::Learning, round),
        // The same episodes for each round.
        Stage::Choosing(_) => (Use::Choosing, 0),
    }
}

/// What is said while it goes on.
fn said(stage: Stage) -> String {
    match stage {
        Stage::Learning(0) => "round 0: the teacher decides".into(),
        Stage::Learning(round) => format!("round {round}: the forest decides"),
        Stage::Choosing(round) => format!("round {round}: what its decisions are worth"),
    }
}
