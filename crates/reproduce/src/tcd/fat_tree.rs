//! Figure 3.16: completion times of 40,000 flows in a fat tree, under DCQCN with and without ternary detection.

use crate::citation::Citation;
use paceline_congestion::papers;
use std::ops::Range;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_scenario::Resolved;

use crate::Reproduction;
use crate::criterion::{Cell, Criterion, Tolerance};
use crate::need::{Done, Input, Measure, Metrics, RunRequest};
use crate::panel::{Column, Panel, Row};
use crate::slowdown::element;
use paceline_lab::results::IdealFct;
use paceline_lab::stats::{CONFIDENCE, Paired, mean, paired};

const PRINTED: &str = "Printed are 3.3 times as good a median slowdown and 2.0 times as good a 99th percentile (abstract; section \
                       1.3), without saying of which traffic, which sizes and which hash. Judged is the reading that favours it most: the \
                       largest ratio over all sizes, both hashes and all that \"aggressive\" may mean.";
const AGGRESSIVE: &str = "The thesis's text owes its gain for short flows to an aggressive cut of congested ones, and says of the cut \
                          that alpha is raised; by how much is lost, and its public code cuts as DCQCN does (hold). Here in numbers of ours: \
                          alpha at least a half, alpha growing twice as fast, alpha always 1, cuts twice as deep.";
const CONTROL: &str = "`cut x2, no TCD` is the control: the deeper cut without detection, where every mark of a victim counts, too.";
const FOUND: &str = "What gains is the cut, not the detection: rates that are held gain nothing, a deeper cut halves the 99th percentile of short \
                     flows (salted, Hadoop) and raises that of those from 26 KB to 4.8 MB by 27 %, and the control has both, too.";
const POLARISED: &str = "Polarised: every switch hashes alike, as the public code has it, so that 50 of 250 links to the core carry all, at \
                         2.7 times what they can. Salted: each switch has a seed of its own.";
const PARTIAL: &str = "Ten seeds are defined; the row `seeds` says with how many of them a case was run. A ratio is of the seeds \
                       that both were run with.";

pub(super) const HADOOP: Reproduction = Reproduction {
    id: "tcd-fat-tree",
    data: None,
    title: "DCQCN with and without TCD: 250 hosts, 40,000 Hadoop flows",
    source: Citation::of(
        papers::TCD_THESIS,
        "abstract, sections 1.3 and 3.5, figure 3.16 (Hadoop)",
    ),
    setting: "A fat tree of 250 hosts at 40 Gbit/s, 4 us a link; some 40,000 Hadoop flows (FbHdp) at 60 % load, all to their ends; \
              PFC at 320 and 318 KB; DCQCN as published with alpha from a half. Slowdown over the same flow alone. The same flows \
              under all; means over seeds, ratios (DCQCN's value over it, above 1 is better) as geometric means of pairs with 95 % intervals. \
              Some 20 minutes of processor time.",
    notes: &[PRINTED, AGGRESSIVE, CONTROL, FOUND, POLARISED, PARTIAL],
    choices: &[],
    steps: &[],
    needs: || HADOOP_RUNS.needs(),
    panels: |done| HADOOP_RUNS.panels(done),
};

pub(super) const WEBSEARCH: Reproduction = Reproduction {
    id: "tcd-fat-tree-websearch",
    data: None,
    title: "DCQCN with and without TCD: 250 hosts, 40,000 web search flows",
    source: Citation::of(
        papers::TCD_THESIS,
        "abstract, sections 1.3 and 3.5, figure 3.16 (WebSearch)",
    ),
    setting: "As `tcd-fat-tree` with web search flows, which are 14 times as large. Some seven hours of processor time.",
    notes: &[PRINTED, AGGRESSIVE, CONTROL, POLARISED, PARTIAL],
    choices: &[],
    steps: &[],
    needs: || WEBSEARCH_RUNS.needs(),
    panels: |done| WEBSEARCH_RUNS.panels(done),
};

/// The largest size of a group, what tables call it; then the names of its median and 99th percentile.
type Group = (u64, &'static str, &'static str, &'static str);

/// One traffic: under all cases and both hashes.
struct Matrix {
    key: &'static str,
    settings: &'static [&'static str],
    groups: &'static [Group],
    digest: Measure,
}

/// Nobody looks at more than completion times.
const UNRECORDED: [&str; 3] = ["record.accounts=off", "record.ports=off", "record.pfc=false"];

