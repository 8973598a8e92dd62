//! DECC's continual learning. In each episode flows run under the deployed model, and the run's experience is
//! added to that of earlier episodes. The law is refined on it, and the result is deployed: the law, or trees
//! distilled from a compressed clone of it. The paper's section 1 does this every five seconds, with twenty
//! steps (its table 5).
//!
//! Forgetting is measured against the first law through all episodes, so that small losses cannot accumulate
//! unnoticed.
//!
//! The costs of an episode are those of the model that it deploys, in networks like those of the first
//! episode's run and in the search's own, on seeds used neither for learning nor for selection. All episodes
//! are judged in the same networks.

mod episode;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_congestion::learned::stack::card::Weights;
use paceline_congestion::learned::{Model, ModelError};
use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoints;
use crate::decc::{Cloning, Round, Tuning};
use crate::experience::Experience;
use crate::search::{self, Costs, FORGETS, Step};
use crate::write::ModelFiles;
use crate::{Error, distill};
use episode::Loop;

/// Kind of model that an episode deploys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deploys {
    /// The refined rate law itself.
    Law,
    /// Trees, distilled from a clone of the law that was pruned and quantised.
    Trees,
}

impl Deploys {
    /// Returns the default model of the first episode.
    pub const fn first(self) -> &'static str {
        match self {
            Self::Law => "decc-law",
            Self::Trees => "decc-tree-300",
        }
    }
}

/// Settings of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of episodes in the loop.
    pub episodes: u32,
    /// Generations of each refinement.
    pub generations: u32,
    /// Kind of model to deploy.
    pub deploys: Deploys,
    /// Seed of all random choices.
    pub seed: u64,
    /// True for a loop of seconds.
    pub quick: bool,
    /// Number of threads; the models do not depend on it.
    pub threads: usize,
}

impl Default for Options {
    /// Returns the default settings, with the paper's twenty steps.
    fn default() -> Self {
        Self {
            episodes: 5,
            generations: 20,
            deploys: Deploys::Law,
            seed: 1,
            quick: false,
            threads: 2,
        }
    }
}

/// Numbers of trees of a deployed model: full and quick.
const TREES: (usize, usize) = (300, 30);

impl Options {
    /// Returns settings for a loop of seconds.
    pub const fn quick(self) -> Self {
        Self {
            episodes: 2,
            generations: 2,
            quick: true,
            ..self
        }
    }

    /// Returns the settings of an episode's refinement; each draws other networks.
    fn search(&self, episode: u32) -> search::Options {
        let options = search::Options::refining();
        let options = if self.quick { options.quick() } else { options };
        search::Options {
            seed: self.seed + u64::from(episode) - 1,
            generations: self.generations,
            threads: self.threads,
            ..options
        }
    }

    fn cloning(&self) -> Cloning {
        let options = Cloning {
            seed: self.seed,
            threads: self.threads,
            ..Cloning::default()
        };
        if self.quick { options.quick() } else { options }
    }

    fn tuning(&self) -> Tuning {
        let options = Tuning {
            seed: self.seed,
            threads: self.threads,
            ..Tuning::default()
        };
        if self.quick { options.quick() } else { options }
    }

    fn distilling(&self) -> distill::Options {
        let options = distill::Options {
            trees: TREES.0,
            seed: self.seed,
            threads: self.threads,
            judging: 2,
            ..distill::Options::default()
        };
        match self.quick {
            true => distill::Options {
                trees: TREES.1,
                rounds: 1,
                ..options.quick()
            },
            false => options,
        }
    }
}

/// Files of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// Name of the model.
    pub name: String,
    /// File extensions with contents.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Files {
    fn of(name: String, files: ModelFiles) -> Self {
        Self {
            name,
            files: vec![("json".into(), files.card), ("safetensors".into(), files.weights)],
        }
    }

    fn of_forest(name: String, model: &Model) -> Result<Self, Error> {
        let forest = model
            .forest()
            .ok_or_else(|| Error::Options("no trees were distilled".into()))?;
        Ok(Self {
            name,
            files: vec![("json".into(), forest.to_json().into_bytes())],
        })
    }

    /// Parses the files of the model.
    fn model(&self) -> Result<Arc<Model>, Error> {
        let bytes = |ending: &str| {
            let found = self.files.iter().find(|(name, _)| name == ending);
            found.map_or(&[][..], |(_, bytes)| bytes)
        };
        let model: Result<Model, ModelError> = Model::read(bytes("json"), |ending| {
            Ok(Weights::Tensors(bytes(ending).to_vec()))
        });
        Ok(Arc::new(
            model.map_err(|error| Error::Options(error.to_string()))?,
        ))
    }
}

/// Model that runs in an episode.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// Name of the model.
    pub name: String,
    /// Parsed model for use in runs.
    pub model: Arc<Model>,
    /// Files of the model, if an earlier episode made it.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Completed episode of the loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Number of the episode, from 1.
    pub number: u32,
    /// Network and outcome of its run, with the model that was deployed.
    pub experience: Experience,
    /// Steps of the refinement.
    pub steps: Vec<Step>,
    /// Costs of the law in trials, before and after the refinement.
    pub trials: (Costs, Costs),
    /// Values of the law after the refinement.
    pub law: Vec<f64>,
    /// Models that it made, in order; empty if no trial was better.
    pub models: Vec<Files>,
    /// Name of the model that runs from then on.
    pub deployed: String,
    /// Costs of that model, and of the law alone, on seeds used neither for learning nor for selection.
    pub costs: (Costs, Costs),
}

