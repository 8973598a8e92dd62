//! Values that a file written by a run inherits from its scheme and its fidelity, when it is read under another one.
//! `[cc.defaults]` names the values that came with the scheme: another scheme uses its own defaults instead. Values
//! that came with the fidelity stay, with a warning.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::texts::Texts;
use crate::warning::{Warning, WarningKind};

/// Removes the values that came with a scheme other than the one to run, except those from settings: they are beyond
/// `end`, the end of the file. Returns a description of the removed values.
pub(super) fn renew(table: &mut DeTable<'_>, end: usize) -> Option<String> {
    let cc = table.get("cc")?.get_ref();
    let runs = cc.get("scheme")?.get_ref().as_str()?.to_string();
    let defaults = cc.get("defaults")?.get_ref();
    let of = defaults.get("of")?.get_ref().as_str()?.to_string();
    if of == runs {
        return None;
    }
    let keys = defaults.get("keys")?.get_ref().as_array()?;
    let keys: Vec<String> = keys
        .iter()
        .filter_map(|key| Some(key.get_ref().as_str()?.to_string()))
        .collect();
    for key in &keys {
        let path: Vec<&str> = key.split('.').collect();
        take(table, &path, end);
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    Some(format!(
        "{} came with {of} (cc.defaults), so {runs} uses its own; remove cc.defaults to keep the file's",
        keys.join(" and ")
    ))
}

fn take(table: &mut DeTable<'_>, path: &[&str], end: usize) {
    let [name, rest @ ..] = path else { return };
    let Some(mut value) = table.remove(*name) else {
        return;
    };
    let key = Spanned::new(value.span(), (*name).to_string().into());
    let stays = match (value.get_mut(), rest) {
        (DeValue::Table(inner), []) => {
            let names: Vec<String> = inner.keys().map(|key| key.get_ref().to_string()).collect();
            for name in &names {
                take(inner, &[name], end);
            }
            !inner.is_empty()
        }
        (DeValue::Table(inner), rest) => {
            take(inner, rest, end);
            true
        }
        _ => value.span().start >= end,
    };
    if stays {
        table.insert(key, value);
    }
}

/// Returns the fidelity that a table names, and its position.
pub(super) fn fidelity(table: &DeTable<'_>) -> Option<(String, Range<usize>)> {
    let value = table.get("fidelity")?;
    Some((value.get_ref().as_str()?.to_string(), value.span()))
}

/// Warns if a file that a run wrote is read under another fidelity: values that the former one decided stay.
pub(super) fn kept_values(
    table: &DeTable<'_>,
    before: Option<&(String, Range<usize>)>,
    texts: &Texts,
) -> Option<Warning> {
    let ((before, location), (now, _)) = (before?, fidelity(table)?);
    // A file that no run wrote has neither table, and inherited nothing.
    if *before == now || (table.get("quirks").is_none() && table.get("ties").is_none()) {
        return None;
    }
    let quirks = table.get("quirks").and_then(|quirks| quirks.get_ref().as_table());
    let on = quirks
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.get_ref().as_bool() == Some(true));
    let on: Vec<&str> = on.map(|(key, _)| key.get_ref().as_ref()).collect();
    let on = match &on[..] {
        [] => "none".to_string(),
        some => some.join(", "),
    };
    let text = format!(
        "the file was written with fidelity {before} and keeps its values under {now}: quirks (on: {on}), ties, \
         headers, ...; for pure {now}, start from the original input"
    );
    Some(Warning::new(WarningKind::OtherDefaults, text).at(&texts.at(location.clone())))
}
