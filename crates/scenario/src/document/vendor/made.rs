//! A key that comes from a vendor's, and whether the scenario has it already.

use std::ops::Range;

use toml::de::DeTable;

/// A key of the scenario that comes from a vendor's.
pub(crate) struct Translated {
    pub(super) ours: String,
    /// The value as TOML.
    pub(super) text: String,
    /// Where it was written.
    pub(super) span: Range<usize>,
    /// The key and the value there, of which several may say the same.
    pub(super) there: String,
    pub(super) vendor: &'static str,
}

/// Returns true if the scenario has a key, or a value that leaves no room for it.
pub(super) fn is_set(root: &DeTable<'_>, path: &str) -> bool {
    // These are one of several kinds: another kind leaves no room.
    const KINDS: [&str; 3] = ["network.buffer", "network.headroom", "network.ecn.curves"];
    let path = KINDS
        .iter()
        .find(|kind| path.starts_with(**kind))
        .map_or(path, |kind| kind);
    let mut names = path.split('.');
    let first = names.next().and_then(|name| root.get(name));
    first
        .and_then(|first| names.try_fold(first, |value, name| value.get_ref().get(name)))
        .is_some()
}
