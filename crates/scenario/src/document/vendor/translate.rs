//! Translation of a vendor's settings into keys of the scenario, with warnings about the others.

use paceline_kernel::sorted::{SortedMap, SortedSet};
use toml::de::DeTable;

use super::made::{Translated, is_set};
use crate::diagnostics::Problem;
use crate::document::texts::Texts;
use crate::vendor::item::{Fate, Item};
use crate::vendor::{Key, Vendor, is_same};
use crate::warning::{Warning, WarningKind};

/// Number of table and key names that a note lists.
const SHOWN: usize = 6;

/// Keys of the scenario, and warnings.
type Found = (Vec<Translated>, Vec<Warning>);

/// Warns if a setting turns congestion control off on the device, since the device then ignores the others.
pub(super) fn switched_off(vendor: &Vendor, items: &[Item], texts: &Texts) -> Option<Warning> {
    let is_off = |item: &&Item| {
        let off = item.key.map_or(&[][..], |key| &key.off);
        off.iter().any(|off| is_same(off, &item.value))
    };
    let item = items.iter().find(is_off)?;
    let text = format!(
        "vendor.{}: {} = {} turns congestion control off there, so its other settings are not used",
        vendor.name,
        item.short(),
        item.value
    );
    Some(Warning::new(WarningKind::LeftOut, text).at(&texts.at(item.name_span.clone())))
}

/// Key of the scenario that a setting translates to.
struct Became<'a> {
    ours: &'a str,
    text: String,
    item: &'a Item,
    /// Vendor's key and value that cause it.
    there: String,
    weak: bool,
}

/// Translates all settings of a vendor. A key that the scenario sets under Paceline's own name overrides the file's.
pub(super) fn translate(
    vendor: &'static Vendor,
    items: &[Item],
    root: &DeTable<'_>,
    texts: &Texts,
    found: &mut Found,
) -> Result<(), Problem> {
    let mut became: Vec<Became<'_>> = Vec::new();
    let mut left_out: SortedMap<String, Warning> = SortedMap::new();
    let mut idle = Idle::default();
    for item in items {
        let Some(key) = item.key else {
            idle.unknown(vendor, item);
            continue;
        };
        match &item.fate {
            Fate::Covered => continue,
            Fate::Idle { what, why } => {
                idle.reason(why, what);
                continue;
            }
            Fate::Wrong(why) => {
                let message = format!("`{}` of {}: {why}", key.path(), vendor.title);
                return Err(Problem::new(message).at(&texts.at(item.span.clone())));
            }
            Fate::Becomes(all) => {
                let there = format!("{} = {}", key.path(), item.value.trim());
                became.extend(all.iter().map(|(ours, text)| Became {
                    ours,
                    text: text.clone(),
                    item,
                    there: there.clone(),
                    weak: false,
                }));
                continue;
            }
            Fate::Own => {}
        }
        // The value may follow the service level that it applies to.
        let value = match key.sl {
            true => item.value.split_whitespace().last().unwrap_or_default(),
            false => item.value.trim(),
        };
        let is_unset = |(unset, _): &(&String, &String)| is_same(unset, value);
        if let Some((_, why)) = key.unset.iter().find(is_unset) {
            idle.reason(why, &format!("{} = {value}", key.path()));
            continue;
        }
        let (Some(ours), Some(turns)) = (&key.ours, key.turns) else {
            if key.idle {
                idle.keys.insert(key.path());
            } else if !key.same.iter().any(|same| is_same(same, value)) {
                let warning = missing(vendor, key, value).at(&texts.at(item.name_span.clone()));
                // Ports repeat their keys, so equal warnings are kept once.
                left_out.entry(warning.text.clone()).or_insert(warning);
            }
            continue;
        };
        let text = turns.apply(value).map_err(|error| {
            let message = format!("`{}` of {}: {error}", key.path(), vendor.title);
            let help = format!("`paceline explain {}` has unit and conversion", key.path());
            Problem::new(message).at(&texts.at(item.span.clone())).help(help)
        })?;
        became.push(Became {
            ours,
            text,
            item,
            there: format!("{} = {value}", key.path()),
            weak: key.weak,
        });
    }
    found.1.extend(left_out.into_values());
    // A weak key gives way to any other that becomes the same key.
    let strong = became.iter().filter(|one| !one.weak);
    let strong: SortedSet<String> = strong.map(|one| one.ours.to_string()).collect();
    became.retain(|one| !one.weak || !strong.contains(one.ours));
    let first = found.0.len();
    for one in became {
        if is_set(root, one.ours) {
            if one.item.in_file {
                idle.reason("the scenario sets the same by Paceline's name", &one.there);
                continue;
            }
            return Err(set_twice(one.ours, &one.there, &one, texts));
        }
        let same_key = |known: &&Translated| known.ours == one.ours;
        let Some(known) = found.0.iter().find(same_key) else {
            found.0.push(Translated {
                ours: one.ours.to_string(),
                text: one.text,
                span: one.item.span.clone(),
                there: one.there,
                vendor: &vendor.name,
            });
            continue;
        };
        if known.text != one.text {
            return Err(differ(&one, known, texts));
        }
    }
    // Implied keys come last, since they give way to translated ones.
    let sets: Vec<Translated> = found.0[first..]
        .iter()
        .flat_map(|one| more(vendor, one, items))
        .filter(|more| !is_set(root, &more.ours))
        .collect();
    for more in sets {
        if !found.0.iter().any(|known| known.ours == more.ours) {
            found.0.push(more);
        }
    }
    found.1.extend(idle.told(vendor, items, texts));
    Ok(())
}

