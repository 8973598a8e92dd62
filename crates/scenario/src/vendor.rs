//! Parameters of NICs, switches and subnet managers under the names that their vendors use.
//!
//! The table is data (`vendor/keys.toml`). `[vendor.NAME]` in a scenario, `explain` and the book read it.

pub(crate) mod files;
pub(crate) mod item;
pub(crate) mod opensm;
pub(crate) mod sonic;
mod turn;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

pub use files::Format;
pub use turn::Turn;
pub(crate) use turn::{is_same, whole};

/// A vendor with its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vendor {
    /// Its table in a scenario: `[vendor.NAME]`.
    pub name: String,
    /// The product.
    pub title: String,
    /// Where names and units are documented.
    pub source: String,
    /// How its own file is written.
    pub file: Format,
    /// What that file is usually called.
    pub file_name: String,
    /// Vendors whose names are understood in its table, too.
    #[serde(default)]
    pub with: Vec<String>,
    /// A command that uses one; empty where none has a counterpart.
    #[serde(default)]
    pub example: String,
    /// Its parameters.
    pub keys: Vec<Key>,
}

/// A vendor's parameter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The table that it stands in, for configurations of several tables.
    #[serde(default)]
    pub table: String,
    /// Its name.
    pub key: String,
    /// Further names.
    #[serde(default)]
    pub also: Vec<String>,
    /// The key here, if there is one.
    pub ours: Option<String>,
    /// How a value becomes one of ours.
    pub turns: Option<Turn>,
    /// The vendor's unit.
    #[serde(default)]
    pub unit: String,
    /// The vendor's default, if it is documented.
    #[serde(default)]
    pub default: String,
    /// With no key here: the values that Paceline acts by.
    #[serde(default)]
    pub same: Vec<String>,
    /// With no key here: the reason.
    #[serde(default)]
    pub about: String,
    /// Further keys here that give the value its meaning, with their values.
    #[serde(default)]
    pub sets: BTreeMap<String, String>,
    /// Values that set nothing, and why.
    #[serde(default)]
    pub unset: BTreeMap<String, String>,
    /// Values under which the device does not use its other keys.
    #[serde(default)]
    pub off: Vec<String>,
    /// True if it does not concern congestion.
    #[serde(default)]
    pub idle: bool,
    /// True if another key with the same counterpart comes first.
    #[serde(default)]
    pub weak: bool,
    /// True if values may stand behind the service level that they are for.
    #[serde(default)]
    pub sl: bool,
}

impl Vendor {
    /// Its parameter of this name in this table, or that of a vendor whose names are understood here.
    pub(crate) fn key(&'static self, table: &str, name: &str) -> Option<&'static Key> {
        let own = |vendor: &'static Self| {
            let is = |key: &&Key| key.table.eq_ignore_ascii_case(table) && key.is_called(name);
            vendor.keys.iter().find(is)
        };
        let others = || vendors().iter().filter(|other| self.with.contains(&other.name));
        own(self).or_else(|| others().find_map(own))
    }

    /// Names of its tables; none if its keys stand in no table.
    pub(crate) fn tables(&self) -> Vec<&str> {
        let mut tables: Vec<&str> = self.keys.iter().map(|key| key.table.as_str()).collect();
        tables.retain(|table| !table.is_empty());
        tables.dedup();
        tables
    }
}

impl Key {
    /// The name with its table.
    pub fn path(&self) -> String {
        match self.table.as_str() {
            "" => self.key.clone(),
            table => format!("{table}.{}", self.key),
        }
    }

    /// Whether `name` is this parameter, in either case, also as firmware names that of a port (`_P1`).
    pub fn is_called(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let port = ["_p1", "_p2"].iter().find_map(|end| lower.strip_suffix(end));
        let is = |own: &str| own.to_lowercase() == lower || port == Some(own.to_lowercase().as_str());
        is(&self.path()) || is(&self.key) || self.also.iter().any(|own| is(own))
    }

    /// The unit, the conversion, or the reason, in a phrase.
    pub fn words(&self) -> String {
        let Some(turns) = self.turns.filter(|_| self.ours.is_some()) else {
            return self.about.clone();
        };
        match self.unit.as_str() {
            "" => turns.words().to_string(),
            unit => format!("in {unit}; {}", turns.words()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendors {
    vendor: Vec<Vendor>,
}

/// All vendors.
pub fn vendors() -> &'static [Vendor] {
    static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
        let read = toml::from_str::<Vendors>(include_str!("vendor/keys.toml"));
        read.expect("the table is tested").vendor
    });
    &VENDORS
}

/// The parameter of this name, with its vendor.
pub fn find(name: &str) -> Option<(&'static Vendor, &'static Key)> {
    let all = || {
        let of = |vendor: &'static Vendor| vendor.keys.iter().map(move |key| (vendor, key));
        vendors().iter().flat_map(of)
    };
    let exact = all().find(|(_, key)| key.path().eq_ignore_ascii_case(name));
    exact.or_else(|| all().find(|(_, key)| key.is_called(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_key_or_a_reason() {
        for vendor in vendors() {
            for key in &vendor.keys {
                assert_eq!(key.ours.is_some(), key.turns.is_some(), "{}", key.path());
                assert_eq!(key.ours.is_none(), !key.about.is_empty(), "{}", key.path());
                let default = key.turns.filter(|_| !key.default.is_empty());
                let turned = default.map(|turns| turns.apply(&key.default));
                assert!(turned.is_none_or(|turned| turned.is_ok()), "{}", key.path());
            }
        }
        assert_eq!(find("RPG_AI_RATE_P1").unwrap().1.key, "rpg_ai_rate");
        assert_eq!(find("np_cnp_dscp").unwrap().0.name, "connectx");
        assert_eq!(
            find("BUFFER_PROFILE.xoff").unwrap().1.ours.as_deref(),
            Some("network.headroom.fixed")
        );
    }
}
