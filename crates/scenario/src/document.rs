//! TOML texts with overrides: from text to [`Scenario`], keeping every position.

mod axes;
mod cases;
mod inherited;
mod range;
pub(crate) mod reader;
mod texts;
mod vendor;
pub(crate) mod writer;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use paceline_congestion::registry::schemes;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use serde::Deserialize;

use crate::cc::scheme_of_alias;
use crate::diagnostics::{Diagnostics, Location, Problem, Source, nearest};
use crate::files::Files;
use crate::schema::{Parity, Scenario};
use crate::vendor::{Key, Vendor};
use crate::warning::{Warning, WarningKind};

pub(crate) use axes::{Point, Written, dotted};
use reader::Reader;
use texts::GAP;
pub(crate) use texts::Texts;
pub(crate) use writer::{paths, write};

/// Value that the command line puts into a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Command-line option, such as `--set`.
    pub(crate) option: &'static str,
    /// Assignment in the form `path.to.key=value`.
    pub(crate) text: String,
}

/// Scenario with the positions of all its keys and values.
pub(crate) struct Document {
    pub(crate) scenario: Scenario,
    pub(crate) texts: Texts,
    /// Positions of all keys, by path.
    pub(crate) locations: Places,
    /// Grid of the sweep, as written.
    pub(crate) sweep: Written,
    /// Notes on how the text was read.
    pub(crate) warnings: Vec<Warning>,
}

/// Parses a TOML text and applies `settings`, the values of a point of a sweep's grid, and vendors' files.
pub(crate) fn parse(
    source: &Source,
    settings: &[Setting],
    point: Point<'_>,
    files: &Files,
) -> Result<Document, Diagnostics> {
    let mut texts = Texts::of(source.clone());
    let padded = padded(source, settings);
    // Declared before the table, which borrows its values.
    let of_vendors: OnceCell<(Vec<vendor::Translated>, Vec<String>)> = OnceCell::new();
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let problems = errors.iter().map(|error| syntax_problem(error, &texts));
    if let Some(diagnostics) = Diagnostics::of(problems) {
        return Err(diagnostics);
    }
    let mut table = table;
    let mut warnings: Vec<Warning> = Vec::new();
    let own_fidelity = inherited::fidelity(table.get_ref());
    // The gap keeps a position in a setting from looking like one in the file.
    let mut start = source.text().len() + GAP;
    for (setting, padded) in settings.iter().zip(&padded) {
        let named = Source::new(setting.option, setting.text.clone());
        texts.settings.push((start, named));
        insert(table.get_mut(), setting, padded, start, &texts)?;
        start += setting.text.len() + GAP;
    }
    // After the settings, which may change the table of the sweep.
    let sweep = point.read(table.get_mut(), &mut texts, start)?;
    warnings.extend(sweep.warnings.iter().cloned());
    let chosen = sweep.chosen(point.values);
    let chosen: Vec<_> = (chosen.into_iter())
        .map(|(path, value)| (path, value, behind_blanks(&value.0, &value.1)))
        .collect();
    for (path, (text, span), padded) in &chosen {
        put(table.get_mut(), path, value(text, padded, span.start), &texts)?;
    }
    // After all settings, since a key in Paceline's own words overrides a vendor's.
    let behind = texts.end() + GAP;
    let (translated, left_out) = vendor::take(table.get_mut(), &mut texts, behind, files)?;
    warnings.extend(left_out);
    let padded = translated.iter().map(vendor::padded).collect();
    let (translated, padded) = of_vendors.get_or_init(|| (translated, padded));
    warnings.extend(vendor::put(table.get_mut(), translated, padded, &texts)?);
    // Last, since a setting may have chosen another scheme than the file's.
    let renewed = inherited::renew(table.get_mut(), source.text().len());
    warnings.extend(renewed.map(|what| Warning::new(WarningKind::ReplacedDefaults, what).of_file(source)));
    warnings.extend(inherited::kept_values(
        table.get_ref(),
        own_fidelity.as_ref(),
        &texts,
    ));
    // Before blocks move: positions are looked up under the paths that users write.
    let mut locations = Places::new();
    collect_places(table.get_ref(), "", &mut locations);
    split_schemes(table.get_mut());
    // The reference simulators read their tables themselves, so the schema gets an empty one.
    let parity = table.get_mut().remove("parity");
    if let Some(parity) = &parity {
        // The key is one of the schema's.
        let key = Spanned::new(parity.span(), Cow::Borrowed("parity"));
        let empty = Spanned::new(parity.span(), DeValue::Table(DeTable::new()));
        table.get_mut().insert(key, empty);
    }
    let scenario = Scenario::deserialize(Reader::from(table));
    let mut scenario = scenario.map_err(|error| schema_problem(&error, &texts))?;
    if let Some(parity) = parity {
        scenario.parity = Parity::read(parity).map_err(|error| schema_problem(&error, &texts))?;
    }
    Ok(Document {
        scenario,
        texts,
        locations,
        sweep,
        warnings,
    })
}

