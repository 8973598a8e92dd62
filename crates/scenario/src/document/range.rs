//! Ranges of an axis: `{ from, to, steps }`.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::axes::{Value, literal, parts};
use super::texts::Texts;
use crate::diagnostics::{Location, Problem, suggestion};

/// Returns ", or a range" for an error message if `value` could be an end of a range.
pub(super) fn or_a_range(value: &str) -> &'static str {
    let end = literal(value).and_then(|value| End::of(&value));
    if end.is_some() {
        ", or { from, to, steps }"
    } else {
        ""
    }
}

/// End of a range: `0.1`, or `100Gbps`.
struct End {
    number: toml::Value,
    unit: String,
}

impl End {
    fn of(value: &toml::Value) -> Option<Self> {
        let toml::Value::String(text) = value else {
            let is_number = value.is_integer() || value.is_float();
            return is_number.then(|| Self {
                number: value.clone(),
                unit: String::new(),
            });
        };
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
        let number = literal(digits.trim()).filter(|number| number.is_integer() || number.is_float())?;
        Some(Self {
            number,
            unit: text[digits.len()..].to_string(),
        })
    }

    fn unit_text(&self) -> String {
        match self.unit.as_str() {
            "" => "none".to_string(),
            unit => format!("`{unit}`"),
        }
    }

    fn as_f64(&self) -> f64 {
        match &self.number {
            toml::Value::Integer(number) => *number as f64,
            number => number.as_float().unwrap_or(f64::NAN),
        }
    }
}

/// Expands `{ from, to, steps }` into equidistant numbers, both ends included, with units if both ends have the same
/// one. `location` returns the position of a span.
pub(super) fn range(
    table: &DeTable<'_>,
    span: Range<usize>,
    location: &dyn Fn(Range<usize>) -> Location,
    texts: &Texts,
) -> Result<Vec<Value>, Problem> {
    const KEYS: [&str; 3] = ["from", "to", "steps"];
    if let Some((key, _)) = table
        .iter()
        .find(|(key, _)| !KEYS.contains(&key.get_ref().as_ref()))
    {
        let said = suggestion(key.get_ref(), KEYS);
        return Err(Problem::new(format!("unknown key `{}`", key.get_ref()))
            .at(&location(key.span()))
            .label(said.clone())
            .help(said));
    }
    let end = |name: &str| {
        let Some(value) = table.get(name) else {
            return Err(Problem::new(format!("a range needs `{name}`"))
                .at(&texts.at(span.clone()))
                .help("write { from = 0.1, to = 0.5, steps = 5 }: five values, both ends included"));
        };
        let written = match value.get_ref() {
            DeValue::String(text) => Some(toml::Value::String(text.to_string())),
            DeValue::Integer(digits) => literal(&digits.to_string()),
            DeValue::Float(digits) => literal(digits.as_str()),
            _ => None,
        };
        let location = location(value.span());
        match written.as_ref().and_then(End::of) {
            Some(end) => Ok((end, location)),
            None => Err(
                Problem::new(format!("expected a number as `{name}`, perhaps with a unit"))
                    .at(&location)
                    .label("not a number"),
            ),
        }
    };
    let ((from, _), (to, to_at), (steps, at)) = (end("from")?, end("to")?, end("steps")?);
    if from.unit != to.unit {
        return Err(Problem::new(format!(
            "the ends of a range have one unit: found {} and {}",
            from.unit_text(),
            to.unit_text()
        ))
        .at(&to_at)
        .label("another unit"));
    }
    let steps = match (&steps.number, steps.unit.as_str()) {
        (toml::Value::Integer(steps @ 2..=10_000), "") => *steps,
        (number, unit) => {
            return Err(Problem::new(format!("expected 2 to 10000 steps, found `{number}{unit}`")).at(&at));
        }
    };
    // Whole numbers stay whole if the steps allow it, since many keys take no others.
    let value = |i: i64| match (&from.number, &to.number) {
        (toml::Value::Integer(from), toml::Value::Integer(to))
            if to
                .checked_sub(*from)
                .is_some_and(|width| width % (steps - 1) == 0) =>
        {
            (from + (to - from) / (steps - 1) * i).to_string()
        }
        _ => {
            let (from, to) = (from.as_f64(), to.as_f64());
            // Twelve digits give 0.3 instead of 0.30000000000000004.
            let exact = from + (to - from) * i as f64 / (steps - 1) as f64;
            let short: f64 = format!("{exact:.11e}").parse().unwrap_or(exact);
            format!("{short:?}")
        }
    };
    let with_unit = |number: String| match from.unit.as_str() {
        "" => number,
        unit => format!("\"{}{unit}\"", number.trim_end_matches(".0")),
    };
    Ok((0..steps).map(|i| (with_unit(value(i)), span.clone())).collect())
}

/// Returns `v={ from = 1Gbps, .. }` with quotes around the values that need them.
pub(super) fn with_quotes(table: &str) -> String {
    let inner = table.trim().trim_start_matches('{').trim_end_matches('}');
    let pair = |part: Range<usize>| match inner[part.clone()].split_once('=') {
        Some((key, value)) if literal(value.trim()).is_none() => format!("{key}=\"{}\"", value.trim()),
        _ => inner[part].to_string(),
    };
    let pairs: Vec<String> = parts(inner).into_iter().map(pair).collect();
    format!("v={{{}}}", pairs.join(","))
}
