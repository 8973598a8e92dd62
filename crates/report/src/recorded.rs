//! First rows of recorded tables that no other section of a run's page shows.

use paceline_fabric::table::{Cell, Table};
use paceline_lab::files::{RunData, file_of};
use serde::Serialize;

/// Number of rows shown per table.
const ROWS: usize = 20;

/// Tables with their own sections. Names of nodes stand in the picture of the network.
const DRAWN: [&str; 5] = ["blame", "collectives", "critical_path", "flow_time", "nodes"];

/// Section of a table.
#[derive(Serialize)]
pub(super) struct Section {
    name: &'static str,
    about: &'static str,
    file: String,
    head: Vec<Head>,
    rows: Vec<Vec<String>>,
    /// Number of rows left out.
    more: usize,
}

#[derive(Serialize)]
struct Head {
    name: &'static str,
    meaning: &'static str,
}

/// Returns the sections of a run's page.
pub(super) fn sections(run: &RunData) -> Vec<Section> {
    let tables = run.tables.iter();
    let own = tables.filter(|table| !table.is_empty() && !DRAWN.contains(&table.declared().name));
    own.map(section).collect()
}

fn section(table: &Table) -> Section {
    let declared = table.declared();
    let head = declared.columns.iter().map(|column| Head {
        name: column.name,
        meaning: column.meaning,
    });
    let shown = table.len().min(ROWS);
    let columns = declared.columns.len();
    let row = |row| {
        (0..columns)
            .map(|column| text(&table.cell(row, column)))
            .collect()
    };
    Section {
        name: declared.name,
        about: declared.about,
        file: file_of(declared),
        head: head.collect(),
        rows: (0..shown).map(row).collect(),
        more: table.len() - shown,
    }
}

fn text(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => "–".into(),
        Cell::Int(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Bool(true) => "yes".into(),
        Cell::Bool(false) => "no".into(),
        Cell::Text(text) => text.to_string(),
    }
}
