//! Named measures: what can be said of a run in a number or a curve.
//!
//! Sweeps, plots and experiments share them. There are two kinds: the numbers of `summary.json`, each by its path
//! (`fct_slowdown.p99`), and *sets*, which read more of a run than its summary (a traced port, single flows) and are
//! computed when the run ends, so that a trace need not be kept.

mod acc;
mod bolt;
mod by_size;
mod completion;
mod delivered;
mod infiniband;
mod long_flows;
mod port;
mod second_half;
mod slowdowns;
mod summary;
mod tcd;
mod tcd_ns3;
mod tcd_sizes;
mod thesis;
mod traced_port;

use std::borrow::Cow;
use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;
use paceline_scenario::diagnostics::among_many;

pub use port::step_mean;
pub use summary::{SUMMARY, find_summary, summary_names};

/// Numbers and curves of a run, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Numbers.
    pub values: BTreeMap<String, f64>,
    /// Curves: places and values, in order of places.
    pub series: BTreeMap<String, Vec<(f64, f64)>>,
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
    pub unit: &'static str,
    /// Digits after the point.
    pub digits: usize,
}

/// A [`Measure`] by its name, what it is, its unit and its digits.
pub const fn measure(name: &'static str, what: &'static str, unit: &'static str, digits: usize) -> Measure {
    Measure {
        name: Cow::Borrowed(name),
        what: Cow::Borrowed(what),
        unit,
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

/// Every set.
pub const SETS: &[MeasureSet] = &[
    by_size::SET,
    delivered::SET,
    second_half::SET,
    slowdowns::SET,
    thesis::NODES,
    thesis::DECIDED_ON,
    acc::DRAIN,
    acc::JOIN,
    acc::LOT,
    acc::SHARED,
    acc::VICTIMS,
    tcd::EPSILON,
    tcd::FAIRNESS,
    tcd::TESTBED,
    tcd::RING,
    tcd_sizes::VICTIMS,
    tcd_sizes::HADOOP,
    tcd_sizes::WEBSEARCH,
    tcd_ns3::SET,
    completion::SET,
    long_flows::INCAST,
    long_flows::SETTLED,
    traced_port::SET,
    bolt::ALONE,
    bolt::JOIN,
    bolt::LEAVE,
    bolt::ENDS,
    bolt::SHARES,
    bolt::SLOWDOWNS,
    bolt::TIMES,
    bolt::TAIL,
    bolt::EVENTS,
    infiniband::RECEIVED,
    infiniband::SHARES,
    infiniband::ON_OFF,
    infiniband::ROW,
    infiniband::POINTS,
    infiniband::MESSAGE,
    infiniband::ALL_TO_ALL,
    infiniband::MPI,
    infiniband::VICTIMS,
    infiniband::DEMO,
    infiniband::FAT_TREE,
];

/// The set of this name.
pub fn find_set(name: &str) -> Option<&'static MeasureSet> {
    SETS.iter().find(|set| set.name == name)
}

/// The numbers of the sets that a run was asked for.
pub(crate) fn summarised(input: &Resolved, outcome: &Outcome) -> BTreeMap<String, BTreeMap<String, f64>> {
    let sets = input.measures.iter().filter_map(|name| find_set(name));
    let numbers = |set: &MeasureSet| {
        let values = (set.of)(input, outcome).values.into_iter();
        values.filter(|(_, value)| value.is_finite()).collect()
    };
    sets.map(|set| (set.name.to_string(), numbers(set))).collect()
}

/// What is wrong with the sets that a run was asked for, if anything is.
pub(crate) fn unknown(input: &Resolved) -> Option<String> {
    let name = input.measures.iter().find(|name| find_set(name).is_none())?;
    let help = among_many(name, SETS.iter().map(|set| set.name));
    Some(format!(
        "record.measures: unknown set of measures `{name}`: {help}"
    ))
}

/// Element `floor(n p)` of n ascending values, p in percent: not interpolated.
pub fn element(ascending: &[f64], percent: usize) -> Option<f64> {
    ascending.get(ascending.len() * percent / 100).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn elements_are_not_interpolated() {
        let values: Vec<f64> = (0..300).map(f64::from).collect();
        // floor(300 * 0.99) = 297
        assert_eq!(element(&values, 99), Some(297.0));
        assert_eq!(element(&values[..3], 50), Some(1.0));
        assert_eq!(element(&[], 50), None);
    }

    #[test]
    fn names_are_different() {
        let sets: BTreeSet<&str> = SETS.iter().map(|set| set.name).collect();
        assert_eq!(sets.len(), SETS.len());
        for set in SETS {
            let all = set.values.iter().chain(set.series);
            let names: BTreeSet<&str> = all.map(|one| one.name.as_ref()).collect();
            assert_eq!(names.len(), set.values.len() + set.series.len(), "{}", set.name);
        }
    }
}
