//! B3: what PRU and SM are worth, over many patterns of starts.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::{Place, PortEvents};
use super::{
    BOLT, Done, Line, Measure, Metrics, Mode, NEITHER, NO_PRU, NO_SM, Panel, Reproduction, RunRequest,
    SHIPPED, TOLERANCES, Tolerance, Variant, claimed, need, numbers, panel,
};
use Tolerance::{AtMost, Exact, Shown};
use paceline_lab::stats::{CONFIDENCE, mean, paired};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-b3",
    data: None,
    title: "What proactive ramp-up and supply matching are worth where flows end",
    source: Citation::of(
        papers::BOLT,
        "section 6.1.2 and table 1; the authors' simulator (serhatarslan-hub/bolt_cc_ns3, commit \
                 0cf98cc)",
    ),
    setting: "Five hosts send 500 KB each to one over 100 Gbit/s, round trip 5 µs, packets of 1500 bytes; they start \
              15 µs apart, each up to 5 µs later: 50 patterns, the same for all. Utilisation of the link from the \
              first end to the last; differences are paired, pattern by pattern.",
    notes: &[
        "The paper's −6, −1 and −8 points are one pattern, with packets of 5000 bytes, and change with any nanosecond: \
         shown, not judged. The reference is the authors' simulator over the same 50 patterns.",
        "Of the paper's Bolt the signs have to be the same: less without PRU, without SM \
         and without both. Its utilisation is three points below that of Bolt as it ships and of the \
         simulator: windows come back to back (see bolt-b2).",
    ],
    choices: &[SHIPPED, TOLERANCES],
    steps: &[],
    needs: run_needs,
    panels,
};

const SCENARIO: &str = "bolt-star5-1500";

const DIGEST: Measure = Measure {
    name: "ablation",
    of: digest,
};

const VARIANTS: [Variant; 4] = [BOLT, NO_PRU, NO_SM, NEITHER];

/// Number, five starts in ns, and utilisation and idle time of the four variants.
const ENSEMBLE: &str = include_str!("../../../../validation/bolt-ns3/star5_ensemble_mtu1500.tsv");

const RECEIVER: Place = Place {
    node: 0,
    peer: 1,
    gbps: 100.0,
};

/// A pattern of starts with what the authors' simulator makes of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    starts: Vec<u64>,
    /// Utilisation in percent, in the order of the variants.
    pub(super) utilisation: [f64; 4],
}

pub(super) fn patterns() -> Vec<Pattern> {
    let pattern = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let starts = fields.get(1..6)?.iter().map(|field| field.parse().ok());
        let percent = |k: usize| fields.get(6 + 2 * k)?.parse().ok();
        Some(Pattern {
            starts: starts.collect::<Option<_>>()?,
            utilisation: [percent(0)?, percent(1)?, percent(2)?, percent(3)?],
        })
    };
    ENSEMBLE.lines().skip(1).filter_map(pattern).collect()
}

fn of_pattern(number: usize, pattern: &Pattern, variant: Variant, mode: Mode) -> RunRequest {
    let mut need = need(SCENARIO, variant, mode, DIGEST);
    need.variant = format!("{}-{number}", need.variant);
    let starts = pattern.starts.iter().enumerate();
    need.settings
        .extend(starts.map(|(flow, ns)| format!("workload.{flow}.flows.0.start={ns}ns")));
    // Several hundred runs: their numbers are enough.
    need.settings.push("record.queue=off".to_string());
    need.settings.push("record.flows=off".to_string());
    need.folder = false;
    need
}

fn run_needs() -> Vec<RunRequest> {
    let patterns = patterns();
    let mut needs = Vec::new();
    for mode in Mode::ALL {
        for variant in VARIANTS {
            let all = patterns.iter().enumerate();
            needs.extend(all.map(|(number, pattern)| of_pattern(number, pattern, variant, mode)));
        }
    }
    needs
}

/// Utilisation from the first arrival of a last byte to the last one, both seen from the port:
/// `way` earlier. Time without transmission, as the reference counts it.
pub(super) fn between_ends(events: &PortEvents, ends: &[f64], way: f64) -> Option<f64> {
    let first = ends.iter().copied().fold(f64::INFINITY, f64::min) - way;
    let last = ends.iter().copied().fold(0.0, f64::max) - way;
    (first < last).then(|| 100.0 * (1.0 - events.idle(first, last) / (last - first)))
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (events, _) = PortEvents::of(&input.run, outcome, RECEIVER);
    let ends: Vec<f64> = outcome
        .flows
        .iter()
        .filter_map(|flow| flow.received.map(|at| at.as_ps() as f64 / 1e3))
        .collect();
    let way = input
        .run
        .links
        .first()
        .map_or(0.0, |link| link.delay.as_ps() as f64 / 1e3);
    numbers([("utilisation", between_ends(&events, &ends, way))])
}

fn panels(done: &Done) -> Vec<Panel> {
    let patterns = patterns();
    let of_mode = |mode: Mode, variant: Variant| -> Option<Vec<f64>> {
        let of = |(number, pattern)| {
            let need = of_pattern(number, pattern, variant, mode);
            done.numbers(&need)?.values.get("utilisation").copied()
        };
        patterns.iter().enumerate().map(of).collect()
    };
    let ours = VARIANTS.map(|variant| Mode::ALL.map(|mode| of_mode(mode, variant)));
    let reference = |k: usize| {
        patterns
            .iter()
            .map(|pattern| pattern.utilisation[k])
            .collect::<Vec<f64>>()
    };
    let mut lines: Vec<Line> = (0..VARIANTS.len())
        .map(|k| {
            let means = [0, 1, 2].map(|mode| mean(ours[k][mode].as_deref().unwrap_or_default()));
            Line::new(VARIANTS[k].title, "utilisation", "%", 2)
                .ours(means)
                .reference(mean(&reference(k)), Shown)
        })
        .collect();
    // What the paper prints of one pattern: the sign is claimed, not the size.
    let printed = [-6.0, -1.0, -8.0];
    for (k, printed) in (1..).zip(printed) {
        let difference =
            |full: &[f64], less: &[f64]| paired(full, less, CONFIDENCE).map(|pair| pair.difference);
        let all = [0, 1, 2].map(|mode| difference(ours[0][mode].as_deref()?, ours[k][mode].as_deref()?));
        let theirs = difference(&reference(0), &reference(k));
        let label = format!("{}, difference", VARIANTS[k].title);
        lines.push(
            Line::new(label, "difference", "points", 2)
                .ours(all.map(|found| found.map(|found| found.mean)))
                .reference(theirs.map(|found| found.mean), Exact)
                .paper(printed)
                .wanted(claimed(AtMost(0.0))),
        );
        let half = |found: Option<paceline_lab::stats::Interval>| found.map(|found| found.half_width());
        let label = format!("{}, half of its interval", VARIANTS[k].title);
        lines.push(
            Line::new(label, "half width of the 95 % interval", "points", 2)
                .ours(all.map(half))
                .reference(half(theirs), Shown),
        );
    }
    vec![panel("", &lines)]
}
