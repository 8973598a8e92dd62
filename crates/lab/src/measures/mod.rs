//! Named measures: a number or a curve per run.
//!
//! Sweeps, plots and experiments share them. There are two kinds: the numbers of `summary.json`, each by its path
//! (`fct_slowdown.p99`), and *sets*, which read more of a run than its summary (a traced port, single flows) and are
//! computed when the run ends, so that a trace need not be kept.

mod by_size;
mod halves;
mod long_short;
mod slowdowns;
mod summary;

use std::sync::LazyLock;

use paceline_fabric::Outcome;
use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_scenario::Resolved;
use paceline_scenario::diagnostics::among_many;
use paceline_scenario::guest::{self, left_out};

pub use paceline_scenario::guest::{Measure, MeasureSet, Metrics, measure};
pub use summary::{SUMMARY, find_summary, summary_names};

/// Sets of measures in this crate.
const BUILT_IN: &[MeasureSet] = &[by_size::SET, halves::SET, slowdowns::SET, long_short::SET];

/// All sets: the built-in ones and those that the program adds.
pub static SETS: LazyLock<Vec<&'static MeasureSet>> =
    LazyLock::new(|| BUILT_IN.iter().chain(guest::measures()).collect());

/// Returns a name that two sets share: an added one duplicates another.
pub fn taken() -> Option<&'static str> {
    let mut known = SortedSet::new();
    SETS.iter().map(|set| set.name).find(|name| !known.insert(*name))
}

/// Returns the set with this name.
pub fn find_set(name: &str) -> Option<&'static MeasureSet> {
    SETS.iter().copied().find(|set| set.name == name)
}

/// Computes the measures of the sets that a run requests.
pub(crate) fn summarised(input: &Resolved, outcome: &Outcome) -> SortedMap<String, SortedMap<String, f64>> {
    let sets = input.measures.iter().filter_map(|name| find_set(name));
    let numbers = |set: &MeasureSet| {
        let values = (set.of)(input, outcome).values.into_iter();
        values.filter(|(_, value)| value.is_finite()).collect()
    };
    sets.map(|set| (set.name.to_string(), numbers(set))).collect()
}

/// Returns an error text if a requested set is unknown.
pub(crate) fn unknown(input: &Resolved) -> Option<String> {
    let name = input.measures.iter().find(|name| find_set(name).is_none())?;
    if let Some(why) = left_out(name) {
        return Some(format!("record.measures: `{name}`: {why}"));
    }
    let help = among_many(name, SETS.iter().map(|set| set.name));
    Some(format!(
        "record.measures: unknown set of measures `{name}`: {help}"
    ))
}

/// Returns element `floor(n p)` of n ascending values, p in percent, without interpolation.
pub fn element(ascending: &[f64], percent: usize) -> Option<f64> {
    ascending.get(ascending.len() * percent / 100).copied()
}

#[cfg(test)]
mod tests {
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
        assert_eq!(taken(), None);
        for set in SETS.iter() {
            let all = set.values.iter().chain(set.series);
            let names: SortedSet<&str> = all.map(|one| one.name.as_ref()).collect();
            assert_eq!(names.len(), set.values.len() + set.series.len(), "{}", set.name);
        }
    }
}
