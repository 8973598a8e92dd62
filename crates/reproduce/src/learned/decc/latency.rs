//! What it costs that a decision takes time: the paper's Table 6, and the curve behind it.

use paceline_learn::search::{Network, Shape};

use super::super::{Line, column, panel};
use super::grid::{Case, QUANTITIES, Sender, Who, mean, step, table};
use crate::citation::Citation;
use crate::{Done, Panel, Reproduction, Step};

pub(crate) const REPRODUCTION: Reproduction = Reproduction {
    id: "decc-latency",
    data: None,
    title: "How long a decision may take: DECC's network, compressed network and trees with the paper's latencies",
    source: Citation::ours("Table 6 of the paper on DECC, worked out again"),
    setting: "64 hosts in 4 racks, 400 Gbit/s, links of 1 µs, packets of 1 KB, 1 MB of buffer that drops, selective repeat. 8 flows \
              from each host to each other (the paper's 8 processes), two seeds; 32 and 256 flows to one host, ten seeds. Numbers are of \
              the second half of each run. ± is half of the 95 % interval.",
    notes: &[
        "A decision takes 458 µs by the paper's network, 17 µs by its compressed one, 1.53 µs by its trees. A NIC computes one, \
         eight, or any number of decisions at a time.",
        "A NIC has 504 flows here. One that computes one decision of 1.53 µs at a time decides for a flow every 0.77 ms; of 17 µs \
         every 8.6 ms, which is longer than the run. So the paper's ordering follows from how many decisions a NIC computes as \
         much as from their quality.",
        "The paper does not say how many decisions its NIC computes at a time.",
    ],
    choices: &[],
    steps: &STEPS,
    needs: Vec::new,
    panels,
};

const TABLE: [Case; 1] = [Case::plain(
    "64 hosts, 8 flows each pair",
    || Network::plain(Shape::Broadcast(8)),
    2,
)];
const CURVE: [Case; 2] = [
    Case::plain(
        "32 flows, by latency",
        || Network::plain(Shape::LeafSpine(32)),
        10,
    ),
    Case::plain(
        "256 flows, by latency",
        || Network::plain(Shape::LeafSpine(256)),
        10,
    ),
];

const STEPS: [Step; 3] = [
    step!(TABLE[0], SENDERS),
    step!(CURVE[0], LATENCIES),
    step!(CURVE[1], LATENCIES),
];

const NET: &str = "decc-net";
const SMALL: &str = "decc-net-q4";
const TREES: &str = "decc-tree-300";

const SENDERS: [Sender; 13] = [
    ("hpcc", "hpcc", Who::Scheme("hpcc")),
    ("network, 0", "decc", Who::Model(NET)),
    ("compressed, 0", "decc", Who::Model(SMALL)),
    ("trees, 0", "decc", Who::Model(TREES)),
    ("network, 1 at a time", "decc", Who::Slow(NET, 458_000, 1)),
    ("compressed, 1", "decc", Who::Slow(SMALL, 17_000, 1)),
    ("trees, 1", "decc", Who::Slow(TREES, 1530, 1)),
    ("network, 8 at a time", "decc", Who::Slow(NET, 458_000, 8)),
    ("compressed, 8", "decc", Who::Slow(SMALL, 17_000, 8)),
    ("trees, 8", "decc", Who::Slow(TREES, 1530, 8)),
    ("network, any number", "decc", Who::Slow(NET, 458_000, 0)),
    ("compressed, any", "decc", Who::Slow(SMALL, 17_000, 0)),
    ("trees, any", "decc", Who::Slow(TREES, 1530, 0)),
];
/// By how many decisions a NIC computes at a time: where its three columns begin.
const SERVICE: [(&str, usize); 4] = [
    ("decisions take no time", 1),
    ("1 decision at a time", 4),
    ("8 decisions at a time", 7),
    ("any number at a time", 10),
];

const LATENCIES: [Sender; 7] = [
    ("0", "decc", Who::Slow("decc-law", 0, 0)),
    ("1.53 µs", "decc", Who::Slow("decc-law", 1530, 0)),
    ("5 µs", "decc", Who::Slow("decc-law", 5000, 0)),
    ("17 µs", "decc", Who::Slow("decc-law", 17_000, 0)),
    ("50 µs", "decc", Who::Slow("decc-law", 50_000, 0)),
    ("150 µs", "decc", Who::Slow("decc-law", 150_000, 0)),
    ("458 µs", "decc", Who::Slow("decc-law", 458_000, 0)),
];

/// What the paper prints of HPCC, network, compressed network and trees: goodput, p99, Jain, loss.
const PRINTED: [(usize, [f64; 4]); 4] = [
    (0, [84.34, 72.32, 86.37, 92.83]),
    (1, [16.23, 26.31, 20.01, 12.32]),
    (2, [0.651, 0.815, 0.901, 0.956]),
    (3, [4.23, 8.38, 5.69, 3.32]),
];

fn panels(done: &Done) -> Vec<Panel> {
    let case = (&TABLE[0], &SENDERS[..]);
    let names = vec![
        column("hpcc", "hpcc"),
        column("network", "decc"),
        column("compressed", "decc"),
        column("300 trees", "decc"),
    ];
    let one = |(quantity, printed): (usize, [f64; 4])| {
        let (head, _) = QUANTITIES[quantity];
        let line = |(label, from): (&str, usize)| {
            let of = |sender| mean(done, case, quantity, sender);
            let ours = [of(0), of(from), of(from + 1), of(from + 2)];
            let line = Line::shown(label, head, ours);
            printed
                .iter()
                .enumerate()
                .fold(line, |line, (column, &value)| line.printed(column, value))
        };
        let lines: Vec<Line> = SERVICE.map(line).into_iter().collect();
        let unit = format!("{}, {}, beside the paper's Table 6", head.0, head.1);
        panel(&unit, "a NIC computes", names.clone(), &lines)
    };
    let tables = PRINTED.map(one).into_iter();
    let curves = [5, 0, 1, 2, 4].map(|quantity| table(done, &CURVE, &LATENCIES, quantity));
    tables.chain(curves).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_of_their_latency() {
        for (label, from) in SERVICE {
            let latencies = [from, from + 1, from + 2].map(|place| match SENDERS[place].2 {
                Who::Slow(_, latency, _) => latency,
                _ => 0,
            });
            let expected = if from == 1 {
                [0; 3]
            } else {
                [458_000, 17_000, 1530]
            };
            assert_eq!(latencies, expected, "{label}");
        }
        let labels = TABLE.iter().chain(&CURVE).map(|case| case.label);
        assert!(labels.eq(STEPS.iter().map(|step| step.name)));
    }
}
