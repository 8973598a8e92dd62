//! ADPG's grid: many-to-one, all-to-all, long and short flows, alongside rules that nobody trained.

mod tuned;

use paceline_lab::stats::{interval, mean};
use paceline_learn::adpg::SEEDS;

use super::{Line, OWN, column, panel};
use crate::need::{Input, Measure};
use crate::{Choice, Column, Done, Panel, Reproduction, RunRequest};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "adpg-grid",
    data: None,
    title: "ADPG (RL-CC) from 2 to 8192 flows, compared with Swift (tuned and not), HPCC and DCQCN",
    source: OWN,
    setting: "RL-CC's test bed: 100 Gbit/s, 4 µs one way, one switch that drops, 10 MB of buffer, packets of 1 KB. Flows \
              without end, many to one and among four hosts, and long flows beside short ones. ADPG is five policies, \
              trained with seeds 1 to 5 on 4 to 60 flows; a number of it is the mean over policies of means over ten \
              seeds of the scenario, and ± is half of the 95 % interval over the five. Of a rule ± is over the ten.",
    notes: &[
        "Nothing is judged: RL-CC prints an ordering of its own network against rules of NVIDIA's NICs, of which no \
         numbers can be had.",
        "All is of whole runs, their beginning included: 10 ms (20 ms with 8192 flows and with short ones, 5 ms \
         all-to-all). ADPG, HPCC and DCQCN begin at the line's rate, each flow; Swift at 1/20 of a packet per round trip.",
        "Swift's target is 10 µs and up to 30 µs more for flows with small windows, which go down to 1/1000 of a packet; \
         HPCC and DCQCN go down to 1 Mbit/s. These settings were made beforehand, and not searched.",
        "`swift, tuned` has the one of 90 settings that is worth most, in the mean over 2, 16, 1024 and 8192 flows to one \
         host, 132 among four, and long beside short ones, with two seeds that are not among the ten: 0.1 D - 0.02 \
         [R - 1.1]+ - L - 0.02 √(1/J - 1), where D is what is delivered, R the mean round trip in 8.192 µs, L what is \
         dropped, J Jain's index. It is the reward of DECC of a whole run; ADPG was trained for another.",
        "More flows than 60 is more than any policy saw in training. N flows under ADPG rest at a round trip of 1.5 + \
         0.064 √N of the empty network's: at 8192 flows that is 7.3.",
    ],
    choices: &[
        Choice {
            what: "In training z counts at most 5, flows begin at 10 Gbit/s, and none goes below 100 Mbit/s.",
            tried: "z up to 100, flows that begin at the line's rate",
            changed: "The first training learned to slow down and nothing else.",
        },
        Choice {
            what: "Runs last 5 to 20 ms.",
            tried: "longer runs",
            changed: "Not known: they took too long to be run. Shorter runs hold more of the beginning.",
        },
        Choice {
            what: "The search for Swift's setting goes from 8.5 µs, from half a microsecond more, and from 1/100 of a packet.",
            tried: "32 settings from 9 µs, 2 µs more and 1/20 of a packet",
            changed: "The best was at all three edges, so that a better one could lie beyond them.",
        },
    ],
    steps: &[tuned::STEP],
    needs,
    panels,
};

/// Seeds of scenarios: none that a training can have drawn.
pub(super) const EVALUATION: [u64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
pub(super) const BEYOND: u64 = SEEDS;
const _: () = assert!(
    EVALUATION[0] + BEYOND >= SEEDS,
    "no seed that a policy was trained with"
);

/// The policies, by the seeds of their trainings.
const POLICIES: [&str; 5] = ["adpg", "adpg-2", "adpg-3", "adpg-4", "adpg-5"];

/// A column of the tables.
struct Under {
    scheme: &'static str,
    set: &'static [&'static str],
}