/// Parses a text that this program generated.
pub(crate) fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    T::deserialize(Reader::from(table)).map_err(|error| error.to_string())
}

/// Parses a text into types other than a scenario, such as experiments. Errors about unknown keys name the nearest
/// known one.
///
/// # Errors
/// All syntax and type errors, with their positions.
pub fn read_toml<T: serde::de::DeserializeOwned>(source: &Source) -> Result<T, Diagnostics> {
    let texts = Texts::of(source.clone());
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let problems = errors.iter().map(|error| syntax_problem(error, &texts));
    if let Some(diagnostics) = Diagnostics::of(problems) {
        return Err(diagnostics);
    }
    T::deserialize(Reader::from(table)).map_err(|error| schema_problem(&error, &texts).into())
}

/// Returns the value of each setting as a TOML text, padded with blanks so that it parses at its own position.
fn padded(source: &Source, settings: &[Setting]) -> Vec<String> {
    // Positions leave the same gaps as in `parse`.
    let mut start = source.text().len() + GAP;
    let text = |setting: &Setting| {
        let equals = setting.text.find('=').unwrap_or(0);
        let at = start + equals + 1 - KEY.len();
        start += setting.text.len() + GAP;
        format!(
            "{}{KEY}{}",
            " ".repeat(at),
            &setting.text[(equals + 1).min(setting.text.len())..]
        )
    };
    settings.iter().map(text).collect()
}

const KEY: &str = "v=";

/// Returns a value of an axis as a TOML text, padded with blanks so that it parses at its own position.
fn behind_blanks(text: &str, span: &Range<usize>) -> String {
    format!("{}{KEY}{text}", " ".repeat(span.start.saturating_sub(KEY.len())))
}

/// Sets one `path=value` in the table.
fn insert<'i>(
    table: &mut DeTable<'i>,
    setting: &Setting,
    padded: &'i str,
    start: usize,
    texts: &Texts,
) -> Result<(), Problem> {
    let text = &setting.text;
    let whole = texts.at(start..start + text.len());
    let Some(equals) = text.find('=') else {
        return Err(Problem::new(format!("`{text}` has no `=`: expected path.to.key=value")).at(&whole));
    };
    let leading = text.len() - text.trim_start().len();
    let path = segments(text[..equals].trim(), start + leading, &whole)?;
    put(
        table,
        &path,
        value(&text[equals + 1..], padded, start + equals + 1),
        texts,
    )
}

/// Splits `path`, which starts at `position`, into its parts with their positions.
fn segments(path: &str, mut position: usize, whole: &Location) -> Result<axes::Path, Problem> {
    let mut segments = Vec::new();
    for segment in path.split('.') {
        if segment.is_empty() {
            return Err(
                Problem::new(format!("`{path}` is not a path: expected path.to.key=value")).at(whole),
            );
        }
        segments.push((segment.to_string(), position..position + segment.len()));
        position += segment.len() + 1;
    }
    Ok(segments)
}

