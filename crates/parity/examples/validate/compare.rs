//! Comparison of completion times.

use std::collections::BTreeMap;

use paceline_lab::run::Finished;
use paceline_lab::stats::percentile;
use paceline_scenario::Resolved;

/// A flow completed on both sides; times in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) size: u64,
    pub(crate) reference: f64,
    pub(crate) ours: f64,
    /// The reference's completion time of the flow alone, used for both slowdowns.
    pub(crate) ideal: f64,
}

/// Size classes of flows: lower limit, upper limit, name. The last one has all flows.
pub(crate) const BUCKETS: [(u64, u64, &str); 6] = [
    (0, 1_000, "< 1 KB"),
    (1_000, 10_000, "1 to 10 KB"),
    (10_000, 100_000, "10 to 100 KB"),
    (100_000, 1_000_000, "100 KB to 1 MB"),
    (1_000_000, u64::MAX, "≥ 1 MB"),
    (0, u64::MAX, "all"),
];

/// Completion times of two runs, paired by flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) pairs: Vec<Pair>,
    /// Flows that only the reference completed.
    pub(crate) missing: usize,
}

/// Flows with the same source, destination, size and start, as (source port, FCT, ideal).
type Alike<'a> = BTreeMap<[&'a str; 4], Vec<(u64, u64, u64)>>;

fn rows(text: &str) -> Alike<'_> {
    let mut rows = Alike::new();
    for line in text.lines() {
        let f: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| {
            let field = f.get(i).and_then(|field| field.parse::<u64>().ok());
            field.unwrap_or_else(|| panic!("not a line of fct.txt: `{line}`"))
        };
        let row = (number(2), number(6), number(7));
        rows.entry([f[0], f[1], f[4], f[5]]).or_default().push(row);
    }
    rows.values_mut().for_each(|alike| alike.sort_unstable());
    rows
}

impl Comparison {
    /// Compares two texts of `fct.txt`. Flows are matched by source, destination, size and start, and equal ones in
    /// order of source port.
    pub(crate) fn of_texts(reference: &str, ours: &str) -> Self {
        let (reference, ours) = (rows(reference), rows(ours));
        let mut comparison = Self::default();
        for (key, theirs) in &reference {
            let found = ours.get(key).map_or(&[][..], Vec::as_slice);
            comparison.missing += theirs.len().saturating_sub(found.len());
            for (&(_, fct, ideal), &(_, our_fct, _)) in theirs.iter().zip(found) {
                comparison.pairs.push(Pair {
                    size: key[2]
                        .parse()
                        .unwrap_or_else(|_| panic!("not a size: {}", key[2])),
                    reference: fct as f64,
                    ours: our_fct as f64,
                    ideal: ideal.max(1) as f64,
                });
            }
        }
        comparison
    }

    /// Compares two runs of the same scenario.
    pub(crate) fn of_runs(input: &Resolved, reference: &Finished, ours: &Finished) -> Self {
        let mut comparison = Self::default();
        let flows = reference.outcome.flows.iter().zip(&ours.outcome.flows);
        for (spec, (theirs, our)) in input.run.flows.iter().zip(flows) {
            if theirs.fct.as_ps() == 0 {
                continue;
            }
            if our.fct.as_ps() == 0 {
                comparison.missing += 1;
                continue;
            }
            comparison.pairs.push(Pair {
                size: spec.size.get(),
                reference: theirs.fct.as_ps() as f64 / 1e3,
                ours: our.fct.as_ps() as f64 / 1e3,
                ideal: theirs.ideal.as_ps().max(1) as f64 / 1e3,
            });
        }
        comparison
    }

    fn sorted(&self, value: impl Fn(&Pair) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Returns the `p`-quantile of the relative difference of completion times, with its sign.
    pub(crate) fn difference(&self, p: f64) -> f64 {
        percentile(&self.sorted(|pair| pair.ours / pair.reference - 1.0), p).unwrap_or(f64::NAN)
    }

    /// Returns the `p`-quantile of the absolute relative difference.
    pub(crate) fn error(&self, p: f64) -> f64 {
        percentile(&self.sorted(|pair| (pair.ours / pair.reference - 1.0).abs()), p).unwrap_or(f64::NAN)
    }

    /// Returns the number of flows in a size class, and their slowdowns at the quantiles `ps` as (reference, ours).
    pub(crate) fn slowdown(&self, bucket: usize, ps: [f64; 3]) -> (usize, [(f64, f64); 3]) {
        let (low, high, _) = BUCKETS[bucket];
        let inside = Self {
            pairs: self
                .pairs
                .iter()
                .filter(|pair| (low..high).contains(&pair.size))
                .copied()
                .collect(),
            missing: 0,
        };
        let reference = inside.sorted(|pair| (pair.reference / pair.ideal).max(1.0));
        let ours = inside.sorted(|pair| (pair.ours / pair.ideal).max(1.0));
        let at = |values: &[f64], p| percentile(values, p).unwrap_or(f64::NAN);
        (inside.pairs.len(), ps.map(|p| (at(&reference, p), at(&ours, p))))
    }
}

/// Formats a Markdown table.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|", head.join(" | "));
    text.extend(head.iter().map(|_| "---|"));
    text.push('\n');
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// Wraps a paragraph at 120 characters.
pub(crate) fn paragraph(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 120 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines + "\n"
}

/// Formats a relative difference in percent.
pub(crate) fn percent(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else {
        format!("{:+.2} %", 100.0 * x)
    }
}
