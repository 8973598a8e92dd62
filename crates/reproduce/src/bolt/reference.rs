//! What the authors' simulator gives (`validation/bolt-ns3`).

/// run, metric, value, unit: those rows that are used.
const DERIVED: &str = include_str!("../../../../validation/bolt-ns3/derived.tsv");

/// A number of a reference run.
pub(super) fn derived(run: &str, metric: &str) -> Option<f64> {
    let mut rows = DERIVED.lines().map(|line| line.split('\t'));
    rows.find_map(|mut row| {
        (row.next() == Some(run) && row.next() == Some(metric)).then(|| row.next()?.parse().ok())?
    })
}
