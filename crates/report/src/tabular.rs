//! Tables of numbers for papers: LaTeX with booktabs and siunitx, Markdown, CSV and plain text.

use std::fmt::Write as _;

use paceline_lab::sweep::{Estimate, SweepData, estimates};
use paceline_lab::table::{self, Column};

use crate::figure::{NoFigure, of_metric, quoted};

/// Number in a table, with half the width of its interval if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Value, or mean over the seeds.
    pub value: f64,
    /// Half the width of the 95 % interval of the mean.
    pub half: Option<f64>,
}

/// Column of numbers: its key, and a number for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberColumn {
    /// Key of the number in the summary, such as `fct_slowdown.p99`; empty for a column of several quantities.
    pub key: String,
    /// Heading, without its unit.
    pub name: String,
    /// Unit after scaling; empty for pure numbers.
    pub unit: String,
    /// Numbers, row by row; `None` where a run lacks it.
    pub cells: Vec<Option<Number>>,
}

/// Table of numbers: rows have names in one or more columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tabular {
    /// Headings of the columns of names.
    pub heads: Vec<String>,
    /// Names of each row, one for each heading.
    pub rows: Vec<Vec<String>>,
    /// Columns of numbers, from left to right.
    pub columns: Vec<NumberColumn>,
}

/// Metrics that a table shows first, if the runs have them.
const DEFAULT: [&str; 6] = [
    "fct_slowdown.mean",
    "fct_slowdown.p99",
    "fct_us.mean",
    "queue_bytes.max",
    "pfc.pauses",
    "drops",
];

/// Maximum number of jobs in a table whose columns are not chosen.
const JOBS: usize = 3;

/// Returns the metrics to show among those that there are: jobs' iterations first.
fn chosen(wanted: &[String], known: &[&str]) -> Result<Vec<String>, NoFigure> {
    if wanted.is_empty() {
        let of_jobs = known.iter().filter(|key| {
            key.starts_with("jobs.") && key.ends_with(".iteration_us.mean")
                || key.starts_with("services.") && key.ends_with(".ttft_us.p99")
        });
        let others = DEFAULT.iter().filter(|key| known.contains(key));
        return Ok(of_jobs
            .take(JOBS)
            .chain(others)
            .map(ToString::to_string)
            .collect());
    }
    for key in wanted {
        if !known.contains(&key.as_str()) {
            let hint = paceline_scenario::diagnostics::among_many(key, known.iter().copied());
            return Err(NoFigure(format!("the runs have no number `{key}`: {hint}")));
        }
    }
    Ok(wanted.to_vec())
}

/// Numbers of one row by their keys.
pub type RowNumbers = Vec<(String, Number)>;

impl Tabular {
    /// Creates the table of rows, each with its names and all its numbers. `wanted` has the keys of the columns; if it is
    /// empty, a few are shown.
    ///
    /// # Errors
    /// If no row has a wanted number: the nearest names.
    pub fn of_rows(
        heads: Vec<String>,
        rows: Vec<(Vec<String>, RowNumbers)>,
        wanted: &[String],
    ) -> Result<Self, NoFigure> {
        let mut known: Vec<&str> = Vec::new();
        for (key, _) in rows.iter().flat_map(|(_, numbers)| numbers) {
            if !known.contains(&key.as_str()) {
                known.push(key);
            }
        }
        let column = |key: String| {
            let of = |(_, numbers): &(Vec<String>, RowNumbers)| {
                numbers
                    .iter()
                    .find(|(name, _)| *name == key)
                    .map(|(_, number)| *number)
            };
            let cells = rows.iter().map(of).collect();
            NumberColumn::scaled(key, cells)
        };
        let columns = chosen(wanted, &known)?.into_iter().map(column).collect();
        Ok(Self {
            heads,
            columns,
            rows: rows.into_iter().map(|(names, _)| names).collect(),
        })
    }

