//! Parameters of NICs, switches and subnet managers under their vendors' names.
//!
//! The table is data (`vendor/keys.toml`), used by `[vendor.NAME]` in a scenario, by `explain` and by the book.

pub(crate) mod files;
pub(crate) mod item;
pub(crate) mod opensm;
pub(crate) mod sonic;
mod turn;

use std::sync::LazyLock;

use paceline_kernel::sorted::SortedMap;
use serde::Deserialize;

pub use files::Format;
pub use turn::Turn;
pub(crate) use turn::{is_same, whole};

/// Vendor with its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vendor {
    /// Name of its table in a scenario: `[vendor.NAME]`.
    pub name: String,
    /// Name of the product.
    pub title: String,
    /// Documentation of names and units.
    pub source: String,
    /// Format of its configuration file.
    pub file: Format,
    /// Usual name of that file.
    pub file_name: String,
    /// Vendors whose names are accepted in its table too.
    #[serde(default)]
    pub with: Vec<String>,
    /// Example command that uses a parameter; empty if none has a counterpart.
    #[serde(default)]
    pub example: String,
    /// Parameters of the vendor.
    pub keys: Vec<Key>,
}

/// Vendor's parameter and its translation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Table of the parameter, for configurations with several tables; otherwise empty.
    #[serde(default)]
    pub table: String,
    /// Name in the vendor's notation.
    pub key: String,
    /// Alternative names of the parameter.
    #[serde(default)]
    pub also: Vec<String>,
    /// Corresponding key of a scenario, if there is one.
    pub ours: Option<String>,
    /// Conversion of values to the scenario's.
    pub turns: Option<Turn>,
    /// Unit of the vendor's values.
    #[serde(default)]
    pub unit: String,
    /// Vendor's default, if it is documented.
    #[serde(default)]
    pub default: String,
    /// Without a counterpart: the values that match Paceline's behaviour.
    #[serde(default)]
    pub same: Vec<String>,
    /// Without a counterpart: the reason.
    #[serde(default)]
    pub about: String,
    /// Further keys of a scenario, with their values, that a value implies.
    #[serde(default)]
    pub sets: SortedMap<String, String>,
    /// Values that set nothing, with the reasons.
    #[serde(default)]
    pub unset: SortedMap<String, String>,
    /// Values under which the device ignores its other keys.
    #[serde(default)]
    pub off: Vec<String>,
    /// True if it does not concern congestion.
    #[serde(default)]
    pub idle: bool,
    /// True if another key with the same counterpart has precedence.
    #[serde(default)]
    pub weak: bool,
    /// True if values may follow the service level that they apply to.
    #[serde(default)]
    pub sl: bool,
}

impl Vendor {
    /// Returns the parameter with this name in this table, or that of a vendor whose names are accepted here.
    pub(crate) fn key(&'static self, table: &str, name: &str) -> Option<&'static Key> {
        let own = |vendor: &'static Self| {
            let is = |key: &&Key| key.table.eq_ignore_ascii_case(table) && key.is_called(name);
            vendor.keys.iter().find(is)
        };
        let others = || vendors().iter().filter(|other| self.with.contains(&other.name));
        own(self).or_else(|| others().find_map(own))
    }

    /// Returns the names of its tables; empty if its keys are in no table.
    pub(crate) fn tables(&self) -> Vec<&str> {
        let mut tables: Vec<&str> = self.keys.iter().map(|key| key.table.as_str()).collect();
        tables.retain(|table| !table.is_empty());
        tables.dedup();
        tables
    }
}

impl Key {
    /// Returns the name with its table.
    pub fn path(&self) -> String {
        match self.table.as_str() {
            "" => self.key.clone(),
            table => format!("{table}.{}", self.key),
        }
    }

    /// Returns true if `name` means this parameter, ignoring case; firmware appends `_P1` or `_P2` for a port.
    pub fn is_called(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let port = ["_p1", "_p2"].iter().find_map(|end| lower.strip_suffix(end));
        let is = |own: &str| own.to_lowercase() == lower || port == Some(own.to_lowercase().as_str());
        is(&self.path()) || is(&self.key) || self.also.iter().any(|own| is(own))
    }

    /// Returns the unit, the conversion, or the reason, as a phrase.
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

/// Returns all vendors of the table.
pub fn vendors() -> &'static [Vendor] {
    static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
        let read = toml::from_str::<Vendors>(include_str!("vendor/keys.toml"));
        read.expect("the table is tested").vendor
    });
    &VENDORS
}

/// Returns the parameter with this name, and its vendor.
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
