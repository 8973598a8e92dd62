//! DECC where it never learned: what it costs more than the best rule, network by network.

use paceline_learn::search::{Network, Shape};

use super::super::{Line, OWN, panel};
use super::grid::{COST, Case, More, Sender, Who, columns, mean, step, table};
use crate::{Done, Panel, Reproduction, Step};

pub(crate) const REPRODUCTION: Reproduction = Reproduction {
    id: "decc-regret",
    data: None,
    title: "DECC in networks that it never learned in: its cost above the best rule's",
    source: OWN,
    setting: "64 hosts in 4 racks, 400 Gbit/s, links of 1 µs, packets of 1 KB, 1 MB of buffer that drops, selective repeat, but for \
              what each row names; 256 flows to one host, ten seeds, and two where all hosts send. Numbers are of the second half of each run. ± is half of the \
              95 % interval.",
    notes: &[
        "Trained on were 100 to 400 Gbit/s, base round trips of 4 to 20 µs, full bisection, no PFC, and no other scheme.",
        "Regret is the cost above that of the best of the rules: both Swifts, HPCC, Bolt, DCQCN. Below zero DECC is better than all \
         of them.",
        "With PFC the buffer has 32 MB. In the mixture every other flow is under DCQCN, and numbers are of all flows. HPCC and Bolt \
         are not run there.",
        "Spines at half of the hosts' rate carry 65.6 % of what the hosts could send each other, so every scheme leaves a third of \
         the hosts' links unused.",
        "Rules other than Swift have the parameters that they ship with; HPCC, Bolt and DCQCN start at line rate, and were made \
         for networks that do not drop.",
    ],
    choices: &[],
    steps: &STEPS,
    needs: Vec::new,
    panels,
};

fn flows() -> Network {
    Network::plain(Shape::LeafSpine(256))
}

const fn case(label: &'static str, network: fn() -> Network, more: More) -> Case {
    Case {
        more,
        ..Case::plain(label, network, 10)
    }
}

const CASES: [Case; 6] = [
    case("as in training", flows, More::Nothing),
    case(
        "800 Gbit/s",
        || Network {
            gbps: 800.0,
            buffer: 2_000_000,
            ..flows()
        },
        More::Nothing,
    ),
    case(
        "base round trip 40 µs",
        || Network {
            delay_us: 5.0,
            buffer: 4_000_000,
            ..flows()
        },
        More::Nothing,
    ),
    Case::plain(
        "spines 2:1 oversubscribed, 1 flow each pair",
        || Network {
            spine: 2.0,
            ..Network::plain(Shape::Broadcast(1))
        },
        2,
    ),
    case("PFC", flows, More::Pfc),
    case("half of the flows DCQCN, PFC", flows, More::Mixed),
];

const STEPS: [Step; CASES.len()] = [
    step!(CASES[0], SENDERS),
    step!(CASES[1], SENDERS),
    step!(CASES[2], SENDERS),
    step!(CASES[3], SENDERS),
    step!(CASES[4], SENDERS),
    step!(CASES[5], SENDERS),
];

const SENDERS: [Sender; 9] = [
    ("swift", "swift", Who::SwiftByHand),
    ("swift, tuned", "swift", Who::SwiftTuned),
    ("hpcc", "hpcc", Who::Scheme("hpcc")),
    ("bolt", "bolt", Who::Scheme("bolt")),
    ("dcqcn", "dcqcn", Who::Scheme("dcqcn")),
    ("law", "decc", Who::Model("decc-law")),
    ("network", "decc", Who::Model("decc-net")),
    ("compressed", "decc", Who::Model("decc-net-q4")),
    ("300 trees", "decc", Who::Model("decc-tree-300")),
];
const RULES: std::ops::Range<usize> = 0..5;
const OURS: std::ops::Range<usize> = 5..9;

/// The lowest cost of a rule.
fn best(done: &Done, case: &Case) -> Option<f64> {
    let rules = RULES.filter(|&sender| case.compares(SENDERS[sender].2));
    let costs = rules.map(|sender| mean(done, (case, &SENDERS), COST, sender));
    let costs: Option<Vec<f64>> = costs.collect();
    costs?.into_iter().reduce(f64::min)
}

fn panels(done: &Done) -> Vec<Panel> {
    let head = ("cost above the best rule's", "", 2);
    let line = |case: &Case| {
        let regret = |sender| Some(mean(done, (case, &SENDERS), COST, sender)? - best(done, case)?);
        Line::shown(case.label, head, OURS.map(regret))
    };
    let lines: Vec<Line> = CASES.iter().map(line).collect();
    let ours = columns(&SENDERS).split_off(OURS.start);
    let regret = panel("Cost above that of the best rule", "network", ours, &lines).heat_map();
    let shown = [COST, 0, 1, 2, 4].map(|quantity| table(done, &CASES, &SENDERS, quantity));
    [regret].into_iter().chain(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::super::grid::QUANTITIES;
    use super::*;
    use crate::Metrics;

    #[test]
    fn regret_by_hand() {
        let mut done = Done::default();
        for case in &CASES {
            let mut numbers = Metrics::default();
            let cost = [9.0, 8.0, 3.0, 7.0, 10.0, 6.0, 6.5, 7.0, 7.5];
            let run = cost
                .iter()
                .zip(&SENDERS)
                .filter(|(_, (.., who))| case.compares(*who));
            let each = run.flat_map(|(cost, _)| (0..case.seeds).map(move |_| (0.0, *cost)));
            numbers.series.insert(QUANTITIES[COST].0.0, each.collect());
            done.steps.insert(case.label, numbers);
        }
        assert_eq!(best(&done, &CASES[0]), Some(3.0));
        assert_eq!(best(&done, &CASES[5]), Some(8.0), "hpcc and bolt are not mixed");
        assert_eq!(STEPS.map(|step| step.name), CASES.map(|case| case.label));
    }
}
