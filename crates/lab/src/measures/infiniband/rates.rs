//! Rates in runs of the model of RRCC's author; `parity.ib-omnet.log` has to be on.

use paceline_fabric::Outcome;
use paceline_fabric::spec::NodeId;
use paceline_parity::ib_omnet::{CreditOutcome, CreditSpec, CreditStep};
use paceline_scenario::Resolved;

use super::super::{MeasureSet, Metrics, described, measure};
use crate::stats::{jain, mean, percentile};

pub(in crate::measures) const RECEIVED: MeasureSet = MeasureSet {
    name: "ib-received",
    about: "What arrived from 0.5 to 2.5 ms, in packets of 2048 bytes.",
    values: &[measure("rate", "throughput", "Gbit/s", 3)],
    series: &[],
    of: received,
};

pub(in crate::measures) const SHARES: MeasureSet = MeasureSet {
    name: "ib-shares",
    about: "What arrived of each of four senders: shares from 5 to 30 ms; rates from 5 to 10, 10 to 15 and 25 to 30 ms.",
    values: &[
        measure("share_a", "A's share", "", 4),
        measure("share_b", "B's share", "", 4),
        measure("share_c", "C's share", "", 4),
        measure("share_d", "D's share", "", 4),
        measure("jain", "Jain's index", "", 4),
        measure("all", "all", "Gbit/s", 3),
        measure("a_first", "A, 5 to 10 ms", "Gbit/s", 3),
        measure("b_first", "B, 5 to 10 ms", "Gbit/s", 3),
        measure("c_first", "C, 5 to 10 ms", "Gbit/s", 3),
        measure("d_first", "D, 5 to 10 ms", "Gbit/s", 3),
        measure("jain_first", "Jain's index, 5 to 10 ms", "", 4),
        measure("sum_first", "all, 5 to 10 ms", "Gbit/s", 3),
        measure("a_join", "A, 10 to 15 ms", "Gbit/s", 3),
        measure("b_join", "B, 10 to 15 ms", "Gbit/s", 3),
        measure("c_join", "C, 10 to 15 ms", "Gbit/s", 3),
        measure("d_join", "D, 10 to 15 ms", "Gbit/s", 3),
        measure("jain_join", "Jain's index, 10 to 15 ms", "", 4),
        measure("sum_join", "all, 10 to 15 ms", "Gbit/s", 3),
        measure("a_last", "A, 25 to 30 ms", "Gbit/s", 3),
        measure("b_last", "B, 25 to 30 ms", "Gbit/s", 3),
        measure("c_last", "C, 25 to 30 ms", "Gbit/s", 3),
        measure("d_last", "D, 25 to 30 ms", "Gbit/s", 3),
        measure("jain_last", "Jain's index, 25 to 30 ms", "", 4),
        measure("sum_last", "all, 25 to 30 ms", "Gbit/s", 3),
    ],
    series: &[],
    of: shares,
};

pub(in crate::measures) const ON_OFF: MeasureSet = MeasureSet {
    name: "ib-on-off",
    about: "How the uplink of `infiniband-demo` sends and waits from 10.2 to 13 ms. It waits where no data is on its wire for longer \
            than two flow-control packets take.",
    values: &[
        measure("Rd_Gbps", "mean rate", "Gbit/s", 3),
        measure("n_on", "times that it sends", "", 0),
        measure("Ton_mean_us", "sends, mean", "us", 3),
        measure("Ton_p95_us", "sends, p95", "us", 3),
        measure("Ton_max_us", "sends, longest", "us", 3),
        measure("Toff_mean_us", "waits, mean", "us", 3),
        measure("Toff_max_us", "waits, longest", "us", 3),
    ],
    series: &[],
    of: on_off,
};

