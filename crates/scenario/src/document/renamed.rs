//! Keys under the names that they had in an earlier version: read as the present ones, with a warning.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Texts;
use super::axes::Path;
use crate::diagnostics::Problem;
use crate::warning::{Warning, WarningKind};

/// The table that a key is in, its former name, its present one.
const RENAMED: [(&[&str], &str, &str); 7] = [
    (&["network"], "flow_control", "flow-control"),
    (&["network"], "nic", "receiver-order"),
    (&["network"], "reserve", "port-reserve"),
    (&["network"], "lanes", "credit"),
    (&["network"], "credits", "ib-omnet"),
    (&["network", "pfc"], "response", "reaction-time"),
    (&["network", "pfc"], "response-jitter", "reaction-jitter"),
];

fn warning(table: &[&str], old: &str, new: &str) -> Warning {
    let table = table.join(".");
    let text =
        format!("`{table}.{old}` is now called `{table}.{new}`; the old name still works in this version");
    Warning::new(WarningKind::RenamedKey, text)
}

/// Gives the keys of a table their present names.
pub(super) fn in_table(root: &mut DeTable<'_>, texts: &Texts) -> Result<Vec<Warning>, Problem> {
    let mut warnings = Vec::new();
    for (path, old, new) in RENAMED {
        let Some(table) = descend(root, path) else {
            continue;
        };
        let Some((key, value)) = table.remove_entry(old) else {
            continue;
        };
        let place = texts.at(key.span());
        if let Some((other, _)) = table.get_key_value(new) {
            return Err(
                Problem::new(format!("`{old}` is the former name of `{new}`, which is set too"))
                    .at(&place)
                    .label("remove this one")
                    .see(&texts.at(other.span()), "set here"),
            );
        }
        warnings.push(warning(path, old, new).at(&place));
        table.insert(Spanned::new(key.span(), Cow::Borrowed(new)), value);
    }
    Ok(warnings)
}

fn descend<'a, 'i>(mut table: &'a mut DeTable<'i>, path: &[&str]) -> Option<&'a mut DeTable<'i>> {
    for name in path {
        match table.get_mut(*name).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => table = inner,
            _ => return None,
        }
    }
    Some(table)
}

/// Gives a path its present name; with a warning if it had another.
pub(super) fn in_path(path: &mut Path, texts: &Texts) -> Option<Warning> {
    for (table, old, new) in RENAMED {
        let is_in = path.len() > table.len() && path.iter().zip(table).all(|((name, _), part)| name == part);
        if is_in && path[table.len()].0 == old {
            let (name, span) = &mut path[table.len()];
            *name = new.to_string();
            return Some(warning(table, old, new).at(&texts.at(span.clone())));
        }
    }
    None
}
