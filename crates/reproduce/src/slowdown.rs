//! Slowdown by size, as the publications take it.

use super::need::{Done, Input};
use paceline_lab::results::{FCT_ANALYSIS, FlowRow, SizeBucket, flow_rows};

/// The background under a scheme by size, as the script of HPCC's simulator has it; nothing if it
/// was not run.
pub(super) fn background(done: &Done, input: Input, scheme: &str) -> Vec<SizeBucket> {
    let rows = rows(done, input, scheme);
    FCT_ANALYSIS.of(&rows)
}

/// Slowdowns of the incasts, ascending.
pub(super) fn incasts(done: &Done, input: Input, scheme: &str) -> Vec<f64> {
    let rows = rows(done, input, scheme);
    let incast = rows.iter().filter(|row| row.label == "incast");
    let mut slowdowns: Vec<f64> = incast.filter_map(|row| row.slowdown).collect();
    slowdowns.sort_by(f64::total_cmp);
    slowdowns
}

fn rows<'a>(done: &'a Done, input: Input, scheme: &str) -> Vec<FlowRow<'a>> {
    let run = done.outcome(input, scheme);
    run.map_or_else(Vec::new, |(input, outcome)| flow_rows(input, outcome).collect())
}

/// Element `floor(n p)` of n ascending values, p in percent: not interpolated.
pub(super) fn element(ascending: &[f64], percent: usize) -> Option<f64> {
    ascending.get(ascending.len() * percent / 100).copied()
}

/// A size as the thesis prints it: whole bytes below 1 KB.
pub(super) fn size_name(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 if bytes.is_multiple_of(1_000) => format!("{} KB", bytes / 1_000),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ if bytes.is_multiple_of(1_000_000) => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.2} MB", bytes as f64 / 1e6),
    }
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
    fn sizes() {
        let names = [300, 2_000, 10_047, 336_000, 9_991_844, 10_000_000, 2_500_000].map(size_name);
        assert_eq!(
            names,
            [
                "300 B", "2 KB", "10.0 KB", "336 KB", "9.99 MB", "10 MB", "2.50 MB"
            ]
        );
    }
}
