//! Keys under the names that they had in an earlier version: read as the present ones, with a warning.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::axes::Path;
use super::inherited;
use super::texts::Texts;
use crate::diagnostics::{Place, Problem};
use crate::warning::{Warning, WarningKind};

/// Former paths of keys and tables, and the present ones.
const RENAMED: [(&[&str], &[&str]); 17] = [
    (&["network", "flow_control"], &["network", "flow-control"]),
    (&["network", "nic"], &["network", "receiver-order"]),
    (&["network", "reserve"], &["network", "port-reserve"]),
    (&["network", "lanes"], &["network", "credit"]),
    (
        &["network", "pfc", "response"],
        &["network", "pfc", "reaction-time"],
    ),
    (
        &["network", "pfc", "response-jitter"],
        &["network", "pfc", "reaction-jitter"],
    ),
    (&["network", "credits"], &["parity", "ib-omnet"]),
    (&["network", "ib-omnet"], &["parity", "ib-omnet"]),
    (&["network", "bolt-ns3"], &["parity", "bolt-ns3"]),
    (&["network", "tcd-ns3"], &["parity", "tcd-ns3"]),
    (
        &["quirks", "window-pause"],
        &["parity", "bolt-ns3", "window-pause"],
    ),
    (&["quirks", "sm-drift"], &["parity", "bolt-ns3", "sm-drift"]),
    (
        &["quirks", "inc-kept-by-hosts"],
        &["parity", "bolt-ns3", "inc-kept-by-hosts"],
    ),
    (
        &["quirks", "src-drain-time"],
        &["parity", "bolt-ns3", "src-drain-time"],
    ),
    (
        &["quirks", "ungated-halving"],
        &["parity", "bolt-ns3", "ungated-halving"],
    ),
    (
        &["quirks", "swift-beta-sign"],
        &["parity", "bolt-ns3", "swift-beta-sign"],
    ),
    (
        &["quirks", "swift-double-update"],
        &["parity", "bolt-ns3", "swift-double-update"],
    ),
];

/// Former quirks that are what the simulator of Bolt's authors is: its fidelity alone says so now.
const OF_BOLT: [&str; 2] = ["device-fifo", "bolt-ns3-sender"];
const BOLT: &str = "bolt-ns3";

fn warning(old: &[&str], new: &[&str]) -> Warning {
    let text = format!(
        "`{}` is now called `{}`; the old name still works in this version",
        old.join("."),
        new.join(".")
    );
    Warning::new(WarningKind::RenamedKey, text)
}

/// Gives the keys of a table their present names.
pub(super) fn in_table(root: &mut DeTable<'_>, texts: &Texts) -> Result<Vec<Warning>, Problem> {
    let mut warnings: Vec<Warning> = bolt_quirks(root, texts)?.into_iter().collect();
    for (old, new) in RENAMED {
        let Some((span, value)) = remove(root, old) else {
            continue;
        };
        let place = texts.at(span.clone());
        if let Some(other) = set_at(root, new) {
            return Err(twice(old, new, &place, &texts.at(other)));
        }
        if !insert(root, new, (&span, value)) {
            let message = format!("`{}` is not a table", new[..new.len() - 1].join("."));
            return Err(Problem::new(message).at(&place));
        }
        warnings.push(warning(old, new).at(&place));
    }
    Ok(warnings)
}

fn twice(old: &[&str], new: &[&str], place: &Place, other: &Place) -> Problem {
    // In the same table its name is enough.
    let (old_name, new_name) = match old.len() == new.len() && old[..old.len() - 1] == new[..new.len() - 1] {
        true => (old[old.len() - 1].to_string(), new[new.len() - 1].to_string()),
        false => (old.join("."), new.join(".")),
    };
    Problem::new(format!(
        "`{old_name}` is the former name of `{new_name}`, which is set too"
    ))
    .at(place)
    .label("remove this one")
    .see(other, "set here")
}

/// Every run of an earlier version wrote down all quirks, those of Bolt's simulator too. Where these say what the
/// fidelity says, they are left out.
fn bolt_quirks(root: &mut DeTable<'_>, texts: &Texts) -> Result<Option<Warning>, Problem> {
    let is_bolt = inherited::fidelity(root).is_some_and(|(name, _)| name == BOLT);
    let Some(quirks) = descend(root, &["quirks"]) else {
        return Ok(None);
    };
    let mut left_out = Vec::new();
    for name in OF_BOLT {
        let Some((key, value)) = quirks.remove_entry(name) else {
            continue;
        };
        if value.get_ref().as_bool() != Some(is_bolt) {
            let message =
                format!("the quirk `{name}` is what the fidelity `{BOLT}` is, and goes with no other");
            return Err(Problem::new(message).at(&texts.at(key.span())).help(format!(
                "remove it, and write `fidelity = \"{BOLT}\"` for that network"
            )));
        }
        left_out.push((name, key.span()));
    }
    if !is_bolt {
        for (old, _) in RENAMED.iter().filter(|(old, _)| old[0] == "quirks") {
            if quirks
                .get(old[1])
                .is_some_and(|value| value.get_ref().as_bool() == Some(false))
                && let Some((key, _)) = quirks.remove_entry(old[1])
            {
                left_out.push((old[1], key.span()));
            }
        }
    }
    let Some((_, first)) = left_out.first() else {
        return Ok(None);
    };
    let names: Vec<&str> = left_out.iter().map(|(name, _)| *name).collect();
    let text = format!(
        "quirks of the simulator of Bolt's authors are left out, as they only repeat the fidelity: {}; what of it can be \
         set is in `parity.{BOLT}`",
        names.join(", ")
    );
    let warning = Warning::new(WarningKind::RenamedKey, text);
    Ok(Some(warning.at(&texts.at(first.clone()))))
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

/// Takes a key out of its table.
fn remove<'i>(root: &mut DeTable<'i>, path: &[&str]) -> Option<(Range<usize>, Spanned<DeValue<'i>>)> {
    let (name, table) = path.split_last()?;
    let (key, value) = descend(root, table)?.remove_entry(*name)?;
    Some((key.span(), value))
}

/// Where a key is set, if it is.
fn set_at(root: &mut DeTable<'_>, path: &[&str]) -> Option<Range<usize>> {
    let (name, table) = path.split_last()?;
    let (key, _) = descend(root, table)?.get_key_value(*name)?;
    Some(key.span())
}

/// Puts a key at a path, whose tables are made where they are missing. Returns whether they are tables.
pub(super) fn insert<'i>(
    table: &mut DeTable<'i>,
    path: &[&'i str],
    (span, value): (&Range<usize>, Spanned<DeValue<'i>>),
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
        Some(DeValue::Table(inner)) => insert(inner, rest, (span, value)),
        _ => false,
    }
}

/// Gives a path its present name; with a warning if it had another.
pub(super) fn in_path(path: &mut Path, texts: &Texts) -> Option<Warning> {
    let is_in =
        |old: &[&str]| path.len() >= old.len() && path.iter().zip(old).all(|((name, _), part)| name == part);
    let (old, new) = RENAMED.into_iter().find(|(old, _)| is_in(old))?;
    let span = path[old.len() - 1].1.clone();
    let named = new.iter().enumerate().map(|(place, name)| {
        let kept = old.get(place).filter(|kept| *kept == name);
        let span = kept.map_or(&span, |_| &path[place].1);
        ((*name).to_string(), span.clone())
    });
    let named: Vec<_> = named.collect();
    path.splice(..old.len(), named);
    Some(warning(old, new).at(&texts.at(span)))
}
