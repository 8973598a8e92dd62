//! Slowdown by size as the scripts of HPCC's simulator compute it (`fct_analysis`).

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_scenario::Resolved;

/// Flows of neighbouring sizes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SizeGroup {
    /// The size of the largest.
    pub(super) largest: u64,
    /// `max(1, fct / ideal)` of each, ascending.
    slowdowns: Vec<f64>,
}

impl SizeGroup {
    /// Element `floor(n p)` of the n slowdowns, p in percent: not interpolated, and the largest
    /// for few.
    pub(super) fn element(&self, percent: usize) -> Option<f64> {
        let place = self.slowdowns.len() * percent / 100;
        self.slowdowns
            .get(place.min(self.slowdowns.len().checked_sub(1)?))
            .copied()
    }
}

/// The completed flows of `labels`, sorted by size, in `count` groups of equally many. Flows of the
/// same size stay in order of completion, as they are in `fct.txt`: where a group's edge lies among
/// them, that decides who is in.
pub(super) fn equal_groups(
    (input, outcome): (&Resolved, &Outcome),
    label: impl Fn(&str) -> bool,
    count: usize,
) -> Vec<SizeGroup> {
    let mut flows: Vec<(u64, f64)> = Vec::new();
    for &i in &outcome.completions {
        let (spec, record) = (&input.run.flows[i as usize], &outcome.flows[i as usize]);
        let name = input.run.labels.get(spec.label as usize);
        if record.status == FlowStatus::Completed && label(name.map_or("", String::as_str)) {
            let (fct, ideal) = (record.fct.as_ps() as f64, record.ideal.as_ps().max(1) as f64);
            flows.push((spec.size.get(), (fct / ideal).max(1.0)));
        }
    }
    flows.sort_by_key(|&(size, _)| size);
    let edge = |group: usize| flows.len() * group / count;
    let group = |i: usize| {
        let part = &flows[edge(i)..edge(i + 1)];
        let mut slowdowns: Vec<f64> = part.iter().map(|flow| flow.1).collect();
        slowdowns.sort_by(f64::total_cmp);
        Some(SizeGroup {
            largest: part.last()?.0,
            slowdowns,
        })
    };
    (0..count).filter_map(group).collect()
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
    use crate::sample;

    #[test]
    fn groups_are_equal_and_elements_are_not_interpolated() {
        let (input, outcome) = sample::incast();
        // Completed: 1000 B with slowdown 2 and 20 KB with slowdown 1.
        let groups = equal_groups((&input, &outcome), |_| true, 2);
        assert_eq!(groups.iter().map(|g| g.largest).collect::<Vec<_>>(), [1_000, 20_000]);
        assert_eq!(groups[0].element(99), Some(2.0));
        let one = equal_groups((&input, &outcome), |_| true, 1);
        // floor(2 * 0.49) = 0, floor(2 * 0.5) = 1.
        assert_eq!((one[0].element(49), one[0].element(50)), (Some(1.0), Some(2.0)));
        assert_eq!(one[0].element(100), Some(2.0));
        assert_eq!(equal_groups((&input, &outcome), |label| label == "mice", 1)[0].largest, 1_000);
        assert!(equal_groups((&input, &outcome), |_| false, 3).is_empty());
    }

    #[test]
    fn sizes() {
        let names = [300, 2_000, 10_047, 336_000, 9_991_844, 10_000_000].map(size_name);
        assert_eq!(names, ["300 B", "2 KB", "10.0 KB", "336 KB", "9.99 MB", "10 MB"]);
    }
}
