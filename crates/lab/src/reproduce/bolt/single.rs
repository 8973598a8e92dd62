//! A flow alone at the bottleneck.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::PortEvents;
use super::reference::derived;
use super::{
    BOLT, DUMBBELL, Digest, Done, HPCC, Need, Numbers, Panel, SWIFT10, Taken, Tolerance, Variant, asked,
    needs, numbers, panel,
};
use Tolerance::{AtLeast, Exact, Near, Within};

pub(super) fn run_needs() -> Vec<Need> {
    needs(SCENARIO, &[BOLT, SWIFT10, HPCC], DIGEST)
}

const SCENARIO: &str = "bolt-single";

const DIGEST: Digest = Digest {
    name: "single",
    of: digest,
};

fn digest(input: &Resolved, outcome: &Outcome) -> Numbers {
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
    let taken = Taken {
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
        line.reference(of(variant, "utilisation"), Near(0.5))
            .wanted(asked(AtLeast(least), "a flow alone fills its link"))
    };
    let kb = |variant: Variant, name, metric, tolerance| {
        let line = taken.line(variant, name, (metric, "KB", 1));
        line.reference(of(variant, name).map(|bytes| bytes / 1e3), tolerance)
    };
    let lines = [
        full(BOLT, 99.0),
        kb(BOLT, "peak", "queue peak", Within(0.03)),
        taken
            .line(BOLT, "src", ("SRCs", "", 0))
            .reference(derived("single_bolt", "src_port_c0a"), Within(0.1)),
        fct(BOLT),
        full(SWIFT10, 99.0),
        kb(SWIFT10, "standing", "queue 400 to 600 µs", Within(0.015)),
        fct(SWIFT10),
        taken.line(HPCC, "utilisation", ("utilisation", "%", 2)),
    ];
    panel("A flow alone", &lines)
}
