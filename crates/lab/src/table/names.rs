//! Names of runs that are shown together, made from their differences.

use paceline_kernel::sorted::{SortedMap, SortedSet};

use crate::diff;
use crate::files::RunData;
use crate::results::Summary;

/// Returns the names of schemes, with the seed or the scenario if schemes alone are ambiguous. Runs that differ in none
/// of these are numbered.
pub fn row_names(runs: &[&Summary]) -> Vec<String> {
    numbered(short_names(runs))
}

/// Names runs whose scenarios are known: settings that differ distinguish runs with equal scheme, seed and scenario
/// name.
pub fn run_names(runs: &[RunData]) -> Vec<String> {
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let mut names = short_names(&summaries);
    for same in groups(&names) {
        // A folder whose scenario cannot be read has a number alone.
        let values: Result<Vec<_>, _> = same.iter().map(|&i| diff::scenario(&runs[i])).collect();
        for (i, settings) in same.into_iter().zip(differences(&values.unwrap_or_default())) {
            names[i] = format!("{} {settings}", names[i]);
        }
    }
    numbered(names)
}

fn short_names(runs: &[&Summary]) -> Vec<String> {
    let differs = |get: fn(&Summary) -> String| runs.iter().any(|run| get(run) != get(runs[0]));
    let scenarios = differs(|s| s.scenario.clone());
    let seeds = differs(|s| s.seed.to_string());
    let name = |run: &&Summary| {
        let mut name = run.scheme.clone();
        if scenarios {
            name = format!("{} {name}", run.scenario);
        }
        if seeds {
            name = format!("{name} #{}", run.seed);
        }
        name
    };
    runs.iter().map(name).collect()
}

/// Returns the indices of names that occur more than once, name by name.
fn groups(names: &[String]) -> Vec<Vec<usize>> {
    let mut indices: SortedMap<&str, Vec<usize>> = SortedMap::new();
    for (i, name) in names.iter().enumerate() {
        indices.entry(name).or_default().push(i);
    }
    indices.into_values().filter(|same| same.len() > 1).collect()
}

/// Appends a number to names that are equal.
fn numbered(mut names: Vec<String>) -> Vec<String> {
    for same in groups(&names) {
        for (number, i) in same.into_iter().enumerate() {
            names[i] = format!("{} ({})", names[i], number + 1);
        }
    }
    names
}

/// Returns for each scenario the settings that are not the same in all: `g=0.0625`; empty if all are the same.
fn differences(scenarios: &[SortedMap<String, String>]) -> Vec<String> {
    /// Maximum number of settings in a name.
    const NAMED: usize = 3;
    let keys: SortedSet<&String> = scenarios.iter().flat_map(SortedMap::keys).collect();
    let differs = |key: &&String| {
        scenarios
            .iter()
            .any(|one| one.get(*key) != scenarios[0].get(*key))
    };
    let keys: Vec<&String> = keys.into_iter().filter(differs).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let short = |key: &String| {
        let alone = keys.iter().filter(|other| last(other) == last(key)).count() == 1;
        if alone { last(key) } else { key.clone() }
    };
    let settings = |one: &SortedMap<String, String>| {
        let setting = |key: &&String| {
            let value = one.get(*key).map_or("-", String::as_str);
            format!("{}={value}", short(key))
        };
        let mut text = keys.iter().take(NAMED).map(setting).collect::<Vec<_>>().join(" ");
        if let Some(more @ 1..) = keys.len().checked_sub(NAMED) {
            text.push_str(&format!(" +{more}"));
        }
        text
    };
    scenarios.iter().map(settings).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn runs(scenarios: &[&str]) -> Vec<RunData> {
        let (input, outcome) = sample::incast();
        let data = RunData::new(&input, &sample::finished(&input, outcome));
        let with = |text: &&str| RunData {
            scenario: (*text).to_owned(),
            ..data.clone()
        };
        scenarios.iter().map(with).collect()
    }

    #[test]
    fn runs_are_named_by_what_differs() {
        let names = |scenarios: &[&str]| run_names(&runs(scenarios));
        assert_eq!(
            names(&[
                "[cc.dcqcn]\ng = 0.5\nrate-ai = '5Mbps'",
                "[cc.dcqcn]\ng = 0.25\nrate-ai = '5Mbps'"
            ]),
            ["none g=0.5", "none g=0.25"]
        );
        assert_eq!(
            names(&["a.x = 1\nb.x = 1", "a.x = 2\nb.x = 2\nc = 'd'"]),
            ["none a.x=1 b.x=1 c=-", "none a.x=2 b.x=2 c=d"]
        );
        assert_eq!(
            names(&["a = 1\nb = 1\nc = 1\nd = 1", "a = 2\nb = 2\nc = 2\nd = 2"]),
            ["none a=1 b=1 c=1 +1", "none a=2 b=2 c=2 +1"]
        );
        // The same run twice, and a scenario that is none.
        assert_eq!(
            names(&["a = 1", "a = 2", "a = 1"]),
            ["none a=1 (1)", "none a=2", "none a=1 (2)"]
        );
        assert_eq!(names(&["a = 1", "a ="]), ["none (1)", "none (2)"]);
    }
}
