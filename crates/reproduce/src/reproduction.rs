//! A published table or figure, and how we come by its numbers.

use serde_json::Value;

use crate::choice::Choice;
use crate::citation::Citation;
use crate::experiment::PanelPlan;
use crate::need::{Done, RunRequest};
use crate::panel::{Panel, Record};
use crate::step::Step;

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
    pub(crate) needs: Vec<RunRequest>,
    pub(crate) plans: Vec<PanelPlan>,
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