/// Result of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Continued {
    /// Settings of the loop.
    pub options: Options,
    /// Name of the model that ran first.
    pub first: String,
    /// Costs of that model, and of its law alone, on seeds used neither for learning nor for selection.
    pub before: Option<(Costs, Costs)>,
    /// Completed episodes in order.
    pub episodes: Vec<Episode>,
    /// True if the loop was stopped early.
    pub stopped: bool,
}

impl Continued {
    /// Returns the loss in the old networks after each episode, in per cent of the first model's performance.
    pub fn forgotten(&self) -> Vec<f64> {
        let Some((before, _)) = self.before else {
            return Vec::new();
        };
        let each = self.episodes.iter();
        each.map(|episode| episode.costs.0.forgotten(&before)).collect()
    }

    /// Returns a short text with the costs before and after.
    pub fn summary(&self) -> String {
        let (Some((before, _)), Some(last)) = (self.before, self.episodes.last()) else {
            return "No episode came to its end.".into();
        };
        let after = last.costs.0;
        format!(
            "In {} episodes the cost over the oracle's, on seeds that neither taught nor chose, went from {:.3} to {:.3} in the \
             new network, and from {:.3} to {:.3} in the old ones (forgetting {:.1} %). `{}` ran at first, and `{}` would run next.",
            self.episodes.len(),
            before.experience,
            after.experience,
            before.old,
            after.old,
            after.forgotten(&before),
            self.first,
            last.deployed
        )
    }
}

impl Continued {
    /// Returns warnings about episodes that forget more than trials of the law allow, and about those that
    /// changed nothing.
    pub fn warnings(&self) -> Vec<String> {
        let list = |over: Vec<String>, said: &dyn Fn(String) -> String| {
            (!over.is_empty()).then(|| said(over.join(", ")))
        };
        let each = self.episodes.iter().zip(self.forgotten());
        let over = each.filter(|(_, forgotten)| *forgotten > 100.0 * FORGETS);
        let over = over.map(|(episode, forgotten)| format!("{} ({forgotten:.1} %)", episode.number));
        let same = self.episodes.iter().filter(|episode| episode.models.is_empty());
        let same = same.map(|episode| episode.number.to_string());
        let forgets = list(over.collect(), &|episodes| {
            format!(
                "more is forgotten in the old networks than the {} % that trials of the law allow, on seeds that neither taught nor \
                 chose, after these episodes: {episodes}",
                100.0 * FORGETS
            )
        });
        let stays = list(same.collect(), &|episodes| {
            format!(
                "no trial was better than the law before in these episodes, and what ran there runs on: {episodes}"
            )
        });
        forgets.into_iter().chain(stays).collect()
    }
}

/// Event of a loop, for display.
#[derive(Debug)]
pub enum Event<'a> {
    /// An episode starts under this model.
    Begins(u32, &'a str),
    /// The run of the episode is complete.
    Ran(&'a Experience),
    /// The first model was judged.
    Judged(&'a Costs),
    /// A generation of the refinement is complete.
    Refined(&'a Step),
    /// No trial was better: the deployed model stays.
    Stays,
    /// A round of cloning is complete.
    Cloned(&'a Round),
    /// Steps of compression so far, and their total.
    Compressed(usize, usize),
    /// The next stage of the distillation.
    Distils(&'a str),
    /// An episode is complete.
    Ended(&'a Episode),
}

/// Callback for events, which may stop the loop.
pub type Watch<'a> = &'a mut dyn FnMut(&Event<'_>) -> Control;

/// Callback that runs episode `number` under a model; returns `None` if it was stopped.
pub type Run<'a, E> = &'a mut dyn FnMut(u32, &Deployed) -> Result<Option<Experience>, E>;

/// Input of a loop, in addition to its options.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Model of the first episode.
    pub first: &'a Arc<Model>,
    /// SHA-256 of the scenario that the episodes run.
    pub scenario: &'a str,
    /// Command for the cards of the models.
    pub command: &'a str,
}

/// Runs the loop, from the checkpoint if there is one; `run` runs each episode.
///
/// # Errors
/// The model has no law, the model or the scenario differs from the checkpoint's, a run fails, a network
/// cannot be built, or a checkpoint cannot be read or written.
pub fn continual<E: From<Error>>(
    options: &Options,
    start: Start<'_>,
    run: Run<'_, E>,
    checkpoints: &Checkpoints,
    watch: Watch<'_>,
) -> Result<Continued, E> {
    let mut at = Loop::new(options, start, checkpoints, watch)?;
    let left = |at: &Loop<'_>| at.state.episodes.len() < options.episodes as usize;
    while left(&at) && at.episode(run)? == Control::Continue {}
    Ok(Continued {
        options: *options,
        stopped: left(&at),
        first: at.first.name,
        before: at.state.before,
        episodes: at.state.episodes,
    })
}
