//! Tables, claims and charts: every cell with its expression, its published value and its criterion.

mod charts;
mod lines;

use paceline_kernel::sorted::SortedMap;
use paceline_scenario::diagnostics::{Location, Source};
use paceline_scenario::{Diagnostics, Problem};
use toml::Spanned;

use super::expect::{At, Criteria};
use super::expr::read as read_expression;
use super::names::{Bound, Names, Scope};
use super::published::Published;
use super::schema::{self, Claim, File, Many, NamedOr, Table, Text};
use super::source::Folder;
use super::value::{Data, Expr};
use crate::criterion::{Cell, Criterion};
use crate::panel::{Column, Panel, Row};

/// Panel without our values, and the expressions for them.
#[derive(Clone, Debug)]
pub(crate) struct PanelPlan {
    panel: Panel,
    cells: Vec<Vec<Expr>>,
    /// Expressions in the order of the drawing's curves; `None` for published ones.
    curves: Vec<Option<Expr>>,
}

impl PanelPlan {
    /// Returns every expression in the panel.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.cells.iter().flatten().chain(self.curves.iter().flatten())
    }

    /// Returns the rows of a scheme's column, in the first column's order: name, published value and our value.
    pub(super) fn beside(&self, scheme: &str, data: &dyn Data) -> Vec<(String, f64, Option<f64>)> {
        let Some(column) = self
            .panel
            .columns
            .iter()
            .position(|column| column.scheme == scheme)
        else {
            return Vec::new();
        };
        let rows = self.panel.rows.iter().zip(&self.panel.cells).zip(&self.cells);
        rows.filter_map(|((row, cells), expressions)| {
            Some((row.name(), cells[column].paper?, expressions[0].number(data)))
        })
        .collect()
    }

    /// Returns the panel with our values in some rows, and without curves.
    pub(super) fn rows(&self, data: &dyn Data, wanted: &dyn Fn(usize) -> bool) -> Panel {
        let mut panel = self.panel.clone();
        let rows = panel.cells.iter_mut().zip(&self.cells).enumerate();
        for (_, (cells, expressions)) in rows.filter(|(row, _)| wanted(*row)) {
            for (cell, expression) in cells.iter_mut().zip(expressions) {
                cell.ours = expression.number(data);
            }
        }
        panel
    }

    /// Returns the panel with our values.
    pub(super) fn panel(&self, data: &dyn Data) -> Panel {
        let mut panel = self.rows(data, &|_| true);
        let curves = panel.drawing.iter_mut().flat_map(|drawing| &mut drawing.curves);
        for (curve, expression) in curves.zip(&self.curves) {
            if let Some(expression) = expression {
                curve.points = expression.curve(data);
            }
        }
        panel
    }
}

/// Reads all panels: charts, tables, claims.
pub(super) fn read(
    file: &File,
    names: &Names,
    criteria: &Criteria,
    source: &Source,
    folder: &dyn Folder,
) -> Result<Vec<PanelPlan>, Diagnostics> {
    for (name, part) in &file.define {
        let location = source.at(part.span());
        if names.axes.iter().any(|axis| axis.name == *name) {
            return Err(Problem::new(format!("`{name}` is an axis, too"))
                .at(&location)
                .into());
        }
        // A definition without a use is most likely misspelt where it should be used.
        if !source.text().contains(&format!("{{{name}}}")) {
            let text = format!("no expression has `{{{name}}}`");
            return Err(Problem::new(text).at(&location).into());
        }
    }
    let layout = Layout {
        define: &file.define,
        names,
        criteria,
        source,
        folder,
        claims_title: file.claims_title.as_deref().unwrap_or("Claims"),
    };
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    // Goes on after a mistake, so that one attempt shows those of all charts, tables and claims.
    let mut add = |found: Result<Vec<PanelPlan>, Problem>| match found {
        Ok(found) => plans.extend(found),
        Err(problem) => problems.push(problem),
    };
    file.chart.iter().for_each(|chart| add(layout.chart(chart)));
    file.table.iter().for_each(|table| add(layout.table(table)));
    for claims in file.claim.chunk_by(|a, b| a.is_with(b)) {
        add(layout.claims(claims));
    }
    match Diagnostics::of(problems) {
        Some(diagnostics) => Err(diagnostics),
        None => Ok(plans),
    }
}