const HADOOP_RUNS: Matrix = Matrix {
    key: "hadoop",
    settings: &UNRECORDED,
    groups: &HADOOP_SIZES,
    digest: Measure {
        name: "hadoop-sizes",
        of: |input, outcome| digest(input, outcome, &HADOOP_SIZES),
    },
};

const WEBSEARCH_RUNS: Matrix = Matrix {
    key: "websearch",
    settings: &[
        "workload.0.poisson.sizes=websearch",
        "workload.0.poisson.to=91.27ms",
        "duration=8s",
        UNRECORDED[0],
        UNRECORDED[1],
        UNRECORDED[2],
    ],
    groups: &WEBSEARCH_SIZES,
    digest: Measure {
        name: "websearch-sizes",
        of: |input, outcome| digest(input, outcome, &WEBSEARCH_SIZES),
    },
};

/// Of the ticks of the thesis's axis, every second or so.
const HADOOP_SIZES: [Group; 6] = [
    (300, "up to 300 B", "p50_a", "p99_a"),
    (800, "300 to 800 B", "p50_b", "p99_b"),
    (26_000, "0.8 to 26 KB", "p50_c", "p99_c"),
    (4_800_000, "26 KB to 4.8 MB", "p50_d", "p99_d"),
    (u64::MAX, "from 4.8 MB", "p50_e", "p99_e"),
    ALL,
];

const WEBSEARCH_SIZES: [Group; 5] = [
    (23_000, "up to 23 KB", "p50_a", "p99_a"),
    (500_000, "23 to 500 KB", "p50_b", "p99_b"),
    (3_200_000, "0.5 to 3.2 MB", "p50_c", "p99_c"),
    (u64::MAX, "from 3.2 MB", "p50_d", "p99_d"),
    ALL,
];

const ALL: Group = (u64::MAX, "all", "p50_all", "p99_all");

/// What is run: what tables call it, what tells its runs from others, scheme, and settings.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const RED: &str = "network.detection.kind=red";
/// Under the name `dcqcn`: the settings of `dcqcn-tcd` would overrule it.
const DEEPER: &str = "cc.dcqcn.tcd=aggressive";
const NO_FLOOR: &str = "cc.dcqcn.alpha-floor=0";
const HALF: &str = "cc.dcqcn.alpha-floor=0.5";
const ALWAYS: &str = "cc.dcqcn.alpha-floor=1";
const SAME_GROWTH: &str = "cc.dcqcn.g-factor=1";
const TWICE: &str = "cc.dcqcn.cut-factor=2";

const CASES: [Case; 7] = [
    ("DCQCN", "plain", "dcqcn-tcd", &[RED]),
    ("hold", "hold", "dcqcn-tcd", &[]),
    ("alpha = 1", "always", "dcqcn", &[DEEPER, ALWAYS, SAME_GROWTH]),
    ("cut x2", "deep", "dcqcn", &[DEEPER, NO_FLOOR, SAME_GROWTH, TWICE]),
    (
        "cut x2, no TCD",
        "control",
        "dcqcn",
        &[RED, DEEPER, NO_FLOOR, SAME_GROWTH, TWICE],
    ),
    ("alpha >= 0.5", "floor", "dcqcn", &[DEEPER, HALF, SAME_GROWTH]),
    ("g x2", "growth", "dcqcn", &[DEEPER, NO_FLOOR]),
];

/// How many of them are run first.
const FIRST: usize = 5;

/// That which is no ternary detection, alongside the first.
const CONTROL_CASE: usize = 4;

const HASHES: [(&str, &str); 2] = [("salted", "per-switch"), ("polarised", "shared")];

const SEEDS: u64 = 10;

/// Which percentile, in words and among the names of a group.
#[derive(Clone, Copy)]
enum Percentile {
    Median,
    P99,
}

impl Percentile {
    const fn of(self, group: &Group) -> &'static str {
        match self {
            Self::Median => group.2,
            Self::P99 => group.3,
        }
    }
    const fn name(self) -> &'static str {
        match self {
            Self::Median => "median slowdown",
            Self::P99 => "99th percentile of slowdown",
        }
    }
}

impl Matrix {
    fn need(&self, hash: usize, case: usize, seed: u64) -> RunRequest {
        let ((hash, how), (_, name, scheme, settings)) = (HASHES[hash], CASES[case]);
        let all = self.settings.iter().chain(settings).map(ToString::to_string);
        RunRequest {
            variant: format!("{}-{hash}-{name}", self.key),
            settings: all.chain([format!("network.ecmp-hash={how}")]).collect(),
            digest: Some(self.digest),
            folder: false,
            ..RunRequest::of(Input::Shipped("tcd-fat-tree", seed), scheme)
        }
    }

