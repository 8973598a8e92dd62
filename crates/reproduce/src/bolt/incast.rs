//! B6: fifty senders, a hundred messages each.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::{Place, PortEvents};
use super::reference::derived;
use super::util::queueing;
use super::{
    BOLT, Criterion, Done, Extract, HPCC, Line, Measure, Metrics, Panel, Reproduction, SHIPPED, SWIFT10,
    TOLERANCES, Tolerance, Variant, needs, numbers, panel,
};
use Tolerance::{Exact, Near, Shown};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-b6",
    data: None,
    title: "An incast of 5000 messages: goodput, queue, and what notifications cost",
    source: Citation::of(
        papers::BOLT,
        "on large incasts; the authors' simulator (serhatarslan-hub/bolt_cc_ns3, commit 0cf98cc) and \
                 its notebook",
    ),
    setting: "Fifty hosts send 100 messages of 495.9 KB each to one, all at once, over 100 Gbit/s with packets of 5000 \
              bytes and a buffer of 320 MB. Goodput: payload over the time to the last acknowledgement. Queueing as \
              in bolt-b5. SRCs at the congested port, 41 bytes each, over the whole run.",
    notes: &[
        "As paper stand the numbers of the authors' notebook: 0.769 Gbit/s of SRCs divides by the time of the last \
         SRC instead of the whole run.",
        "Swift's 57 Gbit/s is that of the authors' code, whose target delay grows where it should fall \
         (the sign of a constant).",
    ],
    choices: &[SHIPPED, TOLERANCES],
    steps: &[],
    needs: || needs(SCENARIO, &VARIANTS, DIGEST),
    panels,
};

const SCENARIO: &str = "bolt-incast50x100";

const DIGEST: Measure = Measure {
    name: "incast",
    of: digest,
};

const VARIANTS: [Variant; 3] = [BOLT, SWIFT10, HPCC];

const RECEIVER: Place = Place {
    node: 0,
    peer: 1,
    gbps: 100.0,
};

/// What an SRC counts for in the reference.
const SRC_BITS: f64 = 41.0 * 8.0;

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (events, _) = PortEvents::of(&input.run, outcome, RECEIVER);
    let mut taken = numbers(queueing(&events, RECEIVER.gbps));
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let ends = flows.clone().map(|(spec, flow)| (spec.start + flow.fct).as_ps());
    let last = ends.max().unwrap_or(0) as f64 / 1e3;
    let payload: u64 = flows.map(|(_, flow)| flow.delivered.get()).sum();
    // Those that crossed a link: in the authors' simulator hosts' own ports tell their senders, too.
    let src = outcome.counters.control_hops as f64 * SRC_BITS / last;
    let more = [
        ("goodput", payload as f64 * 8.0 / last),
        ("last", last / 1e6),
        ("src", src),
        ("overhead", src),
        ("completed", outcome.completions.len() as f64),
        ("drops", outcome.counters.buffer_drops as f64),
    ];
    taken.values.extend(more);
    taken
}

fn panels(done: &Done) -> Vec<Panel> {
    let taken = Extract {
        done,
        scenario: SCENARIO,
        digest: DIGEST,
    };
    let of = |variant: Variant, metric: &str| derived(&format!("incast50x100_{}", variant.name), metric);
    let goodput = |variant: Variant, tolerance| {
        let line = taken.line(variant, "goodput", ("goodput", "Gbit/s", 3));
        line.reference(of(variant, "goodput"), tolerance)
    };
    let p99 = |variant: Variant, tolerance| {
        let line = taken.line(variant, "p99", ("queueing, p99", "µs", 1));
        line.reference(of(variant, "queue_event_p99"), tolerance)
    };
    let src = taken
        .line(BOLT, "src", ("SRCs", "Gbit/s", 3))
        .reference(of(BOLT, "src_rate_41B"), Exact)
        .paper(0.769);
    let overhead = taken
        .line(BOLT, "overhead", ("SRCs' share of the link", "%", 2))
        .paper(0.77)
        .wanted(Criterion::simulator(
            Near(0.01),
            "the notebook divides by the time of the last SRC: 0.769 for 0.762",
        ));
    let completed = |variant: Variant| {
        let line = taken.line(variant, "completed", ("messages done", "", 0));
        line.reference(Some(5000.0), Shown)
    };
    let lines: [Line; 11] = [
        goodput(BOLT, Exact).paper(99.178),
        p99(BOLT, Exact).paper(13_720.0),
        src,
        overhead,
        completed(BOLT),
        goodput(SWIFT10, Exact).paper(57.413),
        p99(SWIFT10, Exact).paper(23_543.2),
        completed(SWIFT10),
        goodput(HPCC, Shown).paper(98.4),
        p99(HPCC, Shown),
        taken.line(HPCC, "drops", ("packets dropped", "", 0)),
    ];
    vec![panel("", &lines)]
}
