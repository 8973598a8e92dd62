//! Tables `[vendor.NAME]`: parameters by their vendors' names, which become keys of the scenario.

mod collect;
mod made;
mod translate;

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) use made::Translated;

use super::texts::Texts;
use crate::diagnostics::{Problem, nearest};
use crate::files::Files;
use crate::vendor::{opensm, sonic, vendors};
use crate::warning::{Warning, WarningKind};

/// Returns the value padded with blanks, so that it parses at its own position.
pub(super) fn padded(one: &Translated) -> String {
    super::behind_blanks(&one.text, &one.span)
}

/// Removes `[vendor]` from the scenario, reads it with the files that it names, and returns warnings about ignored
/// settings.
pub(super) fn take(
    root: &mut DeTable<'_>,
    texts: &mut Texts,
    start: usize,
    files: &Files,
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
    let mut start = start;
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
        let mut items = collect::items(
            vendor,
            collect::Block { name, value: table },
            texts,
            &mut start,
            files,
        )?;
        if let Some(warning) = translate::switched_off(vendor, &items, texts) {
            found.1.push(warning);
            continue;
        }
        // Some values have a meaning only together with others, so they are combined before the translation.
        let differs = match vendor.name.as_str() {
            "sonic" => {
                sonic::settle(&mut items, link_rate(root));
                None
            }
            _ => opensm::settle(&mut items),
        };
        found.1.extend(differs.map(|text| {
            let text = format!("vendor.{}: {text}", vendor.name);
            Warning::new(WarningKind::LeftOut, text).at(&texts.at(name.span()))
        }));
        translate::translate(vendor, &items, root, texts, &mut found)?;
    }
    Ok(found)
}

/// Returns the rate of the topology's links in Mbit/s, if it sets one.
fn link_rate(root: &DeTable<'_>) -> Option<u64> {
    let topology = root.get("topology")?.get_ref().as_table()?;
    let mut rates = topology.iter().filter_map(|(_, kind)| {
        let rate = kind.get_ref().get("rate")?.get_ref().as_str()?.to_string();
        rate.parse::<paceline_kernel::BitRate>().ok()
    });
    rates.next_back().map(|rate| rate.as_bps() / 1_000_000)
}

/// Puts the translated keys into the scenario; `padded` has their values at their positions. Returns notes on the
/// keys that were set.
pub(super) fn put<'i>(
    root: &mut DeTable<'i>,
    all: &'i [Translated],
    padded: &'i [String],
    texts: &Texts,
) -> Result<Vec<Warning>, Problem> {
    let mut notes: Vec<Warning> = Vec::new();
    let mut vendor_at = 0;
    for (i, (one, padded)) in all.iter().zip(padded).enumerate() {
        let location = texts.at(one.span.clone());
        let path: Vec<&str> = one.ours.split('.').collect();
        let mut value = super::value(&one.text, padded, one.span.start);
        // With the position of the vendor's entry, so that later errors point there.
        value = Spanned::new(one.span.clone(), value.into_inner());
        if !insert(root, &path, &one.span, value) {
            let message = format!("`{}` is not a table", path[..path.len() - 1].join("."));
            return Err(Problem::new(message).at(&location));
        }
        let is_last = all.get(i + 1).is_none_or(|next| next.vendor != one.vendor);
        if is_last {
            let became: Vec<String> = all[vendor_at..=i]
                .iter()
                .map(|one| format!("{} is {} = {}", one.there, one.ours, one.text))
                .collect();
            let text = format!("vendor.{}: {}", one.vendor, became.join("; "));
            let location = texts.at(all[vendor_at].span.clone());
            notes.push(Warning::new(WarningKind::VendorValues, text).at(&location));
            vendor_at = i + 1;
        }
    }
    Ok(notes)
}

/// Inserts a key at a path, creating missing tables. Returns false if a part of the path is not a table.
fn insert<'i>(
    table: &mut DeTable<'i>,
    path: &[&'i str],
    span: &Range<usize>,
    value: Spanned<DeValue<'i>>,
) -> bool {
    let key = |name: &'i str| Spanned::new(span.clone(), Cow::Borrowed(name));
    let [name, rest @ ..] = path else { return true };
    if rest.is_empty() {
        table.insert(key(name), value);
        return true;
    }
    if !table.contains_key(*name) {
        table.insert(
            key(name),
            Spanned::new(span.clone(), DeValue::Table(DeTable::new())),
        );
    }
    match table.get_mut(*name).map(Spanned::get_mut) {
        Some(DeValue::Table(inner)) => insert(inner, rest, span, value),
        _ => false,
    }
}
