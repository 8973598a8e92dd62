//! Named measures: what can be said of a run in a number or a curve.
//!
//! Sweeps, plots and experiments share them. There are two kinds: the numbers of `summary.json`, each by its path
//! (`fct_slowdown.p99`), and *sets*, which read more of a run than its summary (a traced port, single flows) and are
//! computed when the run ends, so that a trace need not be kept.

mod by_size;
mod halves;
mod infiniband;
mod long_short;
mod set;
mod slowdowns;
mod summary;

use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;
use paceline_scenario::diagnostics::among_many;

pub use set::{Measure, MeasureSet, Metrics, element, measure};
pub use summary::{SUMMARY, find_summary, summary_names};

/// Every set.
pub const SETS: &[MeasureSet] = &[
    by_size::SET,
    halves::SET,
    slowdowns::SET,
    long_short::SET,
    infiniband::STEPS,
    infiniband::EQUAL,
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