    /// Creates the table of a sweep: a row for each point.
    ///
    /// # Errors
    /// As [`Self::of_rows`].
    pub fn of_sweep(data: &SweepData, wanted: &[String]) -> Result<Self, NoFigure> {
        let axes = &data.plan.axes;
        let shown: Vec<usize> = (0..axes.len()).filter(|&i| axes[i].values.len() > 1).collect();
        let heads = shown.iter().map(|&i| axes[i].name()).collect();
        let number = |estimate: &Estimate| Number {
            value: estimate.mean,
            half: estimate.ends.map(|(low, high)| (high - low) / 2.0),
        };
        let row = |(index, point): (usize, &paceline_lab::sweep::Point)| {
            let names = shown.iter().map(|&i| axes[i].values[point.values[i]].to_string());
            let numbers = estimates(data, index).into_iter();
            let numbers = numbers.map(|(key, estimate)| (key, number(&estimate)));
            (names.collect(), numbers.collect())
        };
        let rows = data.plan.points.iter().enumerate().map(row).collect();
        Self::of_rows(heads, rows, wanted)
    }

    /// Returns the name of a row as figures have it: all its names.
    pub fn row_name(&self, row: usize) -> String {
        self.rows[row].join(", ")
    }

    /// Puts rows in this order, by their indices.
    pub fn reorder(&mut self, order: &[usize]) {
        self.rows = order.iter().map(|&row| self.rows[row].clone()).collect();
        for column in &mut self.columns {
            column.cells = order.iter().map(|&row| column.cells[row]).collect();
        }
    }

