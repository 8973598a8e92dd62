//! A flow alone at the bottleneck.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::PortEvents;
use super::reference::derived;
use super::{
    BOLT, Criterion, DUMBBELL, Done, Extract, HPCC, Measure, Metrics, Panel, RunRequest, SWIFT10, Tolerance,
    Variant, asked, needs, numbers, panel,
};
use Tolerance::{AtLeast, Exact, Near};

pub(super) fn run_needs() -> Vec<RunRequest> {
    needs(SCENARIO, &[BOLT, SWIFT10, HPCC], DIGEST)
}

const SCENARIO: &str = "bolt-single";

const DIGEST: Measure = Measure {
    name: "single",
    of: digest,
};

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (events, _) = PortEvents::of(&input.run, outcome, DUMBBELL);
    let utilisation = events.utilisation(20_000.0, 600_000.0);
    numbers([
        ("utilisation", Some(100.0 * utilisation)),
        (
            "peak",
            events.peak(0.0, f64::INFINITY).map(|(_, bytes)| bytes / 1e3),
        ),
        ("src", Some(outcome.counters.notices as f64)),
        (
            "fct",
            outcome.flows.first().map(|flow| flow.fct.as_ps() as f64 / 1e6),
        ),
        ("standing", Some(events.mean(400_000.0, 600_000.0) / 1e3)),
    ])
}

pub(super) fn alone(done: &Done) -> Panel {
    let taken = Extract {
        done,
        scenario: SCENARIO,
        digest: DIGEST,
    };
    let of = |variant: Variant, metric| derived(&format!("single_{}", variant.scheme), metric);
    let fct = |variant: Variant| {
        let line = taken.line(variant, "fct", ("completion", "µs", 3));
        line.reference(of(variant, "fct"), Exact)
    };
    let full = |variant: Variant, least: f64| {
        let line = taken.line(variant, "utilisation", ("utilisation", "%", 2));
        let mut line = line
            .reference(of(variant, "utilisation"), Exact)
            .wanted(asked(AtLeast(least), "a flow alone fills its link"));
        line.reference.1 = Criterion::simulator(Near(0.02), "a packet more or less in 580 µs");
        line
    };
    let kb = |variant: Variant, name, metric| {
        let line = taken.line(variant, name, (metric, "KB", 1));
        line.reference(of(variant, name).map(|bytes| bytes / 1e3), Exact)
    };
    let lines = [
        full(BOLT, 99.0),
        kb(BOLT, "peak", "queue peak"),
        taken
            .line(BOLT, "src", ("SRCs", "", 0))
            .reference(derived("single_bolt", "src_port_c0a"), Exact),
        fct(BOLT),
        full(SWIFT10, 99.0),
        kb(SWIFT10, "standing", "queue 400 to 600 µs"),
        fct(SWIFT10),
        taken.line(HPCC, "utilisation", ("utilisation", "%", 2)),
    ];
    panel("A flow alone", &lines)
}
