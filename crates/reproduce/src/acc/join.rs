//! A2: a second flow joins one at line rate, and leaves.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{
    Case, Criterion, Line, Measure, Metrics, RECONSTRUCTED, Reproduction, SOURCE, Table, Tolerance, WINDOW,
    bar, goodput, line, numbers,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-join",
    data: None,
    title: "ACC: a second flow joins at line rate, and leaves",
    source: SOURCE,
    setting: "Two flows to one host over 40 Gbit/s and links of 4 us; the second, of 10 MB, begins 1 ms after the first. Shares \
              by what is acknowledged in 50 us. Times in round trips of the empty network (T0), queues in its bandwidth-delay \
              product.",
    notes: &[
        RECONSTRUCTED,
        "The product is of payload, the queue of packets with headers: a twentieth of the first bar's miss is that, and what \
         is marked has to leave the port before anyone hears of it.",
        "The bar for shares was ten round trips at first. What is twice as late would have kept it, so that it could not \
         fail: it is two.",
    ],
    choices: &[WINDOW],
    steps: &[],
    needs: || table().needs(),
    panels: |done| vec![table().panel(done)],
};

const DIGEST: Measure = Measure {
    name: "join",
    of: digest,
};

const LINES: &[Line] = &[
    line(
        "peak",
        "largest queue",
        "BDP",
        3,
        bar(
            Tolerance::AtMost(1.0),
            "what a flow sends at line rate before it can hear anything",
        ),
    ),
    line(
        "drained",
        "from there to a tenth of it",
        "T0",
        2,
        bar(Tolerance::AtMost(2.0), "a round trip to measure, one to drain"),
    ),
    line(
        "fair",
        "from the second flow's start to shares within 5 %",
        "T0",
        2,
        bar(
            Tolerance::AtMost(2.0),
            "two at line rate have equal arrival rates at once",
        ),
    ),
    line(
        "carried",
        "goodput of both while there are two",
        "Gbit/s",
        2,
        Criterion::SHOWN,
    ),
    line("mean", "mean queue then", "KB", 1, Criterion::SHOWN),
    line(
        "back",
        "from the second flow's end to 95 % for the first",
        "T0",
        1,
        Criterion::SHOWN,
    ),
];

fn table() -> Table {
    let of = |name, scheme| Case::new(name, "", scheme, &[]);
    Table {
        title: "Joining and leaving".into(),
        scenario: "acc-join",
        digest: DIGEST,
        cases: vec![
            of("ACC", "acc"),
            of("DCQCN", "dcqcn"),
            of("HPCC", "hpcc"),
            of("PCN", "pcn"),
            of("TIMELY", "timely"),
        ],
        lines: LINES,
    }
}

/// When the second flow begins, and over how long shares are looked at, in us.
const JOIN: f64 = 1000.0;
const WIDTH: f64 = 50.0;

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (t0, bdp) = (outcome.base_rtt.as_us_f64(), outcome.bdp.get() as f64);
    let line = input.run.links[0].rate.as_bps() as f64 / 1e9;
    let busiest = outcome.queues.iter().max_by_key(|queue| queue.max);
    let queue: Vec<(f64, f64)> = busiest.map_or_else(Vec::new, |queue| {
        let bins = queue.series.bins();
        bins.map(|bin| (bin.at.as_ps() as f64 / 1e6, bin.max as f64))
            .collect()
    });
    let peak = queue.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
    let low = |&(at, peak): &(f64, f64)| {
        let below = queue
            .iter()
            .find(|&&(then, bytes)| then > at && bytes <= peak / 10.0);
        below.map(|&(then, _)| then - at)
    };
    let joined = &outcome.flows[1];
    let end = (joined.start + joined.fct).as_ps() as f64 / 1e6;
    let starts = || (0..).map(|step| f64::from(step) * 10.0);
    let shares = |from: f64| [0, 1].map(|flow| goodput(outcome, flow, from, from + WIDTH));
    let fair = starts()
        .map(|after| JOIN + after)
        .take_while(|from| from + WIDTH < end)
        .find(|&from| {
            let [one, other] = shares(from);
            (one - other).abs() <= 0.05 * (one + other)
        });
    let most = goodput(outcome, 0, 0.5 * JOIN, JOIN);
    let back = starts()
        .map(|after| end.ceil() + after)
        .take_while(|from| *from < outcome.end.as_ps() as f64 / 1e6)
        .find(|&from| goodput(outcome, 0, from, from + WIDTH) >= 0.95 * most);
    let both = (JOIN + 200.0, end - 100.0);
    let then: Vec<f64> = queue
        .iter()
        .filter(|(at, _)| (both.0..both.1).contains(at))
        .map(|(_, bytes)| bytes / 1e3)
        .collect();
    let carried: f64 = (0..2).map(|flow| goodput(outcome, flow, both.0, both.1)).sum();
    numbers([
        ("peak", peak.map(|(_, bytes)| bytes / bdp)),
        ("drained", peak.as_ref().and_then(low).map(|us| us / t0)),
        ("fair", fair.map(|at| (at - JOIN) / t0)),
        ("carried", (carried <= line).then_some(carried)),
        ("mean", paceline_lab::stats::mean(&then)),
        ("back", back.map(|at| (at - end).max(0.0) / t0)),
    ])
}
