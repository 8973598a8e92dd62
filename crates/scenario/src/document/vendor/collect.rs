//! Collection of settings from `[vendor.NAME]` and from the file that it names.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostics::{Problem, nearest};
use crate::document::texts::{GAP, Texts};
use crate::files::Files;
use crate::vendor::item::{Fate, Item};
use crate::vendor::{Key, Vendor, files};

/// Deepest nesting of tables with several entries, as in switches' configurations.
const DEEPEST: usize = 2;

/// Vendor's name in the scenario, and the value under it.
pub(super) struct Block<'a, 'i> {
    pub(super) name: &'a Spanned<Cow<'i, str>>,
    pub(super) value: &'a Spanned<DeValue<'i>>,
}

/// Table of a vendor's settings.
#[derive(Clone, Copy)]
struct Section<'a> {
    vendor: &'static Vendor,
    /// Name of the table; empty for the outermost one.
    table: &'a str,
    /// Profile or port that the table is for; empty if for all.
    entry: &'a str,
}

/// Collects all settings: those of the scenario, then those of the vendor's file that the scenario does not set
/// itself. `start` is the position of the next text.
pub(super) fn items(
    vendor: &'static Vendor,
    block: Block<'_, '_>,
    texts: &mut Texts,
    start: &mut usize,
    given: &Files,
) -> Result<Vec<Item>, Problem> {
    let Block { name, value: block } = block;
    let mut own = Vec::new();
    let file = match block.get_ref() {
        DeValue::String(path) => Some((path.to_string(), block.span())),
        DeValue::Table(keys) => {
            let section = Section {
                vendor,
                table: "",
                entry: "",
            };
            inline(section, keys, 0, texts, &mut own)?;
            let file = keys
                .get("file")
                .map(|file| (file.get_ref().as_str(), file.span()));
            file.and_then(|(path, span)| Some((path?.to_string(), span)))
        }
        _ => {
            let message = format!(
                "`vendor.{}` is neither a table nor the name of a file",
                vendor.name
            );
            let help = format!(
                "write `[vendor.{}]`, or `{0} = \"{}\"`",
                vendor.name, vendor.file_name
            );
            return Err(Problem::new(message).at(&texts.at(name.span())).help(help));
        }
    };
    let Some((path, span)) = file else { return Ok(own) };
    let what = format!("the configuration of {}", vendor.title);
    let location = texts.at(span);
    let source = given.read(&path, &what, &location)?;
    let read = files::read(vendor, &source, *start).map_err(|problem| match problem.place() {
        Some(_) => problem.see(&location, format!("{what} is named here")),
        None => problem.at(&location),
    })?;
    let length = source.text().len();
    texts.settings.push((*start, source));
    *start += length + GAP;
    let is_own = |item: &Item| {
        let same = |own: &Item| own.table == item.table && own.key.map(Key::path) == item.key.map(Key::path);
        item.key.is_some() && own.iter().any(same)
    };
    let of_file: Vec<Item> = read.into_iter().filter(|item| !is_own(item)).collect();
    // Files hold much that is not modelled, so only names close to a known one count as mistakes.
    if let Some(item) = of_file.iter().find(|item| near(vendor, item).is_some()) {
        return Err(unknown(vendor, item).at(&texts.at(item.name_span.clone())));
    }
    own.extend(of_file);
    Ok(own)
}

/// Returns the known name nearest to an unknown one of a known table. Files hold many names that do not concern
/// congestion.
fn near(vendor: &'static Vendor, item: &Item) -> Option<String> {
    if item.key.is_some() || item.table.is_empty() {
        return None;
    }
    let of_table = vendor.keys.iter().filter(|key| key.table == item.table);
    let names: Vec<&str> = of_table.map(|key| key.key.as_str()).collect();
    nearest(&item.name, names.iter().copied()).map(str::to_string)
}

/// Collects the settings in a scenario's table.
fn inline(
    section: Section<'_>,
    keys: &DeTable<'_>,
    depth: usize,
    texts: &Texts,
    found: &mut Vec<Item>,
) -> Result<(), Problem> {
    let Section { vendor, table, entry } = section;
    let tables = vendor.tables();
    for (name, value) in keys {
        let word = name.get_ref().as_ref();
        let inner = value.get_ref().as_table();
        if let Some(inner) = inner.filter(|_| !tables.is_empty() && depth < DEEPEST) {
            // The name of a profile or port is between table and key.
            let inside = match depth {
                0 => Section {
                    table: word,
                    ..section
                },
                _ => Section {
                    entry: word,
                    ..section
                },
            };
            inline(inside, inner, depth + 1, texts, found)?;
            continue;
        }
        if depth == 0 && word == "file" && value.get_ref().as_str().is_some() {
            continue;
        }
        let mut item = Item {
            table: table.to_string(),
            entry: entry.to_string(),
            name: word.to_string(),
            value: String::new(),
            name_span: name.span(),
            span: value.span(),
            in_file: false,
            key: vendor.key(table, word),
            fate: Fate::Own,
        };
        // Unknown tables are treated as in a file and ignored, unless a known one has nearly that name.
        let is_foreign = !table.is_empty()
            && !tables.iter().any(|known| known.eq_ignore_ascii_case(table))
            && nearest(table, tables.iter().copied()).is_none();
        if item.key.is_none() && !is_foreign {
            return Err(unknown(vendor, &item).at(&texts.at(name.span())));
        }
        // A key with service levels may have a list, with a value for each.
        let list = value.get_ref().as_array();
        let all: Vec<&Spanned<DeValue<'_>>> = match list {
            Some(list) if item.key.is_some_and(|key| key.sl) => list.iter().collect(),
            _ => vec![value],
        };
        for value in all {
            item.value = scalar(value.get_ref()).ok_or_else(|| {
                let message = format!("`{}`: expected a number, a text, true or false", item.short());
                Problem::new(message).at(&texts.at(value.span()))
            })?;
            item.span = value.span();
            found.push(item.clone());
        }
    }
    Ok(())
}

fn unknown(vendor: &'static Vendor, item: &Item) -> Problem {
    let full = item.short();
    let names: Vec<String> = vendor.keys.iter().map(Key::path).collect();
    let near = nearest(&full, names.iter().map(String::as_str));
    let list = format!("`paceline explain {}` lists its keys", vendor.name);
    let help = match near {
        Some(near) => format!("did you mean `{near}`? {list}"),
        None => list,
    };
    Problem::new(format!("unknown key `{full}` of {}", vendor.title)).help(help)
}

/// Returns a scalar value as the vendor's tool writes it, or `None` for lists and tables.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .ok()?
            .to_string(),
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(value) => value.to_string(),
        _ => return None,
    })
}