fn received(_: &Resolved, outcome: &Outcome) -> Metrics {
    let trace = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
    let window = 500_000_000..2_500_000_000;
    let received = trace.iter().filter(|event| {
        window.contains(&event.at.as_ps()) && matches!(event.what, CreditStep::Received { .. })
    });
    // 16384 bits each, in two milliseconds.
    Metrics::finite([("rate", Some(received.count() as f64 * 0.008_192))])
}

/// Times in ms, and the numbers of them.
const PHASES: [(u64, u64, [&str; 4], &str, &str); 4] = [
    (5, 30, ["share_a", "share_b", "share_c", "share_d"], "jain", "all"),
    (
        5,
        10,
        ["a_first", "b_first", "c_first", "d_first"],
        "jain_first",
        "sum_first",
    ),
    (
        10,
        15,
        ["a_join", "b_join", "c_join", "d_join"],
        "jain_join",
        "sum_join",
    ),
    (
        25,
        30,
        ["a_last", "b_last", "c_last", "d_last"],
        "jain_last",
        "sum_last",
    ),
];

/// What came of each sender in each phase, in Gbit/s; in the first as shares.
fn shares(input: &Resolved, outcome: &Outcome) -> Metrics {
    let trace = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
    let senders = CreditSpec::of(&input.run).map_or(0, |credits| credits.sources.len());
    let mut numbers = Metrics::default();
    for (phase, (from, until, names, fairness, sum)) in PHASES.into_iter().enumerate() {
        let mut rates = vec![0.0; senders.min(4)];
        for event in trace {
            let within = (from..until).contains(&(event.at.as_ps() / 1_000_000_000));
            if let (true, CreditStep::Received { flow, .. }) = (within, event.what)
                && let Some(flow) = described(&input.run, flow)
                && let Some(rate) = rates.get_mut(flow.src.0 as usize)
            {
                *rate += 16_384.0 / ((until - from) as f64 * 1e6);
            }
        }
        let all: f64 = rates.iter().sum();
        let unit = if phase == 0 { all } else { 1.0 };
        numbers.extend(names.into_iter().zip(rates.iter().map(|rate| rate / unit)));
        numbers.extend(jain(&rates).map(|index| (fairness, index)));
        numbers.set(sum, all);
    }
    numbers
}

/// The uplink of the demo: node and interface.
const UPLINK: (NodeId, u16) = (NodeId(20), 2);

/// The window in ps; a packet on the wire, and the shortest wait.
const FROM: u64 = 10_200_000_000;

const UNTIL: u64 = 13_000_000_000;

const PACKET: u64 = 512_000;

const WAIT: u64 = 4_250;

fn on_off(_: &Resolved, outcome: &Outcome) -> Metrics {
    let trace = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
    let sent = trace.iter().filter(|event| {
        (event.node, event.interface) == UPLINK && matches!(event.what, CreditStep::Sent { .. })
    });
    let sent = sent.map(|event| event.at.as_ps());
    let starts: Vec<u64> = sent.filter(|at| (FROM..UNTIL).contains(at)).collect();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    // What began before the window is left out.
    let mut since = None;
    for pair in starts.windows(2) {
        let (end, next) = (pair[0] + PACKET, pair[1]);
        if next - end > WAIT {
            if let Some(since) = since {
                on.push((end - since) as f64 / 1e6);
                off.push((next - end) as f64 / 1e6);
            }
            since = Some(next);
        }
    }
    on.sort_by(f64::total_cmp);
    off.sort_by(f64::total_cmp);
    let rate = starts.len() as f64 * 16_384.0 / ((UNTIL - FROM) as f64 / 1e3);
    Metrics::finite([
        ("Rd_Gbps", Some(rate)),
        ("n_on", Some(on.len() as f64)),
        ("Ton_mean_us", mean(&on)),
        ("Ton_p95_us", percentile(&on, 0.95)),
        ("Ton_max_us", on.last().copied()),
        ("Toff_mean_us", mean(&off)),
        ("Toff_max_us", off.last().copied()),
    ])
}
