//! Several schemes, each with the same several seeds: how sure the numbers are, and the differences.

use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_fabric::spec::RunSpec;
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use crate::metrics::{METRICS, Metric, occasional};
use crate::results::{FlowPairs, FlowRows, RunStatus, Summary, pair_repeats};
use crate::stats::{CONFIDENCE, Interval, Paired, interval, paired};

mod warnings;

pub use warnings::in_words;
pub use warnings::{Holds, SeedWarning};

/// The content of a `comparison.json` with repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Runs of each scheme that were asked for.
    pub asked: usize,
    /// Whether the seed changes anything under any scheme. If not there is one run of each, that of the first
    /// seed, and no interval.
    pub seed_matters: bool,
    /// Seeds that there are runs of.
    pub repeats: usize,
    /// These seeds.
    pub seeds: Vec<u64>,
    /// Confidence of all intervals.
    pub confidence: f64,
    /// Means over the seeds, of each scheme.
    pub intervals: Vec<OfScheme>,
    /// Differences from the first scheme, of each other.
    pub paired: Vec<PairedSchemes>,
    /// The warnings of all runs, each once.
    pub warnings: Vec<SeedWarning>,
    /// The runs, scheme by scheme, in the order of the seeds; a single one of a scheme under which the seed
    /// changes nothing.
    pub runs: Vec<OneRun>,
}

/// Means over the seeds of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfScheme {
    /// The scheme.
    pub scheme: String,
    /// Whether the seed changes anything under it. If not, all ends of all intervals are the values of its one
    /// run, which every other seed gives as well.
    pub seed_matters: bool,
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
    pub flows: &'a FlowRows,
    /// Whether any other seed would give the same run (see [`hangs_on_seed`]).
    pub fixed: bool,
}

/// Whether another seed may give another run than `outcome`, that of the first of `inputs`, which differ in
/// nothing but the seed: it does not if it changes neither what is run nor anything while it runs.
pub fn hangs_on_seed(inputs: &[Resolved], outcome: &Outcome) -> bool {
    let Some(first) = inputs.first() else {
        return false;
    };
    outcome.hangs_on_seed
        || inputs
            .iter()
            .any(|input| !same_but_for_seed(&first.run, &input.run))
}

/// Whether two runs of one scenario are the same but for their seeds. What a seed draws before a run begins
/// are its flows and what these wait for; the rest is written in the scenario.
pub(crate) fn same_but_for_seed(a: &RunSpec, b: &RunSpec) -> bool {
    a.flows == b.flows
        && same_arrivals(a, b)
        && a.dependencies == b.dependencies
        && a.links == b.links
        && a.failures == b.failures
        && a.storms == b.storms
        && a.stop == b.stop
}

/// Whether the flows of two streams are the same.
fn same_arrivals(a: &RunSpec, b: &RunSpec) -> bool {
    match (&a.arrivals, &b.arrivals) {
        (None, None) => true,
        (Some(of_a), Some(of_b)) => of_a.flows(a.seed).eq(of_b.flows(b.seed)),
        _ => false,
    }
}

/// The runs of one scheme.
struct Group<'a> {
    runs: &'a [Part<'a>],
    /// How many seeds they stand for.
    seeds: usize,
    fixed: bool,
}

