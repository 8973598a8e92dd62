//! Axes of a sweep, from the `[sweep]` table and from `--over`, keeping every position.

use std::ops::Range;

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::cases::{CASE, cases, key_paths};
use super::range::{or_a_range, range, with_quotes};
use super::texts::Texts;
use super::{Setting, segments};
use crate::diagnostics::{Location, Problem, Source};
use crate::sweep::{Axis, AxisValue, Grid};
use crate::warning::Warning;

/// Path of keys, each with its position.
pub(crate) type Path = Vec<(String, Range<usize>)>;

/// Text of a value, and its position.
pub(crate) type Value = (String, Range<usize>);

/// Grid of a sweep, as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) axes: Vec<WrittenAxis>,
    pub(crate) repeats: Option<u32>,
    /// Notes on how the keys were read.
    pub(super) warnings: Vec<Warning>,
}

/// Axis of a sweep, as written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenAxis {
    /// Path of the key that it varies, `case`, or several paths with commas between them.
    pub(super) key: String,
    /// Position of the key; in a table with dotted keys, of the last part.
    pub(super) span: Range<usize>,
    /// Values of the key, or labels.
    pub(super) values: Vec<Value>,
    pub(super) sets: Sets,
}

/// Keys that an axis varies.
#[derive(Clone, Debug)]
pub(super) enum Sets {
    /// Key that gets the axis's value.
    Key(Path),
    /// For each label, the keys and values that it stands for.
    Each(Vec<Vec<(Path, Value)>>),
}

/// Returns a path with dots between its keys.
pub(crate) fn dotted(path: &Path) -> String {
    let names: Vec<_> = path.iter().map(|(name, _)| name.as_str()).collect();
    names.join(".")
}

impl WrittenAxis {
    /// Returns the keys that the axis varies, each once.
    fn keys(&self) -> Vec<&Path> {
        match &self.sets {
            Sets::Key(path) => vec![path],
            Sets::Each(all) => {
                let mut keys: Vec<&Path> = Vec::new();
                for (path, _) in all.iter().flatten() {
                    if keys.iter().all(|known| dotted(known) != dotted(path)) {
                        keys.push(path);
                    }
                }
                keys
            }
        }
    }

    fn varies(&self, key: &str) -> bool {
        self.keys().iter().any(|path| dotted(path) == key)
    }

    pub(crate) fn place(&self, texts: &Texts) -> Location {
        texts.at(self.span.clone())
    }
}

impl Written {
    /// Removes the `[sweep]` table from a scenario and reads it.
    pub(super) fn take(table: &mut DeTable<'_>, texts: &Texts) -> Result<Self, Problem> {
        let mut written = Self::default();
        let Some(sweep) = table.remove("sweep") else {
            return Ok(written);
        };
        let DeValue::Table(sweep) = sweep.get_ref() else {
            return Err(
                Problem::new(format!("`sweep` is {}, not a table", kind(sweep.get_ref())))
                    .at(&texts.of_value(&sweep))
                    .help("it holds lists of values: [sweep] \"cc.scheme\" = [\"hpcc\", \"dcqcn\"]"),
            );
        };
        written.read(sweep, &[], texts)?;
        // Restores the order of the file.
        written.axes.order_by_key(|axis| axis.span.start);
        written.check_keys(texts)?;
        Ok(written)
    }

