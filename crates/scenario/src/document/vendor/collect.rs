//! From `[vendor.NAME]`, and from the file that it names, to settings.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostics::{Problem, nearest};
use crate::document::texts::{GAP, Texts};
use crate::files::Files;
use crate::vendor::item::{Fate, Item};
use crate::vendor::{Key, Vendor, files};

/// Tables of several entries, as switches have them.
const DEEPEST: usize = 2;

/// A vendor's name in the scenario, and what stands under it.
type Block<'a, 'i> = (&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// All settings: those of the scenario, then those of the vendor's file that the scenario does not set itself. `start` is
/// where the next text begins.
pub(super) fn items(
    vendor: &'static Vendor,
    (name, block): Block<'_, '_>,
    texts: &mut Texts,
    start: &mut usize,
    given: &Files,
) -> Result<Vec<Item>, Problem> {
    let mut own = Vec::new();
    let file = match block.get_ref() {
        DeValue::String(path) => Some((path.to_string(), block.span())),
        DeValue::Table(keys) => {
            inline((vendor, "", ""), keys, 0, texts, &mut own)?;
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
    let place = texts.at(span);
    let source = given.read(&path, &what, &place)?;
    let read = files::read(vendor, &source, *start).map_err(|problem| match problem.place() {
        Some(_) => problem.see(&place, format!("{what} is named here")),
        None => problem.at(&place),
    })?;
    let length = source.text().len();
    texts.settings.push((*start, source));
    *start += length + GAP;
    let is_own = |item: &Item| {
        let same = |own: &Item| own.table == item.table && own.key.map(Key::path) == item.key.map(Key::path);
        item.key.is_some() && own.iter().any(same)
    };
    let of_file: Vec<Item> = read.into_iter().filter(|item| !is_own(item)).collect();
    if let Some(item) = of_file.iter().find(|item| near(vendor, item).is_some()) {
        return Err(unknown(vendor, item).at(&texts.at(item.name_span.clone())));
    }
    own.extend(of_file);
    Ok(own)
}

/// The name that an unknown one of a file is meant to be: files have many that do not concern congestion.
fn near(vendor: &'static Vendor, item: &Item) -> Option<String> {
    if item.key.is_some() || item.table.is_empty() {
        return None;
    }
    let of_table = vendor.keys.iter().filter(|key| key.table == item.table);
    let names: Vec<&str> = of_table.map(|key| key.key.as_str()).collect();
    nearest(&item.name, names.iter().copied()).map(str::to_string)
}

/// The settings in a scenario's table.
fn inline(
    (vendor, table, entry): (&'static Vendor, &str, &str),
    keys: &DeTable<'_>,
    depth: usize,
    texts: &Texts,
    found: &mut Vec<Item>,
) -> Result<(), Problem> {
    let tables = vendor.tables();
    for (name, value) in keys {
        let word = name.get_ref().as_ref();
        let inner = value.get_ref().as_table();
        if let Some(inner) = inner.filter(|_| !tables.is_empty() && depth < DEEPEST) {
            // The name of a profile or port stands between table and key.
            let inside = match depth {
                0 => (vendor, word, ""),
                _ => (vendor, table, word),
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
        // Tables that Paceline does not know are like those of a file, unless it knows one of nearly that name.
        let is_foreign = !table.is_empty()
            && !tables.iter().any(|known| known.eq_ignore_ascii_case(table))
            && nearest(table, tables.iter().copied()).is_none();
        if item.key.is_none() && !is_foreign {
            return Err(unknown(vendor, &item).at(&texts.at(name.span())));
        }
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

/// A value as a vendor's tool has it.
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