const RULES: [Under; 3] = [
    Under {
        scheme: "swift",
        set: &[
            "cc.swift.base-delay=10us",
            "cc.swift.hop-delay=0us",
            "cc.swift.fs-range=30us",
            "cc.swift.min-window=0.001",
            "cc.swift.initial-window=0.05",
        ],
    },
    Under {
        scheme: "hpcc",
        set: &["cc.hpcc.min-rate=1Mbps"],
    },
    Under {
        scheme: "dcqcn",
        set: &["cc.dcqcn.min-rate=1Mbps"],
    },
];

/// A network with so many flows.
pub(super) struct Case {
    pattern: &'static str,
    scenario: &'static str,
    pub(super) flows: u32,
    /// Senders of a receiver, and flows from each of them.
    each: (u32, u32),
    duration: &'static str,
}

const fn case(pattern: &'static str, scenario: &'static str, flows: u32, each: (u32, u32)) -> Case {
    Case {
        pattern,
        scenario,
        flows,
        each,
        duration: match each {
            (3, _) => "5ms",
            (20, _) | (_, 256) => "20ms",
            _ => "10ms",
        },
    }
}

const MANY: &str = "many-to-one";
const ALL: &str = "all-to-all";
const LONG: &str = "long and short flows";

pub(super) const CASES: [Case; 10] = [
    case(MANY, "rl-cc", 2, (2, 1)),
    case(MANY, "rl-cc", 16, (16, 1)),
    case(MANY, "rl-cc", 128, (32, 4)),
    case(MANY, "rl-cc", 1024, (32, 32)),
    case(MANY, "rl-cc", 8192, (32, 256)),
    case(ALL, "rl-cc-all-to-all", 12, (3, 1)),
    case(ALL, "rl-cc-all-to-all", 132, (3, 11)),
    case(ALL, "rl-cc-all-to-all", 1020, (3, 85)),
    case(ALL, "rl-cc-all-to-all", 8196, (3, 683)),
    case(LONG, "rl-cc-long-short", 260, (20, 1)),
];

impl Case {
    fn settings(&self) -> Vec<String> {
        let (senders, rounds) = self.each;
        let mut set = vec![
            format!("duration={}", self.duration),
            "record.accounts=off".to_string(),
        ];
        match self.pattern {
            MANY => set.extend([
                format!("topology.star.hosts={}", senders + 1),
                format!("workload.many-to-one.incast.fan-in={senders}"),
                format!("workload.many-to-one.incast.receiver={}", senders + 1),
                format!("workload.many-to-one.incast.rounds={rounds}"),
            ]),
            ALL => set.extend((1..=4).map(|to| format!("workload.to-{to}.incast.rounds={rounds}"))),
            _ => {}
        }
        set
    }

    pub(super) fn need(
        &self,
        seed: u64,
        scheme: &'static str,
        variant: &str,
        further: &[String],
    ) -> RunRequest {
        let mut settings = self.settings();
        settings.extend_from_slice(further);
        RunRequest {
            variant: format!("{}{variant}", self.flows),
            settings,
            digest: Some(DELIVERED),
            folder: false,
            ..RunRequest::of(Input::Shipped(self.scenario, BEYOND + seed), scheme)
        }
    }

    /// `128 flows, many-to-one`.
    pub(super) fn label(&self) -> String {
        format!("{} flows, {}", self.flows, self.pattern)
    }

    /// The runs of a policy, a seed each.
    pub(super) fn policy(&self, policy: &str) -> Vec<RunRequest> {
        let model = [format!("cc.adpg.model={policy}")];
        let of = |&seed: &u64| self.need(seed, "adpg", &format!("-{policy}"), &model);
        EVALUATION.iter().map(of).collect()
    }

    fn rule(&self, rule: &Under) -> Vec<RunRequest> {
        let set: Vec<String> = rule.set.iter().map(|text| (*text).to_string()).collect();
        let of = |&seed: &u64| self.need(seed, rule.scheme, "", &set);
        EVALUATION.iter().map(of).collect()
    }
}

fn needs() -> Vec<RunRequest> {
    let of = |case: &Case| {
        let policies = POLICIES.iter().flat_map(|policy| case.policy(policy));
        let rules = RULES.iter().flat_map(|rule| case.rule(rule));
        policies.chain(rules).collect::<Vec<RunRequest>>()
    };
    CASES.iter().flat_map(of).collect()
}

