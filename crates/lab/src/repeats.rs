//! Several schemes, each with the same several seeds: how sure the numbers are, and the differences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::{FlowRow, RunStatus, Summary};
use crate::stats::{CONFIDENCE, FlowPairs, Interval, Paired, interval, pair_repeats, paired};
use crate::table::{METRICS, occasional};

/// A half width above this share of the 99th percentile is worth a warning.
const WIDE: f64 = 0.1;

/// The content of a `comparison.json` with repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Runs of each scheme.
    pub repeats: usize,
    /// Their seeds.
    pub seeds: Vec<u64>,
    /// Confidence of all intervals.
    pub confidence: f64,
    /// Means over the seeds, of each scheme.
    pub intervals: Vec<OfScheme>,
    /// Differences from the first scheme, of each other.
    pub paired: Vec<PairedSchemes>,
    /// The runs, scheme by scheme, in the order of the seeds.
    pub runs: Vec<OneRun>,
}

/// Means over the seeds of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfScheme {
    /// The scheme.
    pub scheme: String,
    /// By place in `summary.json`, such as `fct_slowdown.p99` (of collectives, the means over
    /// iterations). What some run does not have is left out.
    pub metrics: BTreeMap<String, Interval>,
}

/// How a scheme differs from the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedSchemes {
    /// The scheme.
    pub scheme: String,
    /// What it is compared with.
    pub reference: String,
    /// By place in `summary.json`, seed by seed.
    pub metrics: BTreeMap<String, Paired>,
    /// Completion times, flow by flow.
    pub flows: Option<FlowPairs>,
}

/// A run among repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneRun {
    /// Its folder, in that of the comparison.
    pub folder: String,
    /// Its `summary.json`.
    pub summary: Summary,
}

/// A run that [`Repeats::of`] takes in.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Its folder's name.
    pub folder: String,
    /// Its summary.
    pub summary: &'a Summary,
    /// Its flows, in order of their numbers.
    pub flows: Vec<FlowRow<'a>>,
}

