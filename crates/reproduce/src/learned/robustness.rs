//! How far the trained scheme carries without training it again.

use crate::{Done, Input, Measure, ON_POLICY, Panel, Reproduction, RunRequest};
use paceline_scenario::Fidelity;

use super::{Line, OWN, column, panel};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "robustness",
    data: None,
    title: "Other rates, numbers of senders and round trips, without training again",
    source: OWN,
    setting: "Long flows from 16 hosts to one through a switch, 100 Gbit/s and 1 µs per link unless a row says otherwise, \
              exact fidelity, the second half of 20 ms. The thesis's gains and the shipped model; the target is 1.2 times \
              the empty network's round trip, as 5 µs is in the thesis.",
    notes: &[
        "Nothing is judged. Goodput is payload: headers take 5 % of the link.",
        "With a least rate of 1 Gbit/s 128 and 200 senders at 100 Gbit/s always send too much: the round trip is that of \
         a full buffer, held by pauses, not the controller's.",
        "With 10 Mbit/s they send hardly anything: the mean error since a flow's start remembers the burst of the start, \
         some hundred times the target, and outweighs all that follows; and at 10 Mbit/s there is a sample per \
         millisecond.",
        "HPCC stands beside as a scheme that has telemetry; its round trip over the target is only there to compare.",
    ],
    choices: &[ON_POLICY],
    steps: &[],
    needs: || {
        let of = |case: &Case| SCHEMES.map(|scheme| need(case, scheme));
        CASES.iter().flat_map(of).collect()
    },
    panels,
};

const SCHEMES: [&str; 3] = ["lstm-pid", "pidnn", "hpcc"];

/// A network and how many send.
struct Case {
    label: &'static str,
    /// In folders' names.
    name: &'static str,
    gbps: u32,
    senders: u32,
    /// Delay of a link in ns.
    delay: u32,
    /// The least rate in Mbit/s.
    least: u32,
}

const USUAL: Case = Case {
    label: "16 senders, 100 Gbit/s, 4.2 µs",
    name: "usual",
    gbps: 100,
    senders: 16,
    delay: 1_000,
    least: 1_000,
};

const fn rate(label: &'static str, name: &'static str, gbps: u32) -> Case {
    Case {
        label,
        name,
        gbps,
        ..USUAL
    }
}

const fn senders(label: &'static str, name: &'static str, senders: u32, least: u32) -> Case {
    Case {
        label,
        name,
        senders,
        least,
        ..USUAL
    }
}

const fn away(label: &'static str, name: &'static str, delay: u32) -> Case {
    Case {
        label,
        name,
        delay,
        ..USUAL
    }
}

const CASES: [Case; 15] = [
    USUAL,
    rate("25 Gbit/s", "25g", 25),
    rate("50 Gbit/s", "50g", 50),
    rate("200 Gbit/s", "200g", 200),
    rate("400 Gbit/s", "400g", 400),
    senders("4 senders", "4", 4, 1_000),
    senders("32 senders", "32", 32, 1_000),
    senders("64 senders", "64", 64, 1_000),
    senders("128 senders", "128", 128, 1_000),
    senders("128 senders, at least 10 Mbit/s", "128-slow", 128, 10),
    senders("200 senders", "200", 200, 1_000),
    senders("200 senders, at least 10 Mbit/s", "200-slow", 200, 10),
    away("round trip 10 µs", "10us", 2_450),
    away("round trip 20 µs", "20us", 4_950),
    away("round trip 40 µs", "40us", 9_950),
];

impl Case {
    /// The empty network's round trip in ns: four links, two transmissions of a full packet and of an
    /// acknowledgement.
    fn base_ns(&self) -> f64 {
        const BITS: f64 = 2.0 * 8.0 * (1_056.0 + 60.0);
        4.0 * f64::from(self.delay) + BITS / f64::from(self.gbps)
    }

    fn target_ns(&self) -> u64 {
        (1.2 * self.base_ns()).round() as u64
    }
}

fn need(case: &Case, scheme: &'static str) -> RunRequest {
    let hosts = case.senders + 1;
    let mut settings = vec![
        format!("topology.star.hosts={hosts}"),
        format!("topology.star.rate={}Gbps", case.gbps),
        format!("topology.star.delay={}ns", case.delay),
        format!("workload.0.incast.fan-in={}", case.senders),
        format!("workload.0.incast.receiver={hosts}"),
        "workload.0.incast.size=2GB".to_string(),
        "duration=20ms".to_string(),
        "record.queue=off".to_string(),
        "record.flows=off".to_string(),
        "record.rates=100us".to_string(),
        "record.rtt-samples=true".to_string(),
    ];
    if scheme != "hpcc" {
        settings.push(format!("cc.lstm-pid.target={}ns", case.target_ns()));
        settings.push(format!("cc.lstm-pid.min-rate={}Mbps", case.least));
    }
    RunRequest {
        fidelity: Fidelity::Exact,
        variant: format!("robust-{}", case.name),
        settings,
        digest: Some(DIGEST),
        folder: false,
        ..RunRequest::of(Input::Shipped("incast-16", 1), scheme)
    }
}

const DIGEST: Measure = Measure {
    name: "second-half",
    of: |input, outcome| (paceline_lab::measures::find_set("second-half").expect("a set").of)(input, outcome),
};

const RTT: &str = "rtt";
const P99: &str = "p99";
const GOODPUT: &str = "goodput";
const JAIN: &str = "jain";

fn panels(done: &Done) -> Vec<Panel> {
    let value =
        |case: &Case, scheme, name: &str| done.numbers(&need(case, scheme))?.values.get(name).copied();
    let table = |title: &str,
                 quantity: (&'static str, &'static str, usize),
                 of: &dyn Fn(&Case, &'static str) -> Option<f64>| {
        let line = |case: &Case| Line::shown(case.label, quantity, SCHEMES.map(|scheme| of(case, scheme)));
        let lines: Vec<Line> = CASES.iter().map(line).collect();
        let columns = SCHEMES.map(|scheme| column(scheme, scheme)).to_vec();
        panel(title, "", columns, &lines)
    };
    let over_target = |name: &'static str| {
        move |case: &Case, scheme| Some(value(case, scheme, name)? / case.target_ns() as f64)
    };
    vec![
        table(
            "Mean round trip over target",
            ("mean RTT over target", "×", 3),
            &over_target(RTT),
        ),
        table(
            "99th percentile of round trips over target",
            ("p99 RTT over target", "×", 3),
            &over_target(P99),
        ),
        table("Goodput, % of the link", ("goodput", "%", 1), &|case, scheme| {
            Some(100.0 * value(case, scheme, GOODPUT)? / f64::from(case.gbps))
        }),
        table(
            "Jain's index of goodput",
            ("Jain's index of goodput", "", 3),
            &|case, scheme| value(case, scheme, JAIN),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_what_the_thesis_has_of_its_own_network() {
        assert_eq!(USUAL.base_ns().round(), 4_179.0);
        assert_eq!(USUAL.target_ns(), 5_014);
    }
}
