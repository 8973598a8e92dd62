//! Experiments as data: a folder with `experiment.toml`, what was printed, and what came out.
//!
//! ```text
//! experiments/hpcc-step/experiment.toml      what is run, what is claimed
//! experiments/hpcc-step/published.csv        printed values, exactly as printed
//! experiments/hpcc-step/outcome.json         the recorded outcome
//! ```
//!
//! [`Experiment::read`] checks all of it at once: every name, every expression, every cell.

#[cfg(test)]
mod equal;
mod expect;
mod expr;
mod folder;
mod layout;
mod names;
mod published;
mod runs;
mod save;
mod schema;
mod sizes;
mod value;

use std::path::Path;

use paceline_congestion::papers;
use paceline_lab::results::Summary;
use paceline_scenario::diagnostics::{Place, Source, nearest};
use paceline_scenario::{Diagnostics, Problem, read_toml};

use crate::citation::Citation;
use crate::need::{Done, RunRequest};
use crate::panel::Panel;
use crate::{Choice, Reproduction, Step};
pub use folder::{Checked, begin, check, read_folder, record, template};
pub use save::save as save_experiment;

use expect::Criteria;
use layout::Plan;
use names::Names;
use schema::{Common, File, NamedOr};
use value::Value;

/// What an experiment runs, and its tables.
#[derive(Debug)]
pub struct Experiment {
    requests: Vec<RunRequest>,
    plans: Vec<Plan>,
}

/// Where the files of an experiment are.
pub(crate) trait Folder {
    /// A file next to `experiment.toml`, by the path that stands there; `None` if there is none.
    fn text(&self, path: &str) -> Option<Source>;

    /// A scenario next to it: its path; `None` if there is none.
    fn scenario(&self, path: &str) -> Option<String>;
}

/// A folder on a disk.
pub(crate) struct OnDisk<'a>(pub(crate) &'a Path);

impl Folder for OnDisk<'_> {
    fn text(&self, path: &str) -> Option<Source> {
        let path = self.0.join(path);
        let text = paceline_scenario::read_text(&path).ok()?;
        Some(Source::new(path.display().to_string(), text))
    }

    fn scenario(&self, path: &str) -> Option<String> {
        let path = self.0.join(path);
        path.exists().then(|| path.display().to_string())
    }
}

/// A text for as long as the program: an experiment is read once.
pub(crate) fn keep(text: impl Into<String>) -> &'static str {
    let text: String = text.into();
    match text.is_empty() {
        true => "",
        false => text.leak(),
    }
}

impl Experiment {
    /// Reads the experiment `id` from its folder.
    ///
    /// # Errors
    /// Everything that is wrong in it, with places.
    pub(crate) fn read(id: &str, source: &Source, folder: &dyn Folder) -> Result<Reproduction, Diagnostics> {
        let file: File = read_toml(source)?;
        let common = match &file.common {
            None => Common::default(),
            Some(path) => {
                let place = source.at(path.span());
                let missing = || Problem::new(format!("there is no file `{}`", path.get_ref())).at(&place);
                read_toml(&folder.text(path.get_ref()).ok_or_else(missing)?)?
            }
        };
        let (names, requests) = runs::read(&file, &common, source, folder)?;
        let mut experiment = Self {
            requests,
            plans: Vec::new(),
        };
        experiment.plans = layout::read(
            &file,
            &names,
            &Criteria::of(&file, &common, source)?,
            (source, folder),
        )?;
        experiment.take_measures(&names);
        let steps = steps(&file, source)?;
        Ok(Reproduction {
            id: keep(id),
            title: keep(file.title.as_str()),
            source: citation(&file, source)?,
            setting: note(&file.about, &common, source)?,
            notes: Vec::leak(notes(&file, &common, source)?),
            choices: Vec::leak(choices(&file, &common, source)?),
            steps: Vec::leak(steps),
            needs: Vec::new,
            panels: |_| Vec::new(),
            data: Some(Box::leak(Box::new(experiment))),
        })
    }

    /// Has the runs take what the tables want of their summaries.
    fn take_measures(&mut self, names: &Names) {
        let grids = &names.grids;
        let requests = &mut self.requests;
        for expression in self.plans.iter().flat_map(Plan::expressions) {
            expression.measures(&mut |leaf| {
                for run in leaf.runs.iter().flatten().cloned().flatten() {
                    let of = |grid: &&names::Grid| grid.runs.iter().flatten().any(|runs| runs.contains(&run));
                    let set = grids.iter().find(of).and_then(|grid| grid.set);
                    let in_set = set.is_some_and(|set| set.find(&leaf.measure).is_some());
                    let taken = &mut requests[run].summary;
                    if !in_set && !taken.iter().any(|known| *known == leaf.measure) {
                        taken.push(keep(leaf.measure.as_str()));
                    }
                }
            });
        }
    }

    /// The runs that it needs.
    pub(crate) fn needs(&self) -> Vec<RunRequest> {
        self.requests.clone()
    }

