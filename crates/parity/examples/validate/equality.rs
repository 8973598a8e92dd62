//! Byte-by-byte comparison of output files.

use paceline_kernel::{Span, Time};
use paceline_lab::run::Finished;
use paceline_lab::stats::percentile;
use paceline_scenario::{Overrides, Resolved};

use crate::compare::{BUCKETS, Comparison, paragraph, percent, table};
use crate::reference::{Case, identical, run, written};

/// Output files that both simulators write.
const FILES: [&str; 4] = ["fct.txt", "pfc.txt", "qlen.txt", "rtt_samples.txt"];

/// A repeated reference run, with the results of the comparison.
pub(crate) struct Checked {
    pub(crate) case: Case,
    pub(crate) input: Resolved,
    pub(crate) finished: Finished,
    /// By entry of [`FILES`]: true if equal; `None` if the reference lacks the file.
    files: [Option<bool>; 4],
    comparison: Option<Comparison>,
    /// 95th percentile of round-trip times, µs: ours and the reference's.
    rtt_p95: [Option<f64>; 2],
    /// Round-trip times after the first 2.5 ms, in ascending order, µs.
    pub(crate) settled_us: Vec<f64>,
}

impl Checked {
    pub(crate) fn new(case: Case) -> Self {
        eprintln!("{} {}", case.scenario, case.scheme);
        let input = case.load(&Overrides::default());
        let mut finished = run(&input);
        let files = FILES.map(|name| identical(&case, name, &input, &finished));
        let fct = String::from_utf8(written("fct.txt", &input, &finished)).expect("digits and spaces");
        let comparison = case
            .expected_text("fct.txt")
            .map(|text| Comparison::of_texts(&text, &fct));
        let samples = std::mem::take(&mut finished.outcome.rtt_samples);
        let first = input.run.flows.first().map_or(Time::ZERO, |flow| flow.start);
        let settled = samples
            .iter()
            .filter(|sample| sample.at >= first + Span::from_ns(2_500_000));
        let settled_us = ascending_us(settled.map(|sample| sample.rtt.as_ns()));
        let ours = percentile(
            &ascending_us(samples.iter().map(|sample| sample.rtt.as_ns())),
            0.95,
        );
        let theirs = case
            .expected_text("rtt_samples.txt")
            .and_then(|text| percentile(&ascending_us(rtt_column(&text)), 0.95));
        Self {
            case,
            input,
            finished,
            files,
            comparison,
            rtt_p95: [ours, theirs],
            settled_us,
        }
    }

    /// Returns true if no known file differs.
    pub(crate) fn same(&self) -> bool {
        self.files.iter().all(|file| *file != Some(false))
    }

    fn row(&self) -> Vec<String> {
        let same = |file: &Option<bool>| match file {
            Some(true) => "yes".to_string(),
            Some(false) => "**no**".to_string(),
            None => "–".to_string(),
        };
        let us = |value: Option<f64>| value.map_or("–".to_string(), |us| format!("{us:.3}"));
        let error = |p| {
            let known = self.comparison.as_ref().map(|comparison| comparison.error(p));
            known.map_or("–".to_string(), percent)
        };
        let mut row = vec![
            self.case.scenario.clone(),
            self.case.scheme.clone(),
            self.finished.summary.flows.completed.to_string(),
            error(0.5),
            error(1.0),
        ];
        row.extend(self.files.iter().map(same));
        row.extend(self.rtt_p95.map(us));
        row
    }
}

fn rtt_column(text: &str) -> impl Iterator<Item = u64> {
    let column = |line: &str| line.split(' ').nth(5).and_then(|field| field.parse().ok());
    text.lines().filter_map(column)
}

fn ascending_us(ns: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut us: Vec<f64> = ns.map(|ns| ns as f64 / 1e3).collect();
    us.sort_by(f64::total_cmp);
    us
}

/// Returns the section on equality of files.
pub(crate) fn section(checked: &[Checked]) -> String {
    let files = || checked.iter().flat_map(|run| run.files.iter().flatten());
    let missing: usize = checked
        .iter()
        .filter_map(|run| run.comparison.as_ref())
        .map(|comparison| comparison.missing)
        .sum();
    let rows: Vec<Vec<String>> = checked.iter().map(Checked::row).collect();
    let text = format!(
        "{} of {} files are the same, byte for byte; {missing} flows of the reference are missing here. A dash: there is no \
         such file to compare with. FCT errors are relative, flow by flow; RTT is one sample per flow and round trip. Of \
         `rtt_samples.txt` the last column, the rate at that moment, is left aside.",
        files().filter(|same| **same).count(),
        files().count(),
    );
    let head = [
        "scenario",
        "scheme",
        "flows",
        "FCT error, median",
        "max",
        "fct.txt",
        "pfc.txt",
        "qlen.txt",
        "rtt_samples.txt",
        "RTT p95, µs",
        "reference's",
    ];
    format!("## Files\n\n{}\n{}", paragraph(&text), table(&head, &rows))
}

/// Returns the section on slowdowns by flow size in the fat tree.
pub(crate) fn slowdowns(checked: &[Checked]) -> String {
    let mut rows = Vec::new();
    for run in checked.iter().filter(|run| run.case.scenario == "e_fat_2ms") {
        let Some(comparison) = &run.comparison else {
            continue;
        };
        for (bucket, (_, _, name)) in BUCKETS.iter().enumerate() {
            let (flows, at) = comparison.slowdown(bucket, [0.5, 0.95, 0.99]);
            let mut row = vec![run.case.scheme.clone(), name.to_string(), flows.to_string()];
            row.extend(
                at.iter()
                    .flat_map(|(theirs, ours)| [format!("{theirs:.3}"), format!("{ours:.3}")]),
            );
            rows.push(row);
        }
    }
    let table = if rows.is_empty() {
        "Only digests of the reference's files ship; this table needs `--reference`.\n".to_string()
    } else {
        table(
            &[
                "scheme",
                "size",
                "flows",
                "p50, reference",
                "p50",
                "p95, reference",
                "p95",
                "p99, reference",
                "p99",
            ],
            &rows,
        )
    };
    let text = "320 hosts, Hadoop flow sizes at load 0.3 with incasts of 60 (`e_fat_2ms`). Slowdown is completion time over that of \
                the flow alone by HPCC's formula, at least 1.";
    format!("## Slowdown in the fat tree\n\n{}\n{table}", paragraph(text))
}
