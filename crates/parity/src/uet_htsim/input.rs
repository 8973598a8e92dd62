//! Errors in inputs, with their positions.

use std::ops::Range;

/// An error in an input text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// Byte range in the text.
    pub span: Range<usize>,
    /// Description of the offending text.
    pub message: String,
    /// Description of an acceptable text.
    pub expected: String,
    /// Known names to suggest from; empty unless a name is unknown.
    pub names: Vec<&'static str>,
}

impl InputError {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            expected: expected.into(),
            names: Vec::new(),
        }
    }

    pub(super) fn among(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.names = names.into_iter().collect();
        self
    }
}

/// A word of a text, with its byte range.
#[derive(Clone, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) span: Range<usize>,
}

impl Word<'_> {
    /// Returns an error that points at this word.
    pub(super) fn wrong(&self, message: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(self.span.clone(), message, expected)
    }

    /// Parses the word as a number within a range.
    pub(super) fn number<T>(&self, what: &str, range: std::ops::RangeInclusive<T>) -> Result<T, InputError>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let expected = format!("expected {} to {}", range.start(), range.end());
        let value: T = self
            .text
            .parse()
            .map_err(|_| self.wrong(format!("`{}` is not {what}", self.text), &expected))?;
        if !range.contains(&value) {
            return Err(self.wrong(format!("{what} is {value}"), &expected));
        }
        Ok(value)
    }

    /// Parses a whole number. A fraction is an error because the simulator would silently truncate it.
    pub(super) fn whole<T>(&self, what: &str, range: std::ops::RangeInclusive<T>) -> Result<T, InputError>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        if self.text.contains('.') && self.text.parse::<f64>().is_ok() {
            let expected = format!("expected a whole number, {} to {}", range.start(), range.end());
            return Err(self.wrong(format!("{what} is {}", self.text), expected));
        }
        self.number(what, range)
    }
}

/// Splits a text at white space; spans count from `start`.
pub(super) fn words(text: &str, start: usize) -> Vec<Word<'_>> {
    text.split_whitespace()
        .map(|word| {
            let from = start + (word.as_ptr() as usize - text.as_ptr() as usize);
            Word {
                text: word,
                span: from..from + word.len(),
            }
        })
        .collect()
}

/// Returns the lines that have words and are no comments.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Vec<Word<'_>>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(move |line| {
            let from = start;
            start += line.len();
            words(line, from)
        })
        .filter(|line| line.first().is_some_and(|word| !word.text.starts_with('#')))
}
