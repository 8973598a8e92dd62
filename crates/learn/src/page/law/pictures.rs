//! Charts and breakdowns of a rate law's decisions.

use paceline_congestion::decc::law::{Interval, Law, State};
use paceline_report::{Axis, Grid, Line, Part};

use super::wide;

/// Bandwidth-delay product in the charts, in packets: 400 Gbit/s, 8 us, packets of 1 KB.
const PACKETS: f64 = 404.0;
/// Numbers of flows that share a line in the charts.
const FLOWS: [f64; 4] = [2.0, 32.0, 512.0, 8192.0];

/// Returns charts of a law, and breakdowns of its decisions.
pub(in crate::page) fn pictures(law: &Law) -> Part {
    let by_latency = |flows: f64| -> Vec<(f64, f64)> {
        let point = |k: i32| {
            let r = 1.0 + f64::from(k) / 25.0;
            let state = State {
                w: 1.0 / flows,
                before: Some(r),
                starts: false,
            };
            let seen = Interval {
                mean: Some(r),
                newest: r,
                // A flow decides once per packet at most, so slow flows decide less often than once per round trip.
                elapsed: (flows / PACKETS).max(r),
                nacks: 0.0,
            };
            let d = law.step(&state, &seen, PACKETS).sum();
            (r, 100.0 * (libm::exp(d) - 1.0))
        };
        (0..=100).map(point).collect()
    };
    let targets: Vec<(f64, f64)> = (0..=52)
        .map(|k| {
            let flows = libm::exp2(f64::from(k) / 4.0);
            (libm::log2(flows), law.rests_at(1.0 / flows, PACKETS))
        })
        .collect();
    let flows = FLOWS.iter().enumerate();
    let lines = flows.map(|(index, &flows)| {
        let name = format!("{flows:.0} flows");
        Line::new(&name, index, &by_latency(flows))
    });
    Part {
        title: "The law".into(),
        text: "A line of 400 Gbit/s, a base round trip of 8 us, packets of 1 KB; each flow at its fair share, round trips that \
               stay as they are, and no losses. The table takes other decisions apart: times in base round trips, parts in \
               hundredths of the rate's logarithm."
            .into(),
        charts: vec![
            wide(
                "Change of the rate by a decision",
                "Nothing changes where a line crosses zero: there that many flows rest.",
                Axis::new("round-trip time, of the empty network's", ""),
Axis::new("change of the rate", "%"),
                lines.collect(),
            ),
            wide(
                "Where flows rest",
                "The target by the number of flows that share the line evenly.",
                Axis::new("flows, as a power of two", ""),
Axis::new("round-trip time, of the empty network's", ""),
                vec![Line::new("target", 0, &targets)],
            ),
        ],
        tables: vec![taken_apart(law)],
    }
}

/// Returns the terms of decisions of flows at their fair share.
fn taken_apart(law: &Law) -> Grid {
    let decision = |flows: f64, (situation, from, to, nacks): (&str, f64, f64, f64)| {
        let state = State {
            w: 1.0 / flows,
            before: Some(from),
            starts: false,
        };
        let seen = Interval {
            mean: Some(to),
            newest: to,
            elapsed: (flows / PACKETS).max(to),
            nacks,
        };
        let step = law.step(&state, &seen, PACKETS);
        // Rounded first, so that no share is shown as -0.0.
        let share = |d: f64| match (1000.0 * d).round() {
            0.0 => "0".to_string(),
            tenths => format!("{:+.1}", tenths / 10.0),
        };
        vec![
            format!("{flows:.0}"),
            situation.to_string(),
            format!("{:.2}", step.r),
            step.target
                .map_or_else(String::new, |target| format!("{target:.2}")),
            share(step.distance),
            share(-step.slope),
            share(-step.losses),
            format!("{:+.1} %", 100.0 * (libm::exp(step.sum()) - 1.0)),
        ]
    };
    let rows = FLOWS.into_iter().flat_map(|flows| {
        let target = law.rests_at(1.0 / flows, PACKETS);
        let situations = [
            ("the queue is empty", 1.0, 1.0, 0.0),
            ("the queue grows to the target", 1.0, target, 0.0),
            (
                "twice the target's delay",
                2.0 * target - 1.0,
                2.0 * target - 1.0,
                0.0,
            ),
            ("at the target, 5 % lost", target, target, 0.05),
        ];
        situations.map(|situation| decision(flows, situation))
    });
    Grid {
        head: [
            "flows",
            "decision",
            "round trip",
            "target",
            "by distance",
            "by slope",
            "by losses",
            "rate",
        ]
        .map(String::from)
        .to_vec(),
        rows: rows.collect(),
        ..Grid::default()
    }
}