    fn read(
        &mut self,
        table: &DeTable<'_>,
        above: &[(String, Range<usize>)],
        texts: &Texts,
    ) -> Result<(), Problem> {
        for (key, value) in table {
            // Only at the top: further inside it would be a key of the scenario.
            if above.is_empty() && key.get_ref() == "repeats" {
                self.repeats = Some(repeats(value, texts)?);
                continue;
            }
            if above.is_empty()
                && key.get_ref() == CASE
                && let DeValue::Array(list) = value.get_ref()
            {
                self.axes.push(cases(list, key.span(), texts)?);
                continue;
            }
            let mut path = above.to_vec();
            let in_step = above.is_empty() && key.get_ref().contains(',');
            if !in_step {
                path.extend(key_path(key, texts)?);
            }
            let values = match value.get_ref() {
                DeValue::Array(list) => list.iter().map(|value| text_of(value, texts)).collect(),
                // A list called `steps` is an axis of that name, not a range.
                DeValue::Table(inner) if inner.contains_key("steps") && !is_list(inner, "steps") => {
                    range(inner, value.span(), &|span| texts.at(span), texts)?
                }
                DeValue::Table(inner) => {
                    self.read(inner, &path, texts)?;
                    continue;
                }
                _ => {
                    let found = texts.of_value(value);
                    return Err(
                        Problem::new(format!("expected a list of values, found `{}`", found.text()))
                            .at(&found)
                            .label("not a list")
                            .help(format!("write [{}]{}", found.text(), or_a_range(found.text()))),
                    );
                }
            };
            let span = key.span();
            self.axes.push(match in_step {
                true => WrittenAxis::in_step(&key_paths(key, texts)?, span, &values, texts)?,
                false => WrittenAxis::of_key(path, span, values),
            });
        }
        Ok(())
    }

    /// Checks that no key is varied by two axes.
    fn check_keys(&self, texts: &Texts) -> Result<(), Problem> {
        for (i, axis) in self.axes.iter().enumerate() {
            for path in axis.keys() {
                let key = dotted(path);
                if let Some(earlier) = self.axes[..i].iter().find(|other| other.varies(&key)) {
                    return Err(twice(&key, axis, earlier, texts));
                }
            }
        }
        Ok(())
    }

    /// Adds the axis of one `--over`, which starts at `start`, replacing an axis of the table with the same key.
    pub(super) fn over(
        &mut self,
        text: &str,
        start: usize,
        texts: &Texts,
        earlier: &[String],
    ) -> Result<String, Problem> {
        let whole = texts.at(start..start + text.len());
        let Some(equals) = text.find('=') else {
            return Err(Problem::new(format!(
                "`{text}` has no `=`: expected path.to.key=value,value,.."
            ))
            .at(&whole));
        };
        let leading = text.len() - text.trim_start().len();
        let key = text[..equals].trim();
        let span = start + leading..start + text[..equals].trim_end().len();
        let values = listed(text, equals + 1, start, texts)?;
        let axis = if key == CASE {
            let known = self.axes.iter().find(|axis| axis.key == CASE);
            WrittenAxis::of_cases(known, span, &values, texts)?
        } else if key.contains(',') {
            let mut paths = Vec::new();
            for part in parts(key) {
                let name = key[part.clone()].trim();
                let first = part.start + (key[part.clone()].len() - key[part].trim_start().len());
                paths.push(segments(name, start + leading + first, &whole)?);
            }
            WrittenAxis::in_step(&paths, span, &values, texts)?
        } else {
            WrittenAxis::of_key(segments(key, start + leading, &whole)?, span, values)
        };
        let key = axis.key.clone();
        let same = |axis: &&mut WrittenAxis| axis.key == key;
        match self.axes.iter_mut().find(same) {
            // An axis of the table may be replaced, but two options for one key contradict each other.
            Some(other) if earlier.contains(&key) => return Err(twice(&key, &axis, other, texts)),
            Some(other) => *other = axis,
            None => self.axes.push(axis),
        }
        Ok(key)
    }

