//! Experiments: a folder with `experiment.toml`, published values, and the outcome.
//!
//! ```text
//! experiments/hpcc-step/experiment.toml      runs and claims
//! experiments/hpcc-step/published.csv        printed values, exactly as printed
//! experiments/hpcc-step/outcome.json         the recorded outcome
//! ```
//!
//! [`read`] checks everything in advance: every name, every expression, every cell.

mod axes;
mod expect;
mod expr;
pub(crate) mod figures;
pub(crate) mod folder;
mod layout;
mod names;
mod own;
mod published;
mod runs;
pub(crate) mod save;
mod schema;
mod sizes;
mod source;
mod value;

use std::sync::Arc;

use paceline_congestion::papers;
use paceline_kernel::sorted::SortedSet;
use paceline_lab::results::Summary;
use paceline_scenario::diagnostics::{Location, Source};
use paceline_scenario::{Diagnostics, Problem, read_toml};

use crate::citation::Citation;
use crate::need::{Done, RunRequest};
use crate::panel::Panel;
use crate::{Choice, Reproduction, Step};

use expect::Criteria;
pub(crate) use layout::PanelPlan;
use names::Names;
use schema::{Common, File, NamedOr};
pub(crate) use source::Folder;
use source::one_line;
use value::Value;

/// Reads the experiment `id` from its folder.
///
/// # Errors
/// All problems found in it, with their positions.
pub(crate) fn read(id: &str, source: &Source, folder: &dyn Folder) -> Result<Reproduction, Diagnostics> {
    let file: File = read_toml(source)?;
    let mut common = Common::default();
    for path in file.common.iter().flat_map(|paths| &paths.get_ref().0) {
        let location = source.at(file.common.as_ref().map_or(0..0, toml::Spanned::span));
        let missing = || Problem::new(format!("there is no file `{path}`")).at(&location);
        common.add(read_toml(&folder.text(path).ok_or_else(missing)?)?);
    }
    // Names first, since criteria and panels refer to axes; measures last, since only panels tell which are needed.
    let (names, mut needs) = runs::read(&file, &common, source, folder)?;
    let criteria = Criteria::of(&file, &common, source)?;
    let plans = layout::read(&file, &names, &criteria, source, folder)?;
    take_measures(&plans, &names, &mut needs);
    let figures = figures::read(&file.figure, &names, &mut needs, source)?;
    let notes = file.notes.iter().map(|one| note(one, &common, source));
    Ok(Reproduction {
        id: id.to_string(),
        title: file.title.clone(),
        source: citation(&file, source)?,
        setting: note(&file.about, &common, source)?,
        notes: notes.collect::<Result<_, Problem>>()?,
        choices: choices(&file, &common, source)?,
        steps: steps(&file, source)?,
        figures,
        needs,
        plans,
    })
}

/// Requests the summary values that the tables need from the runs.
fn take_measures(plans: &[PanelPlan], names: &Names, requests: &mut [RunRequest]) {
    for expression in plans.iter().flat_map(PanelPlan::expressions) {
        expression.measures(&mut |leaf| {
            for run in leaf.runs.iter().flatten().cloned().flatten() {
                let of = |grid: &&names::Grid| grid.runs.iter().flatten().any(|runs| runs.contains(&run));
                let grid = names.grids.iter().find(of);
                if let Some(own) = grid.and_then(|grid| grid.own.get(&leaf.measure)) {
                    let asked = &mut requests[run].questions;
                    if !asked.contains(&own.question) {
                        asked.push(Arc::clone(&own.question));
                    }
                    continue;
                }
                // A set extracts all of its measures at once; only others come from the run's summary.
                let set = grid.and_then(|grid| grid.set);
                let in_set = set.is_some_and(|set| set.find(&leaf.measure).is_some());
                let taken = &mut requests[run].summary;
                if !in_set && !taken.contains(&leaf.measure) {
                    taken.push(leaf.measure.clone());
                }
            }
        });
    }
}

impl Reproduction {
    /// Returns the rows of the first table for a run's scheme, as `metric, unit`, with the published value and the
    /// run's.
    pub(crate) fn beside(&self, run: &Summary) -> Vec<(String, f64, Option<f64>)> {
        let all = Whole(paceline_lab::sweep::metrics(run));
        let first = self.plans.first();
        first.map_or_else(Vec::new, |plan| plan.beside(&run.scheme, &all))
    }

    /// Returns its tables: published values, and ours as far as `done` has them.
    pub fn panels(&self, done: &Done) -> Vec<Panel> {
        let seen = self.seen(done);
        self.plans.iter().map(|plan| plan.panel(&seen)).collect()
    }