impl Claim {
    /// Returns true if another claim is in the same table.
    fn is_with(&self, other: &Self) -> bool {
        let each = |claim: &Self| claim.each.as_ref().map(|each| each.get_ref().0.clone());
        self.title == other.title && each(self) == each(other)
    }
}

struct Layout<'a> {
    define: &'a SortedMap<String, Text>,
    names: &'a Names,
    criteria: &'a Criteria,
    claims_title: &'a str,
    source: &'a Source,
    folder: &'a dyn Folder,
}

/// Column during the layout of a table.
struct ColumnOf<'a> {
    column: Column,
    value: Option<&'a Text>,
    bound: Bound,
}

/// Row during the layout of a table.
struct RowOf<'a> {
    row: Row,
    value: Option<(String, Location)>,
    bound: Bound,
    written: Option<&'a schema::Row>,
}

/// Row and column of a cell, and its cases.
#[derive(Clone, Copy)]
struct CellPosition<'a> {
    row: &'a RowOf<'a>,
    column: &'a ColumnOf<'a>,
    /// Index of the column among those that are shown.
    index: usize,
    bound: &'a Bound,
}

impl Layout<'_> {
    fn grid(&self, runs: &Option<Text>) -> Result<usize, Problem> {
        match runs {
            Some(name) => self.names.grid(name.get_ref(), &self.source.at(name.span())),
            None => Ok(0),
        }
    }

    /// Returns the combinations of the cases of some axes, except those for which a grid has no runs.
    fn each(&self, each: &Option<Spanned<Many<String>>>, grid: usize) -> Result<Vec<Bound>, Problem> {
        let Some(each) = each else {
            return Ok(vec![Bound::new()]);
        };
        let location = self.source.at(each.span());
        let axes: Result<Vec<usize>, Problem> = each
            .get_ref()
            .0
            .iter()
            .map(|axis| self.names.axis(axis, &location))
            .collect();
        let mut all = self.names.combinations(&axes?)?;
        all.retain(|bound| self.is_run(grid, bound, &Bound::new()));
        Ok(all)
    }

    fn bound(&self, at: &SortedMap<String, Text>) -> Result<Bound, Problem> {
        let one = |(axis, case): (&String, &Text)| {
            let location = self.source.at(case.span());
            let axis = self.names.axis(axis, &location)?;
            Ok((axis, self.names.case(axis, case.get_ref(), &location)?))
        };
        at.iter().map(one).collect()
    }

    fn expression(&self, text: &str, location: &Location, scope: Scope<'_>) -> Result<Expr, Problem> {
        // The brackets keep a definition together: `a - {b}` must subtract all of `b`.
        let whole = self.define.iter().fold(text.to_string(), |text, (name, part)| {
            text.replace(&format!("{{{name}}}"), &format!("({})", part.get_ref()))
        });
        let text = self.names.fill_expression(&whole, scope.bound);
        let mut written = read_expression(&text, location)?;
        written.read_files(&mut |path, span| self.points(path, &location.part(span)))?;
        let expression = self.names.look_up(&written, scope, location)?;
        match expression.is_constant() {
            true => Err(Problem::new("this is a constant: no run can change it")
                .at(location)
                .help("name a measure, such as `fct_slowdown.p99`")),
            false => Ok(expression),
        }
    }

    /// Returns the scheme whose colour a case has: the first one named among the cases it is bound to.
    fn scheme(&self, grid: usize, bound: &Bound) -> String {
        let of_case = |(axis, case): (&usize, &usize)| self.names.axes[*axis].cases[*case].scheme.clone();
        let of_grid = || self.names.grids.get(grid).and_then(|grid| grid.scheme.clone());
        let first = || {
            let axes = self.names.axes.iter().flat_map(|axis| &axis.cases);
            axes.filter_map(|case| case.scheme.clone()).next()
        };
        let found = bound.iter().find_map(of_case).or_else(of_grid);
        found.or_else(first).unwrap_or_default()
    }

    fn table(&self, table: &Table) -> Result<Vec<PanelPlan>, Problem> {
        let grid = self.grid(&table.runs)?;
        let each = self.each(&table.each, grid)?;
        let all = self.columns(table, grid)?;
        let published = self.published(table, &all)?;
        let mut plans = Vec::new();
        let mut known: Vec<([String; 2], Bound)> = Vec::new();
        let at = self.bound(&table.at)?;
        for titled in &each {
            let mut of = titled.clone();
            of.extend(&at);
            let of = &of;
            let rows = self.rows(table, grid, of)?;
            let names = rows
                .iter()
                .map(|row| (names_of(&row.row).map(str::to_string), row.bound.clone()));
            known.extend(names);
            let is_run = |column: &&ColumnOf<'_>| {
                let of_axis = matches!(table.columns.get_ref(), NamedOr::Named(_));
                !of_axis || self.is_run(grid, of, &column.bound)
            };
            let columns: Vec<&ColumnOf<'_>> = all.iter().filter(is_run).collect();
            let mut plan = self.panel(table, Scope { grid, bound: of }, &columns, &rows, &published)?;
            plan.panel.title = self.title(&table.title, titled);
            plan.panel.told_by_title = !plan.panel.title.is_empty();
            plans.push(plan);
        }
        let rows: Vec<([&str; 2], &Bound)> = known
            .iter()
            .map(|([label, what], bound)| ([label.as_str(), what.as_str()], bound))
            .collect();
        // Only now are the rows of all tables known: a line of the file may belong to any of them.
        published.iter().try_for_each(|file| file.check(&rows))?;
        Ok(plans)
    }

    /// Returns true if a grid has runs of these cases; a column without any is left out.
    fn is_run(&self, grid: usize, of: &Bound, column: &Bound) -> bool {
        let Some(grid) = self.names.grids.get(grid) else {
            return true;
        };
        let combinations = self.names.combinations(&grid.axes).unwrap_or_default();
        let is_of = |one: &Bound| {
            of.iter()
                .chain(column)
                .all(|(axis, case)| one.get(axis).is_none_or(|known| known == case))
        };
        let mut runs = combinations.iter().zip(&grid.runs).filter(|(one, _)| is_of(one));
        runs.any(|(_, runs)| runs.is_some())
    }

    fn published(&self, table: &Table, columns: &[ColumnOf<'_>]) -> Result<Vec<Published>, Problem> {
        let Some(paths) = &table.published else {
            return Ok(Vec::new());
        };
        let location = self.source.at(paths.span());
        let columns: Vec<&str> = columns.iter().map(|column| column.column.name.as_str()).collect();
        let read = |path: &String| Published::read(&self.file(path, &location)?, self.names, &columns);
        paths.get_ref().0.iter().map(read).collect()
    }

    /// Returns a file next to the experiment.
    fn file(&self, path: &str, location: &Location) -> Result<Source, Problem> {
        let missing = || Problem::new(format!("there is no file `{path}`")).at(location);
        self.folder.text(path).ok_or_else(missing)
    }

    fn panel(
        &self,
        table: &Table,
        scope: Scope<'_>,
        columns: &[&ColumnOf<'_>],
        rows: &[RowOf<'_>],
        published: &[Published],
    ) -> Result<PanelPlan, Problem> {
        let mut expressions = Vec::new();
        let mut cells = Vec::new();
        for row in rows {
            let mut of_row = (Vec::new(), Vec::new());
            for (at_index, column) in columns.iter().enumerate() {
                let mut bound = row.bound.clone();
                bound.extend(&column.bound);
                let here = |text: &Text| (text.get_ref().clone(), self.source.at(text.span()));
                let by_column = row.written.and_then(|row| row.by_column.get(&column.column.name));
                let own = by_column.or(column.value).map(here);
                let own = own.map(|(text, at)| match &row.value {
                    Some((value, _)) => (text.replace("{value}", value), at),
                    None => (text, at),
                });
                let Some((text, at)) = own.or_else(|| row.value.clone()) else {
                    let at = self.source.at(table.columns.span());
                    return Err(Problem::new(format!(
                        "neither the column `{}` nor the row has a value",
                        column.column.name
                    ))
                    .at(&at));
                };
                of_row.0.push(self.expression(&text, &at, scope.of(&bound))?);
                let position = CellPosition {
                    row,
                    column,
                    index: at_index,
                    bound: &bound,
                };
                of_row.1.push(self.cell(table, position, published)?);
            }
            expressions.push(of_row.0);
            cells.push(of_row.1);
        }
        let drawing = match &table.chart {
            None => None,
            Some(chart) => Some(self.drawing([&chart.x, &chart.y], chart.stepped, &chart.curves, scope)?),
        };
        let (drawing, curves) =
            drawing.map_or((None, Vec::new()), |(drawing, curves)| (Some(drawing), curves));
        let panel = Panel {
            told_by_title: false,
            title: String::new(),
            head: table.head.clone(),
            columns: columns.iter().map(|column| column.column.clone()).collect(),
            rows: rows.iter().map(|row| row.row.clone()).collect(),
            cells,
            ordered: table.ordered,
            drawing,
            heat_map: table.heat_map,
            along: table.along.clone().unwrap_or_default(),
        };
        Ok(PanelPlan {
            panel,
            cells: expressions,
            curves,
        })
    }

    /// Returns the title of a table, completed by the names of its cases unless the title has them.
    fn title(&self, title: &str, of: &Bound) -> String {
        let is_filled = |axis: &usize| title.contains(&format!("{{{}}}", self.names.axes[*axis].name));
        let cases = of.iter().filter(|(axis, _)| !is_filled(axis));
        let cases: Vec<&str> = cases
            .map(|(axis, case)| self.names.axes[*axis].cases[*case].name.as_str())
            .collect();
        match (self.names.fill(title, of), cases.join(", ")) {
            (title, cases) if cases.is_empty() => title,
            (title, cases) if title.is_empty() => cases,
            (title, cases) => format!("{title}: {cases}"),
        }
    }

    fn cell(
        &self,
        table: &Table,
        position: CellPosition<'_>,
        published: &[Published],
    ) -> Result<Cell, Problem> {
        let CellPosition {
            row,
            column,
            index,
            bound,
        } = position;
        let name = row.row.name();
        let printed = row.written.and_then(|row| match row.published.0.get(index) {
            Some(toml::Value::Float(value)) => Some(*value),
            Some(toml::Value::Integer(value)) => Some(*value as f64),
            _ => None,
        });
        let (rows, mut published) = (names_of(&row.row), published.iter());
        let paper =
            printed.or_else(|| published.find_map(|file| file.value(rows, &column.column.name, bound)));
        let at = At {
            bound,
            row: &name,
            column: &column.column.name,
            x: row.row.x,
            published: paper.is_some(),
        };
        let of_row = match row.written.and_then(|row| row.expect.as_ref()) {
            Some(expect) => self.expected(expect, &at)?,
            None => None,
        };
        // The criterion of a row is narrower than that of its table.
        let criterion = match of_row {
            Some(found) => Some(found),
            None => match &table.expect {
                Some(expect) => self.expected(expect, &at)?,
                None => None,
            },
        };
        Ok(Cell {
            paper,
            ours: None,
            criterion: criterion.unwrap_or_default(),
        })
    }

    fn expected(
        &self,
        expect: &Spanned<Many<NamedOr<schema::Expect>>>,
        at: &At<'_>,
    ) -> Result<Option<Criterion>, Problem> {
        let location = self.source.at(expect.span());
        self.criteria
            .criterion(&expect.get_ref().0, self.names, at, &location)
    }
}

/// Returns the names of a row in files of published values: its label, or its metric.
fn names_of(row: &Row) -> [&str; 2] {
    [&row.label, &row.metric]
}

/// Name of the column of claims.
const OURS: &str = "ours";
