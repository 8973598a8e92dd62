//! Published values: a CSV file with a line per row of the table, or per cell.
//!
//! The first columns identify the row of a line: `row` by its name, an axis by its case. Every other column is one of
//! the table's, by its name. An empty cell was not published.

use paceline_kernel::sorted::SortedMap;
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Location, Source};

use super::names::{Bound, Names, unknown};

/// Published values of a table.
#[derive(Debug, Default)]
pub(super) struct Published {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    row: Option<String>,
    bound: Bound,
    values: SortedMap<String, f64>,
    location: Location,
}

/// Content of a column in the file.
enum Head {
    Row,
    Axis(usize),
    Column(String),
}

impl Published {
    /// Reads a file for a table with these columns.
    pub(super) fn read(source: &Source, names: &Names, columns: &[&str]) -> Result<Self, Problem> {
        let mut cells = cells(source);
        if cells.is_empty() {
            return Err(Problem::new("the file has no lines").at(&source.end()));
        }
        let head = |(text, location): (String, Location)| {
            if text == "row" {
                return Ok(Head::Row);
            }
            if let Some(axis) = names.axes.iter().position(|axis| axis.name == text) {
                return Ok(Head::Axis(axis));
            }
            match columns.contains(&text.as_str()) {
                true => Ok(Head::Column(text)),
                false => {
                    let mut known = columns.to_vec();
                    known.push("row");
                    known.extend(names.axes.iter().map(|axis| axis.name.as_str()));
                    Err(unknown("column", &text, &known).at(&location))
                }
            }
        };
        let heads: Result<Vec<Head>, Problem> = cells.remove(0).into_iter().map(head).collect();
        let heads = heads?;
        let lines: Result<Vec<Line>, Problem> = cells
            .into_iter()
            .map(|line| Line::read(line, &heads, names))
            .collect();
        Ok(Self { lines: lines? })
    }

    /// Returns the published value of a cell.
    pub(super) fn value(&self, [label, what]: [&str; 2], column: &str, bound: &Bound) -> Option<f64> {
        let of = |name: &str| self.lines.iter().find(|line| line.is_of(name, bound));
        let line = of(label).filter(|_| !label.is_empty()).or_else(|| of(what))?;
        line.values.get(column).copied()
    }

    /// Reports the first line that belongs to none of these rows.
    pub(super) fn check(&self, rows: &[([&str; 2], &Bound)]) -> Result<(), Problem> {
        let stray = self.lines.iter().find(|line| {
            !rows
                .iter()
                .any(|(names, bound)| names.iter().any(|name| line.is_of(name, bound)))
        });
        let Some(line) = stray else { return Ok(()) };
        let mut known: Vec<&str> = rows
            .iter()
            .flat_map(|(names, _)| *names)
            .filter(|name| !name.is_empty())
            .collect();
        known.dedup();
        let name = line.row.as_deref().unwrap_or_default();
        Err(unknown("row", name, &known).at(&line.location))
    }
}

impl Line {
    fn read(cells: Vec<(String, Location)>, heads: &[Head], names: &Names) -> Result<Self, Problem> {
        let location = cells[0].1.clone();
        if cells.len() != heads.len() {
            let text = format!(
                "the line has {} cells, the first line {}",
                cells.len(),
                heads.len()
            );
            return Err(Problem::new(text).at(&location));
        }
        let mut line = Self {
            row: None,
            bound: Bound::new(),
            values: SortedMap::new(),
            location,
        };
        for ((text, location), head) in cells.into_iter().zip(heads) {
            match head {
                Head::Row => line.row = Some(text),
                Head::Axis(axis) => {
                    let case = names.case(*axis, &text, &location)?;
                    line.bound.insert(*axis, case);
                }
                // An empty cell means that nothing was published there.
                Head::Column(_) if text.is_empty() => {}
                Head::Column(column) => {
                    let number: Result<f64, _> = text.replace('_', "").parse();
                    let number = number
                        .map_err(|_| Problem::new(format!("`{text}` is not a number")).at(&location))?;
                    line.values.insert(column.clone(), number);
                }
            }
        }
        Ok(line)
    }

    fn is_of(&self, row: &str, bound: &Bound) -> bool {
        let named = self.row.as_deref().is_none_or(|name| row == name);
        named
            && self
                .bound
                .iter()
                .all(|(axis, case)| bound.get(axis) == Some(case))
    }
}

/// Returns the cells of each line, with their positions.
pub(super) fn cells(source: &Source) -> Vec<Vec<(String, Location)>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        if !content.trim().is_empty() {
            lines.push(split(content, start, source));
        }
        start += line.len();
    }
    lines
}

/// Splits a line into cells; a cell in double quotes may have commas.
fn split(line: &str, start: usize, source: &Source) -> Vec<(String, Location)> {
    let mut cells = Vec::new();
    let (mut from, mut quoted) = (0, false);
    // The comma at the end closes the last cell, even after an unclosed quote.
    for (at, letter) in line.char_indices().chain([(line.len(), ',')]) {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted || at == line.len() => {
                let text = line[from..at].trim();
                let text = text
                    .strip_prefix('"')
                    .and_then(|text| text.strip_suffix('"'))
                    .unwrap_or(text);
                // Two quotes within a quoted cell stand for one (RFC 4180).
                cells.push((text.replace("\"\"", "\""), source.at(start + from..start + at)));
                from = at + 1;
            }
            _ => {}
        }
    }
    cells
}