    /// Returns the tables with wanted rows, given as panel and row, with our values only in these.
    pub(crate) fn rows(&self, done: &Done, wanted: &SortedSet<(usize, usize)>) -> Vec<(usize, Panel)> {
        let seen = self.seen(done);
        let plans = self.plans.iter().enumerate();
        let plans = plans.filter(|(index, _)| wanted.range((*index, 0)..(*index + 1, 0)).next().is_some());
        plans
            .map(|(index, plan)| (index, plan.rows(&seen, &|row| wanted.contains(&(index, row)))))
            .collect()
    }

    fn seen<'a>(&self, done: &'a Done) -> Outcomes<'a> {
        Outcomes {
            done,
            runs: self.needs.iter().map(|need| done.numbers(need)).collect(),
        }
    }
}

/// Outcomes of the runs, in the order of the requests.
struct Outcomes<'a> {
    done: &'a Done,
    runs: Vec<Option<&'a crate::Metrics>>,
}

/// Values of a summary, used for every run.
struct Whole(Vec<(String, f64)>);

impl value::Data for Whole {
    fn measure(&self, _: usize, name: &str) -> Option<Value> {
        let found = self.0.iter().find(|(known, _)| known == name)?;
        Some(Value::Number(found.1))
    }
}

fn value(metrics: &crate::Metrics, name: &str) -> Option<Value> {
    let number = metrics.values.get(name).map(|value| Value::Number(*value));
    number.or_else(|| Some(Value::Curve(metrics.series.get(name)?.clone())))
}

impl value::Data for Outcomes<'_> {
    fn measure(&self, run: usize, name: &str) -> Option<Value> {
        value(self.runs[run]?, name)
    }

    fn step(&self, step: &str, name: &str) -> Option<Value> {
        value(self.done.step(step)?, name)
    }
}

fn citation(file: &File, source: &Source) -> Result<Citation, Problem> {
    let (short, whole) = match (&file.source.cite, &file.source.paper) {
        (Some(cite), _) => {
            let short = file.source.short.as_ref().unwrap_or(cite);
            (short.clone(), one_line(cite))
        }
        (None, None) => ("ours".to_string(), String::new()),
        (None, Some(name)) => {
            let paper = papers::find(name.get_ref()).ok_or_else(|| {
                let keys: Vec<String> = papers::ALL.iter().map(papers::Paper::name).collect();
                let known: Vec<&str> = keys.iter().map(String::as_str).collect();
                names::unknown("paper", name.get_ref(), &known).at(&source.at(name.span()))
            })?;
            (paper.short.to_string(), paper.citation.to_string())
        }
    };
    let at = one_line(&file.source.at);
    Ok(Citation { short, whole, at })
}

/// Returns a note's text; `@name` refers to one that experiments share.
fn note(note: &schema::Text, common: &Common, source: &Source) -> Result<String, Problem> {
    let Some(name) = note.get_ref().strip_prefix('@') else {
        return Ok(one_line(note.get_ref()));
    };
    let location = source.at(note.span());
    let shared = common.notes.get(name);
    let shared = shared.ok_or_else(|| unshared("note", name, common.notes.keys(), &location));
    Ok(one_line(shared?))
}

fn choices(file: &File, common: &Common, source: &Source) -> Result<Vec<Choice>, Problem> {
    let one = |choice: &toml::Spanned<NamedOr<Choice>>| {
        let choice = match choice.get_ref() {
            NamedOr::Own(choice) => choice,
            NamedOr::Named(name) => {
                let name = name.trim_start_matches('@');
                let location = source.at(choice.span());
                let found = common.choices.get(name);
                found.ok_or_else(|| unshared("choice", name, common.choices.keys(), &location))?
            }
        };
        Ok(Choice {
            what: one_line(&choice.what),
            tried: one_line(&choice.tried),
            changed: one_line(&choice.changed),
        })
    };
    file.choices.iter().map(one).collect()
}

/// Returns the problem of a name that the common file does not have.
fn unshared<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
    location: &Location,
) -> Problem {
    let known: Vec<&str> = known.map(String::as_str).collect();
    names::unknown(&format!("shared {what}"), name, &known).at(location)
}

fn steps(file: &File, source: &Source) -> Result<Vec<Step>, Problem> {
    let one = |name: &schema::Text| {
        crate::steps::named(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = crate::steps::all().map(|step| step.name).collect();
            names::unknown("step", name.get_ref(), &known).at(&source.at(name.span()))
        })
    };
    file.steps.iter().map(one).collect()
}
