//! Episode of the loop, stage by stage.

use std::sync::Arc;

use paceline_congestion::learned::Model;
use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use super::{Deployed, Deploys, Episode, Event, Files, Options, Run, Watch};
use crate::checkpoint::Checkpoints;
use crate::experience::{Experience, Gathered};
use crate::search::{self, Costs, Judges, Law, Refined, Start, Step};
use crate::{Error, decc, distill};

/// Name of the loop's checkpoint.
const NAME: &str = "continual";

/// Result of a refinement: steps, costs in trials before and after, and the law's values.
type Found = (Vec<Step>, (Costs, Costs), Vec<f64>);

/// State of a loop.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Hashes of the model and the scenario with which it started.
    of: String,
    pub(super) before: Option<(Costs, Costs)>,
    pub(super) episodes: Vec<Episode>,
    /// Experience of the present episode's run; `found` is the refined law, `models` are the models made from
    /// it.
    experience: Option<Experience>,
    found: Option<Found>,
    models: Vec<Files>,
}

/// Loop of runs and refinements in progress.
pub(super) struct Loop<'a> {
    options: &'a Options,
    /// Model that runs in the first episode.
    pub(super) first: Deployed,
    law: Law,
    command: &'a str,
    checkpoints: &'a Checkpoints,
    watch: Watch<'a>,
    pub(super) state: State,
    judges: Option<Judges>,
}

/// Result of a stage; `None` if it was stopped.
type Stage<T> = Result<Option<T>, Error>;

impl<'a> Loop<'a> {
    /// Starts a loop, or resumes it from a checkpoint.
    pub(super) fn new(
        options: &'a Options,
        start: super::Start<'a>,
        checkpoints: &'a Checkpoints,
        watch: Watch<'a>,
    ) -> Result<Self, Error> {
        let super::Start {
            first,
            scenario,
            command,
        } = start;
        let law = search::start_of(first)?;
        let of = format!("{} {scenario}", law.sha256);
        let state = match checkpoints.take::<State>(NAME)? {
            // Costs of different laws or scenarios in one table would not be comparable.
            Some(state) if state.of != of => {
                return Err(Error::Options(
                    "the model or the scenario has changed since this training was stopped: put it back, or start again with \
                     --force"
                        .into(),
                ));
            }
            Some(state) => state,
            None => State {
                of,
                ..State::default()
            },
        };
        let first = Deployed {
            name: law.name.clone(),
            model: Arc::clone(first),
            files: Vec::new(),
        };
        Ok(Self {
            options,
            first,
            law,
            command,
            checkpoints,
            watch,
            state,
            judges: None,
        })
    }

    /// Runs an episode, or the rest of it.
    pub(super) fn episode<E: From<Error>>(&mut self, run: Run<'_, E>) -> Result<Control, E> {
        let number = self.state.episodes.len() as u32 + 1;
        let deployed = self.deployed()?;
        if (self.watch)(&Event::Begins(number, &deployed.name)) == Control::Stop {
            return Ok(Control::Stop);
        }
        if self.state.experience.is_none() {
            self.state.experience = run(number, &deployed)?;
            // The run may have taken long, so it is stored before the refinement.
            self.keep()?;
        }
        let Some(experience) = self.state.experience.clone() else {
            return Ok(Control::Stop);
        };
        (self.watch)(&Event::Ran(&experience));
        self.checkpoints.enter(&format!("episode-{number}-"));
        match self.after_run(number, experience) {
            Ok(ended) => Ok(ended.unwrap_or(Control::Stop)),
            Err(Error::Stopped(_)) => Ok(Control::Stop),
            Err(error) => Err(error.into()),
        }
    }

    /// Refines the law, deploys and judges the result.
    fn after_run(&mut self, number: u32, experience: Experience) -> Stage<Control> {
        let start = self.start(&experience)?;
        // All episodes are judged in networks like those of the first one, so that costs can be compared.
        if self.judges.is_none() {
            let first = Gathered {
                each: start.experience.each[..1].to_vec(),
                ..Gathered::default()
            };
            self.judges = Some(Judges::new(&self.options.search(1), &first)?);
        }
        let before = match self.before() {
            Some(before) => before,
            None => {
                let before = self.judged(&self.first.model, &self.law.values)?;
                self.state.before = Some(before);
                self.keep()?;
                (self.watch)(&Event::Judged(&before.0));
                before
            }
        };
        let Some(refined) = self.refined(number, &start)? else {
            return Ok(None);
        };
        let law = start.law.as_ref().map(|law| &law.values);
        // If no trial was better, the deployed model and its costs stay.
        let costs = if law == Some(&refined.values) {
            (self.watch)(&Event::Stays);
            before
        } else if let Some(model) = self.made(number, &refined, &start)? {
            self.judged(&model, &refined.values)?
        } else {
            return Ok(None);
        };
        let deployed = match self.state.models.last() {
            Some(made) => made.name.clone(),
            None => self.deployed()?.name,
        };
        let episode = Episode {
            number,
            experience,
            steps: refined.steps,
            trials: refined.trials,
            law: refined.values,
            models: std::mem::take(&mut self.state.models),
            deployed,
            costs,
        };
        let control = (self.watch)(&Event::Ended(&episode));
        self.state.episodes.push(episode);
        // The next episode starts without intermediate results.
        (self.state.experience, self.state.found) = (None, None);
        self.keep()?;
        self.checkpoints.forget();
        Ok(Some(control))
    }

