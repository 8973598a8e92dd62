//! Reproduction of a published table or figure.

use serde_json::Value;

use crate::choice::Choice;
use crate::citation::Citation;
use crate::experiment::PanelPlan;
use crate::experiment::figures::FigurePlan;
use crate::need::{Done, RunRequest};
use crate::panel::{Panel, Record};
use crate::step::Step;

/// Published table or figure, with the runs and steps that reproduce it: an experiment.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Name on the command line.
    pub id: String,
    /// Title of the table or figure.
    pub title: String,
    /// Publication and position in it.
    pub source: Citation,
    /// Description of the runs and of the measurement.
    pub setting: String,
    /// Known differences from the publication, with reasons.
    pub notes: Vec<String>,
    /// Complete list of choices made after results were known, in any part of the program. Empty if there were none.
    pub choices: Vec<Choice>,
    /// Steps that compute further numbers from runs.
    pub steps: Vec<Step>,
    /// Figures that `paceline plot` would draw of its runs.
    pub figures: Vec<FigurePlan>,
    pub(crate) needs: Vec<RunRequest>,
    pub(crate) plans: Vec<PanelPlan>,
}

impl Reproduction {
    /// Returns the runs that it needs.
    pub fn needs(&self) -> &[RunRequest] {
        &self.needs
    }

    /// Lists the cells in which our value is not finite.
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

    /// Returns its values and orderings as a list.
    pub fn records(&self, done: &Done) -> Vec<Record> {
        let panels = self.panels(done);
        panels.iter().flat_map(|panel| panel.records(&self.id)).collect()
    }
}

/// Returns the list for programs: values, orderings and choices of each reproduction.
pub fn entries(chosen: &[&Reproduction], done: &Done) -> Vec<Value> {
    let of = |one: &&Reproduction| {
        let records = one.records(done).into_iter();
        let records = records.map(|record| serde_json::to_value(record).unwrap_or_default());
        let choices = one.choices.iter().map(|choice| choice.entry(&one.id));
        records.chain(choices).collect::<Vec<Value>>()
    };
    chosen.iter().flat_map(of).collect()
}

/// Returns the values and orderings of several reproductions in one list.
pub fn records(chosen: &[&Reproduction], done: &Done) -> Vec<Record> {
    chosen.iter().flat_map(|one| one.records(done)).collect()
}
