//! Texts of a scenario, and positions in them.

use std::ops::Range;

use toml::Spanned;

use crate::diagnostics::{Location, Source};

/// Unused positions between two texts, so that no position in one looks like one in another.
pub(crate) const GAP: usize = 16;

/// Texts that a scenario's positions refer to: the file, and the overrides behind its end.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    main: Source,
    /// Overrides, each with the position of its first character.
    pub(super) settings: Vec<(usize, Source)>,
}

impl Texts {
    pub(crate) fn of(main: Source) -> Self {
        Self {
            main,
            settings: Vec::new(),
        }
    }

    /// Returns the position of a span, in the text to which it belongs.
    pub(crate) fn at(&self, span: Range<usize>) -> Location {
        match self.settings.iter().rev().find(|(start, _)| span.start >= *start) {
            Some((start, source)) => source.at(span.start - start..span.end.saturating_sub(*start)),
            None => self.main.at(span),
        }
    }

    /// Returns the position of a value.
    pub(crate) fn of_value<T>(&self, value: &Spanned<T>) -> Location {
        self.at(value.span())
    }

    /// Returns the position behind the last of the texts.
    pub(super) fn end(&self) -> usize {
        let of = |(start, source): &(usize, Source)| start + source.text().len();
        let settings = self.settings.iter().map(of).max();
        settings.unwrap_or(0).max(self.main.text().len())
    }

    pub(crate) fn main(&self) -> &Source {
        &self.main
    }
}
