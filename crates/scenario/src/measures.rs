//! What a measure is, and a set of them.

use std::borrow::Cow;

use paceline_fabric::Outcome;
use paceline_kernel::sorted::SortedMap;

use crate::Resolved;

/// Numbers and curves of a run, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Numbers.
    pub values: SortedMap<String, f64>,
    /// Curves: places and values, in order of places.
    pub series: SortedMap<String, Vec<(f64, f64)>>,
}

impl Metrics {
    /// Those of `values` that are there.
    pub fn of<N: Into<String>>(values: impl IntoIterator<Item = (N, Option<f64>)>) -> Self {
        let there = values.into_iter();
        let mut metrics = Self::default();
        metrics.extend(there.filter_map(|(name, value)| Some((name, value?))));
        metrics
    }

    /// Those of `values` that are there and finite.
    pub fn finite<N: Into<String>>(values: impl IntoIterator<Item = (N, Option<f64>)>) -> Self {
        let finite = values.into_iter();
        Self::of(finite.map(|(name, value)| (name, value.filter(|value| value.is_finite()))))
    }

    /// Adds a number.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.values.insert(name.into(), value);
    }

    /// Adds a curve.
    pub fn draw(&mut self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) {
        self.series.insert(name.into(), points.into_iter().collect());
    }
}

impl<N: Into<String>> Extend<(N, f64)> for Metrics {
    fn extend<T: IntoIterator<Item = (N, f64)>>(&mut self, values: T) {
        self.values
            .extend(values.into_iter().map(|(name, value)| (name.into(), value)));
    }
}

/// A number or a curve of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name in expressions.
    pub name: Cow<'static, str>,
    /// What it is, as tables call it.
    pub what: Cow<'static, str>,
    /// Its unit; empty for a count or a share of one.
    pub unit: Cow<'static, str>,
    /// Digits after the point.
    pub digits: usize,
}

/// A [`Measure`] by its name, what it is, its unit and its digits.
pub const fn measure(name: &'static str, what: &'static str, unit: &'static str, digits: usize) -> Measure {
    Measure {
        name: Cow::Borrowed(name),
        what: Cow::Borrowed(what),
        unit: Cow::Borrowed(unit),
        digits,
    }
}

/// Measures that are computed together when a run ends.
#[derive(Clone, Copy, Debug)]
pub struct MeasureSet {
    /// Its name.
    pub name: &'static str,
    /// What it reads, in a sentence, with what a run has to record for it.
    pub about: &'static str,
    /// The numbers.
    pub values: &'static [Measure],
    /// The curves.
    pub series: &'static [Measure],
    /// Computes them; what a run does not have is missing.
    pub of: fn(&Resolved, &Outcome) -> Metrics,
}

/// Sets of different names are different.
impl PartialEq for MeasureSet {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl MeasureSet {
    /// The number or curve of this name, and whether it is a curve.
    pub fn find(&self, name: &str) -> Option<(&'static Measure, bool)> {
        let of = |all: &'static [Measure]| all.iter().find(|one| one.name == name);
        let value = of(self.values).map(|one| (one, false));
        value.or_else(|| of(self.series).map(|one| (one, true)))
    }
}
