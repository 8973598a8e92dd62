//! Conversion of a comparison or a sweep to an experiment.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use paceline_lab::files::{Folder, OutputError};
use paceline_lab::metrics::METRICS;
use paceline_lab::sweep::Stored;
use paceline_scenario::sweep::{Axis, AxisValue};
use paceline_scenario::{Origin, Resolved, StoredFiles};
use toml::Table;

use super::axes::SCHEME;
use super::folder::FILE;

/// Rows that tables of a comparison show first.
const ROWS: [&str; 8] = [
    "fct_slowdown.mean",
    "fct_slowdown.p99",
    "fct_us.p99",
    "makespan_us",
    "rate_while_active_gbps",
    "queue_bytes.max",
    "pfc.pauses",
    "drops",
];

/// Scenario of a saved experiment.
#[derive(Clone, Debug)]
pub struct Base<'a> {
    /// Scenario without the values of any axis.
    pub input: &'a Resolved,
    /// Scenario as it is written, with the files that its points name.
    pub written: &'a Stored,
    /// Changes from the command line: keys, and values of TOML or texts.
    pub set: Vec<(String, String)>,
}

/// Name of the scenario's file.
const SCENARIO: &str = "scenario.toml";

impl Base<'_> {
    /// Returns the files of the scenario. It is stored as it is written, if it is TOML: keys that a case leaves out then
    /// have their defaults, which may depend on the scheme.
    fn files(&self) -> Result<StoredFiles, OutputError> {
        if self.input.origin == Origin::Toml {
            return self.written.files(SCENARIO);
        }
        let files = self.input.files.iter();
        let files = files.map(|(name, content)| (PathBuf::from(name), content.clone()));
        let scenario = (SCENARIO.into(), self.input.toml.clone().into_bytes());
        Ok(std::iter::once(scenario).chain(files).collect())
    }

    /// Returns the changes of the scenario that the files do not have.
    fn set(&self) -> &[(String, String)] {
        match self.input.origin {
            Origin::Toml => &self.set,
            Origin::Ns3Config => &[],
        }
    }
}

/// Writes an experiment with these axes over a scenario, which is stored next to it. It draws `figure`, the recipe of
/// one, or measures over an axis of numbers.
///
/// # Errors
/// If the folder has other content, or cannot be written.
pub fn save(
    folder: &Path,
    base: &Base<'_>,
    axes: &[Axis],
    seeds: &[u64],
    figure: Option<&Table>,
    command: &str,
) -> Result<(), OutputError> {
    let input = base.input;
    let files = base.files()?;
    debug_assert!(
        ROWS.iter()
            .all(|row| METRICS.iter().any(|metric| metric.key == *row))
    );
    let folder = Folder::create(folder, false)?;
    for (name, content) in &files {
        folder.write(name, |out| std::io::Write::write_all(out, content))?;
    }
    let text = text(input, base.set(), axes, seeds, figure, command);
    folder.write(Path::new(FILE), |out| {
        std::io::Write::write_all(out, text.as_bytes())
    })?;
    folder.commit()
}

/// Returns a TOML string in quotes.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// Returns a value from the command line as TOML: as it is if it parses, otherwise a string.
fn literal(text: &str) -> String {
    let table: Result<toml::Table, _> = toml::from_str(&format!("v={text}"));
    table.map_or_else(|_| quoted(text), |_| text.to_string())
}

fn value(value: &AxisValue) -> String {
    match value {
        AxisValue::Text(text) => quoted(text),
        AxisValue::Bool(_) | AxisValue::Int(_) | AxisValue::Real(_) => value.to_string(),
    }
}

/// Returns the name of an axis in the file: as many last parts of its key as make it unique.
fn name(axis: &Axis, axes: &[Axis]) -> String {
    if axis.key.contains(',') {
        return axis.name().replace(", ", "-");
    }
    let parts: Vec<&str> = axis.key.split('.').collect();
    let ends = |count: usize| parts[parts.len() - count..].join("-");
    let is_alone = |count: &usize| {
        let same = axes.iter().filter(|other| {
            let others: Vec<&str> = other.key.split('.').collect();
            others.len() >= *count && others[others.len() - count..].join("-") == ends(*count)
        });
        same.count() == 1
    };
    ends((1..=parts.len()).find(is_alone).unwrap_or(parts.len()))
}

