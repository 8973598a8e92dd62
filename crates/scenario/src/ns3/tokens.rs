//! Words separated by white space, with their positions.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::Range;

use crate::diagnostics::{Location, Problem, Source};

/// Reason why a word is not a value of a type, with a description of the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Text in another format.
    Malformed(String),
    /// Value outside of the allowed range.
    OutOfRange(String),
}

impl Unreadable {
    /// Creates the problem of a word `text` that should be `what`.
    pub(crate) fn problem(&self, text: &str, what: &str, location: &Location) -> Problem {
        let (message, expected) = match self {
            Self::Malformed(expected) => (format!("`{text}` is not {what}"), expected),
            Self::OutOfRange(expected) => (format!("`{text}` is out of range for {what}"), expected),
        };
        Problem::new(format!("{message}: expected {expected}"))
            .at(location)
            .label(format!("expected {expected}"))
    }

    /// Creates the problem of a key's value.
    pub(super) fn of_key(&self, key: &str, text: &str, location: &Location) -> Problem {
        let (what, expected) = match self {
            Self::Malformed(expected) => ("", expected),
            Self::OutOfRange(expected) => (", which is out of range", expected),
        };
        let message = format!("{key} is `{text}`{what}: expected {expected}");
        Problem::new(message)
            .at(location)
            .label(format!("expected {expected}"))
    }
}

/// Iterator over the words of a text.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    source: &'a Source,
    position: usize,
}

/// Word and its position.
#[derive(Clone)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: Range<usize>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
        Self { source, position: 0 }
    }

    /// Returns the next word, if there is one.
    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.source.text()[self.position..];
        let start = self.position + rest.find(|c: char| !c.is_whitespace())?;
        let word = self.source.text()[start..].split(char::is_whitespace).next()?;
        self.position = start + word.len();
        Some(Token {
            text: word,
            span: start..self.position,
        })
    }

    /// Returns the next word, or a problem if the text ends.
    pub(crate) fn word(&mut self, what: &str) -> Result<Token<'a>, Problem> {
        let source = self.source;
        self.next()
            .ok_or_else(|| Problem::new(format!("the file ends where {what} should be")).at(&source.end()))
    }

    /// Parses the next word.
    pub(crate) fn value<T: Read>(&mut self, what: &str) -> Result<T, Problem> {
        let token = self.word(what)?;
        self.read(&token, what)
    }

    /// Parses a word that was already read.
    pub(crate) fn read<T: Read>(&self, token: &Token<'_>, what: &str) -> Result<T, Problem> {
        T::read(token.text).map_err(|why| why.problem(token.text, what, &self.place(token)))
    }

    /// Returns the rest of the line without surrounding blanks; the next word is searched behind it.
    pub(crate) fn rest_of_line(&mut self) -> &'a str {
        let rest = &self.source.text()[self.position..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.position += line.len();
        line.trim()
    }

    /// Moves to the end of the line that holds `token`.
    pub(crate) fn finish_line(&mut self, token: &Token<'_>) {
        self.position = token.span.end;
        self.rest_of_line();
    }

    /// Counts the words from the next one to the end of its line.
    pub(crate) fn words_of_next_line(&self) -> usize {
        let mut ahead = self.clone();
        let Some(first) = ahead.next() else { return 0 };
        let rest = &self.source.text()[first.span.start..];
        rest.lines()
            .next()
            .map_or(0, |line| line.split_whitespace().count())
    }

    pub(crate) fn place(&self, token: &Token<'_>) -> Location {
        self.source.at(token.span.clone())
    }
}

/// Types that a word can be parsed into.
pub(crate) trait Read: Sized {
    /// Parses the word, or returns the expected format.
    fn read(text: &str) -> Result<Self, Unreadable>;
}

/// Parses an integer and tells overflow from other errors.
fn whole<T: std::str::FromStr<Err = ParseIntError>>(text: &str, expected: &str) -> Result<T, Unreadable> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Unreadable::OutOfRange(expected.to_string()),
        _ => Unreadable::Malformed(expected.to_string()),
    })
}

impl Read for u64 {
    fn read(text: &str) -> Result<Self, Unreadable> {
        // The bound is worth mentioning only to users who exceed it.
        whole(text, "a whole number, not negative").map_err(|why| match why {
            Unreadable::OutOfRange(_) => Unreadable::OutOfRange(format!("at most {}", Self::MAX)),
            malformed @ Unreadable::Malformed(_) => malformed,
        })
    }
}
impl Read for u32 {
    fn read(text: &str) -> Result<Self, Unreadable> {
        whole(text, "a whole number from 0 to 4294967295")
    }
}
impl Read for u16 {
    fn read(text: &str) -> Result<Self, Unreadable> {
        whole(text, "a whole number from 0 to 65535")
    }
}
impl Read for f64 {
    fn read(text: &str) -> Result<Self, Unreadable> {
        match text.parse::<Self>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(Unreadable::Malformed("a number, not negative".to_string())),
        }
    }
}