/// Returns the value `written` at `at`, also in `padded`: TOML if it parses as such, otherwise a plain string.
fn value<'i>(written: &str, padded: &'i str, at: usize) -> Spanned<DeValue<'i>> {
    if let Ok(table) = DeTable::parse(padded)
        && let Some((_, value)) = table.into_inner().into_iter().next()
    {
        return value;
    }
    let trimmed = written.trim();
    let first = at + (written.len() - written.trim_start().len());
    Spanned::new(
        first..first + trimmed.len(),
        DeValue::String(Cow::Owned(trimmed.to_string())),
    )
}

fn put<'i>(
    table: &mut DeTable<'i>,
    path: &[(String, Range<usize>)],
    value: Spanned<DeValue<'i>>,
    texts: &Texts,
) -> Result<(), Problem> {
    let [(name, span), rest @ ..] = path else {
        return Ok(());
    };
    // The entry is removed and inserted again, so that its position is the setting's.
    let old = table.remove(name.as_str());
    let key = Spanned::new(span.clone(), Cow::Owned(name.clone()));
    if rest.is_empty() {
        table.insert(key, value);
        return Ok(());
    }
    let mut inner = old.unwrap_or_else(|| Spanned::new(span.clone(), DeValue::Table(DeTable::new())));
    match inner.get_mut() {
        DeValue::Table(inner) => put(inner, rest, value, texts)?,
        DeValue::Array(elements) => {
            let (segment, at) = &rest[0];
            let labelled = |value: &Spanned<DeValue<'_>>| {
                let label = value.get_ref().get("label");
                label.and_then(|label| label.get_ref().as_str()) == Some(segment)
            };
            let index = elements
                .iter()
                .position(labelled)
                .or_else(|| segment.parse().ok().filter(|&i: &usize| i < elements.len()));
            let element = index.and_then(|i| elements.get_mut(i));
            let Some(DeValue::Table(element)) = element.map(Spanned::get_mut) else {
                return Err(Problem::new(format!("`{name}` has no element `{segment}`"))
                    .at(&texts.at(at.clone()))
                    .label("no such element")
                    .help("elements are named by their label, or counted from 0"));
            };
            if rest.len() == 1 {
                return Err(
                    Problem::new(format!("`{name}.{segment}` is a table: name one of its keys"))
                        .at(&texts.at(at.clone()))
                        .label("not a key"),
                );
            }
            put(element, &rest[1..], value, texts)?;
        }
        _ => {
            return Err(Problem::new(format!("`{name}` is a value, not a table"))
                .at(&texts.at(span.clone()))
                .label("not a table"));
        }
    }
    table.insert(key, inner);
    Ok(())
}

/// Paths of keys, with the positions of their values.
pub(crate) type Places = Vec<(String, Range<usize>)>;

fn collect_places(table: &DeTable<'_>, before: &str, locations: &mut Places) {
    for (key, value) in table {
        collect_place(value, format!("{before}{}", key.get_ref()), locations);
    }
}

fn collect_place(value: &Spanned<DeValue<'_>>, path: String, locations: &mut Places) {
    match value.get_ref() {
        DeValue::Table(table) => collect_places(table, &format!("{path}."), locations),
        // Lists of flows may be long, so only short lists have positions for their elements.
        DeValue::Array(list) if list.len() <= writer::LONGEST => {
            for (i, element) in list.iter().enumerate() {
                collect_place(element, format!("{path}.{i}"), locations);
            }
        }
        _ => {}
    }
    locations.push((path, value.span()));
}