impl Repeats {
    /// What `runs` tell: scheme by scheme, each with the same seeds in the same order. `None` if
    /// that is not so, if a run was cut short, or if there are fewer than two seeds.
    pub fn of(runs: &[Part<'_>]) -> Option<Self> {
        let schemes: Vec<&[Part<'_>]> = runs
            .chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
            .collect();
        let seeds = |runs: &[Part<'_>]| -> Vec<u64> { runs.iter().map(|run| run.summary.seed).collect() };
        let first = *schemes.first()?;
        let whole = runs.iter().all(|run| run.summary.status == RunStatus::Completed);
        let alike = schemes.iter().all(|scheme| seeds(scheme) == seeds(first));
        if first.len() < 2 || !whole || !alike {
            return None;
        }
        Some(Self {
            repeats: first.len(),
            seeds: seeds(first),
            confidence: CONFIDENCE,
            intervals: schemes.iter().map(|runs| of_scheme(runs)).collect(),
            paired: schemes[1..].iter().map(|runs| pair(first, runs)).collect(),
            runs: runs
                .iter()
                .map(|run| OneRun {
                    folder: run.folder.clone(),
                    summary: run.summary.clone(),
                })
                .collect(),
        })
    }

    /// What to know before trusting the means.
    pub fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        for scheme in &self.intervals {
            let Some(p99) = scheme.metrics.get("fct_slowdown.p99") else {
                continue;
            };
            let share = p99.half_width() / p99.mean;
            if share > WIDE {
                found.push(format!(
                    "{}: the 99th percentile of slowdowns is known to ±{:.0}% only, from {} seeds: more \
                     repeats make it surer.",
                    scheme.scheme,
                    100.0 * share,
                    p99.n
                ));
            }
        }
        let digests = |scheme: &str| {
            let of_scheme = self.runs.iter().filter(|run| run.summary.scheme == scheme);
            of_scheme.map(|run| &run.summary.digest).collect::<Vec<_>>()
        };
        let same: Vec<&str> = (self.intervals.iter())
            .filter(|one| digests(&one.scheme).windows(2).all(|pair| pair[0] == pair[1]))
            .map(|one| one.scheme.as_str())
            .collect();
        if !same.is_empty() {
            found.push(format!(
                "{}: the seed changes nothing in this scenario, so all repeats are the same run and the \
                 intervals say nothing.",
                same.join(", ")
            ));
        }
        found
    }
}

/// A quantity of all runs, if all have it.
fn values(runs: &[Part<'_>], value: fn(&Summary) -> Option<f64>) -> Option<Vec<f64>> {
    runs.iter().map(|run| value(run.summary)).collect()
}

fn scheme_of(runs: &[Part<'_>]) -> String {
    runs.first()
        .map_or_else(String::new, |run| run.summary.scheme.clone())
}

fn of_scheme(runs: &[Part<'_>]) -> OfScheme {
    let one = |metric: &crate::table::Metric| {
        let interval = interval(&values(runs, metric.value)?, CONFIDENCE)?;
        Some((metric.key.to_string(), interval))
    };
    OfScheme {
        scheme: scheme_of(runs),
        metrics: METRICS.iter().chain(occasional()).filter_map(one).collect(),
    }
}

fn pair(reference: &[Part<'_>], runs: &[Part<'_>]) -> PairedSchemes {
    let one = |metric: &crate::table::Metric| {
        let (a, b) = (values(reference, metric.value)?, values(runs, metric.value)?);
        Some((metric.key.to_string(), paired(&a, &b, CONFIDENCE)?))
    };
    // Repeats that are the same run under both schemes count once: they are no more evidence.
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut flows = Vec::new();
    for (a, b) in reference.iter().zip(runs) {
        let both = (a.summary.digest.as_str(), b.summary.digest.as_str());
        if !seen.contains(&both) {
            seen.push(both);
            flows.push((a.flows.as_slice(), b.flows.as_slice()));
        }
    }
    PairedSchemes {
        scheme: scheme_of(runs),
        reference: scheme_of(reference),
        metrics: METRICS.iter().chain(occasional()).filter_map(one).collect(),
        flows: pair_repeats(&flows, CONFIDENCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Machine, flow_rows, summarise};
    use crate::sample;

    fn part(scheme: &str, seed: u64, p99: f64) -> (Summary, Vec<FlowRow<'static>>) {
        let (input, mut outcome) = sample::incast();
        // The second scheme is twice as slow.
        if scheme == "dcqcn" {
            for flow in &mut outcome.flows {
                flow.fct = flow.fct + flow.fct;
            }
        }
        let mut summary = summarise(&input, &outcome, RunStatus::Completed, Machine::default());
        summary.scheme = scheme.into();
        summary.seed = seed;
        summary.version = "1.2.3".into();
        summary.fct_slowdown.p99 = Some(p99);
        summary.digest = format!("{p99}");
        let rows = flow_rows(&input, &outcome).map(FlowRow::into_owned).collect();
        (summary, rows)
    }

    fn parts<'a>(runs: &'a [(Summary, Vec<FlowRow<'static>>)]) -> Vec<Part<'a>> {
        let part = |(summary, flows): &'a (Summary, Vec<FlowRow<'static>>)| Part {
            folder: format!("{}-{}", summary.scheme, summary.seed),
            summary,
            flows: flows.clone(),
        };
        runs.iter().map(part).collect()
    }

    fn two_schemes() -> Vec<(Summary, Vec<FlowRow<'static>>)> {
        vec![
            part("hpcc", 1, 10.0),
            part("hpcc", 2, 20.0),
            part("hpcc", 3, 30.0),
            part("dcqcn", 1, 12.0),
            part("dcqcn", 2, 22.0),
            part("dcqcn", 3, 32.5),
        ]
    }

    #[test]
    fn by_hand() {
        let runs = two_schemes();
        let all = Repeats::of(&parts(&runs)).unwrap();
        assert_eq!((all.repeats, all.seeds.as_slice()), (3, &[1, 2, 3][..]));
        let p99 = all.intervals[0].metrics["fct_slowdown.p99"];
        // Standard deviation 10, t(2) = 4.303.
        assert_eq!(p99.mean, 20.0);
        assert!((p99.half_width() - 4.303 * 10.0 / 3f64.sqrt()).abs() < 1e-2);
        let dcqcn = &all.paired[0];
        assert_eq!(
            (dcqcn.scheme.as_str(), dcqcn.reference.as_str()),
            ("dcqcn", "hpcc")
        );
        let p99 = dcqcn.metrics["fct_slowdown.p99"];
        assert!((p99.difference.mean - 6.5 / 3.0).abs() < 1e-12 && p99.clear);
        let flows = dcqcn.flows.unwrap();
        // Two completed flows in each of three seeds, all twice as slow.
        assert_eq!((flows.flows, flows.p5, flows.slower), (6, 2.0, 1.0));
        assert!((flows.ratio.unwrap().mean - 2.0).abs() < 1e-12);
        // From its file again, but for the last digit of numbers.
        let text = serde_json::to_string(&all).unwrap();
        let again: Repeats = serde_json::from_str(&text).unwrap();
        assert_eq!((again.runs.len(), &again.runs[5].folder[..]), (6, "dcqcn-3"));
        let difference = again.paired[0].metrics["fct_slowdown.p99"].difference;
        assert!((difference.lo - p99.difference.lo).abs() < 1e-9);
    }

    #[test]
    fn tables() {
        let runs = two_schemes();
        insta::assert_snapshot!(
            "repeats",
            crate::table::repeats(&Repeats::of(&parts(&runs)).unwrap(), 100)
        );
    }

    #[test]
    fn warnings() {
        let mut runs = two_schemes();
        runs.iter_mut()
            .skip(3)
            .for_each(|(summary, _)| summary.digest = "same".into());
        insta::assert_snapshot!(
            "repeats_warnings",
            Repeats::of(&parts(&runs)).unwrap().warnings().join("\n")
        );
    }

    #[test]
    fn what_are_no_repeats() {
        let mut runs = two_schemes();
        assert!(Repeats::of(&[]).is_none());
        assert!(Repeats::of(&parts(&runs)[..1]).is_none());
        assert!(Repeats::of(&parts(&runs)[..5]).is_none());
        runs[4].0.status = RunStatus::Partial;
        assert!(Repeats::of(&parts(&runs)).is_none());
    }
}
