//! The texts of a scenario, and places in them.

use std::ops::Range;

use toml::Spanned;

use crate::diagnostics::{Place, Source};

/// Positions between two texts, so that no place in one looks like one in another.
pub(crate) const GAP: usize = 16;

/// The texts that a scenario's places are in: the file, and behind its end the overrides.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    main: Source,
    /// Each with the position of its first character.
    pub(super) settings: Vec<(usize, Source)>,
}

impl Texts {
    pub(crate) fn of(main: Source) -> Self {
        Self {
            main,
            settings: Vec::new(),
        }
    }

    /// The place of a span.
    pub(crate) fn at(&self, span: Range<usize>) -> Place {
        match self.settings.iter().rev().find(|(start, _)| span.start >= *start) {
            Some((start, source)) => source.at(span.start - start..span.end.saturating_sub(*start)),
            None => self.main.at(span),
        }
    }

    /// The place of a value.
    pub(crate) fn of_value<T>(&self, value: &Spanned<T>) -> Place {
        self.at(value.span())
    }

    /// Behind the last of the texts.
    pub(super) fn end(&self) -> usize {
        let of = |(start, source): &(usize, Source)| start + source.text().len();
        let settings = self.settings.iter().map(of).max();
        settings.unwrap_or(0).max(self.main.text().len())
    }

    pub(crate) fn main(&self) -> &Source {
        &self.main
    }
}
