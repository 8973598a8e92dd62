//! Several schemes, each with the same several seeds: how sure the numbers are, and the differences.

use paceline_fabric::Outcome;
use paceline_fabric::spec::RunSpec;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use crate::metrics::{Metric, all_of};
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
    /// The warnings of all runs, each once, then those of the runs together.
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
    /// Whether the seed changes anything under it. If not, its one run stands for all: `n` is 1, and there are no
    /// ends of intervals.
    pub seed_matters: bool,
    /// By place in `summary.json`, such as `fct_slowdown.p99`; of jobs and collectives by their labels, such as
    /// `jobs.llm.iteration_us.mean`. What some run does not have is left out.
    pub metrics: SortedMap<String, Interval>,
}

/// How a scheme differs from the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedSchemes {
    /// The scheme.
    pub scheme: String,
    /// What it is compared with.
    pub reference: String,
    /// By place in `summary.json`, seed by seed.
    pub metrics: SortedMap<String, Paired>,
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
        && a.link_changes == b.link_changes
        && a.host_changes == b.host_changes
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
    fn values(&self, metric: &Metric) -> Option<Vec<f64>> {
        (0..self.seeds)
            .map(|i| metric.value(self.run(i).summary))
            .collect()
    }

    /// Every quantity that its runs may have.
    fn metrics(&self) -> Vec<Metric> {
        all_of(self.runs.iter().take(1).map(|run| run.summary))
    }

    fn means(&self) -> OfScheme {
        let one = |metric: &Metric| {
            let values = self.values(metric)?;
            let mut found = interval(&values, CONFIDENCE)?;
            if self.fixed {
                found.n = 1;
            }
            Some((metric.key.clone(), found))
        };
        OfScheme {
            scheme: self.scheme().to_string(),
            seed_matters: !self.fixed,
            metrics: self.metrics().iter().filter_map(one).collect(),
        }
    }

    fn against(&self, reference: &Self) -> PairedSchemes {
        let one = |metric: &Metric| {
            let (a, b) = (reference.values(metric)?, self.values(metric)?);
            let mut found = paired(&a, &b, CONFIDENCE)?;
            if self.fixed && reference.fixed {
                found.difference.n = 1;
                found.ratio.iter_mut().for_each(|ratio| ratio.n = 1);
            }
            Some((metric.key.clone(), found))
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
            metrics: self.metrics().iter().filter_map(one).collect(),
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
        let texts = |_: &&Group<'_>| seed_matters;
        let mut all = Self {
            asked: seeds.len(),
            seed_matters,
            repeats: kept.len(),
            seeds: kept.to_vec(),
            confidence: CONFIDENCE,
            intervals: groups.iter().filter(texts).map(Group::means).collect(),
            paired: (groups[1..].iter().filter(texts))
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
        };
        all.warn_of_all();
        Some(all)
    }

    /// Every quantity that the runs may have, in the order of tables.
    pub fn quantities(&self) -> Vec<Metric> {
        all_of(self.runs.iter().map(|run| &run.summary))
    }

    /// The runs of each scheme, in the order of the seeds.
    pub fn schemes(&self) -> impl Iterator<Item = &[OneRun]> {
        self.runs.chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
    }
}

#[cfg(test)]
mod tests;