/// Moves the schemes' blocks out of `[cc]`, where they are next to other keys. Keys that an alias's block leaves out
/// come from its scheme's block.
fn split_schemes(table: &mut DeTable<'_>) {
    const OWN: [&str; 4] = ["scheme", "window", "windows", "defaults"];
    let Some(cc) = table.get_mut("cc") else {
        return;
    };
    let span = cc.span();
    let DeValue::Table(cc) = cc.get_mut() else {
        return;
    };
    let mut own = DeTable::new();
    let (mut blocks, mut aliases) = (DeTable::new(), Vec::new());
    for (key, value) in std::mem::take(cc) {
        if OWN.contains(&key.get_ref().as_ref()) {
            own.insert(key, value);
            continue;
        }
        match scheme_of_alias(key.get_ref()) {
            Some(scheme) => aliases.push((key, scheme, value)),
            None => drop(blocks.insert(key, value)),
        }
    }
    *cc = own;
    // Only now, since an alias may stand above its scheme in the file.
    let mut of_aliases = DeTable::new();
    for (key, scheme, mut block) in aliases {
        if let (DeValue::Table(own), Some(DeValue::Table(inherited))) =
            (block.get_mut(), blocks.get(scheme).map(Spanned::get_ref))
        {
            for (parameter, value) in inherited {
                if own.get(parameter.get_ref().as_ref()).is_none() {
                    own.insert(parameter.clone(), value.clone());
                }
            }
        }
        let mut params = DeTable::new();
        params.insert(Spanned::new(key.span(), Cow::Borrowed(scheme)), block);
        of_aliases.insert(key, Spanned::new(span.clone(), DeValue::Table(params)));
    }
    let mut both = DeTable::new();
    for (name, part) in [("schemes", blocks), ("aliases", of_aliases)] {
        let key = Spanned::new(span.clone(), Cow::Borrowed(name));
        both.insert(key, Spanned::new(span.clone(), DeValue::Table(part)));
    }
    let key = Spanned::new(span.clone(), Cow::Borrowed("cc-blocks"));
    table.insert(key, Spanned::new(span, DeValue::Table(both)));
}

fn syntax_problem(error: &toml::de::Error, texts: &Texts) -> Problem {
    let mut message = error.message().to_string();
    if message.is_empty() {
        message = "this is not TOML".to_string();
    }
    match error.span() {
        Some(span) => Problem::new(message).at(&texts.at(span)),
        None => Problem::new(message),
    }
}

/// Rewrites an error of serde's in Paceline's words.
fn schema_problem(error: &reader::Error, texts: &Texts) -> Problem {
    let message = error.message().trim_end().to_string();
    let location = error.span().map(|span| texts.at(span));
    let mut problem = unknown(&message).unwrap_or_else(|| Problem::new(in_words(&message)));
    if let (reader::ONE_TABLE, Some(span)) = (message.as_str(), error.span()) {
        problem = problem.help(several(texts.main().text().get(span).unwrap_or_default()));
    }
    if let Some(location) = &location {
        problem = problem.at(location);
    }
    problem
}

/// Returns the syntax for a list of tables, given the header or value of the single table found.
fn several(written: &str) -> String {
    let header = written.lines().next().unwrap_or_default().trim();
    match header.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((path, _)) => format!("there may be several: write `[[{path}]]`"),
        None => "there may be several: write `[{ .. }]`".to_owned(),
    }
}

/// Replaces the names of Rust types in serde's message.
fn in_words(message: &str) -> String {
    let types = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number, not negative"),
        ("usize", "a whole number, not negative"),
        ("f64", "a number"),
        ("a sequence", "a list"),
        ("a map", "a table"),
        ("a string", "a text"),
        ("a nonzero u32", "a whole number from 1 to 4294967295"),
    ];
    let Some((found, expected)) = message.split_once(", expected ") else {
        return message.to_string();
    };
    let expected = expected.trim_end_matches(',');
    let expected = types
        .iter()
        .find(|(name, _)| *name == expected)
        .map_or(expected, |(_, words)| words);
    let found = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|prefix| found.strip_prefix(prefix));
    match found {
        Some(found) => {
            let found = match found {
                "sequence" => "a list",
                "map" => "a table",
                other => other,
            };
            format!("expected {expected}, found {found}")
        }
        None => message.to_string(),
    }
}

