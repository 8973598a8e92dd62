//! `[vendor.NAME]`: parameters by their vendors' names, which become keys of the scenario.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::renamed;
use super::texts::Texts;
use crate::diagnostics::{Problem, nearest};
use crate::vendor::{Key, Vendor, vendors};
use crate::warning::{Warning, WarningKind};

/// Tables of several profiles, as switches have them.
const DEEPEST: usize = 2;

/// A key of the scenario that comes from a vendor's.
pub(super) struct Translated {
    ours: &'static str,
    /// The value as TOML.
    text: String,
    /// Where it was written.
    span: Range<usize>,
    /// The key and the value there.
    there: String,
    vendor: &'static str,
    needs: Option<&'static str>,
}

impl Translated {
    /// The value, behind as many blanks as put it at its place.
    pub(super) fn padded(&self) -> String {
        super::behind_blanks(&(self.text.clone(), self.span.clone()))
    }
}

/// Takes `[vendor]` out of the scenario. Says what is left out of it.
pub(super) fn take(
    root: &mut DeTable<'_>,
    texts: &Texts,
) -> Result<(Vec<Translated>, Vec<Warning>), Problem> {
    let mut found = (Vec::new(), Vec::new());
    let Some((key, value)) = root.remove_entry("vendor") else {
        return Ok(found);
    };
    let Some(tables) = value.get_ref().as_table() else {
        return Err(Problem::new("`vendor` is not a table")
            .at(&texts.at(key.span()))
            .help("write for example `[vendor.connectx]`"));
    };
    for (name, table) in tables {
        let names = || vendors().iter().map(|vendor| vendor.name.as_str());
        let vendor = vendors()
            .iter()
            .find(|vendor| vendor.name == name.get_ref().as_ref());
        let Some(vendor) = vendor else {
            let all = format!("vendors are {}", names().collect::<Vec<_>>().join(", "));
            let help = match nearest(name.get_ref(), names()) {
                Some(near) => format!("did you mean `{near}`? {all}"),
                None => all,
            };
            return Err(Problem::new(format!("unknown vendor `{}`", name.get_ref()))
                .at(&texts.at(name.span()))
                .help(help));
        };
        let Some(keys) = table.get_ref().as_table() else {
            let message = format!("`vendor.{}` is not a table", vendor.name);
            return Err(Problem::new(message).at(&texts.at(name.span())));
        };
        take_keys((vendor, ""), keys, 0, texts, &mut found)?;
    }
    Ok(found)
}