    /// Returns a LaTeX `tabular` that needs the packages booktabs and siunitx; with a caption, in a `table`.
    pub fn tex(&self, caption: Option<&str>, label: Option<&str>) -> String {
        let mut text = String::from("% \\usepackage{booktabs,siunitx}\n");
        let floats = caption.is_some() || label.is_some();
        if floats {
            text.push_str("\\begin{table}\n  \\centering\n");
            if let Some(caption) = caption {
                let _ = writeln!(text, "  \\caption{{{}}}", escaped(caption));
            }
            if let Some(label) = label {
                let _ = writeln!(text, "  \\label{{{label}}}");
            }
        }
        let _ = writeln!(text, "\\begin{{tabular}}{{{}", "l".repeat(self.heads.len()));
        for column in &self.columns {
            let _ = writeln!(text, "  {}", column.siunitx());
        }
        text.push_str("}\n\\toprule\n");
        let names = self.heads.iter().map(|head| escaped(head));
        let numbers = self.columns.iter().map(|column| {
            let name = escaped(&column.heading()).replace(", ", "\\\\");
            format!("{{\\shortstack{{{name}}}}}")
        });
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        text.push_str(&line(names.chain(numbers).collect()));
        text.push_str("\\midrule\n");
        for (row, names) in self.rows.iter().enumerate() {
            let names = names.iter().map(|name| escaped(name));
            let numbers = self.columns.iter().map(|column| column.tex_cell(row));
            text.push_str(&line(names.chain(numbers).collect()));
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        if floats {
            text.push_str("\\end{table}\n");
        }
        text
    }

    /// Returns a table of Markdown.
    pub fn markdown(&self) -> String {
        let escaped = |text: String| text.replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let heads = self.heads.iter().cloned();
        let heads = heads.chain(self.columns.iter().map(NumberColumn::heading));
        let mut text = line(heads.map(escaped).collect());
        let marks = self
            .heads
            .iter()
            .map(|_| "---")
            .chain(self.columns.iter().map(|_| "---:"));
        let _ = writeln!(text, "|{}|", marks.collect::<Vec<_>>().join("|"));
        for (row, names) in self.rows.iter().enumerate() {
            let cells = self.columns.iter().map(|column| column.cell(row));
            text.push_str(&line(names.iter().cloned().chain(cells).map(escaped).collect()));
        }
        text
    }

    /// Returns all numbers without rounding: a column for each, and one for half the width of its interval if there are
    /// any.
    pub fn csv(&self) -> String {
        let mut heads: Vec<String> = self.heads.iter().map(|head| quoted(head)).collect();
        for column in &self.columns {
            heads.push(quoted(&column.heading()));
            if column.has_halves() {
                heads.push(quoted(&format!("{}, half width", column.heading())));
            }
        }
        let mut text = heads.join(",") + "\n";
        for (row, names) in self.rows.iter().enumerate() {
            let mut cells: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            for column in &self.columns {
                let found = column.cells[row];
                cells.push(found.map_or_else(String::new, |number| number.value.to_string()));
                if column.has_halves() {
                    let half = found.and_then(|number| number.half);
                    cells.push(half.map_or_else(String::new, |half| half.to_string()));
                }
            }
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }

    /// Returns the table for a terminal.
    pub fn plain(&self) -> String {
        let names = self.heads.iter().enumerate().map(|(i, head)| {
            let cells = self.rows.iter().map(|names| names[i].clone()).collect();
            Column::left("", head, cells)
        });
        let numbers = self.columns.iter().map(|column| {
            let cells = (0..self.rows.len()).map(|row| column.cell(row)).collect();
            let heading = column.heading();
            let (group, name) = heading.split_once(", ").unwrap_or(("", &heading));
            Column::right(group, name, cells)
        });
        table::render(&names.chain(numbers).collect::<Vec<_>>())
    }
}

impl NumberColumn {
    /// Creates the column of a metric, in a unit in which its numbers are short.
    fn scaled(key: String, mut cells: Vec<Option<Number>>) -> Self {
        let label = of_metric(&key);
        let (name, unit) = match label.strip_suffix(')').and_then(|label| label.rsplit_once(" (")) {
            Some((name, unit)) => (name.to_string(), unit.to_string()),
            None => (label, String::new()),
        };
        let largest = cells
            .iter()
            .flatten()
            .map(|number| number.value.abs())
            .fold(0.0, f64::max);
        let scales: &[(&str, f64)] = match unit.as_str() {
            "µs" => &[("s", 1e6), ("ms", 1e3)],
            "B" => &[("GB", 1e9), ("MB", 1e6), ("KB", 1e3)],
            _ => &[],
        };
        let found = scales.iter().find(|(_, divisor)| largest >= *divisor);
        if let Some((_, divisor)) = found {
            for number in cells.iter_mut().flatten() {
                number.value /= divisor;
                number.half = number.half.map(|half| half / divisor);
            }
        }
        Self {
            key,
            name,
            unit: found.map_or(unit, |(unit, _)| (*unit).to_string()),
            cells,
        }
    }

    /// Returns the heading with the unit.
    pub fn heading(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }

    fn has_halves(&self) -> bool {
        self.cells.iter().flatten().any(|number| number.half.is_some())
    }

    /// Returns the number of decimals of a number: two digits of the interval, or four of the column's largest number.
    fn decimals(&self, number: Number) -> usize {
        let digits =
            |value: f64, digits: i32| (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
        match number.half.filter(|half| *half > 0.0) {
            Some(half) => digits(half, 2),
            None => {
                let values = self.cells.iter().flatten().filter(|number| number.half.is_none());
                let values: Vec<f64> = values.map(|number| number.value).collect();
                if self.key.is_empty() {
                    let is_whole = number.value.fract() == 0.0;
                    return if is_whole { 0 } else { digits(number.value, 4) };
                }
                if values.iter().all(|value| value.fract() == 0.0) {
                    return 0;
                }
                digits(
                    values
                        .iter()
                        .copied()
                        .fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs())),
                    4,
                )
            }
        }
    }

    fn cell(&self, row: usize) -> String {
        let Some(number) = self.cells[row] else {
            return "–".to_string();
        };
        let decimals = self.decimals(number);
        match number.half.filter(|half| *half > 0.0) {
            Some(half) => format!("{:.decimals$} ± {half:.decimals$}", number.value),
            None => format!("{:.decimals$}", number.value),
        }
    }

    fn tex_cell(&self, row: usize) -> String {
        match self.cells[row] {
            None => "{--}".to_string(),
            Some(_) => self.cell(row).replace(" ± ", " +- "),
        }
    }

    /// Returns the column's specification: `S` with room for its longest number.
    fn siunitx(&self) -> String {
        let (mut whole, mut decimals, mut half) = (1, 0, 0);
        for number in self.cells.iter().flatten() {
            let own = self.decimals(*number);
            let text = format!("{:.own$}", number.value);
            let length = text.split('.').next().map_or(1, str::len);
            (whole, decimals) = (whole.max(length), decimals.max(own));
            if let Some(of_number) = number.half.filter(|half| *half > 0.0) {
                let digits = format!("{of_number:.own$}").replace('.', "");
                half = half.max(digits.trim_start_matches('0').len());
            }
        }
        match half {
            0 => format!("S[table-format={whole}.{decimals}]"),
            _ => format!("S[table-format={whole}.{decimals}({half}),separate-uncertainty=true]"),
        }
    }
}

/// Returns a text for LaTeX.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '\\' => escaped.push_str("\\textbackslash{}"),
            'µ' => escaped.push_str("$\\mu$"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64, half: Option<f64>) -> Number {
        Number { value, half }
    }

