//! Layout of a table's columns and rows.

use paceline_lab::measures::Measure;
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::Location;
use toml::Spanned;

use super::super::expr::{Written, read as read_expression};
use super::super::names::{AxisCase, Bound, number};
use super::super::schema::{self, NamedOr, Table};
use super::{ColumnOf, Layout, RowOf};
use crate::panel::{Column, Row};

impl Layout<'_> {
    pub(super) fn columns<'a>(&self, table: &'a Table, grid: usize) -> Result<Vec<ColumnOf<'a>>, Problem> {
        let published = |own: &Option<String>| {
            let said = own.as_ref().or(table.published_as.as_ref());
            said.map_or("paper", String::as_str).to_string()
        };
        match table.columns.get_ref() {
            NamedOr::Named(axis) => {
                let axis = self.names.axis(axis, &self.source.at(table.columns.span()))?;
                let cases = self.names.axes[axis].cases.iter().enumerate();
                let one = |(index, case): (usize, &AxisCase)| {
                    let bound = Bound::from([(axis, index)]);
                    ColumnOf {
                        column: Column {
                            name: case.name.clone(),
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
                            name: column.name.clone(),
                            scheme: (column.scheme.clone()).unwrap_or_else(|| self.scheme(grid, &bound)),
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

    pub(super) fn rows<'a>(
        &self,
        table: &'a Table,
        grid: usize,
        of: &Bound,
    ) -> Result<Vec<RowOf<'a>>, Problem> {
        let mut rows = Vec::new();
        for written in &table.rows {
            let location = self.source.at(written.span());
            match written.get_ref() {
                NamedOr::Named(text) => {
                    let measure = self.only_measure(text, &location, grid)?;
                    let mut row = Row {
                        label: String::new(),
                        metric: measure.what.to_string(),
                        unit: measure.unit.to_string(),
                        decimals: measure.digits,
                        x: None,
                    };
                    // The label may quote the row's own name, which therefore has to exist first.
                    row.label = self.label(table.label.as_deref(), &row, of);
                    rows.push(RowOf {
                        row,
                        value: Some((text.clone(), location)),
                        bound: of.clone(),
                        written: None,
                    });
                }
                NamedOr::Own(row) => {
                    for mut bound in self.each(&row.each, grid)? {
                        bound.extend(of);
                        bound.extend(self.bound(&row.at)?);
                        if self.is_wanted(row, &bound)? {
                            rows.push(self.row(table, row, grid, &location, bound)?);
                        }
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Returns true if there is a row for these cases.
    pub(super) fn is_wanted(&self, row: &schema::Row, bound: &Bound) -> Result<bool, Problem> {
        for (axis, cases) in &row.only {
            let location = self.source.at(cases.span());
            let axis = self.names.axis(axis, &location)?;
            let cases: Result<Vec<usize>, Problem> = cases
                .get_ref()
                .0
                .iter()
                .map(|case| self.names.case(axis, case, &location))
                .collect();
            let cases = cases?;
            if bound.get(&axis).is_none_or(|case| !cases.contains(case)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn row<'a>(
        &self,
        table: &Table,
        row: &'a schema::Row,
        grid: usize,
        location: &Location,
        bound: Bound,
    ) -> Result<RowOf<'a>, Problem> {
        let value = row
            .value
            .as_ref()
            .map(|text| (text.get_ref().clone(), self.source.at(text.span())));
        // An expression with several measures has no description of its own; then the row has to have a name.
        let measure = match &value {
            Some((text, location)) => self
                .only_measure(&self.names.fill_expression(text, &bound), location, grid)
                .ok(),
            None => None,
        };
        let measure = measure.as_ref();
        let what = row.what.as_deref().or(measure.map(|measure| &*measure.what));
        let what = what.ok_or_else(|| {
            Problem::new("the row has no name")
                .at(location)
                .help("say what it is: what = \"..\"")
        })?;
        let unit = row.unit.as_deref().or(measure.map(|measure| &*measure.unit));
        let digits = self.constant(&row.digits, &bound)?;
        let digits = digits.map(|digits| decimals(digits, location)).transpose()?;
        let mut named = Row {
            label: String::new(),
            metric: self.names.fill(what, &bound),
            unit: self.names.fill(unit.unwrap_or_default(), &bound),
            decimals: digits.or(measure.map(|measure| measure.digits)).unwrap_or(3),
            x: self
                .constant(&row.x, &bound)?
                .or_else(|| self.number(row, &bound)),
        };
        let of_cases = row.each.as_ref().map(|each| {
            let names = each.get_ref().0.iter().map(|axis| format!("{{{axis}}}"));
            names.collect::<Vec<String>>().join(", ")
        });
        let label = row.label.as_ref().or(table.label.as_ref()).or(of_cases.as_ref());
        named.label = self.label(label.map(String::as_str), &named, &bound);
        Ok(RowOf {
            row: named,
            value,
            bound,
            written: Some(row),
        })
    }

    /// Returns the label that distinguishes a row from others with the same quantity.
    fn label(&self, label: Option<&str>, row: &Row, bound: &Bound) -> String {
        let label = self.names.fill(label.unwrap_or_default(), bound);
        let label = label.replace("{what}", &row.metric);
        label.replace("{quantity}", &row.name())
    }

    /// Returns the number of a row's only case.
    pub(super) fn number(&self, row: &schema::Row, bound: &Bound) -> Option<f64> {
        let [axis] = &row.each.as_ref()?.get_ref().0[..] else {
            return None;
        };
        let axis = self.names.axes.iter().position(|known| known.name == *axis)?;
        self.names.number(axis, *bound.get(&axis)?)
    }

    /// Returns a number, or a constant of the row's case.
    pub(super) fn constant(
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

    /// Returns the description of an expression's only measure.
    pub(super) fn only_measure(
        &self,
        text: &str,
        location: &Location,
        grid: usize,
    ) -> Result<Measure, Problem> {
        let written = read_expression(text, location)?;
        let Written::Name { path, .. } = &written else {
            return Err(Problem::new("the row has no name").at(location).help(
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
            Some(grid) => grid.unknown(&name).at(location),
            None => Problem::new("there are no runs").at(location),
        })
    }
}

/// Checks the number of digits behind the point.
///
/// # Errors
/// If it is not an integer in the allowed range.
pub(super) fn decimals(digits: f64, location: &Location) -> Result<usize, Problem> {
    const MOST: f64 = 15.0;
    match (0.0..=MOST).contains(&digits) && digits.fract() == 0.0 {
        true => Ok(digits as usize),
        false => Err(Problem::new(format!(
            "digits = {digits}; expected a whole number from 0 to {MOST}"
        ))
        .at(location)),
    }
}
