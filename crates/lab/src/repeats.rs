//! Several schemes, each with the same seeds: confidence intervals, and differences between schemes.

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

/// Content of a `comparison.json` with repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Number of requested runs per scheme.
    pub asked: usize,
    /// True if the seed changes results under any scheme. If not, each scheme has one run, that of the first seed, and
    /// no interval.
    pub seed_matters: bool,
    /// Number of seeds with runs.
    pub repeats: usize,
    /// Seeds, in the order of the runs.
    pub seeds: Vec<u64>,
    /// Confidence level of all intervals, 0 to 1.
    pub confidence: f64,
    /// Means over the seeds, of each scheme.
    pub intervals: Vec<OfScheme>,
    /// Differences of each other scheme from the first.
    pub paired: Vec<PairedSchemes>,
    /// Warnings of all runs, each once, then those of the runs together.
    pub warnings: Vec<SeedWarning>,
    /// Runs, scheme by scheme, in the order of the seeds; a single one for a scheme whose result does not depend on the
    /// seed.
    pub runs: Vec<OneRun>,
}

/// Means over the seeds of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfScheme {
    /// Name of the scheme, as in the summary.
    pub scheme: String,
    /// True if the seed changes the scheme's results. If not, its one run stands for all: `n` is 1, and intervals have
    /// no ends.
    pub seed_matters: bool,
    /// Intervals by key in `summary.json`, such as `fct_slowdown.p99`; those of jobs and collectives by label, such as
    /// `jobs.llm.iteration_us.mean`. Metrics that some run lacks are left out.
    pub metrics: SortedMap<String, Interval>,
}

/// Differences between a scheme and the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedSchemes {
    /// Name of the compared scheme.
    pub scheme: String,
    /// Name of the first scheme.
    pub reference: String,
    /// Differences by key in `summary.json`, paired by seed.
    pub metrics: SortedMap<String, Paired>,
    /// Ratios of completion times, paired by flow; `None` if no flow completed under both schemes.
    pub flows: Option<FlowPairs>,
}

/// Run of one scheme with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneRun {
    /// Folder of the run, relative to that of the comparison.
    pub folder: String,
    /// Content of the run's `summary.json`.
    pub summary: Summary,
}

/// Run passed to [`Repeats::of`].
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Name of the run's folder.
    pub folder: String,
    /// Summary of the run.
    pub summary: &'a Summary,
    /// Flows in order of their numbers.
    pub flows: &'a FlowRows,
    /// True if any other seed would give the same run (see [`hangs_on_seed`]).
    pub fixed: bool,
}

/// Returns true if another seed may change the result `outcome` of the first of `inputs`, which differ in nothing but
/// the seed. A seed is irrelevant if it changes neither the flows nor any random choice during the run.
pub fn hangs_on_seed(inputs: &[Resolved], outcome: &Outcome) -> bool {
    let Some(first) = inputs.first() else {
        return false;
    };
    // First the run itself, which is cheap; the inputs differ only if flows were drawn before the start.
    outcome.hangs_on_seed
        || inputs
            .iter()
            .any(|input| !same_but_for_seed(&first.run, &input.run))
}

/// Returns true if two runs of one scenario differ only in their seeds. Before a run starts, the seed determines its
/// flows and their dependencies; the rest is written in the scenario.
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

/// Returns true if the streams of two runs generate the same flows.
fn same_arrivals(a: &RunSpec, b: &RunSpec) -> bool {
    match (&a.arrivals, &b.arrivals) {
        (None, None) => true,
        (Some(of_a), Some(of_b)) => of_a.flows(a.seed).eq(of_b.flows(b.seed)),
        _ => false,
    }
}

/// Runs of one scheme.
struct Group<'a> {
    runs: &'a [Part<'a>],
    /// Number of seeds that the runs stand for.
    seeds: usize,
    fixed: bool,
}

impl<'a> Group<'a> {
    /// Groups the runs of one scheme if they cover all the seeds, or if one stands for all. Runs with the same events
    /// count as one.
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

    /// Returns the run of the `i`-th seed.
    fn run(&self, i: usize) -> &'a Part<'a> {
        &self.runs[if self.fixed { 0 } else { i }]
    }

    fn scheme(&self) -> &'a str {
        &self.runs[0].summary.scheme
    }

    /// Returns a metric for all seeds, if all have it.
    fn values(&self, metric: &Metric) -> Option<Vec<f64>> {
        (0..self.seeds)
            .map(|i| metric.value(self.run(i).summary))
            .collect()
    }

    /// Returns every metric that its runs may have.
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
            // Each is a single run, independently of the number of seeds that it stands for.
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
    /// Compares `runs` over `seeds`: scheme by scheme, each with all the seeds in their order, or with the first alone
    /// if it stands for all ([`Part::fixed`]). Returns `None` if runs are missing, if a run was cut short, or if there
    /// are fewer than two seeds.
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

    /// Returns every metric that the runs may have, in the order of tables.
    pub fn quantities(&self) -> Vec<Metric> {
        all_of(self.runs.iter().map(|run| &run.summary))
    }

    /// Returns the runs of each scheme, in the order of the seeds.
    pub fn schemes(&self) -> impl Iterator<Item = &[OneRun]> {
        self.runs.chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
    }
}

#[cfg(test)]
mod tests;
