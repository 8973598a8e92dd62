//! A1: a stop drains what was sent too much, once, and the link stays busy.

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::NodeId;
use paceline_scenario::Resolved;

use super::{
    Case, Criterion, Line, Measure, Metrics, RECONSTRUCTED, Reproduction, SOURCE, Table, Tolerance, WINDOW,
    bar, excess, line, numbers,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-drain",
    data: None,
    title: "ACC: incasts from one instant, and how soon their queue is gone",
    source: SOURCE,
    setting: "2 to 64 hosts around one switch send to another at line rate from one instant, 2.5 ms of its link together, at \
              40, 100 and 400 Gbit/s, links of 4 us, a buffer of 96 MB. Counted from the first congested mark that reaches a sender, in round trips of the \
              empty network (T0); the link's share until four fifths of the packets have left. All at the port that \
              is congested.",
    notes: &[
        RECONSTRUCTED,
        "The bar of three T0 cannot be kept by many flows: each of K has a bandwidth-delay product on its way before it \
         can hear of anything, and their sum takes K - 1 round trips to leave the port, whatever senders do. The row \
         below it is what the principle promises: the time over that which the port needs for the largest queue.",
    ],
    choices: &[WINDOW],
    steps: &[excess::STEP],
    needs: || tables().iter().flat_map(Table::needs).collect(),
    panels: |done| {
        let both = |(place, table): (usize, &Table)| [table.panel(done), excess::panel(done, place)];
        tables().iter().enumerate().flat_map(both).collect()
    },
};

const DIGEST: Measure = Measure {
    name: "drain",
    of: digest,
};

pub(super) const FLOWS: [(u64, &str); 6] = [(2, "2"), (4, "4"), (8, "8"), (16, "16"), (32, "32"), (64, "64")];

/// A rate of links, and what lists of numbers by flows are called: excess, queue, flows that stand still.
pub(super) struct Rate {
    pub(super) gbps: u64,
    pub(super) names: [&'static str; 3],
}

pub(super) const RATES: [Rate; 3] = [
    Rate {
        gbps: 40,
        names: ["excess at 40", "queue at 40", "stopped at 40"],
    },
    Rate {
        gbps: 100,
        names: ["excess at 100", "queue at 100", "stopped at 100"],
    },
    Rate {
        gbps: 400,
        names: ["excess at 400", "queue at 400", "stopped at 400"],
    },
];

const LINES: &[Line] = &[
    line(
        "drained",
        "until the queue has a packet per flow at most",
        "T0",
        2,
        bar(
            Tolerance::AtMost(3.0),
            "a round trip to hear, one to measure, one to drain",
        ),
    ),
    line(
        "over",
        "that time over what the largest queue takes at least",
        "",
        2,
        bar(
            Tolerance::AtMost(1.5),
            "all excess stops at once; measuring takes a round trip",
        ),
    ),
    line(
        "busy",
        "the link's share that is used from then on",
        "%",
        2,
        bar(Tolerance::AtLeast(97.0), "a stop must not empty the link"),
    ),
    line(
        "pauses",
        "pauses later than two T0",
        "",
        0,
        bar(Tolerance::AtMost(0.0), "after that nothing is sent too much"),
    ),
    line("queue", "largest queue", "KB", 0, Criterion::SHOWN),
    line(
        "mean",
        "mean queue when it was gone once",
        "KB",
        1,
        Criterion::SHOWN,
    ),
];

pub(super) fn tables() -> Vec<Table> {
    let of_rate = |&Rate { gbps, .. }: &Rate| {
        let case = |(flows, name): (u64, &'static str)| {
            let size = gbps * 2_500_000 / 8 / flows;
            Case {
                settings: vec![
                    format!("topology.star.rate={gbps}Gbps"),
                    format!("workload.0.incast.fan-in={flows}"),
                    format!("workload.0.incast.size={}KB", size.div_ceil(1000)),
                    "record.trace-ports=[[0, 65]]".into(),
                    // The headroom of 65 ports at 400 Gbit/s takes 39 MB.
                    "network.buffer=96MB".into(),
                ],
                ..Case::new(name, format!("{flows}-of-{gbps}"), "acc", &[])
            }
        };
        Table {
            title: format!("{gbps} Gbit/s, by number of flows"),
            scenario: "acc-drain",
            digest: DIGEST,
            cases: FLOWS.map(case).into(),
            lines: LINES,
        }
    };
    RATES.iter().map(of_rate).collect()
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let link = &input.run.links[0];
    let (t0, bytes_per_us) = (outcome.base_rtt.as_us_f64(), link.rate.as_bps() as f64 / 8e6);
    let at = |event: &TraceEvent| event.at.as_ps() as f64 / 1e6;
    let switch = outcome.trace.iter().filter(|event| event.node == NodeId(0));
    let left: Vec<&TraceEvent> = switch
        .clone()
        .filter(|event| (event.event, event.kind) == (TraceKind::Dequeue, PacketKind::Data))
        .collect();
    let line = switch
        .filter(|event| (event.event, event.kind) == (TraceKind::Receive, PacketKind::Ack))
        .find(|event| event.mark == Mark::Congested);
    let first = line.map(|event| at(event) + link.delay.as_us_f64());
    let Some((first, last)) = first.zip(left.get(left.len() * 4 / 5)) else {
        return Metrics::default();
    };
    let packet = left.iter().map(|event| event.wire).max().unwrap_or(0);
    let few = packet * outcome.flows.len() as u32;
    let since: Vec<&&TraceEvent> = left
        .iter()
        .filter(|event| at(event) >= first && event.at <= last.at)
        .collect();
    let gone = since.iter().position(|event| event.queue_bytes <= few);
    let largest = left.iter().map(|event| event.queue_bytes).max().unwrap_or(0);
    let drained = gone.map(|place| at(since[place]) - first);
    let after = |place: usize| {
        let queues: Vec<f64> = since[place..]
            .iter()
            .map(|event| f64::from(event.queue_bytes) / 1e3)
            .collect();
        paceline_lab::stats::mean(&queues)
    };
    let sent: f64 = since.iter().map(|event| f64::from(event.wire)).sum();
    let late = |event: &&paceline_fabric::outcome::PfcEvent| {
        event.pause && event.at.as_ps() as f64 / 1e6 > first + 2.0 * t0
    };
    numbers([
        ("drained", drained.map(|us| us / t0)),
        ("over", drained.map(|us| us * bytes_per_us / f64::from(largest))),
        ("busy", Some(100.0 * sent / bytes_per_us / (at(last) - first))),
        ("pauses", Some(outcome.pfc.iter().filter(late).count() as f64)),
        ("queue", Some(f64::from(largest) / 1e3)),
        ("mean", gone.and_then(after)),
    ])
}