    /// Checks the axes by themselves, without the scenario.
    pub(super) fn check(&self, texts: &Texts) -> Result<(), Problem> {
        self.check_keys(texts)?;
        for axis in &self.axes {
            let key = &axis.key;
            if axis.values.is_empty() {
                return Err(Problem::new(format!("`{key}` has no values to sweep over"))
                    .at(&axis.place(texts))
                    .label("an empty list"));
            }
            for path in axis.keys() {
                match path.first().map(|(name, _)| name.as_str()) {
                    Some("seed") => {
                        return Err(Problem::new("`seed` cannot be swept over")
                            .at(&axis.place(texts))
                            .help(
                                "every point has the seeds from the scenario's `seed` on: say how many with `repeats`",
                            ));
                    }
                    Some("sweep") => {
                        return Err(Problem::new("a sweep cannot be swept over").at(&axis.place(texts)));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Checks that no axis has a value twice. A value is parsed once: an axis may have thousands.
    fn check_values(&self, texts: &Texts) -> Result<(), Problem> {
        for axis in &self.axes {
            let mut seen = SortedMap::new();
            for (text, span) in &axis.values {
                let value = AxisValue::of(text);
                let name = match value {
                    // There are two zeros, which are equal.
                    AxisValue::Real(number) => format!("{:?}", AxisValue::Real(number + 0.0)),
                    _ => format!("{value:?}"),
                };
                if let Some(first) = seen.insert(name, span) {
                    let key = &axis.key;
                    return Err(Problem::new(format!("`{key}` has the value `{value}` twice"))
                        .at(&texts.at(span.clone()))
                        .label("again here")
                        .see(&texts.at(first.clone()), "first here"));
                }
            }
        }
        Ok(())
    }

    /// Rejects an option that sets a key which the sweep varies: it would have no effect.
    pub(crate) fn check_against(&self, settings: &[Setting], texts: &Texts) -> Result<(), Problem> {
        for Setting { option, text } in settings {
            let key = text.split('=').next().unwrap_or_default().trim();
            if let Some(axis) = self.axes.iter().find(|axis| axis.varies(key)) {
                let problem = Problem::new(format!("`{key}` is set by {option}, and swept over"));
                return Err(problem
                    .at(&axis.place(texts))
                    .help(format!("for a single value write --over {}=VALUE", axis.key)));
            }
        }
        Ok(())
    }

    /// Returns what the values at these indices of the axes set.
    pub(crate) fn chosen<'a>(&'a self, values: &'a [usize]) -> Vec<(&'a Path, &'a Value)> {
        let mut chosen = Vec::new();
        for (axis, &value) in self.axes.iter().zip(values) {
            match &axis.sets {
                Sets::Key(path) => chosen.extend(axis.values.get(value).map(|value| (path, value))),
                Sets::Each(all) => {
                    let sets = all.get(value).into_iter().flatten();
                    chosen.extend(sets.map(|(path, value)| (path, value)));
                }
            }
        }
        chosen
    }

    pub(crate) fn grid(&self) -> Grid {
        let setting = |(path, (text, _)): &(Path, Value)| (dotted(path), AxisValue::of(text));
        let axis = |axis: &WrittenAxis| Axis {
            key: axis.key.clone(),
            values: axis.values.iter().map(|(text, _)| AxisValue::of(text)).collect(),
            settings: match &axis.sets {
                Sets::Key(_) => Vec::new(),
                Sets::Each(all) => all
                    .iter()
                    .map(|sets| sets.iter().map(setting).collect())
                    .collect(),
            },
        };
        Grid {
            axes: self.axes.iter().map(axis).collect(),
            repeats: self.repeats,
        }
    }
}

fn twice(key: &str, axis: &WrittenAxis, earlier: &WrittenAxis, texts: &Texts) -> Problem {
    Problem::new(format!("`{key}` is swept over twice"))
        .at(&axis.place(texts))
        .label("again here")
        .see(&earlier.place(texts), "first here")
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Table(_) => "a table",
        DeValue::Array(_) => "a list",
        _ => "a value",
    }
}

fn is_list(table: &DeTable<'_>, key: &str) -> bool {
    table.get(key).is_some_and(|value| value.get_ref().is_array())
}

pub(super) fn text_of(value: &Spanned<DeValue<'_>>, texts: &Texts) -> Value {
    (texts.of_value(value).text().to_string(), value.span())
}

/// Returns the path of a key of the table, which may be a whole path in quotes.
pub(super) fn key_path(key: &Spanned<std::borrow::Cow<'_, str>>, texts: &Texts) -> Result<Path, Problem> {
    let span = key.span();
    let location = texts.at(span.clone());
    let quote = usize::from(location.text().starts_with(['"', '\'']));
    let mut path = segments(key.get_ref(), span.start + quote, &location)?;
    if location.text().len() != key.get_ref().len() + 2 * quote {
        // The key was written with escapes, so its parts have no positions in the text.
        path.iter_mut().for_each(|(_, part)| *part = span.clone());
    }
    Ok(path)
}

fn repeats(value: &Spanned<DeValue<'_>>, texts: &Texts) -> Result<u32, Problem> {
    let location = texts.of_value(value);
    match literal(location.text()) {
        Some(toml::Value::Integer(count)) if (1..=i64::from(u32::MAX)).contains(&count) => Ok(count as u32),
        _ => Err(Problem::new(format!(
            "expected a whole number above zero, found `{}`",
            location.text()
        ))
        .at(&location)
        .label("how many seeds each point has")),
    }
}

/// Parses the values behind the `=` of an `--over`, which starts at `start`: separated by commas, or in the table's
/// syntax.
fn listed(text: &str, from: usize, start: usize, texts: &Texts) -> Result<Vec<Value>, Problem> {
    let written = &text[from..];
    if written.trim_start().starts_with(['[', '{']) {
        // Padded with blanks so that it parses at its own position.
        let key = "v=";
        let padded = format!("{}{key}{written}", " ".repeat(start + from - key.len()));
        if let Ok(table) = DeTable::parse(&padded)
            && let Some(value) = table.get_ref().get("v")
        {
            match value.get_ref() {
                DeValue::Array(list) => return Ok(list.iter().map(|value| text_of(value, texts)).collect()),
                DeValue::Table(inner) if inner.contains_key("steps") => {
                    return range(inner, value.span(), &|span| texts.at(span), texts);
                }
                _ => {}
            }
        } else if let Ok(table) = DeTable::parse(&with_quotes(written))
            && let Some(DeValue::Table(inner)) = table.get_ref().get("v").map(Spanned::get_ref)
            && inner.contains_key("steps")
        {
            // The quotes that were added shift positions, so errors point at the whole text.
            let span = start + from..start + text.len();
            return range(inner, span.clone(), &|_| texts.at(span.clone()), texts);
        }
    }
    // An axis without values is reported by `check`, which knows its key.
    if written.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    for part in parts(written) {
        let value = written[part.clone()].trim();
        let first = from + part.start + (written[part.clone()].len() - written[part].trim_start().len());
        let span = start + first..start + first + value.len();
        if value.is_empty() {
            return Err(Problem::new(format!("`{text}` has an empty value"))
                .at(&texts.at(span))
                .label("nothing stands here"));
        }
        values.push((value.to_string(), span));
    }
    Ok(values)
}

/// Splits at commas outside of quotes and brackets.
pub(super) fn parts(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                found.push(start..i);
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(start..text.len());
    found
}

/// Parses a value as TOML.
pub(super) fn literal(text: &str) -> Option<toml::Value> {
    let table: toml::Table = toml::from_str(&format!("v={text}")).ok()?;
    table.into_iter().next().map(|(_, value)| value)
}

impl AxisValue {
    /// Parses a value as TOML, or else keeps it as a string.
    pub(super) fn of(text: &str) -> Self {
        match literal(text) {
            Some(toml::Value::Boolean(value)) => Self::Bool(value),
            Some(toml::Value::Integer(value)) => Self::Int(value),
            Some(toml::Value::Float(value)) if value.is_finite() => Self::Real(value),
            Some(toml::Value::String(value)) => Self::Text(value),
            _ => Self::Text(text.to_string()),
        }
    }
}

/// Point of a sweep: for each axis, the index of its value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Point<'a> {
    pub(crate) overs: &'a [String],
    pub(crate) values: &'a [usize],
}

impl Point<'_> {
    /// Returns the axes of `--over` for an input without a `[sweep]` table.
    pub(crate) fn alone(&self) -> Result<(Texts, Written), Problem> {
        let mut texts = Texts::of(Source::new("--over", ""));
        let written = self.read(&mut DeTable::new(), &mut texts, 0)?;
        Ok((texts, written))
    }

    /// Reads all axes; `start` is the position of the first `--over`.
    pub(super) fn read(
        &self,
        table: &mut DeTable<'_>,
        texts: &mut Texts,
        mut start: usize,
    ) -> Result<Written, Problem> {
        let mut written = Written::take(table, texts)?;
        let mut earlier = Vec::new();
        for text in self.overs {
            start += super::GAP;
            texts.settings.push((start, Source::new("--over", text.clone())));
            earlier.push(written.over(text, start, texts, &earlier)?);
            start += text.len();
        }
        written.check(texts)?;
        // A caller that chooses a point has read the whole grid, and reads a document for each of its points.
        if self.values.is_empty() {
            written.check_values(texts)?;
        }
        Ok(written)
    }
}
