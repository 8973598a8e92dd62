//! Axes of a sweep whose values have labels: named cases, and keys that vary in step.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::axes::{Path, Sets, Value, WrittenAxis, dotted, key_path, kind, parts, text_of};
use super::segments;
use super::texts::Texts;
use crate::diagnostics::{Problem, among_many};
use crate::sweep::AxisValue;

/// Key of the axis of named cases.
pub(super) const CASE: &str = "case";

/// Named case: its label, and what it sets.
type Case = (Value, Vec<(Path, Value)>);

impl WrittenAxis {
    /// Creates the axis of a key.
    pub(super) fn of_key(path: Path, span: Range<usize>, values: Vec<Value>) -> Self {
        Self {
            key: dotted(&path),
            span,
            values,
            sets: Sets::Key(path),
        }
    }

    /// Creates an axis of keys that vary in step: each value is a list with a value for each key.
    pub(super) fn in_step(
        paths: &[Path],
        span: Range<usize>,
        values: &[Value],
        texts: &Texts,
    ) -> Result<Self, Problem> {
        let key = paths.iter().map(dotted).collect::<Vec<_>>().join(",");
        let mut all: Vec<Case> = Vec::new();
        for (text, at) in values {
            let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let found: Vec<Value> = (inner.iter())
                .flat_map(|inner| parts(inner).into_iter().map(move |part| (inner, part)))
                .map(|(inner, part)| {
                    let padded = &inner[part.clone()];
                    let start = at.start + 1 + part.start + (padded.len() - padded.trim_start().len());
                    (padded.trim().to_string(), start..start + padded.trim().len())
                })
                .filter(|(value, _)| !value.is_empty())
                .collect();
            if found.len() != paths.len() {
                return Err(Problem::new(format!(
                    "expected a list of {} values, one for each key, found `{text}`",
                    paths.len()
                ))
                .at(&texts.at(at.clone()))
                .label(format!("for {key}")));
            }
            let sets: Vec<_> = paths.iter().cloned().zip(found).collect();
            all.push((label(&sets, at), sets));
        }
        Ok(Self::of(key, span, all))
    }

    /// Creates the axis of the cases of an `--over`: labels of known cases, or tables.
    pub(super) fn of_cases(
        known: Option<&Self>,
        span: Range<usize>,
        values: &[Value],
        texts: &Texts,
    ) -> Result<Self, Problem> {
        let mut all = Vec::new();
        for (text, at) in values {
            if text.starts_with('{') {
                // Padded with blanks so that it parses at its own position.
                let padded = format!("{}v={text}", " ".repeat(at.start.saturating_sub(2)));
                let table = DeTable::parse(&padded);
                let table = table.as_ref().ok().and_then(|table| table.get_ref().get("v"));
                let Some(table) = table else {
                    return Err(Problem::new(format!("`{text}` is no table of TOML"))
                        .at(&texts.at(at.clone()))
                        .help("write case={label = \"deep\", \"network.ecn.kmin\" = \"400KB\"}"));
                };
                all.push(case(table, texts)?);
                continue;
            }
            let Some((axis, Sets::Each(sets))) = known.map(|axis| (axis, &axis.sets)) else {
                return Err(Problem::new("the scenario has no named cases")
                    .at(&texts.at(at.clone()))
                    .help("they are [[sweep.case]] tables, or --over case={label = \"deep\", ..}"));
            };
            let names: Vec<String> = axis
                .values
                .iter()
                .map(|(text, _)| AxisValue::of(text).to_string())
                .collect();
            let wanted = AxisValue::of(text).to_string();
            let Some(found) = names.iter().position(|name| *name == wanted) else {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                return Err(
                    Problem::new(format!("unknown case `{wanted}`: {}", among_many(&wanted, known)))
                        .at(&texts.at(at.clone())),
                );
            };
            all.push(((axis.values[found].0.clone(), at.clone()), sets[found].clone()));
        }
        Ok(Self::of(CASE.to_string(), span, all))
    }

    fn of(key: String, span: Range<usize>, all: Vec<Case>) -> Self {
        let (values, sets) = all.into_iter().unzip();
        Self {
            key,
            span,
            values,
            sets: Sets::Each(sets),
        }
    }
}

/// Reads the `[[sweep.case]]` tables.
pub(super) fn cases(
    list: &[Spanned<DeValue<'_>>],
    span: Range<usize>,
    texts: &Texts,
) -> Result<WrittenAxis, Problem> {
    let all: Result<Vec<Case>, Problem> = list.iter().map(|table| case(table, texts)).collect();
    Ok(WrittenAxis::of(CASE.to_string(), span, all?))
}

fn case(written: &Spanned<DeValue<'_>>, texts: &Texts) -> Result<Case, Problem> {
    let DeValue::Table(table) = written.get_ref() else {
        let found = format!("a case is {}, not a table", kind(written.get_ref()));
        return Err(Problem::new(found)
            .at(&texts.of_value(written))
            .help("write [[sweep.case]] with a label, and the keys that it sets"));
    };
    let mut given = None;
    let mut sets = Vec::new();
    settings(table, &[], &mut given, &mut sets, texts)?;
    sets.sort_by_key(|(_, (_, span))| span.start);
    let label = given.unwrap_or_else(|| label(&sets, &written.span()));
    if label.0.is_empty() {
        let problem = Problem::new("a case without a label sets nothing");
        return Err(problem.at(&texts.of_value(written)));
    }
    Ok((label, sets))
}

/// Collects the settings of a case, and its label.
fn settings(
    table: &DeTable<'_>,
    above: &[(String, Range<usize>)],
    label: &mut Option<Value>,
    sets: &mut Vec<(Path, Value)>,
    texts: &Texts,
) -> Result<(), Problem> {
    for (key, value) in table {
        if above.is_empty() && key.get_ref() == "label" {
            *label = Some(text_of(value, texts));
            continue;
        }
        let mut path = above.to_vec();
        path.extend(key_path(key, texts)?);
        match value.get_ref() {
            DeValue::Table(inner) => settings(inner, &path, label, sets, texts)?,
            _ => sets.push((path, text_of(value, texts))),
        }
    }
    Ok(())
}

/// Returns the label of settings without one: their values.
fn label(sets: &[(Path, Value)], span: &Range<usize>) -> Value {
    let values = sets.iter().map(|(_, (text, _))| AxisValue::of(text).to_string());
    (values.collect::<Vec<_>>().join("/"), span.clone())
}

/// Returns the paths of a key that names several, with commas between them.
pub(super) fn key_paths(
    key: &Spanned<std::borrow::Cow<'_, str>>,
    texts: &Texts,
) -> Result<Vec<Path>, Problem> {
    let location = texts.at(key.span());
    let start = key.span().start + 1;
    let paths = parts(key.get_ref()).into_iter().map(|part| {
        let padded = &key.get_ref()[part.clone()];
        let first = start + part.start + (padded.len() - padded.trim_start().len());
        segments(padded.trim(), first, &location)
    });
    paths.collect()
}
