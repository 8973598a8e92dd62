//! Errors of inputs, with their place.

use std::ops::Range;

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// Where in the text.
    pub span: Range<usize>,
    /// What stands there.
    pub message: String,
    /// What was expected there.
    pub expected: String,
    /// Names among which the right one may be, if a name is unknown.
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

/// A word of a text.
#[derive(Clone, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) span: Range<usize>,
}

impl Word<'_> {
    /// An error about it.
    pub(super) fn wrong(&self, message: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(self.span.clone(), message, expected)
    }

    /// Its number, within a range.
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

    /// The same of a whole number. The simulator would cut a fraction off, and not say so.
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

/// The words of a text.
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

/// The lines of a text that have words and are no comment.
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
