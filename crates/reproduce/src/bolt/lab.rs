//! B9: a dumbbell like the paper's laboratory.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::{Place, PortEvents};
use super::reference::derived;
use super::util::queueing;
use super::{
    BOLT, Criterion, Done, Extract, HPCC, Line, Measure, Metrics, Mode, Panel, Reproduction, SHIPPED,
    SWIFT10, SWIFT50, TOLERANCES, Tolerance, Variant, needs, numbers, panel,
};
use Tolerance::{Exact, Near, Shown};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-b9",
    data: None,
    title: "Round trips in a network like the paper's laboratory, at 80 % load",
    source: Citation::of(
        papers::BOLT,
        "section 6.2; the authors' simulator (serhatarslan-hub/bolt_cc_ns3, commit 0cf98cc)",
    ),
    setting: "Four hosts send messages of Google's RPCs to one behind a link of 25 Gbit/s, 80 % of it, 100 ms; round \
              trip 14 µs, packets of 5000 bytes. Percentiles over all acknowledgements.",
    notes: &[
        "The paper measured in a laboratory: Bolt's median is 86 % and its tail 81 % below Swift's. A simulation has \
         none of the hosts' delays, and of such a run moved starts change medians by 5 % and tails by 15 %: \
         that far off the printed differences may be.",
        "The reference runs collect messages of a pair of hosts in one flow, and so does the third column. Its queueing is \
         the reference's to the digit, its round trips are not: the two do not measure the same times, and where they \
         differ is not known. Hence six crosses.",
    ],
    choices: &[SHIPPED, TOLERANCES],
    steps: &[],
    needs: || needs(SCENARIO, &VARIANTS, DIGEST),
    panels,
};

const SCENARIO: &str = "bolt-lab80";

const DIGEST: Measure = Measure {
    name: "lab",
    of: digest,
};

const VARIANTS: [Variant; 4] = [BOLT, SWIFT10, SWIFT50, HPCC];

const BOTTLENECK: Place = Place {
    node: 5,
    peer: 6,
    gbps: 25.0,
};

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (events, _) = PortEvents::of(&input.run, outcome, BOTTLENECK);
    let mut taken = numbers(queueing(&events, BOTTLENECK.gbps));
    let rtt = |share: f64| outcome.rtt_per_ack.histogram_ns.value_at_quantile(share) as f64 / 1e3;
    let more = [
        ("rtt_p50", rtt(0.5)),
        ("rtt_p99", rtt(0.99)),
        ("completed", outcome.completions.len() as f64),
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
    let of = |variant: Variant, metric: &str| derived(&format!("lab80_{}", variant.name), metric);
    let rtt = |variant: Variant, name: &str, metric, tolerance| {
        let line = taken.line(variant, name, (metric, "µs", 2));
        line.reference(of(variant, name), tolerance)
    };
    let pair = |variant: Variant, p50, p99| {
        [
            rtt(variant, "rtt_p50", "round trip, p50", p50),
            rtt(variant, "rtt_p99", "round trip, p99", p99),
        ]
    };
    let queue = |variant: Variant| {
        let percentile = |name: &str, theirs: &str, metric| {
            let line = taken.line(variant, name, (metric, "µs", 2));
            line.reference(of(variant, theirs), Exact)
        };
        [
            percentile("p50", "queue_event_p50", "queueing, p50"),
            percentile("p99", "queue_event_p99", "queueing, p99"),
        ]
    };
    let less = |name: &str, label: &str, metric, printed: f64, (near, because)| {
        let of_mode = |mode| {
            let value = |variant| taken.value(variant, mode, name);
            Some(100.0 * (value(BOLT)? / value(SWIFT50)? - 1.0))
        };
        let reference = || Some(100.0 * (of(BOLT, name)? / of(SWIFT50, name)? - 1.0));
        Line::new(label, metric, "%", 1)
            .ours(Mode::ALL.map(of_mode))
            .reference(reference(), Shown)
            .paper(printed)
            .wanted(Criterion::published(Near(near), because))
    };
    let lines: Vec<Line> = [BOLT, SWIFT10, SWIFT50]
        .into_iter()
        .flat_map(|variant| pair(variant, Exact, Exact))
        .chain([BOLT, SWIFT10, SWIFT50].into_iter().flat_map(queue))
        .chain(pair(HPCC, Shown, Shown))
        .chain([
            less(
                "rtt_p50",
                "Bolt's p50 against Swift's, 50 µs",
                "difference of p50",
                -86.0,
                (1.0, "5 % of either median"),
            ),
            less(
                "rtt_p99",
                "Bolt's p99 against Swift's, 50 µs",
                "difference of p99",
                -81.0,
                (4.0, "15 % of either tail"),
            ),
        ])
        .collect();
    vec![panel("", &lines)]
}
