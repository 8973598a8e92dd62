//! Suggestions for misspelt names.

/// Returns the name nearest to `found`, if one is near.
pub(crate) fn nearest<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance * 2 <= name.len())
        .map(|(_, name)| name)
}

/// Returns ` (did you mean ..?)`, or nothing without a name.
pub(crate) fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}
