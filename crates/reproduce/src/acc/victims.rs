//! A4: flows behind a congestion that is not of their making.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::PortRef;
use paceline_scenario::Resolved;

use super::{
    Case, Cell, Choice, Column, Criterion, Done, Line, Measure, Metrics, Panel, RECONSTRUCTED, Reproduction,
    Row, SOURCE, Table, Tolerance, bar, goodput, line, numbers,
};
use crate::panel::{Curve, Drawing};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-victims",
    data: None,
    title: "ACC: what to do with victims of pauses",
    source: SOURCE,
    setting: "The network of the thesis's figure 3.2 with bursts to one host; F0 and F2 go to another, past the pauses. They \
              have 5 or 20 Gbit/s to send, as much as their links carry. First all flows have ACC; then the flows that cause \
              the congestion send at line rate without control, and the victims have each of three policies, without a bound on what is in flight. From 2 to \
              12 ms, while P3 is congested throughout.",
    notes: &[
        RECONSTRUCTED,
        "Figures 4.2 to 4.4 of the thesis are queues of P0 to P3 with F0 as a victim under f1 and f2, and with F2 under f1. \
         What f1 and f2 are is not known, nor are the curves: ours are drawn for all three policies, shown, not judged. What \
         the thesis says of them, that the effect depends on the victim's rate, is.",
        "Where all flows have ACC there is nothing to be a victim of: the flow of P3 that shares P2 with them is slowed down, \
         and P2 is not paused for long enough to matter. The policies make no difference then.",
        "With the bound on what is in flight (`cc.window`, the default) victims beside flows without control get 0.49 and \
         1.04 Gbit/s of their 5 under `hold`: pauses make round trips long, and the bound is made for short ones.",
    ],
    choices: &[Choice {
        what: "The bars under \"What it depends on\", and that victims alone have no bound on what is in flight.",
        tried: "the bound, the default",
        changed: "The bars were written after a look at such runs; with the bound P1 is never paused, and the third has nothing \
                  to judge.",
    }],
    steps: &[],
    needs: || tables().iter().flat_map(Table::needs).collect(),
    panels,
};

const DIGEST: Measure = Measure {
    name: "paused-victims",
    of: digest,
};

const ALL: &[Line] = &[
    line(
        "demand_0",
        "F0's goodput over what it has to send",
        "",
        3,
        bar(Tolerance::AtLeast(0.97), "nothing that it passes is congested"),
    ),
    line(
        "demand_2",
        "F2's goodput over what it has to send",
        "",
        3,
        bar(Tolerance::AtLeast(0.97), "nothing that it passes is congested"),
    ),
    line("paused_2", "P2 paused", "%", 2, Criterion::SHOWN),
    line("queue_2", "mean queue of P2", "KB", 1, Criterion::SHOWN),
];

const ALONE: &[Line] = &[
    line("goodput_0", "F0's goodput", "Gbit/s", 3, Criterion::SHOWN),
    line("goodput_2", "F2's goodput", "Gbit/s", 3, Criterion::SHOWN),
    line(
        "goodput_1",
        "goodput of the flow to P3",
        "Gbit/s",
        3,
        Criterion::SHOWN,
    ),
    line("paused_0", "P0 paused", "%", 2, Criterion::SHOWN),
    line("paused_1", "P1 paused", "%", 2, Criterion::SHOWN),
    line("paused_2", "P2 paused", "%", 2, Criterion::SHOWN),
    line("queue_0", "mean queue of P0", "KB", 1, Criterion::SHOWN),
    line("queue_1", "mean queue of P1", "KB", 1, Criterion::SHOWN),
    line("queue_2", "mean queue of P2", "KB", 1, Criterion::SHOWN),
    line("queue_3", "mean queue of P3", "KB", 0, Criterion::SHOWN),
];

/// In the order of columns.
const POLICIES: [&str; 3] = ["hold", "f1", "f2"];

fn tables() -> Vec<Table> {
    let of = |title: &str, key: &str, lines, settings: &[&str]| {
        let case = |policy: &'static str| {
            let policy_setting = format!("cc.acc.victims={policy}");
            let settings: Vec<&str> = settings
                .iter()
                .copied()
                .chain([policy_setting.as_str()])
                .collect();
            Case::new(policy, format!("{key}-{policy}"), "acc", &settings)
        };
        Table {
            title: title.into(),
            scenario: "acc-victims",
            digest: DIGEST,
            cases: POLICIES.map(case).into(),
            lines,
        }
    };
    // A bound on what is in flight would hold victims back whatever their rate.
    let slow = ["cc.window=off"];
    let fast = [
        "cc.window=off",
        "topology.graph.links.3.rate=20Gbps",
        "topology.graph.links.5.rate=20Gbps",
    ];
    vec![
        of(
            "All flows under ACC, victims of 5 Gbit/s",
            "all",
            ALL,
            &["workload.2.scheme=acc", "workload.3.scheme=acc"],
        ),
        of("Victims alone under ACC, 5 Gbit/s each", "slow", ALONE, &slow),
        of("Victims alone under ACC, 20 Gbit/s each", "fast", ALONE, &fast),
    ]
}

/// A value by table, column and name.
type Value<'a> = dyn Fn(usize, usize, &str) -> Option<f64> + 'a;

