//! Criteria for our values: the reference value, its source, and the tolerance.

use serde::{Deserialize, Serialize};

/// Tolerance of a criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equality in all printed digits.
    Exact,
    /// Largest relative difference from the reference value.
    Within(f64),
    /// Largest absolute difference, in the value's unit.
    Near(f64),
    /// Upper bound of our value, independent of the reference.
    AtMost(f64),
    /// Lower bound of our value.
    AtLeast(f64),
    /// Range for our value.
    Between(f64, f64),
    /// No judgement: the value is only shown.
    Shown,
}

impl Tolerance {
    /// Describes the tolerance in words.
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

    /// Returns true if the criterion bounds our value by itself, instead of its distance from a reference.
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::AtMost(_) | Self::AtLeast(_) | Self::Between(..))
    }
}

/// Formats a bound with as few digits as possible, at most three after the point.
pub(super) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Kind of evidence that a met criterion provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Our value is close to one that a paper printed.
    Published,
    /// Our value is close to one from the authors' simulator.
    AuthorsSimulator,
    /// An ordering, a bound or a direction holds.
    Property,
    /// A printed value is shown without judgement.
    Shown,
}

impl Evidence {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 4] = [
        Self::Published,
        Self::AuthorsSimulator,
        Self::Property,
        Self::Shown,
    ];

    /// Returns the name in the list for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::AuthorsSimulator => "authors-simulator",
            Self::Property => "property",
            Self::Shown => "shown",
        }
    }

    /// Returns the text before a count.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Published => "as published",
            Self::AuthorsSimulator => "as the authors' simulator",
            Self::Property => "properties",
            Self::Shown => "shown",
        }
    }
}

/// Source of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Statement of the publication.
    Paper,
    /// Result of the authors' simulator.
    AuthorsSimulator,
    /// Our own requirement, which was never published.
    Us,
}

impl Source {
    /// Returns the name in the list for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::AuthorsSimulator => "authors' simulator",
            Self::Us => "us",
        }
    }
}

/// Quotation from a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotation {
    /// Position in the publication.
    #[serde(rename = "where")]
    pub at: String,
    /// Literal text in the publication's language.
    pub text: String,
    /// Meaning of the text in English.
    pub means: String,
}

/// Requirement on our value: its source, its tolerance and the reason for that tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// Kind of evidence if it is met.
    pub kind: Evidence,
    /// Source of the requirement.
    pub source: Source,
    /// Allowed difference or bound.
    pub tolerance: Tolerance,
    /// Reason for the tolerance; empty for [`Tolerance::Exact`].
    pub because: String,
    /// Quotation of the publication's statement.
    pub quote: Option<Quotation>,
}

/// No requirement; a reference value, if there is one, is the paper's.
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
    /// Describes the criterion in a line: `as published, within 3 % (ten orders of simultaneous events)`.
    pub(super) fn text(&self) -> String {
        let tolerance = self.tolerance.text();
        let location = (self.quote.as_ref()).map_or_else(String::new, |quote| format!(" ({})", quote.at));
        let what = match (self.kind, self.source) {
            (Evidence::Shown, _) => return Evidence::Shown.title().to_string(),
            (Evidence::Property, Source::Paper) => {
                format!("property that the paper claims{location}, {tolerance}")
            }
            (Evidence::Property, Source::AuthorsSimulator) => {
                format!("property of the authors' simulator, {tolerance}")
            }
            (Evidence::Property, Source::Us) => format!("property that we ask for, {tolerance}"),
            (kind, _) => format!("{}{location}, {tolerance}", kind.title()),
        };
        match self.because.as_str() {
            "" => what,
            because => format!("{what} ({because})"),
        }
    }
}

/// Reference value and our value.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Reference value, printed or from the authors' simulator; `None` without one.
    pub paper: Option<f64>,
    /// Our value; `None` if it was not run, or cannot be.
    pub ours: Option<f64>,
    /// Requirement on our value.
    pub criterion: Criterion,
}

impl Cell {
    /// Returns true if our value meets its criterion; `None` if that is not judged.
    pub fn verdict(&self, decimals: usize) -> Option<bool> {
        let ours = self.ours?;
        let of_paper = |good: &dyn Fn(f64) -> bool| self.paper.map(good);
        let tolerance = self.criterion.tolerance;
        // A value that is not finite meets no bound on either side, and equals nothing.
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

    /// Returns the source of the reference value or the requirement, if there is one.
    pub(super) fn source(&self) -> Option<Source> {
        let said = self.paper.is_some() || self.criterion.kind != Evidence::Shown;
        said.then_some(self.criterion.source)
    }

    /// Returns true if our value can be compared with a reference or a bound.
    pub(super) fn is_compared(&self) -> bool {
        self.ours.is_some() && (self.paper.is_some() || self.criterion.tolerance.is_bound())
    }

    /// Returns the ratio of our value to the published one.
    pub fn ratio(&self) -> Option<f64> {
        let paper = self.paper.filter(|paper| *paper != 0.0)?;
        Some(self.ours? / paper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1/0` is larger than any bound, but no valid value.
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
