//! A3: several points of congestion.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{
    Case, Criterion, Line, Measure, Metrics, RECONSTRUCTED, Reproduction, SOURCE, Table, Tolerance, bar,
    goodput, line, numbers,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-parking-lot",
    data: None,
    title: "ACC: a flow over two or three congested links",
    source: SOURCE,
    setting: "A flow over all links of a parking lot at 40 Gbit/s, and one over each link; links of 4 us. Goodput from 2 to 10 \
              ms. By max-min every flow gets half of a link.",
    notes: &[
        RECONSTRUCTED,
        "The bar for the long flow is missed by far. It has marks of every link, and hardly ever a whole window without \
         any, so it hardly ever climbs, while each of the others has those of one. PCN, which sets rates by arrival, too, \
         has the same; DCQCN comes closest.",
    ],
    choices: &[],
    steps: &[],
    needs: || tables().iter().flat_map(Table::needs).collect(),
    panels: |done| tables().iter().map(|table| table.panel(done)).collect(),
};

const DIGEST: Measure = Measure {
    name: "parking-lot",
    of: digest,
};

const LINES: &[Line] = &[
    line(
        "share",
        "the long flow's goodput over half of a link",
        "",
        3,
        bar(Tolerance::AtLeast(0.9), "max-min within a tenth"),
    ),
    line("long", "the long flow's goodput", "Gbit/s", 2, Criterion::SHOWN),
    line(
        "cross",
        "the least goodput of the others",
        "Gbit/s",
        2,
        Criterion::SHOWN,
    ),
    line(
        "carried",
        "the least that a link carries",
        "%",
        2,
        bar(Tolerance::AtLeast(95.0), "no link idles for the others' sake"),
    ),
];

fn tables() -> Vec<Table> {
    let of_hops = |hops: u32| {
        let settings: &[&str] = match hops {
            3 => &[],
            _ => &[
                "topology.parking-lot.hops=2",
                "workload.0.flows.0.dst=4",
                "workload.1.flows=[{ dst = 2, size = \"400MB\", src = 1 }, { dst = 5, size = \"400MB\", src = 3 }]",
            ],
        };
        let of = |name, scheme| Case::new(name, format!("{hops}"), scheme, settings);
        Table {
            title: format!("{hops} congested links"),
            scenario: "acc-parking-lot",
            digest: DIGEST,
            cases: vec![
                of("ACC", "acc"),
                of("DCQCN", "dcqcn"),
                of("HPCC", "hpcc"),
                of("PCN", "pcn"),
            ],
            lines: LINES,
        }
    };
    [2, 3].map(of_hops).into()
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let packet = &input.run.packet;
    let payload = packet.mtu.get() as f64 / (packet.mtu + packet.data_header).get() as f64;
    let most = input.run.links[0].rate.as_bps() as f64 / 1e9 * payload;
    let of = |flow: usize| goodput(outcome, flow as u32, 2000.0, 10_000.0);
    let long = of(0);
    let cross = (1..outcome.flows.len()).map(of).reduce(f64::min);
    numbers([
        ("share", Some(long / (0.5 * most))),
        ("long", Some(long)),
        ("cross", cross),
        ("carried", cross.map(|cross| 100.0 * (long + cross) / most)),
    ])
}
