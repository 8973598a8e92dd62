//! Distillation of a policy of ADPG or DECC into boosted oblivious trees, which decide in integer arithmetic.
//!
//! [`paceline_forest::distill`] runs the rounds. This module provides the runs for learning, selection and
//! judging, and the notes in a forest's file. For ADPG the runs are the scenarios of its own training
//! ([`CASES`](crate::adpg::CASES)), with flows that start at line rate as in the scheme; others judge
//! ([`JUDGES`]). For DECC networks are drawn as for its law, those of the law's trials select, and four
//! numbers of flows judge (`decc.rs`). Each purpose has its own seeds ([`Use`]).

mod adpg;
mod decc;
mod judge;
mod model;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_congestion::learned::card::DataSource;
use paceline_congestion::learned::forest::{Claim, Feature, Forest};
use paceline_congestion::learned::{Model, ModelKind};
use paceline_forest::distill::{DistillError, Distilled, Met, Plan, Policy, Round, Stage, World};
use paceline_forest::train::{Options as Trees, Rows, Shape};

use paceline_lab::run::Control;

use crate::Error;
pub use adpg::Use;
pub use adpg::{JUDGES, Judge};
pub use judge::{JUDGED, Judged, Score};

/// Settings of a distillation.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Upper limit of the number of trees.
    pub trees: usize,
    /// Depth of a tree.
    pub depth: usize,
    /// Number of rounds in which a forest decides.
    pub rounds: usize,
    /// Share of the remaining error that a tree removes.
    pub learning_rate: f64,
    /// Seed of the scenarios, and of the choice of validation rows.
    pub seed: u64,
    /// Duration of ADPG's episodes, in ms.
    pub episode_ms: u32,
    /// Number of seeds for judging.
    pub judging: u64,
    /// True for a distillation of seconds.
    pub quick: bool,
    /// Number of threads; the forest does not depend on it.
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
    /// Returns settings for a distillation of seconds, which shows that it works, but not how well.
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

/// Upper limit of the rows to learn from.
const MOST: usize = 400_000;
/// Distilled policy with its history.
#[derive(Debug)]
pub struct DistilledPolicy {
    /// Settings of the distillation.
    pub options: Options,
    /// Forest with its notes.
    pub model: Model,
    /// Rounds in order; round 0 is the teacher's.
    pub rounds: Vec<Round>,
    /// Number of the round whose forest was kept.
    pub best: usize,
    /// Inputs and labels of all rounds.
    pub rows: Rows,
    /// Comparison with the teacher in runs not used for learning.
    pub judged: Vec<Judged>,
}

/// Callback with a description of the next stage; may stop the distillation.
pub type Watch<'a> = &'a mut dyn FnMut(&str) -> Control;

/// Distils `teacher`, a policy of ADPG or DECC, into the forest `name`; `watch` is called before each stage.
///
/// # Errors
/// The teacher is no such policy, a scenario fails, there is nothing to learn from, or it was stopped.
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
    let compared = Compared {
        teacher: &teach,
        student: &decide,
        forest: &distilled.forest,
    };
    let judged = (subject.judge)(teacher, compared, options)?;
    let results = Results {
        distilled: &distilled,
        judged: &judged,
    };
    let model = model::model(teacher, &subject, results, options, command)?;
    Ok(DistilledPolicy {
        options: options.clone(),
        model,
        rounds: distilled.rounds,
        best: distilled.best,
        rows: distilled.rows,
        judged,
    })
}

/// Function that runs an episode under a policy.
type Episodes = Box<dyn FnMut(Stage, &Policy) -> Result<Met, Error>>;

/// Function that compares a teacher with its forest.
type Judges = fn(&Arc<Model>, Compared<'_>, &Options) -> Result<Vec<Judged>, Error>;

/// Decisions of a teacher and of its forest.
#[derive(Clone, Copy)]
struct Compared<'a> {
    teacher: &'a Policy,
    /// Decisions of the forest.
    student: &'a Policy,
    forest: &'a Forest,
}

/// Results of the distillation of a policy into trees.
#[derive(Clone, Copy)]
struct Results<'a> {
    distilled: &'a Distilled,
    judged: &'a [Judged],
}

/// Properties of a distillation that depend on the kind of policy.
struct Subject {
    kind: ModelKind,
    teach: fn(&Arc<Model>) -> Policy,
    features: fn() -> Vec<Feature>,
    /// Claims about the distilled policy that are to be proved.
    claims: fn() -> Vec<Claim>,
    sources: fn(&Options) -> Vec<DataSource>,
    world: fn(&Arc<Model>, &Options) -> Result<Episodes, Error>,
    judge: Judges,
}

impl Subject {
    fn of(teacher: &Model) -> Result<Self, Error> {
        let card = teacher.card();
        match card.kind {
            ModelKind::Adpg => Ok(adpg::SUBJECT),
            ModelKind::Decc => Ok(decc::SUBJECT),
            kind => Err(Error::Options(format!(
                "`{}` is of kind {kind}; expected a policy of kind adpg, or a network of kind decc",
                card.name
            ))),
        }
    }
}

/// Episodes that are announced to a callback.
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

/// Announces the next stage; fails if the callback stops the distillation.
fn tell(watch: Watch<'_>, said: &str) -> Result<(), Error> {
    match watch(said) {
        Control::Continue => Ok(()),
        Control::Stop => Err(Error::Stopped("the policy was distilled")),
    }
}

/// Returns the purpose and the round of an episode.
fn use_of(stage: Stage) -> (Use, usize) {
    match stage {
        Stage::Learning(round) => (Use::Learning, round),
        // Every round is selected by the same episodes.
        Stage::Choosing(_) => (Use::Choosing, 0),
    }
}

/// Returns the description of a stage.
fn said(stage: Stage) -> String {
    match stage {
        Stage::Learning(0) => "round 0: the teacher decides".into(),
        Stage::Learning(round) => format!("round {round}: the forest decides"),
        Stage::Choosing(round) => format!("round {round}: what its decisions are worth"),
    }
}