    fn table() -> Tabular {
        let rows = vec![
            (
                vec!["hpcc".to_string()],
                vec![
                    ("fct_slowdown.p99".to_string(), number(22.567, Some(0.1234))),
                    ("fct_us.mean".to_string(), number(15_290.0, None)),
                    ("drops".to_string(), number(0.0, None)),
                ],
            ),
            (
                vec!["a_b & 5%".to_string()],
                vec![
                    ("fct_slowdown.p99".to_string(), number(122.5, Some(13.4))),
                    ("fct_us.mean".to_string(), number(900.0, None)),
                ],
            ),
        ];
        Tabular::of_rows(vec!["scheme".into()], rows, &[]).unwrap()
    }

    #[test]
    fn latex_has_escaped_names_and_room_for_numbers() {
        insta::assert_snapshot!(table().tex(Some("Two schemes"), Some("tab:two")), @r"
        % \usepackage{booktabs,siunitx}
        \begin{table}
          \centering
          \caption{Two schemes}
          \label{tab:two}
        \begin{tabular}{l
          S[table-format=3.2(2),separate-uncertainty=true]
          S[table-format=2.2]
          S[table-format=1.0]
        }
        \toprule
        scheme & {\shortstack{FCT slowdown\\99th percentile}} & {\shortstack{FCT\\mean (ms)}} & {\shortstack{drops}} \\
        \midrule
        hpcc & 22.57 +- 0.12 & 15.29 & 0 \\
        a\_b \& 5\% & 122 +- 13 & 0.90 & {--} \\
        \bottomrule
        \end{tabular}
        \end{table}
        ");
    }

    #[test]
    fn markdown_and_csv_have_the_same_numbers() {
        insta::assert_snapshot!(table().markdown(), @r"
        | scheme | FCT slowdown, 99th percentile | FCT, mean (ms) | drops |
        |---|---:|---:|---:|
        | hpcc | 22.57 ± 0.12 | 15.29 | 0 |
        | a_b & 5% | 122 ± 13 | 0.90 | – |
        ");
        insta::assert_snapshot!(table().csv(), @r#"
        scheme,"FCT slowdown, 99th percentile","FCT slowdown, 99th percentile, half width","FCT, mean (ms)",drops
        hpcc,22.567,0.1234,15.29,0
        a_b & 5%,122.5,13.4,0.9,
        "#);
    }

    #[test]
    fn an_unknown_number_is_refused_with_near_ones() {
        let rows = vec![(
            vec!["hpcc".to_string()],
            vec![("drops".to_string(), number(0.0, None))],
        )];
        let error = Tabular::of_rows(vec!["scheme".into()], rows, &["drop".to_string()]).unwrap_err();
        assert_eq!(error.0, "the runs have no number `drop`: did you mean `drops`?");
    }
}
