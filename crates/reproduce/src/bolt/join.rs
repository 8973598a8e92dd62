//! B1: a second flow joins.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::PortEvents;
use super::reference::derived;
use super::{
    BDP, BOLT, Criterion, DUMBBELL, Done, Extract, HPCC, Measure, Metrics, NO_SRC, Panel, Quantity, RTT,
    Reproduction, RunRequest, SHIPPED, SWIFT2, SWIFT10, TOLERANCES, Tolerance, Variant, claimed, needs,
    numbers, panel,
};
use Tolerance::{AtMost, Exact, Near, Shown, Within};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-b1",
    data: None,
    title: "A flow joins another at line rate: the queue that it makes",
    source: Citation::of(
        papers::BOLT,
        "section 6.1.1 and figure 8; the authors' simulator (serhatarslan-hub/bolt_cc_ns3, commit \
                 0cf98cc)",
    ),
    setting: "Two flows over one link of 100 Gbit/s, round trip 8 µs, packets of 1500 bytes; the second starts 0.1 or \
              1 ms after the first. Times count from the second flow's first packet at the link. Dips are the least \
              share of any 8 µs within 200 µs in which the link carries packets.",
    notes: &[
        "The paper's figure is drawn for a join at 100 µs. Its words are judged: Bolt's queue stays below a \
         bandwidth-delay product and is gone within 2 round trips; HPCC's reaches one, and the link's \
         utilisation falls to 75 % afterwards.",
        "Bolt as it ships dips to some 90 % of the link in the worst 8 µs after the queue is gone, the paper's to 99 %: \
         what its pacer and its threshold cost.",
        "Without SRC the report comes back on the acknowledgement: what is left of Bolt is a scheme that reacts a \
         round trip later.",
    ],
    choices: &[SHIPPED, TOLERANCES],
    steps: &[],
    needs: run_needs,
    panels,
};

const DIGEST: Measure = Measure {
    name: "join",
    of: digest,
};

/// Scenario, its name in the reference, and what tables call it.
const JOINS: [(&str, &str, &str); 2] = [
    ("bolt-join100", "join100", "join at 100 µs"),
    ("bolt-join1000", "join1000", "join at 1 ms"),
];

const VARIANTS: [Variant; 5] = [BOLT, NO_SRC, SWIFT10, SWIFT2, HPCC];

fn run_needs() -> Vec<RunRequest> {
    let joins = JOINS
        .iter()
        .flat_map(|(scenario, ..)| needs(scenario, &VARIANTS, DIGEST));
    super::single::run_needs().into_iter().chain(joins).collect()
}

/// After a join at `join`: the queue's peak, when it is empty, what the link lost.
pub(super) fn after_join(events: &PortEvents, join: f64) -> [(&'static str, Option<f64>); 6] {
    let end = join + 200_000.0;
    let peak = events.peak(join, end);
    let empty = peak.and_then(|(at, _)| events.empty_after(at));
    let dip = empty.map(|empty| 100.0 * events.least_utilisation(empty, end, 8000.0, 250.0));
    [
        ("peak", peak.map(|(_, bytes)| bytes / 1e3)),
        ("peak_at", peak.map(|(at, _)| (at - join) / 1e3)),
        ("peak_bdp", peak.map(|(_, bytes)| bytes / BDP)),
        ("empty_rtts", empty.map(|at| (at - join) / RTT)),
        ("dip", dip),
        (
            "standing",
            Some(events.mean(join + 100_000.0, join + 300_000.0) / 1e3),
        ),
    ]
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (events, passages) = PortEvents::of(&input.run, outcome, DUMBBELL);
    let Some(first) = passages.iter().find(|passage| passage.flow == 1) else {
        return Metrics::default();
    };
    let join = first.at;
    let mut taken = numbers(after_join(&events, join));
    taken.values.insert("src", outcome.counters.notices as f64);
    taken
        .values
        .insert("before", events.mean(join - 60_000.0, join) / 1e3);
    let near = events
        .queue
        .iter()
        .filter(|(at, _)| (-10_000.0..=60_000.0).contains(&(at - join)));
    let points = near.map(|&(at, bytes)| ((at - join) / 1e3, bytes / 1e3));
    taken.series.insert("queue", points.collect());
    taken
}

fn panels(done: &Done) -> Vec<Panel> {
    let joins = JOINS.iter().map(|&(scenario, run, title)| {
        let taken = Extract {
            done,
            scenario,
            digest: DIGEST,
        };
        of_join(&taken, run, title)
    });
    let alone = std::iter::once(super::single::alone(done));
    alone.chain(joins).chain([chart(done)]).collect()
}

fn of_join(taken: &Extract<'_>, run: &str, title: &str) -> Panel {
    const PEAK: Quantity = ("queue peak", "KB", 1);
    const EMPTY: Quantity = ("empty after the peak", "round trips", 2);
    const DIP: Quantity = ("dip of utilisation", "%", 1);
    const STANDING: Quantity = ("queue 100 to 300 µs after", "KB", 1);
    let of = |variant: Variant, metric: &str| derived(&format!("{run}_{}", variant.name), metric);
    let peak = |variant: Variant, tolerance| {
        let reference = of(variant, "queue_peak").map(|bytes| bytes / 1e3);
        taken.line(variant, "peak", PEAK).reference(reference, tolerance)
    };
    let empty = |variant: Variant, tolerance| {
        let reference = of(variant, "queue_zero_after_join_rtts");
        taken
            .line(variant, "empty_rtts", EMPTY)
            .reference(reference, tolerance)
    };
    let standing = |variant: Variant, tolerance| {
        let reference = of(variant, "queue_mean_100_300us_after").map(|bytes| bytes / 1e3);
        taken
            .line(variant, "standing", STANDING)
            .reference(reference, tolerance)
    };
    let dip = |variant: Variant| taken.line(variant, "dip", DIP);
    let srcs = taken.line(BOLT, "src", ("SRCs", "", 0));
    let hpcc = taken.line(HPCC, "peak_bdp", ("queue peak", "BDP", 2));
    let lines = [
        peak(BOLT, Exact).wanted(claimed(AtMost(100.0))),
        empty(BOLT, Exact).wanted(claimed(AtMost(2.0))),
        dip(BOLT).reference(of(BOLT, "min_util_8us_window_in_200us"), Shown),
        srcs.reference(of(BOLT, "src_port_c0a"), Exact),
        peak(NO_SRC, Exact),
        empty(NO_SRC, Shown),
        peak(SWIFT10, Shown),
        standing(SWIFT10, Exact),
        standing(SWIFT2, Exact),
        hpcc.paper(1.0)
            .wanted(Criterion::published(Within(0.2), "the figure prints no number")),
        dip(HPCC)
            .paper(75.0)
            .wanted(Criterion::published(Near(5.0), "read off a figure")),
    ];
    panel(title, &lines)
}

fn chart(done: &Done) -> Panel {
    let taken = Extract {
        done,
        scenario: JOINS[0].0,
        digest: DIGEST,
    };
    let axes = [
        ("time after the second flow's first packet", "µs"),
        ("queue", "KB"),
    ];
    let title = "Queue at the link when a second flow joins at 100 µs";
    taken.chart(title, "queue", axes, &[BOLT, HPCC, SWIFT2], None)
}
