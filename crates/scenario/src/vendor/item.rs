//! Settings of a vendor's configuration, one by one.

use std::ops::Range;

use super::Key;

/// A setting of a vendor's configuration.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The table; empty where the vendor has none.
    pub(crate) table: String,
    /// The entry of the table, such as a port or a profile; empty if it was left out.
    pub(crate) entry: String,
    /// The key as it was written.
    pub(crate) name: String,
    /// The value as it was written.
    pub(crate) value: String,
    /// Where the key stands.
    pub(crate) name_span: Range<usize>,
    /// Where the value stands.
    pub(crate) span: Range<usize>,
    /// True if it comes from a file of the vendor's.
    pub(crate) in_file: bool,
    /// The parameter; `None` if Paceline knows none of this name.
    pub(crate) key: Option<&'static Key>,
    /// What it becomes.
    pub(crate) fate: Fate,
}

/// What becomes of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    /// What its parameter says.
    Own,
    /// These keys and values here, since other settings give it its meaning.
    Becomes(Vec<(&'static str, String)>),
    /// Nothing: it, or the entry that it is of, is told with all others of the same reason.
    Idle { what: String, why: String },
    /// An error.
    Wrong(String),
    /// Nothing, since another setting stands for it.
    Covered,
}

impl Item {
    /// True if it is this parameter, of a table or of none.
    pub(crate) fn is(&self, table: &str, key: &str) -> bool {
        self.key
            .is_some_and(|known| known.table == table && known.key == key)
    }

    /// Its name with table and entry, as the vendor's tools write it.
    pub(crate) fn path(&self) -> String {
        let name = self.key.map_or(self.name.as_str(), |key| key.key.as_str());
        let parts = [self.table.as_str(), self.entry.as_str(), name];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }

    /// Its name with the table alone.
    pub(crate) fn short(&self) -> String {
        match self.key {
            Some(key) => key.path(),
            None if self.table.is_empty() => self.name.clone(),
            None => format!("{}.{}", self.table, self.name),
        }
    }
}
