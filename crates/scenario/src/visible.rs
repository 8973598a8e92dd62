//! Safe display of texts from files: control characters of terminals and formulas of spreadsheets are made visible.

use std::borrow::Cow;

/// Returns true if a character controls a terminal or the text direction; plain line breaks and tabs do not.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Returns `text` with such characters escaped: `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let written = |c: char| {
        if acts(c) {
            c.escape_unicode().to_string()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(written).collect())
}

/// Replaces such characters by others of the same length, so that positions in the text stay valid.
pub(crate) fn masked(text: &str) -> String {
    let mask = |c: char| match (acts(c) && c != '\r', c.len_utf8()) {
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '\u{bf}',
        (true, _) => '\u{fffd}',
    };
    text.chars().map(mask).collect()
}

/// Returns a cell of a CSV file, prefixed with an apostrophe if a spreadsheet would take it for a formula.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    if is_formula(text) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the text of a CSV cell: the inverse of [`csv_cell`].
pub fn csv_text(cell: &str) -> &str {
    cell.strip_prefix('\'')
        .filter(|text| is_formula(text))
        .unwrap_or(cell)
}

fn is_formula(text: &str) -> bool {
    // A prefixed text is prefixed again, so that reading restores exactly the text that was written.
    let text = text.trim_start_matches('\'');
    // Spreadsheets trim leading blanks.
    text.starts_with(['\t', '\r']) || text.trim_start().starts_with(['=', '+', '-', '@'])
}

/// Serde functions for a text field of a CSV row: `#[serde(with = "cell")]`.
pub mod cell {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the text as [`csv_cell`](super::csv_cell).
    ///
    /// # Errors
    /// If the serializer fails.
    pub fn serialize<S: Serializer>(text: impl AsRef<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::csv_cell(text.as_ref()))
    }

    /// Reads a text written by [`serialize`].
    ///
    /// # Errors
    /// If the deserializer fails.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Ok(super::csv_text(&String::deserialize(from)?).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown() {
        assert_eq!(visible("é\tb\n"), "é\tb\n");
        assert_eq!(visible("a\u{1b}[31mb\r"), "a\\u{1b}[31mb\\u{d}");
        assert_eq!(visible("a\u{202e}b\u{9b}"), "a\\u{202e}b\\u{9b}");
        let text = "\u{1b}\u{9b}\u{202e}é";
        assert_eq!(
            (masked(text).as_str(), masked(text).len()),
            ("?\u{bf}\u{fffd}é", text.len())
        );
    }

    #[test]
    fn cells_are_no_formulas_and_read_back() {
        for text in [
            "=1+1", "+1", "-1", "@a", "'=1", "''-", "a", "'a", "", "a=b", "\t=1", "\ra", " =1", "\u{a0}-",
        ] {
            assert_eq!(csv_text(&csv_cell(text)), text);
            assert!(
                !csv_cell(text).trim_start().starts_with(['=', '+', '-', '@']),
                "{text}"
            );
        }
        assert_eq!((csv_cell("=1"), csv_cell("'a")), ("'=1".into(), "'a".into()));
    }
}
