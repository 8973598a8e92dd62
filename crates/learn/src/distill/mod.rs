//! Distilling a policy of ADPG or DECC into boosted oblivious trees, which decide in whole numbers.
//!
//! [`paceline_forest::distill`] goes round by round; here are the runs in which policies decide, which of them teach,
//! choose and judge, and what a forest's file says of all that. For ADPG these are the scenarios of its own training
//! ([`CASES`](crate::adpg::CASES)), with flows that begin as the scheme's do, at the line's rate; what judges are others
//! ([`JUDGES`]). For DECC networks are drawn as for its law, those of the law's trials choose, and what judges are four
//! numbers of flows (`decc.rs`). All have seeds of their own ([`Use`]).

mod adpg;
mod decc;
mod judge;
mod model;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_congestion::learned::card::DataSource;
use paceline_congestion::learned::forest::{Claim, Feature, Forest};
use paceline_congestion::learned::{Kind, Model};
use paceline_forest::distill::{DistillError, Met, Plan, Policy, Round, Stage, World};
use paceline_forest::train::{Options as Trees, Rows, Shape};

use paceline_lab::run::Control;

use crate::Error;
pub use adpg::Use;
pub use adpg::{JUDGES, Judge};
pub use judge::{JUDGED, Judged, Score};

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
    /// How long episodes of ADPG's are, in ms.
    pub episode_ms: u32,
    /// Seeds that judge.
    pub judging: u64,
    /// Whether it is to end within seconds.
    pub quick: bool,
    /// Threads; the forest does not depend on them.
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
            quick: false,
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
            quick: true,
            ..self
        }
    }
}

/// Rows to learn from at most.
const MOST: usize = 400_000;
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
    /// What it came to where nobody learned, alongside its teacher.
    pub judged: Vec<Judged>,
}

/// Called with what is done next; may stop it.
pub type Watch<'a> = &'a mut dyn FnMut(&str) -> Control;

/// Distils `teacher`, a policy of ADPG or DECC, into the forest `name`; `watch` hears what is done.
///
/// # Errors
/// The teacher is none, a scenario does not run, there is nothing to learn from, or it was stopped.
pub fn distill(
    name: &str,
    teacher: &Arc<Model>,
    options: &Options,
    command: &str,
    watch: Watch<'_>,
) -> Result<DistilledPolicy, Error> {
    let subject = Subject::of(teacher)?;
    let teach = (subject.teach)(teacher);
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
    let mut world = Watched {
        watch,
        episode: (subject.world)(teacher, options)?,
    };
    let shape = Shape {
        name: name.into(),
        features: (subject.features)(),
        output: subject.kind.output().into(),
    };
    let distilled = paceline_forest::distill::distill(&shape, &teach, &mut world, &plan);
    let distilled = distilled.map_err(|error| match error {
        DistillError::World(error) => error,
        DistillError::Train(error) => Error::Options(error.to_string()),
    })?;
    let forest = distilled.forest.clone();
    let decide: Policy = Arc::new(move |seen| forest.decide(seen));
    tell(watch, "judging: networks and seeds that nothing learned from")?;
    let judged = (subject.judge)(teacher, ([&teach, &decide], &distilled.forest), options)?;
    let model = model::model((teacher, &subject), &distilled, &judged, options, command)?;
    Ok(DistilledPolicy {
        options: options.clone(),
        model,
        rounds: distilled.rounds,
        best: distilled.best,
        rows: distilled.rows,
        judged,
    })
}

/// An episode under a policy.
type Episodes = Box<dyn FnMut(Stage, &Policy) -> Result<Met, Error>>;

/// Judges a teacher and the forest that was made of it.
type Judges = fn(&Arc<Model>, ([&Policy; 2], &Forest), &Options) -> Result<Vec<Judged>, Error>;

/// What differs by whose policy is distilled.
struct Subject {
    kind: Kind,
    teach: fn(&Arc<Model>) -> Policy,
    features: fn() -> Vec<Feature>,
    /// What is said of a distilled policy, to be proved.
    claims: fn() -> Vec<Claim>,
    sources: fn(&Options) -> Vec<DataSource>,
    world: fn(&Arc<Model>, &Options) -> Result<Episodes, Error>,
    judge: Judges,
}

impl Subject {
    fn of(teacher: &Model) -> Result<Self, Error> {
        let card = teacher.card();
        match card.kind {
            Kind::Adpg => Ok(adpg::SUBJECT),
            Kind::Decc => Ok(decc::SUBJECT),
            kind => Err(Error::Options(format!(
                "`{}` is of kind {kind}; expected a policy of kind adpg, or a network of kind decc",
                card.name
            ))),
        }
    }
}

/// Episodes, and who hears of them.
struct Watched<'a> {
    watch: Watch<'a>,
    episode: Episodes,
}

impl World for Watched<'_> {
    type Error = Error;

    fn episode(&mut self, stage: Stage, policy: &Policy) -> Result<Met, Error> {
        tell(self.watch, &said(stage))?;
        (self.episode)(stage, policy)
    }
}

/// Says what is done next, unless it is to stop.
fn tell(watch: Watch<'_>, said: &str) -> Result<(), Error> {
    match watch(said) {
        Control::Continue => Ok(()),
        Control::Stop => Err(Error::Stopped("the policy was distilled")),
    }
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
