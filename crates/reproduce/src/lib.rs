//! Published tables and figures, ours alongside them.
//!
//! A [`Reproduction`] says where numbers were printed, which runs give ours, and how close is close
//! enough. [`Plan`] makes the list of runs that several reproductions need, each once; [`Done`] is
//! what came of them; [`Reproduction::panels`] puts both side by side, judged. Rendered they are by
//! [`text()`] for a terminal, [`records`] for programs, and [`write()`] as a page with the runs' folders.

mod beside;
mod catalog;
mod choice;
mod citation;
mod count;
mod criterion;
mod experiment;
mod markdown;
mod mutations;
mod need;
mod outcomes;
mod page;
mod panel;
mod reference;
mod resume;
mod step;
mod steps;
mod text;
mod write;

use serde_json::Value;

pub use beside::{beside_thesis_table6, in_thesis_table6};
pub use choice::Choice;
pub use citation::Citation;
pub use count::{Count, Counts};
pub use criterion::{Cell, Criterion, Evidence, Source, Tolerance};
pub use experiment::{Checked, begin, check, read_folder, record, save_experiment, template};
pub use markdown::markdown;
pub use mutations::{Mutation, faults, is_of, ticks_of_unfinished, undetected};
pub use need::{Done, DoneRun, Input, Metrics, NotRun, Plan, RunRequest, run_each};
pub use outcomes::{Kept, Outcomes};
pub use panel::{Column, Curve, Drawing, Ordering, Panel, Record, Row};
pub use reference::Reference;
pub use resume::{ResumeError, Unfinished, is_unfinished};
pub use step::{Keeps, Step, StepError, Work, run_steps};
pub use text::text;
pub use write::write;

/// A published table or figure, and how we come by its numbers: an experiment.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Its name on the command line.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The publication, and where in it.
    pub source: Citation,
    /// What is run and how it is measured.
    pub setting: String,
    /// Where ours is known to differ, and why.
    pub notes: Vec<String>,
    /// What was chosen after results had been seen: everything, wherever in the program it is. Empty where nothing was.
    pub choices: Vec<Choice>,
    /// What is done with runs before there are numbers.
    pub steps: Vec<Step>,
    needs: Vec<RunRequest>,
    plans: Vec<experiment::PanelPlan>,
}

/// The experiments that ship.
pub fn registry() -> impl Iterator<Item = &'static Reproduction> {
    catalog::all().map(catalog::BuiltIn::experiment)
}

/// The names of those that ship.
pub fn names() -> impl Iterator<Item = &'static str> {
    catalog::all().map(|one| one.id)
}

/// The one of this name; no other is read.
pub fn find(id: &str) -> Option<&'static Reproduction> {
    let found = catalog::all().find(|one| one.id == id);
    found.map(catalog::BuiltIn::experiment)
}

impl Reproduction {
    /// The runs that it needs.
    pub fn needs(&self) -> &[RunRequest] {
        &self.needs
    }

    /// Cells of ours that are no finite numbers.
    pub fn undefined(&self, done: &Done) -> Vec<String> {
        let panels = self.panels(done);
        let of = |panel: &Panel| {
            let rows = panel.rows.iter().zip(&panel.cells);
            let cells = rows.flat_map(|(row, cells)| {
                let columns = panel.columns.iter().zip(cells);
                let bad = columns.filter(|(_, cell)| cell.ours.is_some_and(|ours| !ours.is_finite()));
                bad.map(|(column, _)| format!("{}, {}", row.name(), column.name))
            });
            cells.collect::<Vec<String>>()
        };
        panels.iter().flat_map(of).collect()
    }

    /// Its values and orderings in a list.
    pub fn records(&self, done: &Done) -> Vec<Record> {
        let panels = self.panels(done);
        panels.iter().flat_map(|panel| panel.records(&self.id)).collect()
    }
}

/// The list for programs: of each its values and orderings, then its choices.
pub fn entries(chosen: &[&Reproduction], done: &Done) -> Vec<Value> {
    let of = |one: &&Reproduction| {
        let records = one.records(done).into_iter();
        let records = records.map(|record| serde_json::to_value(record).unwrap_or_default());
        let choices = one.choices.iter().map(|choice| choice.entry(&one.id));
        records.chain(choices).collect::<Vec<Value>>()
    };
    chosen.iter().flat_map(of).collect()
}

/// The values and orderings of several in one list.
pub fn records(chosen: &[&Reproduction], done: &Done) -> Vec<Record> {
    chosen.iter().flat_map(|one| one.records(done)).collect()
}
