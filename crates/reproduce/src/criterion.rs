//! What a value of ours is compared with, by whose word, and how close it has to be.

use serde::{Deserialize, Serialize};

/// How close ours has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The same to the digits that were printed.
    Exact,
    /// This far off at most, as a share of the value alongside it.
    Within(f64),
    /// This far off at most, in the value's own unit.
    Near(f64),
    /// Ours has to be this or less, whatever stands alongside it.
    AtMost(f64),
    /// Ours has to be this or more.
    AtLeast(f64),
    /// Ours has to lie between these.
    Between(f64, f64),
    /// Not judged.
    Shown,
}

impl Tolerance {
    /// In words.
    pub fn text(self) -> String {
        match self {
            Self::Exact => "exact".to_string(),
            Self::Within(share) => format!("within {} %", plain(share * 100.0)),
            Self::Near(difference) => format!("within {difference}"),
            Self::AtMost(most) => format!("at most {}", plain(most)),
            Self::AtLeast(least) => format!("at least {}", plain(least)),
            Self::Between(least, most) => format!("{} to {}", plain(least), plain(most)),
            Self::Shown => "shown only".to_string(),
        }
    }

    /// Whether it is of ours alone, not of its distance from a value alongside it.
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::AtMost(_) | Self::AtLeast(_) | Self::Between(..))
    }
}

/// A bound with as many digits as it takes, three after the point at most.
pub(super) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// What kind of evidence it is that ours keeps a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// A paper printed this value, and ours is close to it.
    Published,
    /// The authors' simulator gave this value, and ours is close to it.
    AuthorsSimulator,
    /// An order, a bound or a direction has to hold.
    Property,
    /// Printed, not judged.
    Shown,
}

impl Evidence {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [
        Self::Published,
        Self::AuthorsSimulator,
        Self::Property,
        Self::Shown,
    ];

    /// As the list for programs has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::AuthorsSimulator => "authors-simulator",
            Self::Property => "property",
            Self::Shown => "shown",
        }
    }

    /// As people read it before a count.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Published => "as published",
            Self::AuthorsSimulator => "as the authors' simulator",
            Self::Property => "properties",
            Self::Shown => "shown",
        }
    }
}

/// By whose word something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The publication says it.
    Paper,
    /// The authors' simulator gave it.
    AuthorsSimulator,
    /// Nobody has published it: we ask for it.
    Us,
}

impl Source {
    /// As the list for programs has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::AuthorsSimulator => "authors' simulator",
            Self::Us => "us",
        }
    }
}

/// Words of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotation {
    /// Where they stand in it.
    #[serde(rename = "where")]
    pub at: String,
    /// The words as they stand there.
    pub text: String,
    /// What they say, in English.
    pub means: String,
}

/// What ours has to be, by whose word, and why just so close.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// What kind of evidence it is to keep it.
    pub kind: Evidence,
    /// By whose word.
    pub source: Source,
    /// How close.
    pub tolerance: Tolerance,
    /// Why just that close: empty for [`Tolerance::Exact`].
    pub because: String,
    /// The words by which the publication says it.
    pub quote: Option<Quotation>,
}

/// Nothing is asked for. What stands alongside ours, if anything, is the paper's.
impl Default for Criterion {
    fn default() -> Self {
        Self {
            kind: Evidence::Shown,
            source: Source::Paper,
            tolerance: Tolerance::Shown,
            because: String::new(),
            quote: None,
        }
    }
}

impl Criterion {
    /// In a line: `as published, within 3 % (ten orders of simultaneous events)`.
    pub(super) fn text(&self) -> String {
        let tolerance = self.tolerance.text();
        let place = (self.quote.as_ref()).map_or_else(String::new, |quote| format!(" ({})", quote.at));
        let what = match (self.kind, self.source) {
            (Evidence::Shown, _) => return Evidence::Shown.title().to_string(),
            (Evidence::Property, Source::Paper) => {
                format!("property that the paper claims{place}, {tolerance}")
            }
            (Evidence::Property, Source::AuthorsSimulator) => {
                format!("property of the authors' simulator, {tolerance}")
            }
            (Evidence::Property, Source::Us) => format!("property that we ask for, {tolerance}"),
            (kind, _) => format!("{}{place}, {tolerance}", kind.title()),
        };
        match self.because.as_str() {
            "" => what,
            because => format!("{what} ({because})"),
        }
    }
}

/// A published value and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What stands alongside ours: printed, or given by the authors' simulator; `None` where nothing does.
    pub paper: Option<f64>,
    /// Ours; `None` where it was not run, or cannot be.
    pub ours: Option<f64>,
    /// What ours has to be.
    pub criterion: Criterion,
}

impl Cell {
    /// Whether ours keeps its criterion; `None` where that is not judged.
    pub fn verdict(&self, decimals: usize) -> Option<bool> {
        let ours = self.ours?;
        let of_paper = |good: &dyn Fn(f64) -> bool| self.paper.map(good);
        let tolerance = self.criterion.tolerance;
        // What is no number keeps no bound, whichever side it is on, and is equal to nothing.
        if !ours.is_finite() && tolerance != Tolerance::Shown {
            return (self.paper.is_some() || tolerance.is_bound()).then_some(false);
        }
        match tolerance {
            Tolerance::Exact => {
                of_paper(&|paper| format!("{paper:.decimals$}") == format!("{ours:.decimals$}"))
            }
            Tolerance::Within(share) => of_paper(&|paper| (ours - paper).abs() <= share * paper.abs()),
            Tolerance::Near(difference) => of_paper(&|paper| (ours - paper).abs() <= difference),
            Tolerance::AtMost(most) => Some(ours <= most),
            Tolerance::AtLeast(least) => Some(ours >= least),
            Tolerance::Between(least, most) => Some(least <= ours && ours <= most),
            Tolerance::Shown => None,
        }
    }

    /// By whose word something stands alongside ours or is asked of it, if anything is.
    pub(super) fn source(&self) -> Option<Source> {
        let said = self.paper.is_some() || self.criterion.kind != Evidence::Shown;
        said.then_some(self.criterion.source)
    }

    /// Whether there is something to compare ours with.
    pub(super) fn is_compared(&self) -> bool {
        self.ours.is_some() && (self.paper.is_some() || self.criterion.tolerance.is_bound())
    }

    /// Ours over the published value.
    pub fn ratio(&self) -> Option<f64> {
        let paper = self.paper.filter(|paper| *paper != 0.0)?;
        Some(self.ours? / paper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1/0` is more than any bound, and no number of ours.
    #[test]
    fn what_is_not_finite_keeps_no_criterion() {
        let tolerances = [
            Tolerance::Exact,
            Tolerance::Within(f64::INFINITY),
            Tolerance::Near(f64::INFINITY),
            Tolerance::AtMost(f64::INFINITY),
            Tolerance::AtLeast(1.0),
            Tolerance::Between(f64::NEG_INFINITY, f64::INFINITY),
        ];
        for tolerance in tolerances {
            for ours in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
                let cell = |paper| Cell {
                    paper,
                    ours: Some(ours),
                    criterion: Criterion {
                        kind: Evidence::Property,
                        source: Source::Us,
                        tolerance,
                        because: String::new(),
                        quote: None,
                    },
                };
                for paper in [1.0, ours] {
                    assert_eq!(
                        cell(Some(paper)).verdict(2),
                        Some(false),
                        "{tolerance:?} {ours} {paper}"
                    );
                }
                let alone = tolerance.is_bound().then_some(false);
                assert_eq!(cell(None).verdict(2), alone, "{tolerance:?} {ours}");
            }
        }
    }
}