    /// Of a run's scheme the rows of the first table, as `metric, unit`, with what was printed and what the run has.
    pub(crate) fn beside(&self, run: &Summary) -> Vec<(String, f64, Option<f64>)> {
        let all = paceline_lab::sweep::metrics(run);
        self.plans
            .first()
            .map_or_else(Vec::new, |plan| plan.beside(&run.scheme, &Whole(all)))
    }

    /// Its tables, with ours as far as `done` has it.
    pub(crate) fn panels(&self, done: &Done) -> Vec<Panel> {
        let seen = Seen {
            done,
            runs: self.requests.iter().map(|need| done.numbers(need)).collect(),
        };
        self.plans.iter().map(|plan| plan.panel(&seen)).collect()
    }
}

/// What came of the runs, in the order of the requests.
struct Seen<'a> {
    done: &'a Done,
    runs: Vec<Option<&'a crate::Metrics>>,
}

/// The numbers of a summary, whichever run is meant.
struct Whole(Vec<(String, f64)>);

impl value::Data for Whole {
    fn measure(&self, _: usize, name: &str) -> Option<Value> {
        let found = self.0.iter().find(|(known, _)| known == name)?;
        Some(Value::Number(found.1))
    }

    fn step(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
}

fn value(metrics: &crate::Metrics, name: &str) -> Option<Value> {
    let number = metrics.values.get(name).map(|value| Value::Number(*value));
    number.or_else(|| {
        metrics
            .series
            .get(name)
            .map(|points| Value::Curve(points.clone()))
    })
}

impl value::Data for Seen<'_> {
    fn measure(&self, run: usize, name: &str) -> Option<Value> {
        value(self.runs[run]?, name)
    }

    fn step(&self, step: &str, name: &str) -> Option<Value> {
        value(self.done.step(step)?, name)
    }
}

/// Lines of a file as one: where a text breaks is the file's.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn citation(file: &File, source: &Source) -> Result<Citation, Problem> {
    let at = keep(one_line(&file.source.at));
    if let Some(cite) = &file.source.cite {
        let short = file.source.short.as_deref().unwrap_or(cite);
        return Ok(Citation::of(
            papers::Paper {
                key: "",
                short: keep(short),
                citation: keep(one_line(cite)),
                note: "",
            },
            at,
        ));
    }
    let Some(paper) = &file.source.paper else {
        return Ok(Citation::ours(at));
    };
    match papers::find(paper.get_ref()) {
        Some(paper) => Ok(Citation::of(paper, at)),
        None => {
            let keys: Vec<String> = papers::ALL.iter().map(papers::Paper::name).collect();
            let known: Vec<&str> = keys.iter().map(String::as_str).collect();
            let problem = names::unknown("paper", paper.get_ref(), &known);
            Err(problem.at(&source.at(paper.span())))
        }
    }
}

/// A text, or `@name` for one that experiments share.
fn note(note: &schema::Text, common: &Common, source: &Source) -> Result<&'static str, Problem> {
    let Some(name) = note.get_ref().strip_prefix('@') else {
        return Ok(keep(one_line(note.get_ref())));
    };
    let place = source.at(note.span());
    let shared = common.notes.get(name);
    let shared = shared.ok_or_else(|| unshared("note", name, common.notes.keys(), &place));
    Ok(keep(one_line(shared?)))
}

fn notes(file: &File, common: &Common, source: &Source) -> Result<Vec<&'static str>, Problem> {
    file.notes.iter().map(|one| note(one, common, source)).collect()
}

fn choices(file: &File, common: &Common, source: &Source) -> Result<Vec<Choice>, Problem> {
    let of = |choice: &schema::Choice| Choice {
        what: keep(one_line(&choice.what)),
        tried: keep(one_line(&choice.tried)),
        changed: keep(one_line(&choice.changed)),
    };
    let one = |choice: &toml::Spanned<NamedOr<schema::Choice>>| match choice.get_ref() {
        NamedOr::Own(choice) => Ok(of(choice)),
        NamedOr::Named(name) => {
            let name = name.trim_start_matches('@');
            let place = source.at(choice.span());
            let found = common.choices.get(name);
            let found = found.ok_or_else(|| unshared("choice", name, common.choices.keys(), &place));
            Ok(of(found?))
        }
    };
    file.choices.iter().map(one).collect()
}

/// A name that the common file does not have.
fn unshared<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>, place: &Place) -> Problem {
    let known: Vec<&str> = known.map(String::as_str).collect();
    names::unknown(&format!("shared {what}"), name, &known).at(place)
}

fn steps(file: &File, source: &Source) -> Result<Vec<Step>, Problem> {
    let one = |name: &schema::Text| {
        let known = crate::step::all();
        let found = known.iter().find(|step| step.name == name.get_ref());
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|step| step.name).collect();
            let problem = Problem::new(format!("unknown step `{}`", name.get_ref()));
            let problem = problem.at(&source.at(name.span()));
            match nearest(name.get_ref(), names.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help(format!("steps: {}", names.join(", "))),
            }
        })
    };
    file.steps.iter().map(one).collect()
}