    /// The first cases with all seeds, then the others, seed by seed: what is interrupted has whole pairs.
    fn needs(&self) -> Vec<RunRequest> {
        let cases = [0..FIRST, FIRST..CASES.len()];
        let seeds = |cases: Range<usize>| (1..=SEEDS).map(move |seed| (cases.clone(), seed));
        let of = |(cases, seed): (Range<usize>, u64)| {
            let hashes = 0..HASHES.len();
            hashes.flat_map(move |hash| cases.clone().map(move |case| self.need(hash, case, seed)))
        };
        cases.into_iter().flat_map(seeds).flat_map(of).collect()
    }

    fn panels(&self, done: &Done) -> Vec<Panel> {
        let of = |hash, case| (1..=SEEDS).map(move |seed| done.numbers(&self.need(hash, case, seed)));
        let cases = |hash| (0..CASES.len()).map(|case| of(hash, case).collect()).collect();
        let taken = Extract {
            groups: self.groups,
            numbers: (0..HASHES.len()).map(cases).collect(),
        };
        taken.panels()
    }
}

/// The numbers of a matrix: of each hash, case and seed.
struct Extract<'a> {
    groups: &'static [Group],
    numbers: Vec<Vec<Vec<Option<&'a Metrics>>>>,
}

impl Extract<'_> {
    /// A number of a case, seed by seed; none with seeds that it was not run with.
    fn values(&self, hash: usize, case: usize, name: &str) -> impl Iterator<Item = Option<f64>> {
        let seeds = self.numbers[hash][case].iter();
        seeds.map(move |numbers| numbers.as_ref()?.values.get(name).copied())
    }

    fn mean(&self, hash: usize, case: usize, name: &str) -> Option<f64> {
        mean(&self.values(hash, case, name).flatten().collect::<Vec<f64>>())
    }

    /// DCQCN's value over that of a case, and its interval: none where there is one seed.
    fn ratio(&self, hash: usize, case: usize, name: &str) -> Option<[f64; 3]> {
        let pairs = self.values(hash, case, name).zip(self.values(hash, 0, name));
        let (other, plain): (Vec<f64>, Vec<f64>) = pairs.filter_map(|(a, b)| a.zip(b)).unzip();
        match paired(&other, &plain, CONFIDENCE) {
            Some(Paired {
                ratio: Some(ratio), ..
            }) => Some([ratio.mean, ratio.lo, ratio.hi]),
            _ => Some([plain.first()? / other.first()?, f64::NAN, f64::NAN]),
        }
    }

    fn panels(&self) -> Vec<Panel> {
        let mut panels = vec![self.printed()];
        for hash in 0..HASHES.len() {
            for which in [Percentile::Median, Percentile::P99] {
                panels.push(self.slowdowns(hash, which));
                panels.push(self.ratios(hash, which));
            }
            panels.push(self.totals(hash));
        }
        panels
    }

    /// What the thesis prints, and the most that ours can be read to give.
    fn printed(&self) -> Panel {
        let of = |which: Percentile| {
            let all = (0..HASHES.len()).flat_map(|hash| (1..CASES.len()).map(move |case| (hash, case)));
            let ratios = all
                .filter(|&(_, case)| case != CONTROL_CASE)
                .flat_map(|(hash, case)| {
                    let of = move |group| Some(self.ratio(hash, case, which.of(group))?[0]);
                    self.groups.iter().filter_map(of)
                });
            ratios.reduce(f64::max)
        };
        let row = |name| Row::quantity(name, "×", 1);
        let rows = vec![
            row("median, DCQCN over DCQCN with TCD, at most"),
            row("99th percentile, DCQCN over DCQCN with TCD, at most"),
        ];
        let which = [(Percentile::Median, 3.3), (Percentile::P99, 2.0)];
        Panel::of("What is printed", "", vec![column("ours")], rows, |row, _| Cell {
            paper: Some(which[row].1),
            ours: of(which[row].0),
            criterion: Criterion::published(
                Tolerance::Within(0.15),
                "two digits are printed, of one draw of flows",
            ),
        })
    }

    fn slowdowns(&self, hash: usize, which: Percentile) -> Panel {
        let rows = self.groups.iter().map(|group| sized(group.1, which.name(), ""));
        let columns = CASES.map(|(name, ..)| column(name)).to_vec();
        let title = title(which.name(), hash);
        let panel = Panel::of(title, "size", columns, rows.collect(), |row, case| {
            shown(self.mean(hash, case, which.of(&self.groups[row])))
        });
        panel.told_by_title()
    }

    fn ratios(&self, hash: usize, which: Percentile) -> Panel {
        let ends = ["", ", from", ", to"];
        let rows = self
            .groups
            .iter()
            .flat_map(|group| ends.map(|end| sized(group.1, which.name(), end)));
        let columns = CASES[1..].iter().map(|case| column(case.0)).collect();
        let title = title(&format!("DCQCN over it: {}", which.name()), hash);
        let panel = Panel::of(title, "size", columns, rows.collect(), |row, case| {
            let name = which.of(&self.groups[row / ends.len()]);
            let ratio = self.ratio(hash, case + 1, name);
            shown(
                ratio
                    .map(|ratio| ratio[row % ends.len()])
                    .filter(|value| value.is_finite()),
            )
        });
        panel.told_by_title()
    }

    fn totals(&self, hash: usize) -> Panel {
        const ROWS: [(&str, &str, &str); 6] = [
            ("ce", "packets marked congested", "%"),
            ("ue", "packets marked undetermined", "%"),
            ("pauses", "pause frames", ""),
            ("paused", "ports paused, together", "ms"),
            ("end", "all flows done after", "ms"),
            ("unfinished", "flows not done", ""),
        ];
        let rows = ROWS
            .iter()
            .map(|&(_, metric, unit)| Row::quantity(metric, unit, 1));
        let rows = rows.chain([Row::quantity("seeds", "", 0)]);
        let columns = CASES.map(|(name, ..)| column(name)).to_vec();
        let title = title("marks and pause frames", hash);
        let panel = Panel::of(title, "", columns, rows.collect(), |row, case| {
            match ROWS.get(row) {
                Some((name, ..)) => shown(self.mean(hash, case, name)),
                None => {
                    let run = self.numbers[hash][case].iter().flatten().count();
                    shown((run > 0).then_some(run as f64))
                }
            }
        });
        panel.told_by_title()
    }
}

