//! Keys translated from a vendor's, and the check for keys that the scenario sets itself.

use std::ops::Range;

use toml::de::DeTable;

/// Key of the scenario translated from a vendor's.
pub(crate) struct Translated {
    pub(super) ours: String,
    /// Value as TOML text.
    pub(super) text: String,
    /// Position of the vendor's setting.
    pub(super) span: Range<usize>,
    /// Vendor's key and value; several settings may share one.
    pub(super) there: String,
    pub(super) vendor: &'static str,
}

/// Returns true if the scenario has a key, or a value that leaves no room for it.
pub(super) fn is_set(root: &DeTable<'_>, path: &str) -> bool {
    // These keys exclude one another: if another kind is set, this one cannot be.
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