fn text(
    input: &Resolved,
    set: &[(String, String)],
    axes: &[Axis],
    seeds: &[u64],
    figure: Option<&Table>,
    command: &str,
) -> String {
    let names: Vec<String> = axes.iter().map(|axis| name(axis, axes)).collect();
    let quote = |names: &[String]| {
        names
            .iter()
            .map(|name| quoted(name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = format!("# Saved by: {command}\ntitle = {}\n", quoted(&input.name));
    let _ = writeln!(text, "source = {{ where = \"nobody has published it\" }}");
    let _ = writeln!(text, "about = {}\n", quoted(&input.description));
    let _ = writeln!(text, "[runs]\nscenario = \"scenario.toml\"");
    let sets_scheme = |axis: &Axis, value| axis.sets(value).iter().any(|(key, _)| *key == SCHEME);
    if !axes
        .iter()
        .any(|axis| (0..axis.values.len()).all(|value| sets_scheme(axis, value)))
    {
        let _ = writeln!(text, "scheme = {}", quoted(&input.scheme));
    }
    let _ = writeln!(text, "fidelity = {}", quoted(input.fidelity.name()));
    if !set.is_empty() {
        let set = set
            .iter()
            .map(|(key, text)| format!("{} = {}", quoted(key), literal(text)));
        let _ = writeln!(text, "set = {{ {} }}", set.collect::<Vec<_>>().join(", "));
    }
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let _ = writeln!(text, "seeds = [{}]\naxes = [{}]", seeds.join(", "), quote(&names));
    for (axis, name) in axes.iter().zip(&names) {
        let on_scale = scale(axis);
        for (number, one) in axis.values.iter().enumerate() {
            let _ = writeln!(text, "\n[[axis.{name}]]\nname = {}", quoted(&one.to_string()));
            let (schemes, others): (Vec<_>, Vec<_>) =
                axis.sets(number).into_iter().partition(|(key, _)| *key == SCHEME);
            for (_, scheme) in schemes {
                let _ = writeln!(text, "scheme = {}", quoted(&scheme.to_string()));
            }
            let others = others
                .iter()
                .map(|(key, set)| format!("{} = {}", quoted(key), value(set)));
            let others = others.collect::<Vec<_>>().join(", ");
            if !others.is_empty() {
                let _ = writeln!(text, "set = {{ {others} }}");
            }
            if let Some((numbers, _)) = &on_scale {
                let _ = writeln!(text, "with = {{ {} = {} }}", quoted(name), numbers[number]);
            }
        }
    }
    // The first axis becomes columns, and each case of the others a table.
    let (columns, each) = names
        .split_first()
        .map_or(("", &names[..]), |(first, rest)| (first.as_str(), rest));
    let _ = writeln!(text, "\n[[table]]");
    if !each.is_empty() {
        let _ = writeln!(text, "each = [{}]", quote(each));
    }
    let rows = ROWS.map(quoted).join(", ");
    let _ = writeln!(text, "columns = {}\nrows = [{rows}]", quoted(columns));
    let drawn = axes.iter().zip(&names).find(|(axis, _)| scale(axis).is_some());
    let along = |(_, name): (&Axis, &String)| ROWS[..3].iter().map(|measure| along(measure, name)).collect();
    let figures: Vec<Table> = match figure {
        Some(one) => vec![one.clone()],
        None => drawn.map_or_else(Vec::new, along),
    };
    if !figures.is_empty() {
        text.push_str("\n# Drawn as by `paceline plot`: figures/*.pdf in the results.\n");
    }
    for figure in figures {
        let _ = write!(text, "\n[[figure]]\n{figure}");
    }
    text.push_str(
        "\n# What has to hold, with a reason:\n# [[claim]]\n# what = \"..\"\n# expr = \"fct_slowdown.p99['A'] / \
         fct_slowdown.p99['B']\"\n# expect = { at-most = 1.0, because = \"..\" }\n",
    );
    text
}

/// Returns the numbers and the unit of an axis of at least two different numbers.
fn scale(axis: &Axis) -> Option<(Vec<f64>, String)> {
    let (numbers, unit) = paceline_report::places(&axis.values)?;
    (numbers.len() > 1 && numbers.windows(2).all(|pair| pair[0] < pair[1])).then_some((numbers, unit))
}

/// Returns the recipe of a measure over an axis.
fn along(measure: &str, axis: &str) -> Table {
    let keys = [
        ("what", measure.to_string()),
        ("over", axis.to_string()),
        ("out", format!("{measure}.pdf")),
    ];
    keys.into_iter()
        .map(|(key, text)| (key.to_string(), text.into()))
        .collect()
}
