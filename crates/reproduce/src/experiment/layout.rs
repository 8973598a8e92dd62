//! Tables, claims and charts: every cell with its expression, what was printed, and its criterion.

use std::collections::BTreeMap;

use paceline_lab::measures::Measure;
use paceline_scenario::diagnostics::{Place, Source};
use paceline_scenario::{Diagnostics, Problem};
use toml::Spanned;

use super::expect::{At, Criteria};
use super::expr::{Data, Expr, read as read_expression};
use super::names::{Bound, Names, number};
use super::published::Published;
use super::schema::{self, Claim, File, Many, NamedOr, Table, Text};
use super::{Folder, keep};
use crate::criterion::{Cell, Criterion};
use crate::panel::{Along, Column, Curve, Drawing, Panel, Row};

/// A panel without ours, and where ours is from.
#[derive(Debug)]
pub(super) struct Plan {
    panel: Panel,
    cells: Vec<Vec<Expr>>,
    /// In the order of the drawing's curves; `None` for those that were published.
    curves: Vec<Option<Expr>>,
}

impl Plan {
    /// Every expression in it.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.cells.iter().flatten().chain(self.curves.iter().flatten())
    }

    /// The rows of the column of a scheme, as the first column has them: what, what was printed, and ours.
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

    /// The panel with ours.
    pub(super) fn panel(&self, data: &dyn Data) -> Panel {
        let mut panel = self.panel.clone();
        for (cells, expressions) in panel.cells.iter_mut().zip(&self.cells) {
            for (cell, expression) in cells.iter_mut().zip(expressions) {
                cell.ours = expression.number(data);
            }
        }
        let curves = panel.drawing.iter_mut().flat_map(|drawing| &mut drawing.curves);
        for (curve, expression) in curves.zip(&self.curves) {
            if let Some(expression) = expression {
                curve.points = expression.curve(data);
            }
        }
        panel
    }
}

/// All panels: charts, tables, claims.
pub(super) fn read(
    file: &File,
    names: &Names,
    criteria: &Criteria,
    (source, folder): (&Source, &dyn Folder),
) -> Result<Vec<Plan>, Diagnostics> {
    let layout = Layout {
        names,
        criteria,
        source,
        folder,
        claims_title: file.claims_title.as_deref().unwrap_or("Claims"),
    };
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    let mut add = |found: Result<Vec<Plan>, Problem>| match found {
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
    /// Whether another is in the same table.
    fn is_with(&self, other: &Self) -> bool {
        let each = |claim: &Self| claim.each.as_ref().map(|each| each.get_ref().0.clone());
        self.title == other.title && each(self) == each(other)
    }
}

struct Layout<'a> {
    names: &'a Names,
    criteria: &'a Criteria,
    claims_title: &'a str,
    source: &'a Source,
    folder: &'a dyn Folder,
}

/// A column while a table is laid out.
struct ColumnOf<'a> {
    column: Column,
    value: Option<&'a Text>,
    bound: Bound,
}

/// A row.
struct RowOf<'a> {
    row: Row,
    value: Option<(String, Place)>,
    bound: Bound,
    written: Option<&'a schema::Row>,
}

