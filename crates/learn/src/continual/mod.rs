//! DECC's loop: in each episode flows run under the model that is deployed, the run's experience joins that of the episodes
//! before, the law is refined there, and what comes of it is deployed: the law, or trees that are distilled from a compressed
//! clone of it. The paper's section 1 has this every five seconds, with twenty steps (its table 5).
//!
//! Forgetting is measured against the first law through all episodes, so small losses do not add up unseen.
//!
//! Costs of an episode are of what it deploys, in networks like those of the first episode's run and in the search's own, on
//! seeds that neither taught nor chose. All episodes are judged in the same ones.

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

/// What runs after an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deploys {
    /// The law that was refined.
    Law,
    /// Trees: of a network that was cloned from the law, pruned and quantised.
    Trees,
}

impl Deploys {
    /// The model that runs in the first episode, unless a command says otherwise.
    pub const fn first(self) -> &'static str {
        match self {
            Self::Law => "decc-law",
            Self::Trees => "decc-tree-300",
        }
    }
}

/// How to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Episodes.
    pub episodes: u32,
    /// Generations of a refinement.
    pub generations: u32,
    /// What is deployed.
    pub deploys: Deploys,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Whether it is to end within seconds.
    pub quick: bool,
    /// Threads; the models do not depend on them.
    pub threads: usize,
}

impl Default for Options {
    /// The paper's twenty steps.
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

/// Trees that are deployed, and those of a quick loop.
const TREES: (usize, usize) = (300, 30);

impl Options {
    /// One that ends within seconds.
    pub const fn quick(self) -> Self {
        Self {
            episodes: 2,
            generations: 2,
            quick: true,
            ..self
        }
    }

    /// The refinement of an episode; each draws networks of its own.
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

/// A model and its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// The model's name.
    pub name: String,
    /// Endings of its files, with their content.
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

    /// Reads the model in them.
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

/// What runs in an episode.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The model's name.
    pub name: String,
    /// It.
    pub model: Arc<Model>,
    /// Its files, if an episode before made it.
    pub files: Vec<(String, Vec<u8>)>,
}

/// An episode that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Its number, from 1.
    pub number: u32,
    /// What its run met, under which model, and how that went.
    pub experience: Experience,
    /// The refinement, step by step.
    pub steps: Vec<Step>,
    /// The law in trials, before and after.
    pub trials: (Costs, Costs),
    /// The law's numbers after it.
    pub law: Vec<f64>,
    /// Models that it made, in this order; none if no trial was better.
    pub models: Vec<Files>,
    /// The name of what runs from then on.
    pub deployed: String,
    /// What that costs, and the law alone, on seeds that neither taught nor chose.
    pub costs: (Costs, Costs),
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Continued {
    /// How.
    pub options: Options,
    /// The name of what ran at first.
    pub first: String,
    /// What that costs, and its law alone, on seeds that neither taught nor chose.
    pub before: Option<(Costs, Costs)>,
    /// Episode by episode.
    pub episodes: Vec<Episode>,
    /// Whether it was stopped early.
    pub stopped: bool,
}

impl Continued {
    /// How much of what was good in the old networks is lost after each episode, in per cent.
    pub fn forgotten(&self) -> Vec<f64> {
        let Some((before, _)) = self.before else {
            return Vec::new();
        };
        let each = self.episodes.iter();
        each.map(|episode| episode.costs.0.forgotten(&before)).collect()
    }

    /// Costs before and after, in a sentence or two.
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
    /// Says where more is forgotten than trials of the law allow, and which episodes changed nothing.
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

/// What is heard on the way.
#[derive(Debug)]
pub enum Event<'a> {
    /// An episode begins, under this model.
    Begins(u32, &'a str),
    /// Its run is over.
    Ran(&'a Experience),
    /// What ran at first was judged.
    Judged(&'a Costs),
    /// A generation of the refinement.
    Refined(&'a Step),
    /// No trial was better: what is deployed stays.
    Stays,
    /// A round of the clone.
    Cloned(&'a Round),
    /// Steps of compression, of how many.
    Compressed(usize, usize),
    /// What the distillation does next.
    Distils(&'a str),
    /// An episode is over.
    Ended(&'a Episode),
}

/// Called on the way; may stop it.
pub type Watch<'a> = &'a mut dyn FnMut(&Event<'_>) -> Control;

/// Runs an episode, of this number, under a model; gives nothing if it was stopped.
pub type Run<'a, E> = &'a mut dyn FnMut(u32, &Deployed) -> Result<Option<Experience>, E>;

/// Goes through the episodes, from the checkpoint if there is one; `run` runs each. `scenario` is the hash of what it runs.
///
/// # Errors
/// The model has no law to refine, the model or the scenario is another than that of the checkpoint, a run fails, a network cannot be built, or a checkpoint cannot be read or written.
pub fn continual<E: From<Error>>(
    options: &Options,
    (first, scenario, command): (&Arc<Model>, &str, &str),
    run: Run<'_, E>,
    checkpoints: &Checkpoints,
    watch: Watch<'_>,
) -> Result<Continued, E> {
    let mut at = Loop::new(options, (first, scenario, command), checkpoints, watch)?;
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
