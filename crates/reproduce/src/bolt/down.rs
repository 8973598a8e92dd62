//! B4: one of two flows is cut off without notice.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::leave::{after_leave, last_of, near};
use super::port::PortEvents;
use super::reference::derived;
use super::{
    BOLT, Criterion, DUMBBELL, Done, Extract, HPCC, Measure, Metrics, NO_PAUSE, NO_SM, Panel, RTT,
    Reproduction, RunRequest, SCATTER, SHIPPED, SWIFT2, TOLERANCES, Tolerance, Variant, claimed, needs,
    numbers, panel, windows,
};
use Tolerance::{AtLeast, Exact, Near, Shown};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-b4",
    data: None,
    title: "A flow is cut off: what finds the free capacity when nothing announced it",
    source: Citation::of(
        papers::BOLT,
        "section 6.1.3 and figure 12; the authors' simulator (serhatarslan-hub/bolt_cc_ns3, commit \
                 0cf98cc)",
    ),
    setting: "Two flows over one link of 100 Gbit/s, round trip 8 µs; one sender's link fails after 400 µs. Times count \
              from its last packet at the link. A bandwidth-delay product is 97.26 KB of payload; the plateau is \
              98 % of the largest window within 600 µs.",
    notes: &[
        "The paper: 23 µs with supply matching, more than 33 round trips (of 8 µs) without.",
        "As the paper has it Bolt takes 120 µs: its windows, clocked by ACKs alone, come back to back, and supply \
         matching, which holds one packet, sees one packet per round trip of the gap that the other flow left; with \
         the additive increase that is two packets per round trip. The authors' simulator spreads packets by a pause \
         that the paper does not list; without it, third column, it is no faster. What ships has a pacer: see bolt-b2.",
    ],
    choices: &[SHIPPED, TOLERANCES],
    steps: &[],
    needs: run_needs,
    panels,
};

const SCENARIO: &str = "bolt-down400";

const DIGEST: Measure = Measure {
    name: "down",
    of: digest,
};

/// Why a time at which a window is reached is not the reference's to the digit.
const BINS: &str = "ours are means of bins of time, theirs every change";

const VARIANTS: [Variant; 5] = [BOLT, NO_SM, NO_PAUSE, SWIFT2, HPCC];

fn run_needs() -> Vec<RunRequest> {
    needs(SCENARIO, &VARIANTS, DIGEST)
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (events, passages) = PortEvents::of(&input.run, outcome, DUMBBELL);
    let Some(leave) = last_of(&passages, 0) else {
        return Metrics::default();
    };
    let window = windows(outcome, 1);
    let mut taken = numbers(after_leave(&events, &window, leave));
    let plateau = taken.values.get("stable").map(|us| us * 1e3 / RTT);
    taken.values.extend(plateau.map(|rtts| ("plateau_rtts", rtts)));
    taken.series.insert("window", near(&window, leave));
    taken
}

fn panels(done: &Done) -> Vec<Panel> {
    let taken = Extract {
        done,
        scenario: SCENARIO,
        digest: DIGEST,
    };
    let of = |variant: Variant, metric: &str| derived(&format!("down400_{}", variant.name), metric);
    let full = |variant: Variant| {
        let line = taken.line(variant, "bdp95", ("window at 95 % of a BDP after", "µs", 1));
        line.reference(of(variant, "cwnd_reaches_95pct_of_97260B"), Shown)
    };
    let plateau = |variant: Variant| {
        let line = taken.line(variant, "plateau_rtts", ("plateau after", "round trips", 1));
        let us = of(variant, "cwnd_reaches_98pct_of_max");
        line.reference(us.map(|us| us * 1e3 / RTT), Shown)
    };
    let lost = |variant: Variant, tolerance| {
        let line = taken.line(variant, "idle", ("lost time of the link", "µs", 2));
        line.reference(of(variant, "link_idle_time_600us_after_leave"), tolerance)
    };
    let mut with = full(BOLT)
        .paper(23.0)
        .wanted(Criterion::published(Near(2.0), SCATTER));
    with.reference.1 = Criterion::simulator(Near(2.0), BINS);
    let mut without = plateau(NO_SM).paper(33.0).wanted(claimed(AtLeast(33.0)));
    without.reference.1 = Criterion::simulator(Near(0.25), BINS);
    let lines = [
        with,
        lost(BOLT, Exact),
        without,
        full(NO_SM),
        lost(NO_SM, Exact),
        full(NO_PAUSE),
        lost(NO_PAUSE, Shown),
        full(SWIFT2),
        full(HPCC),
    ];
    vec![panel("", &lines), chart(&taken)]
}

fn chart(taken: &Extract<'_>) -> Panel {
    let axes = [
        ("time after the last packet of the flow that is cut off", "µs"),
        ("window", "KB"),
    ];
    let title = "The remaining flow's window when the other is cut off";
    taken.chart(title, "window", axes, &[BOLT, NO_SM, HPCC], Some(NO_SM))
}