impl Layout<'_> {
    fn grid(&self, runs: &Option<Text>) -> Result<usize, Problem> {
        match runs {
            Some(name) => self.names.grid(name.get_ref(), &self.source.at(name.span())),
            None => Ok(0),
        }
    }

    /// The combinations of the cases of some axes, without those of which a grid has no runs.
    fn each(&self, each: &Option<Spanned<Many<String>>>, grid: usize) -> Result<Vec<Bound>, Problem> {
        let Some(each) = each else {
            return Ok(vec![Bound::new()]);
        };
        let place = self.source.at(each.span());
        let axes: Result<Vec<usize>, Problem> = each
            .get_ref()
            .0
            .iter()
            .map(|axis| self.names.axis(axis, &place))
            .collect();
        let mut all = self.names.combinations(&axes?);
        all.retain(|bound| self.is_run(grid, bound, &Bound::new()));
        Ok(all)
    }

    fn bound(&self, at: &BTreeMap<String, Text>) -> Result<Bound, Problem> {
        let one = |(axis, case): (&String, &Text)| {
            let place = self.source.at(case.span());
            let axis = self.names.axis(axis, &place)?;
            Ok((axis, self.names.case(axis, case.get_ref(), &place)?))
        };
        at.iter().map(one).collect()
    }

    fn expression(&self, text: &str, place: &Place, at: (usize, &Bound)) -> Result<Expr, Problem> {
        let text = self.names.fill_expression(text, at.1);
        let mut written = read_expression(&text, place)?;
        written.read_files(&mut |path, span| self.points(path, &place.part(span)))?;
        let expression = self.names.look_up(&written, at, place)?;
        match expression.is_constant() {
            true => Err(Problem::new("this is a constant: no run can change it")
                .at(place)
                .help("name a measure, such as `fct_slowdown.p99`")),
            false => Ok(expression),
        }
    }

    /// The scheme of a case, in whose colour it is: the first that is named among what it is bound to.
    fn scheme(&self, grid: usize, bound: &Bound) -> &'static str {
        let of_case = |(axis, case): (&usize, &usize)| self.names.axes[*axis].cases[*case].scheme.clone();
        let of_grid = || self.names.grids.get(grid).and_then(|grid| grid.scheme.clone());
        let first = || {
            let axes = self.names.axes.iter().flat_map(|axis| &axis.cases);
            axes.filter_map(|case| case.scheme.clone()).next()
        };
        keep(
            bound
                .iter()
                .find_map(of_case)
                .or_else(of_grid)
                .or_else(first)
                .unwrap_or_default(),
        )
    }

    fn table(&self, table: &Table) -> Result<Vec<Plan>, Problem> {
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
            let mut plan = self.panel(table, (grid, of), &columns, &rows, &published)?;
            plan.panel.title = self.title(&table.title, titled);
            plan.panel.told_by_title = !plan.panel.title.is_empty();
            plans.push(plan);
        }
        let rows: Vec<([&str; 2], &Bound)> = known
            .iter()
            .map(|([label, what], bound)| ([label.as_str(), what.as_str()], bound))
            .collect();
        published.iter().try_for_each(|file| file.check(&rows))?;
        Ok(plans)
    }

    /// Whether a grid has runs of these cases: all that are excepted leave no column.
    fn is_run(&self, grid: usize, of: &Bound, column: &Bound) -> bool {
        let Some(grid) = self.names.grids.get(grid) else {
            return true;
        };
        let combinations = self.names.combinations(&grid.axes);
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
        let place = self.source.at(paths.span());
        let columns: Vec<&str> = columns.iter().map(|column| column.column.name).collect();
        let read = |path: &String| Published::read(&self.file(path, &place)?, self.names, &columns);
        paths.get_ref().0.iter().map(read).collect()
    }

    /// A file next to the experiment.
    fn file(&self, path: &str, place: &Place) -> Result<Source, Problem> {
        let missing = || Problem::new(format!("there is no file `{path}`")).at(place);
        self.folder.text(path).ok_or_else(missing)
    }

    fn columns<'a>(&self, table: &'a Table, grid: usize) -> Result<Vec<ColumnOf<'a>>, Problem> {
        let published = |own: &Option<String>| {
            let said = own.as_ref().or(table.published_as.as_ref());
            keep(said.map_or("paper", String::as_str))
        };
        match table.columns.get_ref() {
            NamedOr::Named(axis) => {
                let axis = self.names.axis(axis, &self.source.at(table.columns.span()))?;
                let cases = self.names.axes[axis].cases.iter().enumerate();
                let one = |(place, case): (usize, &super::names::AxisCase)| {
                    let bound = Bound::from([(axis, place)]);
                    ColumnOf {
                        column: Column {
                            name: keep(case.name.as_str()),
                            scheme: self.scheme(grid, &bound),
                            published: published(&case.published_as),
                        },
                        value: None,
                        bound,
                    }
                };
                Ok(cases.map(one).collect())
            }
            NamedOr::Own(columns) => {
                let one = |column: &'a schema::Column| {
                    let bound = self.bound(&column.at)?;
                    Ok(ColumnOf {
                        column: Column {
                            name: keep(column.name.as_str()),
                            scheme: match &column.scheme {
                                Some(scheme) => keep(scheme.as_str()),
                                None => self.scheme(grid, &bound),
                            },
                            published: published(&column.published_as),
                        },
                        value: column.value.as_ref(),
                        bound,
                    })
                };
                columns.iter().map(one).collect()
            }
        }
    }

    fn rows<'a>(&self, table: &'a Table, grid: usize, of: &Bound) -> Result<Vec<RowOf<'a>>, Problem> {
        let mut rows = Vec::new();
        for written in &table.rows {
            let place = self.source.at(written.span());
            match written.get_ref() {
                NamedOr::Named(text) => {
                    let measure = self.only_measure(text, &place, grid)?;
                    let mut row = Row::quantity(keep(measure.what), keep(measure.unit), measure.digits);
                    let label = table.label.as_deref().unwrap_or_default();
                    let label = self.names.fill(label, of).replace("{what}", measure.what);
                    row.label = label.replace("{quantity}", &row.name());
                    rows.push(RowOf {
                        row,
                        value: Some((text.clone(), place)),
                        bound: of.clone(),
                        written: None,
                    });
                }
                NamedOr::Own(row) => {
                    for mut bound in self.each(&row.each, grid)? {
                        bound.extend(of);
                        bound.extend(self.bound(&row.at)?);
                        if self.is_wanted(row, &bound)? {
                            rows.push(self.row((table, row), (grid, &place), bound)?);
                        }
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Whether there is a row for these cases.
    fn is_wanted(&self, row: &schema::Row, bound: &Bound) -> Result<bool, Problem> {
        for (axis, cases) in &row.only {
            let place = self.source.at(cases.span());
            let axis = self.names.axis(axis, &place)?;
            let cases: Result<Vec<usize>, Problem> = cases
                .get_ref()
                .0
                .iter()
                .map(|case| self.names.case(axis, case, &place))
                .collect();
            let cases = cases?;
            if bound.get(&axis).is_none_or(|case| !cases.contains(case)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn row<'a>(
        &self,
        (table, row): (&Table, &'a schema::Row),
        (grid, place): (usize, &Place),
        bound: Bound,
    ) -> Result<RowOf<'a>, Problem> {
        let value = row
            .value
            .as_ref()
            .map(|text| (text.get_ref().clone(), self.source.at(text.span())));
        let measure = match &value {
            Some((text, place)) => self
                .only_measure(&self.names.fill(text, &bound), place, grid)
                .ok(),
            None => None,
        };
        let what = row
            .what
            .clone()
            .or(measure.map(|measure| measure.what.to_string()));
        let what = what.ok_or_else(|| {
            Problem::new("the row has no name")
                .at(place)
                .help("say what it is: what = \"..\"")
        })?;
        let what = self.names.fill(&what, &bound);
        let unit = row
            .unit
            .clone()
            .or(measure.map(|measure| measure.unit.to_string()))
            .unwrap_or_default();
        let unit = self.names.fill(&unit, &bound);
        let label = match (row.label.as_ref().or(table.label.as_ref()), row.each.is_some()) {
            (Some(label), _) => {
                let name = Row::quantity(keep(what.as_str()), keep(unit.as_str()), 0).name();
                let label = self.names.fill(label, &bound).replace("{what}", &what);
                label.replace("{quantity}", &name)
            }
            (None, true) => {
                let own = row.each.iter().flat_map(|each| &each.get_ref().0);
                let names: Vec<String> = own
                    .map(|axis| self.names.fill(&format!("{{{axis}}}"), &bound))
                    .collect();
                names.join(", ")
            }
            (None, false) => String::new(),
        };
        let x = self.constant(&row.x, &bound)?;
        let digits = self.constant(&row.digits, &bound)?.map(|digits| digits as usize);
        Ok(RowOf {
            row: Row {
                label,
                metric: keep(what),
                unit: keep(unit),
                decimals: digits.or(measure.map(|measure| measure.digits)).unwrap_or(3),
                x: x.or_else(|| self.number(row, &bound)),
            },
            value,
            bound,
            written: Some(row),
        })
    }

    /// The number of the only case that a row is of.
    fn number(&self, row: &schema::Row, bound: &Bound) -> Option<f64> {
        let [axis] = &row.each.as_ref()?.get_ref().0[..] else {
            return None;
        };
        let axis = self.names.axes.iter().position(|known| known.name == *axis)?;
        self.names.axes[axis].cases[*bound.get(&axis)?].number
    }

    /// A number, or a constant of the row's case.
    fn constant(
        &self,
        written: &Option<Spanned<toml::Value>>,
        bound: &Bound,
    ) -> Result<Option<f64>, Problem> {
        let Some(written) = written else { return Ok(None) };
        let known = match written.get_ref() {
            toml::Value::String(name) => self.names.constant(name, bound),
            value => number(value),
        };
        let wrong = || Problem::new("expected a number, or a constant of the row's case");
        known
            .map(Some)
            .ok_or_else(|| wrong().at(&self.source.at(written.span())))
    }

    /// What the only measure of an expression is.
    fn only_measure(&self, text: &str, place: &Place, grid: usize) -> Result<Measure, Problem> {
        use super::expr::Written;
        let written = read_expression(text, place)?;
        let Written::Name { path, .. } = &written else {
            return Err(Problem::new("the row has no name").at(place).help(
                "an expression needs a name: { value = \"..\", what = \"..\", unit = \"..\", digits = 2 }",
            ));
        };
        let named = self
            .names
            .grids
            .iter()
            .find(|grid| path.len() > 1 && grid.name == path[0]);
        let (grid, name) = match named {
            Some(grid) => (Some(grid), path[1..].join(".")),
            None => (self.names.grids.get(grid), path.join(".")),
        };
        let found = grid.and_then(|grid| grid.measure(&name));
        found.map(|(measure, _)| measure).ok_or_else(|| match grid {
            Some(grid) => grid.unknown(&name).at(place),
            None => Problem::new("there are no runs").at(place),
        })
    }

    fn panel(
        &self,
        table: &Table,
        (grid, of): (usize, &Bound),
        columns: &[&ColumnOf<'_>],
        rows: &[RowOf<'_>],
        published: &[Published],
    ) -> Result<Plan, Problem> {
        let mut expressions = Vec::new();
        let mut cells = Vec::new();
        for row in rows {
            let mut of_row = (Vec::new(), Vec::new());
            for (place, column) in columns.iter().enumerate() {
                let mut bound = row.bound.clone();
                bound.extend(&column.bound);
                let here = |text: &Text| (text.get_ref().clone(), self.source.at(text.span()));
                let by_column = row.written.and_then(|row| row.by_column.get(column.column.name));
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
                of_row.0.push(self.expression(&text, &at, (grid, &bound))?);
                of_row
                    .1
                    .push(self.cell(table, (row, column, place), &bound, published)?);
            }
            expressions.push(of_row.0);
            cells.push(of_row.1);
        }
        let drawing = match &table.chart {
            None => None,
            Some(chart) => {
                Some(self.drawing([&chart.x, &chart.y], chart.stepped, &chart.curves, (grid, of))?)
            }
        };
        let (drawing, curves) =
            drawing.map_or((None, Vec::new()), |(drawing, curves)| (Some(drawing), curves));
        let along = table.along.as_ref().map_or(Along::SIZES, |along| Along {
            label: keep(along.label.as_str()),
            unit: keep(along.unit.as_str()),
            log: along.log,
        });
        let panel = Panel {
            told_by_title: false,
            title: String::new(),
            head: keep(table.head.as_str()),
            columns: columns.iter().map(|column| column.column).collect(),
            rows: rows.iter().map(|row| row.row.clone()).collect(),
            cells,
            ordered: table.ordered,
            drawing,
            heat_map: table.heat_map,
            along,
        };
        Ok(Plan {
            panel,
            cells: expressions,
            curves,
        })
    }

    /// The title of a table: with the names of its cases where it says none.
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
        (row, column, place): (&RowOf<'_>, &ColumnOf<'_>, usize),
        bound: &Bound,
        published: &[Published],
    ) -> Result<Cell, Problem> {
        let name = row.row.name();
        let printed = row.written.and_then(|row| match row.published.0.get(place) {
            Some(toml::Value::Float(value)) => Some(*value),
            Some(toml::Value::Integer(value)) => Some(*value as f64),
            _ => None,
        });
        let (rows, mut published) = (names_of(&row.row), published.iter());
        let paper =
            printed.or_else(|| published.find_map(|file| file.value(rows, column.column.name, bound)));
        let at = At {
            bound,
            row: &name,
            column: column.column.name,
            x: row.row.x,
            published: paper.is_some(),
        };
        let of_row = match row.written.and_then(|row| row.expect.as_ref()) {
            Some(expect) => self.expected(expect, &at)?,
            None => None,
        };
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
            criterion: criterion.unwrap_or(Criterion::SHOWN),
        })
    }

    fn expected(
        &self,
        expect: &Spanned<Many<NamedOr<schema::Expect>>>,
        at: &At<'_>,
    ) -> Result<Option<Criterion>, Problem> {
        let place = self.source.at(expect.span());
        self.criteria
            .criterion(&expect.get_ref().0, self.names, at, &place)
    }

    /// Claims of one title, one table for each combination of the cases that they are for.
    fn claims(&self, claims: &[Claim]) -> Result<Vec<Plan>, Problem> {
        let of_each = |of: &Bound| {
            let mut rows = Vec::new();
            let mut cells = Vec::new();
            let mut expressions = Vec::new();
            for claim in claims {
                let grid = self.grid(&claim.runs)?;
                let what = self.names.fill(&claim.what, of);
                let place = self.source.at(claim.expr.span());
                expressions.push(vec![self.expression(claim.expr.get_ref(), &place, (grid, of))?]);
                let criterion = match &claim.expect {
                    Some(expect) => {
                        let at = At {
                            bound: of,
                            row: &what,
                            column: OURS,
                            x: None,
                            published: claim.published.is_some(),
                        };
                        self.expected(expect, &at)?
                    }
                    None => None,
                };
                cells.push(vec![Cell {
                    paper: claim.published,
                    ours: None,
                    criterion: criterion.unwrap_or(Criterion::SHOWN),
                }]);
                rows.push(Row {
                    label: claim
                        .label
                        .as_ref()
                        .map_or_else(String::new, |label| self.names.fill(label, of)),
                    ..Row::quantity(keep(what), keep(claim.unit.as_str()), claim.digits.unwrap_or(3))
                });
            }
            let column = Column {
                name: OURS,
                scheme: self.scheme(self.grid(&claims[0].runs)?, of),
                published: keep(claims[0].published_as.as_deref().unwrap_or("paper")),
            };
            let title = claims[0].title.as_deref().unwrap_or(self.claims_title);
            let panel = Panel {
                cells,
                told_by_title: true,
                ..Panel::of(self.title(title, of), "", vec![column], Vec::new(), |_, _| {
                    unreachable!("no rows")
                })
            };
            Ok(Plan {
                panel: Panel { rows, ..panel },
                cells: expressions,
                curves: Vec::new(),
            })
        };
        let grid = self.grid(&claims[0].runs)?;
        self.each(&claims[0].each, grid)?.iter().map(of_each).collect()
    }

    fn chart(&self, chart: &schema::Chart) -> Result<Vec<Plan>, Problem> {
        let grid = self.grid(&chart.runs)?;
        let of_each = |of: &Bound| {
            let (drawing, curves) =
                self.drawing([&chart.x, &chart.y], chart.stepped, &chart.curves, (grid, of))?;
            Ok(Plan {
                panel: Panel::drawn(self.title(&chart.title, of), drawing),
                cells: Vec::new(),
                curves,
            })
        };
        self.each(&chart.each, grid)?.iter().map(of_each).collect()
    }

    fn drawing(
        &self,
        [x, y]: [&[String; 2]; 2],
        stepped: bool,
        curves: &[schema::Curve],
        (grid, of): (usize, &Bound),
    ) -> Result<(Drawing, Vec<Option<Expr>>), Problem> {
        let mut drawn = Vec::new();
        let mut expressions = Vec::new();
        for curve in curves {
            for mut bound in self.each(&curve.each, grid)? {
                bound.extend(of);
                bound.extend(self.bound(&curve.at)?);
                let points = match &curve.published {
                    Some(path) => self.points(path.get_ref(), &self.source.at(path.span()))?,
                    None => Vec::new(),
                };
                drawn.push(Curve {
                    name: self.names.fill(&curve.name, &bound),
                    scheme: match &curve.scheme {
                        Some(scheme) => keep(scheme.as_str()),
                        None => self.scheme(grid, &bound),
                    },
                    published: curve.dashed || curve.published.is_some(),
                    points,
                });
                let expression = curve.value.as_ref().map(|text| {
                    let place = self.source.at(text.span());
                    self.expression(text.get_ref(), &place, (grid, &bound))
                });
                expressions.push(expression.transpose()?);
            }
        }
        let pair = |[label, unit]: &[String; 2]| (keep(label.as_str()), keep(unit.as_str()));
        let drawing = Drawing {
            x: pair(x),
            y: pair(y),
            curves: drawn,
            stepped,
        };
        Ok((drawing, expressions))
    }

    /// Places and values of a curve that was published.
    fn points(&self, path: &str, place: &Place) -> Result<Vec<(f64, f64)>, Problem> {
        let file = self.file(path, place)?;
        let point = |line: &str| {
            let (x, y) = line.split_once(',')?;
            Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
        };
        let lines = file.text().lines().skip(1).filter(|line| !line.trim().is_empty());
        let points: Option<Vec<(f64, f64)>> = lines.map(point).collect();
        points.ok_or_else(|| {
            let text = format!("`{path}` has a line that is not a place and a value");
            Problem::new(text).at(place)
        })
    }
}

/// What lines of printed values may call a row: by its label, or what it is.
fn names_of(row: &Row) -> [&str; 2] {
    [&row.label, row.metric]
}

/// The column of claims.
const OURS: &str = "ours";