impl<'a> Group<'a> {
    /// Runs of one scheme, if they are of all the seeds, or one that stands for all. Runs that came out the
    /// same to the last event are one.
    fn of(runs: &'a [Part<'a>], seeds: &[u64]) -> Option<Self> {
        let of_runs: Vec<u64> = runs.iter().map(|run| run.summary.seed).collect();
        let alone = of_runs.len() == 1 && runs[0].fixed && of_runs[0] == seeds[0];
        if !alone && of_runs != seeds {
            return None;
        }
        let same = |pair: &[Part<'_>]| {
            pair[0].summary.digest == pair[1].summary.digest && pair[0].flows == pair[1].flows
        };
        let fixed = alone || runs.windows(2).all(same);
        Some(Self {
            runs: if fixed { &runs[..1] } else { runs },
            seeds: seeds.len(),
            fixed,
        })
    }

    /// The run of the `i`-th seed.
    fn run(&self, i: usize) -> &'a Part<'a> {
        &self.runs[if self.fixed { 0 } else { i }]
    }

    fn scheme(&self) -> &'a str {
        &self.runs[0].summary.scheme
    }

    /// A quantity of all seeds, if all have it.
    fn values(&self, value: fn(&Summary) -> Option<f64>) -> Option<Vec<f64>> {
        (0..self.seeds).map(|i| value(self.run(i).summary)).collect()
    }

    fn means(&self) -> OfScheme {
        let one = |metric: &Metric| {
            let interval = interval(&self.values(metric.value)?, CONFIDENCE)?;
            Some((metric.key.to_string(), interval))
        };
        OfScheme {
            scheme: self.scheme().to_string(),
            seed_matters: !self.fixed,
            metrics: METRICS.iter().chain(occasional()).filter_map(one).collect(),
        }
    }

    fn against(&self, reference: &Self) -> PairedSchemes {
        let one = |metric: &Metric| {
            let (a, b) = (reference.values(metric.value)?, self.values(metric.value)?);
            Some((metric.key.to_string(), paired(&a, &b, CONFIDENCE)?))
        };
        // Repeats that are the same run under both schemes count once: they are no more evidence.
        let mut seen: Vec<(&str, &str)> = Vec::new();
        let mut flows = Vec::new();
        for i in 0..self.seeds {
            let (a, b) = (reference.run(i), self.run(i));
            let both = (a.summary.digest.as_str(), b.summary.digest.as_str());
            if !seen.contains(&both) {
                seen.push(both);
                flows.push((a.flows, b.flows));
            }
        }
        PairedSchemes {
            scheme: self.scheme().to_string(),
            reference: reference.scheme().to_string(),
            metrics: METRICS.iter().chain(occasional()).filter_map(one).collect(),
            flows: pair_repeats(&flows, CONFIDENCE),
        }
    }
}