const DELIVERED: Measure = Measure {
    name: "delivered",
    of: |input, outcome| (paceline_lab::measures::find_set("delivered").expect("a set").of)(input, outcome),
};

/// Name, unit, digits, and where a run has it.
pub(super) type Quantity = (
    (&'static str, &'static str, usize),
    fn(&Done, &RunRequest) -> Option<f64>,
);

fn number(done: &Done, need: &RunRequest, name: &str) -> Option<f64> {
    done.numbers(need)?.values.get(name).copied()
}

pub(super) const QUANTITIES: [Quantity; 6] = [
    (("delivered, of what the links carry", "%", 2), |done, need| {
        number(done, need, "utilisation")
    }),
    (("Jain's index of what was delivered", "of 1", 3), |done, need| {
        number(done, need, "jain")
    }),
    (("mean RTT", "µs", 1), |done, need| number(done, need, "rtt")),
    (("p99 RTT", "µs", 1), |done, need| number(done, need, "rtt_p99")),
    (("packets dropped", "%", 3), |done, need| {
        number(done, need, "loss")
    }),
    (("mean completion of short flows", "µs", 1), |done, need| {
        number(done, need, "short")
    }),
];

/// Mean, and half of the interval at 95 %.
type Estimate = Option<(f64, f64)>;

fn estimate(values: &[f64]) -> Estimate {
    Some((
        mean(values)?,
        interval(values, 0.95).map_or(0.0, |interval| interval.half_width()),
    ))
}

/// A quantity of a case in each column; nothing where a run is lacking.
fn estimates(done: &Done, case: &Case, ((name, ..), of): Quantity) -> Vec<Estimate> {
    let values = |needs: Vec<RunRequest>| {
        needs
            .iter()
            .map(|need| of(done, need))
            .collect::<Option<Vec<f64>>>()
    };
    let policies: Option<Vec<f64>> = (POLICIES.iter())
        .map(|policy| mean(&values(case.policy(policy))?))
        .collect();
    let adpg = policies.and_then(|means| estimate(&means));
    let mut all: Vec<Estimate> = (RULES.iter())
        .map(|rule| estimate(&values(case.rule(rule))?))
        .collect();
    all.insert(1, tuned::estimated(done, case, name));
    all.insert(0, adpg);
    all
}

fn panels(done: &Done) -> Vec<Panel> {
    let columns = || -> Vec<Column> {
        let mut all: Vec<Column> = (RULES.iter())
            .map(|rule| column(rule.scheme, rule.scheme))
            .collect();
        all.insert(1, column("swift, tuned", "bolt"));
        all.insert(0, column("adpg", "adpg"));
        all
    };
    let of = |pattern: &'static str, &(quantity, of): &Quantity| {
        let mut lines = Vec::new();
        for case in CASES.iter().filter(|case| case.pattern == pattern) {
            let all = estimates(done, case, (quantity, of));
            let label = format!("{} flows", case.flows);
            let means = all.iter().map(|one| one.map(|(mean, _)| mean));
            lines.push(Line::shown(label.clone(), quantity, means));
            let halves = all.iter().map(|one| one.map(|(_, half)| half));
            lines.push(Line::shown(format!("{label}, ±"), quantity, halves));
        }
        let (metric, unit, _) = quantity;
        panel(
            &format!("{pattern}: {metric}, {unit}"),
            "flows",
            columns(),
            &lines,
        )
    };
    let patterns = [MANY, ALL, LONG].into_iter();
    let all = patterns.flat_map(|pattern| {
        // Short flows are of one pattern.
        let quantities = QUANTITIES
            .iter()
            .filter(move |((metric, ..), _)| pattern == LONG || !metric.contains("short"));
        quantities.map(move |quantity| (pattern, quantity))
    });
    all.map(|(pattern, quantity)| of(pattern, quantity))
        .chain([tuned::panel_of_search(done)])
        .collect()
}
