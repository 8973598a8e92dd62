//! Single settings of a vendor's configuration.

use std::ops::Range;

use super::Key;

/// Setting of a vendor's configuration.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Name of the table; empty if the vendor has none.
    pub(crate) table: String,
    /// Entry of the table, such as a port or a profile; empty if it was left out.
    pub(crate) entry: String,
    /// Key as the user wrote it.
    pub(crate) name: String,
    /// Value as the user wrote it.
    pub(crate) value: String,
    /// Position of the key.
    pub(crate) name_span: Range<usize>,
    /// Position of the value.
    pub(crate) span: Range<usize>,
    /// True if it comes from a vendor's file.
    pub(crate) in_file: bool,
    /// Parameter with this name; `None` if Paceline knows none.
    pub(crate) key: Option<&'static Key>,
    /// Result of its translation.
    pub(crate) fate: Fate,
}

/// Result of translating a setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    /// Translation by the rules of its parameter.
    Own,
    /// Translation to these keys and values, since other settings determine its meaning.
    Becomes(Vec<(&'static str, String)>),
    /// No effect: the setting, or its entry, is reported with all others for the same reason.
    Idle { what: String, why: String },
    /// Error with this message.
    Wrong(String),
    /// No effect, because another setting replaces it.
    Covered,
}

impl Item {
    /// Returns true if it is the parameter `key` of `table`, which may be empty.
    pub(crate) fn is(&self, table: &str, key: &str) -> bool {
        self.key
            .is_some_and(|known| known.table == table && known.key == key)
    }

    /// Returns the name with table and entry, as the vendor's tools write it.
    pub(crate) fn path(&self) -> String {
        let name = self.key.map_or(self.name.as_str(), |key| key.key.as_str());
        let parts = [self.table.as_str(), self.entry.as_str(), name];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }

    /// Returns the name with the table only.
    pub(crate) fn short(&self) -> String {
        match self.key {
            Some(key) => key.path(),
            None if self.table.is_empty() => self.name.clone(),
            None => format!("{}.{}", self.table, self.name),
        }
    }
}