/// A claim about the tables of slow and fast victims.
struct Claim {
    what: &'static str,
    of: fn(&Value<'_>) -> Option<f64>,
    bar: Criterion,
}

const CLAIMS: [Claim; 4] = [
    Claim {
        what: "slow F0's goodput under f2, over hold",
        of: |value| Some(value(1, 2, "goodput_0")? / value(1, 0, "goodput_0")?),
        bar: bar(
            Tolerance::AtMost(0.8),
            "what it is slowed down for is not its doing",
        ),
    },
    Claim {
        what: "pauses of P2 with slow victims under f2, over hold",
        of: |value| Some(value(1, 2, "paused_2")? / value(1, 0, "paused_2")?),
        bar: bar(
            Tolerance::AtLeast(0.9),
            "the tree is no smaller for slow victims that slow down",
        ),
    },
    Claim {
        what: "pauses of P1 with fast victims under f2, over hold",
        of: |value| Some(value(2, 2, "paused_1")? / value(2, 0, "paused_1")?),
        bar: bar(
            Tolerance::AtMost(0.5),
            "a fast victim that slows down keeps its own branch from growing",
        ),
    },
    Claim {
        what: "fast F2's goodput under f2, over hold",
        of: |value| Some(value(2, 2, "goodput_2")? / value(2, 0, "goodput_2")?),
        bar: Criterion::SHOWN,
    },
];

fn panels(done: &Done) -> Vec<Panel> {
    let tables = tables();
    let mut panels: Vec<Panel> = tables.iter().map(|table| table.panel(done)).collect();
    let value = |table: usize, case: usize, name: &str| tables[table].value(done, case, name);
    let rows = CLAIMS.iter().map(|claim| Row::quantity(claim.what, "", 3));
    let column = Column {
        name: "ours",
        ..Column::scheme("acc")
    };
    let claims = Panel::of(
        "What it depends on",
        "",
        vec![column],
        rows.collect(),
        |row, _| Cell {
            paper: None,
            ours: (CLAIMS[row].of)(&value),
            criterion: CLAIMS[row].bar,
        },
    );
    panels.push(claims.told_by_title());
    for table in &tables[1..] {
        panels.extend((0..POLICIES.len()).map(|case| queues(table, done, case)));
    }
    panels
}

/// Names of ports, with node and peer.
const PORTS: [(&str, u32, u32); 4] = [("P0", 0, 2), ("P1", 1, 2), ("P2", 2, 3), ("P3", 3, 8)];

/// The queues over time, as the thesis's figures have them.
fn queues(table: &Table, done: &Done, case: usize) -> Panel {
    let numbers = done.numbers(&table.need(&table.cases[case]));
    let schemes = ["hpcc", "timely", "dcqcn", "acc"];
    let curve = |(&(name, ..), scheme): (&(&'static str, u32, u32), &'static str)| Curve {
        name: name.into(),
        scheme,
        published: false,
        points: numbers
            .and_then(|numbers| numbers.series.get(name))
            .cloned()
            .unwrap_or_default(),
    };
    let drawing = Drawing {
        x: ("time", "ms"),
        y: ("queue", "KB"),
        curves: PORTS.iter().zip(schemes).map(curve).collect(),
        stepped: false,
    };
    Panel::drawn(
        format!("{}: queues under {}", table.title, POLICIES[case]),
        drawing,
    )
}

/// What is looked at, in us.
const FROM: f64 = 2000.0;
const TO: f64 = 12_000.0;

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let packet = &input.run.packet;
    let payload = packet.mtu.get() as f64 / (packet.mtu + packet.data_header).get() as f64;
    let is = |port: &PortRef, of: usize| (port.node.0, port.peer.0) == (PORTS[of].1, PORTS[of].2);
    let queue = |of: usize| {
        let record = outcome.queues.iter().find(|record| is(&record.port, of))?;
        let bins = record.series.bins();
        Some(
            bins.map(|bin| (bin.at.as_ps() as f64 / 1e6, bin.mean / 1e3))
                .collect::<Vec<(f64, f64)>>(),
        )
    };
    let mean = |of: usize| Some(crate::bolt::step_mean(&queue(of)?, FROM, TO));
    let paused = |of: usize| {
        let series = outcome.ports.as_ref()?;
        let place = series.ports.iter().position(|port| is(port, of))?;
        let within = |bin: &usize| {
            let at = series.begin(*bin).as_ps() as f64 / 1e6;
            (FROM..TO).contains(&at)
        };
        let bins: Vec<f64> = series
            .of_port(place)
            .enumerate()
            .filter(|(bin, _)| within(bin))
            .map(|(_, bin)| 100.0 * f64::from(bin.paused))
            .collect();
        paceline_lab::stats::mean(&bins)
    };
    let of = |flow: u32| goodput(outcome, flow, FROM, TO);
    let demand =
        |flow: u32, link: usize| of(flow) / (input.run.links[link].rate.as_bps() as f64 / 1e9 * payload);
    let mut all = numbers([
        ("demand_0", Some(demand(0, 3))),
        ("demand_2", Some(demand(1, 5))),
        ("goodput_0", Some(of(0))),
        ("goodput_2", Some(of(1))),
        ("goodput_1", Some(of(2))),
        ("paused_0", paused(0)),
        ("paused_1", paused(1)),
        ("paused_2", paused(2)),
        ("queue_0", mean(0)),
        ("queue_1", mean(1)),
        ("queue_2", mean(2)),
        ("queue_3", mean(3)),
    ]);
    for (of, (name, ..)) in PORTS.iter().enumerate() {
        // A point for every 100 us is what a chart can show.
        let all_points = queue(of).unwrap_or_default();
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, kb) in all_points {
            if points.last().is_none_or(|last| at / 1e3 - last.0 >= 0.1) {
                points.push((at / 1e3, kb));
            }
        }
        all.series.insert(name, points);
    }
    all
}