/// Returns the section or scheme block in which the key `found` would be valid.
fn elsewhere(found: &str) -> Option<String> {
    if let Some(scheme) = schemes().find(|scheme| scheme.name == found) {
        return Some(format!("cc.{}", scheme.name));
    }
    let sections = || {
        crate::builtin::sections()
            .iter()
            .filter(|section| !section.name.is_empty())
    };
    let is_section = |section: &&crate::builtin::Entry| section.name.rsplit('.').next() == Some(found);
    if let Some(section) = sections().find(is_section) {
        return Some(section.name.to_string());
    }
    let mut with = sections().filter(|section| section.parameters.iter().any(|key| key.name == found));
    // If several sections have the key, none of them is likelier than the others.
    match (with.next(), with.next()) {
        (Some(section), None) => Some(format!("{}.{found}", section.name)),
        _ => None,
    }
}

/// Returns the words in backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the parameter that a vendor calls `found`; `known` are the keys of its block in the scenario.
fn of_vendor(found: &str, known: &[&str]) -> Option<(&'static Vendor, &'static Key, Option<&'static str>)> {
    let (vendor, key) = crate::vendor::find(found)?;
    let blocks = vendor
        .keys
        .iter()
        .filter_map(|key| key.ours.as_deref()?.rsplit_once('.'));
    // `known` is a block of this vendor's if it holds all counterparts in the block. Keys without a counterpart
    // belong to every block.
    let is_block = |block: &str| {
        let mut of_block = blocks.clone().filter(|(known, _)| *known == block);
        block.starts_with("cc.") && of_block.all(|(_, key)| known.contains(&key))
    };
    let (fits, ours) = match key.ours.as_deref().and_then(|ours| ours.rsplit_once('.')) {
        Some((block, ours)) => (is_block(block), Some(ours)),
        None => (blocks.clone().any(|(block, _)| is_block(block)), None),
    };
    fits.then_some((vendor, key, ours))
}

fn unknown(message: &str) -> Option<Problem> {
    let (what, rest) = if let Some(rest) = message.strip_prefix("unknown field ") {
        ("key", rest)
    } else {
        ("value", message.strip_prefix("unknown variant ")?)
    };
    let words = quoted(rest);
    let (found, mut known) = (*words.first()?, words[1..].to_vec());
    // Users cannot write this name: it stands for the blocks that were moved.
    known.retain(|name| *name != "cc-blocks");
    // `[cc]` flattens a block for each scheme or alias, so serde lists all of them as known keys.
    let mut aliases_too = Vec::new();
    if what == "key" && schemes().all(|scheme| known.contains(&scheme.name)) {
        known.extend(["scheme", "window", "windows", "defaults"]);
        let aliases = schemes().flat_map(|scheme| scheme.aliases);
        aliases_too = aliases.map(|alias| alias.name).collect();
    }
    let list: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    let problem = Problem::new(format!("unknown {what} `{found}`"));
    let expected = if list.is_empty() {
        format!("there are no {what}s here")
    } else {
        format!("expected {}", list.join(", "))
    };
    if let Some((vendor, key, ours)) = of_vendor(found, &known) {
        let table = format!("`[vendor.{}]` takes it as it is", vendor.name);
        return Some(match ours {
            Some(ours) => problem.label(format!("did you mean `{ours}`?")).help(format!(
                "did you mean `{ours}`? `{}` is {}; {table}",
                key.key,
                key.words()
            )),
            None => problem
                .label("not modelled")
                .help(format!("`{}` is not modelled: {}", key.key, key.about)),
        });
    }
    let names = known.iter().chain(&aliases_too).copied();
    Some(match nearest(found, names) {
        Some(name) => problem
            .label(format!("did you mean `{name}`?"))
            .help(format!("did you mean `{name}`? {expected}")),
        None => problem.label(format!("no such {what}")).help(
            elsewhere(found)
                .filter(|_| what == "key")
                .map_or(expected.clone(), |path| {
                    format!("did you mean `{path}`? {expected}")
                }),
        ),
    })
}
