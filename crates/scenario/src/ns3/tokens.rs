//! Whitespace-separated words with their places.

use std::ops::Range;

use crate::diagnostics::{Place, Problem, Source};

/// The words of a text, one after the other.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    source: &'a Source,
    position: usize,
}

/// A word and where it stands.
#[derive(Clone)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: Range<usize>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
        Self { source, position: 0 }
    }

    /// The next word, if there is one.
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

    /// The next word, which must be there.
    pub(crate) fn word(&mut self, what: &str) -> Result<Token<'a>, Problem> {
        let source = self.source;
        self.next()
            .ok_or_else(|| Problem::new(format!("the file ends where {what} should be")).at(&source.end()))
    }

    /// The next word as a value of a type.
    pub(crate) fn value<T: Read>(&mut self, what: &str) -> Result<T, Problem> {
        let token = self.word(what)?;
        self.read(&token, what)
    }

    /// Reads a word as a value of a type.
    pub(crate) fn read<T: Read>(&self, token: &Token<'_>, what: &str) -> Result<T, Problem> {
        T::read(token.text).map_err(|expected| {
            Problem::new(format!("`{}` is not {what}: expected {expected}", token.text))
                .at(&self.place(token))
                .label(format!("expected {expected}"))
        })
    }

    pub(crate) fn place(&self, token: &Token<'_>) -> Place {
        self.source.at(token.span.clone())
    }
}

/// Values that a word can be.
pub(crate) trait Read: Sized {
    /// The value, or what was expected.
    fn read(text: &str) -> Result<Self, String>;
}

impl Read for u64 {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "a whole number, not negative".to_string())
    }
}
impl Read for u32 {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "a whole number from 0 to 4294967295".to_string())
    }
}
impl Read for u16 {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "a whole number from 0 to 65535".to_string())
    }
}
impl Read for f64 {
    fn read(text: &str) -> Result<Self, String> {
        match text.parse::<Self>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err("a number, not negative".to_string()),
        }
    }
}