/// Returns further keys that a translated value implies.
fn more<'a>(
    vendor: &'static Vendor,
    one: &'a Translated,
    items: &'a [Item],
) -> impl Iterator<Item = Translated> + 'a {
    let item = items.iter().find(|item| item.span == one.span);
    let sets = item.and_then(|item| item.key).map(|key| (key, &key.sets));
    sets.into_iter().flat_map(move |(key, sets)| {
        sets.iter().map(move |(ours, value)| Translated {
            ours: ours.clone(),
            text: format!("\"{value}\""),
            span: one.span.clone(),
            there: key.path(),
            vendor: &vendor.name,
        })
    })
}

fn missing(vendor: &Vendor, key: &Key, value: &str) -> Warning {
    let text = format!(
        "vendor.{}: {} = {value} has no counterpart: {}",
        vendor.name,
        key.path(),
        key.about
    );
    Warning::new(WarningKind::LeftOut, text)
}

fn set_twice(ours: &str, there: &str, one: &Became<'_>, texts: &Texts) -> Problem {
    Problem::new(format!("{ours} is set twice: also by `{there}`"))
        .at(&texts.at(one.item.span.clone()))
        .label("this is the same parameter")
        .help("keep one of them")
}

/// Returns the problem of two entries that differ although Paceline has one value for all ports.
fn differ(one: &Became<'_>, known: &Translated, texts: &Texts) -> Problem {
    let message = format!(
        "`{} = {}` and `{}` differ, and {} is one value for all ports",
        one.item.path(),
        one.item.value.trim(),
        known.there,
        one.ours
    );
    let help = match one.item.in_file {
        true => format!(
            "set {} in the scenario, or {} in its table: that comes before the file",
            one.ours,
            one.item.short()
        ),
        false => "keep the one of the ports that you simulate".to_string(),
    };
    Problem::new(message)
        .at(&texts.at(one.item.span.clone()))
        .see(&texts.at(known.span.clone()), "the other value is here")
        .help(help)
}

/// Settings that do not concern congestion or have no effect here, reported once.
#[derive(Default)]
struct Idle {
    /// Settings and entries, by reason.
    reasons: SortedMap<String, SortedSet<String>>,
    keys: SortedSet<String>,
    tables: SortedSet<String>,
    others: SortedSet<String>,
}

impl Idle {
    fn reason(&mut self, why: &str, what: &str) {
        let all = self.reasons.entry(why.to_string()).or_default();
        all.insert(what.to_string());
    }

    fn unknown(&mut self, vendor: &Vendor, item: &Item) {
        let is_known = vendor
            .tables()
            .iter()
            .any(|table| table.eq_ignore_ascii_case(&item.table));
        match item.table.is_empty() || is_known {
            true => self.others.insert(item.short()),
            false => self.tables.insert(item.table.clone()),
        };
    }

    fn told(self, vendor: &Vendor, items: &[Item], texts: &Texts) -> Option<Warning> {
        let kinds = [
            ("tables that do not concern congestion", &self.tables),
            ("keys that change nothing here", &self.keys),
            ("keys that Paceline does not know", &self.others),
        ];
        let reasons = self.reasons.iter().map(|(why, names)| (why.as_str(), names));
        let all = kinds.into_iter().chain(reasons);
        let parts: Vec<String> = all
            .filter(|(_, names)| !names.is_empty())
            .map(|(why, names)| {
                let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
                let more = match names.len().saturating_sub(SHOWN) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("{}{more} ({why})", shown.join(", "))
            })
            .collect();
        if parts.is_empty() {
            return None;
        }
        let text = format!("vendor.{}: ignored: {}", vendor.name, parts.join("; "));
        let location = items.first().map(|item| texts.at(item.name_span.clone()));
        Some(Warning::new(WarningKind::VendorValues, text).at(location.as_ref()))
    }
}