fn take_keys(
    (vendor, table): (&'static Vendor, &str),
    keys: &DeTable<'_>,
    depth: usize,
    texts: &Texts,
    found: &mut (Vec<Translated>, Vec<Warning>),
) -> Result<(), Problem> {
    let has_tables = vendor.keys.iter().any(|key| !key.table.is_empty());
    for (name, value) in keys {
        if let Some(inner) = value
            .get_ref()
            .as_table()
            .filter(|_| has_tables && depth < DEEPEST)
        {
            // The profile's name stands between table and key.
            let table = if depth == 0 {
                name.get_ref().as_ref()
            } else {
                table
            };
            take_keys((vendor, table), inner, depth + 1, texts, found)?;
            continue;
        }
        let place = texts.at(name.span());
        let key = vendor
            .keys
            .iter()
            .find(|key| key.table.eq_ignore_ascii_case(table) && key.is_called(name.get_ref()));
        let Some(key) = key else {
            return Err(unknown(vendor, table, name.get_ref()).at(&place));
        };
        let text = scalar(value.get_ref()).ok_or_else(|| {
            let message = format!("`{}`: expected a number, a text, true or false", key.path());
            Problem::new(message).at(&texts.at(value.span()))
        })?;
        match (&key.ours, key.turns) {
            (Some(ours), Some(turns)) => {
                let turned = turns.apply(&text).map_err(|error| {
                    let message = format!("`{}` of {}: {error}", key.path(), vendor.title);
                    let help = format!("`paceline explain {}` has unit and conversion", key.path());
                    Problem::new(message).at(&texts.at(value.span())).help(help)
                })?;
                found.0.push(Translated {
                    ours,
                    text: turned,
                    span: value.span(),
                    there: format!("{} = {text}", key.path()),
                    vendor: &vendor.name,
                    needs: key.needs.as_deref(),
                });
            }
            _ if key.same.contains(&text) => {}
            _ => found.1.push(left_out(vendor, key, &text).at(&place)),
        }
    }
    Ok(())
}

fn left_out(vendor: &Vendor, key: &Key, text: &str) -> Warning {
    let text = format!(
        "vendor.{}: {} = {text} has no counterpart: {}",
        vendor.name,
        key.path(),
        key.about
    );
    Warning::new(WarningKind::LeftOut, text)
}

fn unknown(vendor: &Vendor, table: &str, name: &str) -> Problem {
    let full = match table {
        "" => name.to_string(),
        table => format!("{table}.{name}"),
    };
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

/// Keys that give those values their meaning, from the rate of the topology's links.
pub(super) fn needed(root: &DeTable<'_>, all: &mut Vec<Translated>, texts: &Texts) -> Result<(), Problem> {
    let mut more: Vec<Translated> = Vec::new();
    for one in all.iter() {
        let Some(key) = one.needs else { continue };
        if is_set(root, key) || more.iter().any(|known| known.ours == key) {
            continue;
        }
        let topology = root.get("topology").and_then(|all| all.get_ref().as_table());
        let mut rates = topology.into_iter().flatten().filter_map(|(_, kind)| {
            let rate = kind.get_ref().get("rate")?;
            Some(rate.get_ref().as_str()?.to_string())
        });
        let rate = rates.next_back().ok_or_else(|| {
            Problem::new(format!("`{}` is meant for ports of one rate", one.there))
                .at(&texts.at(one.span.clone()))
                .help(format!("set {key} to that rate"))
        })?;
        more.push(Translated {
            ours: key,
            text: format!("\"{rate}\""),
            span: one.span.clone(),
            there: "the rate of the topology's links".to_string(),
            vendor: one.vendor,
            needs: None,
        });
    }
    all.extend(more);
    Ok(())
}

fn is_set(root: &DeTable<'_>, path: &str) -> bool {
    let mut names = path.split('.');
    let first = names.next().and_then(|name| root.get(name));
    let last = first.and_then(|first| names.try_fold(first, |value, name| value.get_ref().get(name)));
    last.is_some()
}

/// Puts the translated keys into the scenario; `padded` has their values at their places. Says what was put.
pub(super) fn put<'i>(
    root: &mut DeTable<'i>,
    all: &[Translated],
    padded: &'i [String],
    texts: &Texts,
) -> Result<Vec<Warning>, Problem> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut vendor_at = 0;
    for (i, (one, padded)) in all.iter().zip(padded).enumerate() {
        let place = texts.at(one.span.clone());
        let path: Vec<&'static str> = one.ours.split('.').collect();
        if is_set(root, one.ours) {
            return Err(
                Problem::new(format!("{} is set twice: also by `{}`", one.ours, one.there))
                    .at(&place)
                    .label("this is the same parameter")
                    .help("keep one of them"),
            );
        }
        let mut value = super::value(&one.text, padded, one.span.start);
        value = Spanned::new(one.span.clone(), value.into_inner());
        if !renamed::insert(root, &path, (&one.span, value)) {
            let message = format!("`{}` is not a table", path[..path.len() - 1].join("."));
            return Err(Problem::new(message).at(&place));
        }
        let is_last = all.get(i + 1).is_none_or(|next| next.vendor != one.vendor);
        if is_last {
            let became: Vec<String> = all[vendor_at..=i]
                .iter()
                .map(|one| format!("{} is {} = {}", one.there, one.ours, one.text))
                .collect();
            let text = format!("vendor.{}: {}", one.vendor, became.join("; "));
            warnings
                .push(Warning::new(WarningKind::Reading, text).at(&texts.at(all[vendor_at].span.clone())));
            vendor_at = i + 1;
        }
    }
    Ok(warnings)
}