impl Repeats {
    /// What `runs` with `seeds` tell: scheme by scheme, each with all the seeds in their order, or with the
    /// first alone where that stands for all ([`Part::fixed`]). `None` if that is not so, if a run was cut
    /// short, or if there are fewer than two seeds.
    pub fn of(runs: &[Part<'_>], seeds: &[u64]) -> Option<Self> {
        let whole = runs.iter().all(|run| run.summary.status == RunStatus::Completed);
        if seeds.len() < 2 || !whole || runs.is_empty() {
            return None;
        }
        let groups = runs.chunk_by(|a, b| a.summary.scheme == b.summary.scheme);
        let groups: Option<Vec<Group<'_>>> = groups.map(|runs| Group::of(runs, seeds)).collect();
        let groups = groups?;
        let seed_matters = groups.iter().any(|group| !group.fixed);
        let kept: &[u64] = if seed_matters { seeds } else { &seeds[..1] };
        let told = |_: &&Group<'_>| seed_matters;
        Some(Self {
            asked: seeds.len(),
            seed_matters,
            repeats: kept.len(),
            seeds: kept.to_vec(),
            confidence: CONFIDENCE,
            intervals: groups.iter().filter(told).map(Group::means).collect(),
            paired: (groups[1..].iter().filter(told))
                .map(|group| group.against(&groups[0]))
                .collect(),
            warnings: warnings::of(&groups, kept),
            runs: groups
                .iter()
                .flat_map(|group| group.runs)
                .map(|run| OneRun {
                    folder: run.folder.clone(),
                    summary: run.summary.clone(),
                })
                .collect(),
        })
    }

    /// The runs of each scheme, in the order of the seeds.
    pub fn schemes(&self) -> impl Iterator<Item = &[OneRun]> {
        self.runs.chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Machine;
    use crate::sample;

    fn part(scheme: &str, seed: u64, p99: f64) -> (Summary, FlowRows) {
        let (input, mut outcome) = sample::incast();
        // The second scheme is twice as slow.
        if scheme == "dcqcn" {
            for flow in &mut outcome.flows {
                flow.fct = flow.fct + flow.fct;
            }
        }
        let mut summary = sample::summarised(&input, &outcome, Machine::default());
        summary.scheme = scheme.into();
        summary.seed = seed;
        summary.version = "1.2.3".into();
        summary.fct_slowdown.p99 = Some(p99);
        summary.digest = format!("{p99}");
        (summary, sample::rows(&input, &outcome))
    }

    fn parts<'a>(runs: &'a [(Summary, FlowRows)]) -> Vec<Part<'a>> {
        let part = |(summary, flows): &'a (Summary, FlowRows)| Part {
            folder: format!("{}-{}", summary.scheme, summary.seed),
            summary,
            flows,
            fixed: false,
        };
        runs.iter().map(part).collect()
    }

    fn two_schemes() -> Vec<(Summary, FlowRows)> {
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
        let all = Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap();
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
            crate::table::repeats(&Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap(), 100)
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
            Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap().told().join("\n")
        );
    }

    /// One run stands for all seeds: of one scheme, or of all.
    #[test]
    fn seeds_that_change_nothing() {
        let mut runs = two_schemes();
        // Known beforehand: there is one run. Found afterwards: all are the same.
        runs.drain(1..3);
        let mut mixed = parts(&runs);
        mixed[0].fixed = true;
        let all = Repeats::of(&mixed, &[1, 2, 3]).unwrap();
        assert!(all.seed_matters && !all.intervals[0].seed_matters && all.intervals[1].seed_matters);
        assert_eq!((all.runs.len(), all.repeats, all.asked), (4, 3, 3));
        let p99 = all.paired[0].metrics["fct_slowdown.p99"];
        // 2, 12 and 22.5 more than the 10 that every seed gives.
        assert!((p99.difference.mean - 36.5 / 3.0).abs() < 1e-12 && !p99.constant);
        assert_eq!(all.intervals[0].metrics["fct_slowdown.p99"].n, 3);
        assert!(
            all.told()
                .iter()
                .any(|text| text.starts_with("hpcc: the seed changes nothing"))
        );

        let mut same = two_schemes();
        for (summary, _) in &mut same {
            let p99 = if summary.scheme == "hpcc" { 10.0 } else { 12.0 };
            summary.fct_slowdown.p99 = Some(p99);
            summary.digest = format!("{p99}");
        }
        let all = Repeats::of(&parts(&same), &[1, 2, 3]).unwrap();
        assert_eq!(
            (all.seed_matters, all.runs.len(), all.seeds.as_slice()),
            (false, 2, &[1][..])
        );
        assert!(all.intervals.is_empty() && all.paired.is_empty());
        assert!(all.told().iter().any(|text| text.contains("stands for all 3")));
        // Equal digests alone are not enough: the flows have to be the same.
        same[1].1 = same[1].1.changed(|flows| flows[0].fct_ps = Some(1));
        assert!(Repeats::of(&parts(&same), &[1, 2, 3]).unwrap().intervals[0].seed_matters);
    }

    /// A quantity that comes out the same with every seed, in runs that are not the same: a difference
    /// without an interval, and without a star.
    #[test]
    fn what_does_not_vary_is_not_clear() {
        let mut runs = two_schemes();
        for (summary, _) in &mut runs {
            summary.pfc.pauses = if summary.scheme == "hpcc" { 5 } else { 3 };
        }
        let all = Repeats::of(&parts(&runs), &[1, 2, 3]).unwrap();
        let pauses = all.paired[0].metrics["pfc.pauses"];
        assert_eq!(
            (pauses.difference.mean, pauses.constant, pauses.clear),
            (-2.0, true, false)
        );
        let text = crate::table::repeats(&all, 100);
        let row = text.lines().rfind(|line| line.contains("pauses")).unwrap();
        assert!(
            row.contains("-2  the same with every seed") && !row.contains('*'),
            "{row}"
        );
        assert!(!text.contains("-2 to -2"), "{text}");
    }

    #[test]
    fn what_are_no_repeats() {
        let mut runs = two_schemes();
        assert!(Repeats::of(&[], &[1, 2]).is_none());
        assert!(Repeats::of(&parts(&runs)[..1], &[1]).is_none());
        assert!(Repeats::of(&parts(&runs)[..5], &[1, 2, 3]).is_none());
        runs[4].0.status = RunStatus::Partial;
        assert!(Repeats::of(&parts(&runs), &[1, 2, 3]).is_none());
    }
}