    /// Writes the loop's checkpoint; the stage in progress has its own.
    fn keep(&self) -> Result<(), Error> {
        self.checkpoints
            .in_part("", || self.checkpoints.keep(NAME, &self.state))
    }

    /// Returns the start of an episode's refinement: the previous law, and the experience of all episodes.
    fn start(&self, experience: &Experience) -> Result<Start, Error> {
        let mut met = Gathered::default();
        let before = self.state.episodes.iter().map(|episode| &episode.experience);
        for one in before.chain([experience]) {
            met.add(one.clone(), one.text()?.as_bytes());
        }
        let last = self.state.episodes.last();
        Ok(Start {
            law: Some(last.map_or_else(
                || self.law.clone(),
                |episode| Law {
                    values: episode.law.clone(),
                    ..self.law.clone()
                },
            )),
            experience: met,
            first: Some(self.law.values.clone()),
        })
    }

    /// Returns the model that runs now.
    fn deployed(&self) -> Result<Deployed, Error> {
        let made = self.state.episodes.iter().rev().find_map(|one| one.models.last());
        match made {
            Some(made) => Ok(Deployed {
                name: made.name.clone(),
                model: made.model()?,
                files: made.files.clone(),
            }),
            None => Ok(self.first.clone()),
        }
    }

    /// Returns the costs of the present model, if it was judged.
    fn before(&self) -> Option<(Costs, Costs)> {
        let last = self.state.episodes.last().map(|episode| episode.costs);
        last.or(self.state.before)
    }

    /// Returns the costs of a model and of the law from which it was made.
    fn judged(&self, model: &Arc<Model>, law: &[f64]) -> Result<(Costs, Costs), Error> {
        let judges = self.judges.as_ref();
        let judges = judges.ok_or_else(|| Error::Options("nobody judges".into()))?;
        let deployed = judges.costs(model)?;
        match search::start_of(model)?.cloned {
            true => Ok((deployed, judges.costs_of_law(law)?)),
            false => Ok((deployed, deployed)),
        }
    }

    /// Refines the law, unless the checkpoint already has the result.
    fn refined(&mut self, number: u32, start: &Start) -> Stage<Refined> {
        let options = self.options.search(number);
        // A restart after the refinement continues with the models.
        if let Some((steps, trials, values)) = self.state.found.clone() {
            return Ok(Some(Refined {
                options,
                values,
                trials,
                judged: None,
                steps,
                stopped: false,
            }));
        }
        let watch = &mut self.watch;
        let refined = search::refine(&options, start, self.checkpoints, &mut |_, step| match step {
            Some(step) => watch(&Event::Refined(step)),
            None => Control::Continue,
        })?;
        if refined.stopped {
            return Ok(None);
        }
        self.state.found = Some((refined.steps.clone(), refined.trials, refined.values.clone()));
        self.keep()?;
        Ok(Some(refined))
    }

    /// Makes the model to deploy from a refined law.
    fn made(&mut self, number: u32, refined: &Refined, start: &Start) -> Stage<Arc<Model>> {
        if self.state.models.is_empty() {
            let name = format!("decc-episode-{number}");
            let files = search::refined_model(&name, refined, start, self.command)?;
            self.put(Files::of(name, files))?;
        }
        let law = self.state.models[0].model()?;
        if self.options.deploys == Deploys::Law {
            return Ok(Some(law));
        }
        // Each stage's model is stored, so a restart skips the completed stages.
        if self.state.models.len() < 2 {
            let watch = &mut self.watch;
            let cloned = decc::clone(
                &self.options.cloning(),
                &law,
                self.checkpoints,
                &mut |_, round| round.map_or(Control::Continue, |round| watch(&Event::Cloned(round))),
            )?;
            if cloned.stopped {
                return Ok(None);
            }
            let name = format!("decc-episode-{number}-net");
            let files = decc::files_of_clone(&name, &cloned, self.command)?;
            self.put(Files::of(name, files))?;
        }
        let network = self.state.models[1].model()?;
        if self.state.models.len() < 3 {
            let decc::LawClone { law, network } = decc::clone_of(&network)?;
            let (tuning, watch) = (self.options.tuning(), &mut self.watch);
            let tuned = decc::tuned(&law, &network, &tuning, self.checkpoints, &mut |done, of| {
                watch(&Event::Compressed(done, of))
            })?;
            let name = format!("decc-episode-{number}-net-q4");
            let files = decc::files_of_compressed(&name, &tuned, tuning.seed, self.command)?;
            self.put(Files::of(name, files))?;
        }
        let compressed = self.state.models[2].model()?;
        if self.state.models.len() < 4 {
            let (options, watch) = (self.options.distilling(), &mut self.watch);
            let name = format!("decc-episode-{number}-tree-{}", options.trees);
            let distilled = distill::distill(&name, &compressed, &options, self.command, &mut |said| {
                watch(&Event::Distils(said))
            })?;
            self.put(Files::of_forest(name, &distilled.model)?)?;
        }
        Ok(Some(self.state.models[3].model()?))
    }

    fn put(&mut self, made: Files) -> Result<(), Error> {
        self.state.models.push(made);
        self.keep()
    }
}