fn title(what: &str, hash: usize) -> String {
    format!("{what}, {} hash", HASHES[hash].0)
}

const fn column(name: &'static str) -> Column {
    Column {
        name,
        scheme: "dcqcn",
        published: "thesis",
    }
}

fn sized(size: &str, metric: &'static str, end: &str) -> Row {
    Row {
        label: format!("{size}{end}"),
        ..Row::quantity(metric, "×", 2)
    }
}

const fn shown(ours: Option<f64>) -> Cell {
    Cell {
        paper: None,
        ours,
        criterion: Criterion::SHOWN,
    }
}

/// Medians and 99th percentiles by size, marks and pause frames. With flows missing there are no percentiles.
fn digest(input: &Resolved, outcome: &Outcome, groups: &[Group]) -> Metrics {
    let alone = IdealFct::of(&input.run);
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let mut slowdowns: Vec<(u64, f64)> = flows
        .filter(|(_, flow)| flow.status == FlowStatus::Completed)
        .map(|(spec, flow)| {
            let slowdown = alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps());
            (spec.size.get(), slowdown)
        })
        .collect();
    slowdowns.sort_by(|a, b| a.1.total_cmp(&b.1));
    let unfinished = outcome.flows.len() - slowdowns.len();
    let mut numbers = Metrics::default();
    let mut above = 0;
    for &(to, label, p50, p99) in groups.iter().filter(|_| unfinished == 0) {
        let from = if label == ALL.1 { 0 } else { above };
        let within = slowdowns.iter().filter(|(size, _)| (from..=to).contains(size));
        let values: Vec<f64> = within.map(|&(_, slowdown)| slowdown).collect();
        above = to.saturating_add(1);
        for (name, percent) in [(p50, 50), (p99, 99)] {
            if let Some(value) = element(&values, percent) {
                numbers.values.insert(name, value);
            }
        }
    }
    let counters = &outcome.counters;
    let share = |count: u64| 100.0 * count as f64 / counters.data_received.max(1) as f64;
    numbers.values.extend([
        ("ce", share(counters.marked)),
        ("ue", share(counters.undetermined)),
        ("pauses", counters.pause_frames as f64),
        ("paused", counters.paused_ps as f64 / 1e9),
        ("end", outcome.end.as_ps() as f64 / 1e9),
        ("unfinished", unfinished as f64),
    ]);
    numbers
}
