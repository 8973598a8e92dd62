//! The demo: a victim and a culprit share an uplink, while bursts fill the culprit's receiver.

use super::taken::DEMO;
use super::{
    CONTROLS, Claim, Criterion, Done, EQUAL, Panel, Quantity, Reproduction, Row, RunRequest, Source,
    Tolerance, beside, claims, controls, need, of, reference, steps,
};
use crate::citation::Citation;
use crate::panel::{Curve, Drawing};
use paceline_congestion::papers;

/// Pauses between messages of the bursts, in us.
const GAPS: [u64; 4] = [5, 10, 20, 50];
/// Two rules by which bursts stop and who is notified: the model's name, and what it is.
const VARIANTS: [(&str, &str); 2] = [
    ("N200", "200 messages a host, all are notified"),
    ("PUB", "bursts until 11 ms, H1 and H2 are notified"),
];

/// The run of a variant under a control with a gap.
fn run(variant: &str, control: usize, gap: u64) -> RunRequest {
    let (control, scheme, _) = CONTROLS[control];
    let mut settings = vec![
        format!("workload.0.messages.gap={gap}us"),
        format!("workload.2.messages.gap={gap}us"),
        format!("network.ib-omnet.control={control}"),
        "network.ib-omnet.log=true".to_string(),
    ];
    if variant == "PUB" {
        let published = [
            "workload.2.messages.messages=1000",
            "workload.2.messages.until=11ms",
            "network.ib-omnet.notified=[0, 1]",
        ];
        settings.extend(published.map(str::to_string));
    }
    let key = format!("{}-{scheme}-{gap}", variant.to_lowercase());
    need("infiniband-demo", key, settings, DEMO)
}

/// The name of that run among the model's.
fn name(variant: &str, control: usize, gap: u64) -> String {
    format!("{variant}_{}_g{gap:02}", CONTROLS[control].1)
}

fn needs() -> Vec<RunRequest> {
    let of = |variant: &'static str| {
        let gaps = |control| GAPS.map(move |gap| run(variant, control, gap));
        (0..CONTROLS.len()).flat_map(gaps).collect::<Vec<_>>()
    };
    VARIANTS.iter().flat_map(|(variant, _)| of(variant)).collect()
}

/// Quantities of a variant by gap.
fn table(done: &Done, (variant, rule): (&'static str, &str), title: &str, of_run: &[Quantity]) -> Panel {
    let rows: Vec<(Quantity, u64)> = of_run
        .iter()
        .flat_map(|&quantity| GAPS.map(|gap| (quantity, gap)))
        .collect();
    let row = |&((_, metric, unit, decimals), gap): &(Quantity, u64)| Row {
        label: match of_run.len() {
            1 => format!("{gap} us"),
            _ => format!("{metric}, {gap} us"),
        },
        x: (of_run.len() == 1).then_some(gap as f64),
        ..Row::quantity(metric, unit, decimals)
    };
    let title = format!("{title} ({rule})");
    let panel = Panel::of(
        title,
        "gap",
        controls(),
        rows.iter().map(row).collect(),
        |row, column| {
            let ((metric, ..), gap) = rows[row];
            beside(
                reference::demo(&name(variant, column, gap), metric),
                of(done, &run(variant, column, gap), metric),
            )
        },
    );
    panel.along("gap between messages", "us", false).told_by_title()
}

/// Tables of both variants.
fn tables(done: &Done, title: &str, quantities: &[Quantity]) -> Vec<Panel> {
    VARIANTS
        .iter()
        .map(|&variant| table(done, variant, title, quantities))
        .collect()
}

const SETTING: &str = "Scenario `infiniband-demo`: H1 sends to H3 and H2 to H5 all the time over one uplink; fifteen hosts send messages of \
                       4 KB to H5 from 10 ms on, the next a gap after the last packet of the one before. Links of 32 Gbit/s, buffers \
                       of 32 packets, Tc = 4.096 us. 24 runs of 30 ms in two variants, some seconds in all.";

/// How the variant of the author's published rows was found.
const VARIANT: &str = "The second variant gives the rows of uplink throughput that the author published (11 of 15 files, row by row); \
                       it is an inference from them, and stands nowhere.";

pub(super) const TRACES: Reproduction = Reproduction {
    id: "ib-traces",
    data: None,
    title: "Every step of nine runs: packets, flow-control packets, credits, marks, arrivals",
    source: Citation::of(papers::RRCC_MODEL, "traces of 0 to 45 us and of 10 to 10.06 ms"),
    setting: SETTING,
    notes: &[
        "A step counts if it is at its place in the order, with its time to the picosecond, its port and its numbers. Steps of \
         ours that the model has not are taken off.",
        EQUAL,
    ],
    choices: &[],
    steps: &[],
    needs: || {
        TRACED
            .iter()
            .map(|&(variant, control, gap)| run(variant, control, gap))
            .collect()
    },
    panels: |done| {
        let rows = [("N200", 10), ("N200", 20), ("PUB", 20)];
        let row = |(variant, gap): (&str, u64)| Row {
            label: format!("{variant}, gap {gap} us"),
            ..Row::quantity("steps that are equal", "", 0)
        };
        let panel = Panel::of("", "run", controls(), rows.map(row).to_vec(), |row, column| {
            let (variant, gap) = rows[row];
            beside(
                steps::count(&name(variant, column, gap)),
                of(done, &run(variant, column, gap), "steps"),
            )
        });
        vec![panel]
    },
};

/// Runs of which the model has traces: variant, place of the control, gap.
const TRACED: [(&str, usize, u64); 9] = [
    ("N200", 0, 10),
    ("N200", 0, 20),
    ("N200", 1, 10),
    ("N200", 1, 20),
    ("N200", 2, 10),
    ("N200", 2, 20),
    ("PUB", 0, 20),
    ("PUB", 1, 20),
    ("PUB", 2, 20),
];

/// The uplink over time with a gap of 10 us.
fn drawing(done: &Done) -> Panel {
    let curve = |control: usize| {
        let points = done
            .numbers(&run("PUB", control, 10))?
            .series
            .get("uplink")?
            .clone();
        Some(Curve {
            name: CONTROLS[control].2.to_string(),
            scheme: ["none", "dcqcn", "hpcc"][control],
            published: false,
            points,
        })
    };
    let drawing = Drawing {
        x: ("time", "ms"),
        y: ("uplink", "Gbit/s"),
        curves: (0..CONTROLS.len()).filter_map(curve).collect(),
        stepped: true,
    };
    Panel::drawn("The uplink over time, gap 10 us (bursts until 11 ms)", drawing)
}

pub(super) const SWEEP: Reproduction = Reproduction {
    id: "ib-gaps",
    data: None,
    title: "The shared uplink's throughput by the bursts' gap",
    source: Citation::of(
        papers::RRCC_MODEL,
        "in its second variant equal to rows that the author published",
    ),
    setting: SETTING,
    notes: &[
        VARIANT,
        "Under credits alone the uplink falls to 4 of 32 Gbit/s while bursts last and the gap is 15 us or less: its two flows have \
         one of the sixteen inputs of H5's port. IBCC cannot mend that with a timer of 30 us, and holds its senders back \
         beyond the burst. With a gap of 50 us nothing is congested: credits alone are best, and both controls cost 4 %.",
        EQUAL,
    ],
    choices: &[],
    steps: &[],
    needs,
    panels: |done| {
        let mut panels = tables(
            done,
            "Uplink, mean of 10 to 12 ms, Gbit/s",
            &[("up_10_12", "uplink", "Gbit/s", 3)],
        );
        panels.push(drawing(done));
        let up = |control, gap| of(done, &run("PUB", control, gap), "up_10_12");
        let over = |a: (usize, u64), b: (usize, u64)| Some(up(a.0, a.1)? / up(b.0, b.1)?);
        let property = |tolerance| Criterion::property(tolerance, Source::AuthorsSimulator, "");
        let said: [Claim; 3] = [
            (
                "gap 10 us: RRCC's uplink over that of credits alone",
                over((2, 10), (0, 10)),
                property(Tolerance::AtLeast(2.0)),
            ),
            (
                "gap 10 us: IBCC's uplink over that of credits alone",
                over((1, 10), (0, 10)),
                property(Tolerance::AtMost(1.0)),
            ),
            (
                "gap 50 us: RRCC's uplink over that of credits alone",
                over((2, 50), (0, 50)),
                property(Tolerance::AtMost(1.0)),
            ),
        ];
        panels.push(claims("What follows (bursts until 11 ms)", &said));
        panels
    },
};

pub(super) const PAYERS: Reproduction = Reproduction {
    id: "ib-who-pays",
    data: None,
    title: "Throughput during bursts: victim, contributor, bursts",
    source: Citation::of(papers::RRCC_MODEL, "summaries of 24 runs"),
    setting: SETTING,
    notes: &[
        "RRCC spares the victim H1 and slows H2, whose packets are all marked. Where bursts heed notifications, too (the \
         first variant), they slow down for both: H1 has less than with bursts that do not.",
        VARIANT,
        EQUAL,
    ],
    choices: &[],
    steps: &[],
    needs,
    panels: |done| {
        let before = [
            ("pre_H1", "H1 from 5 to 10 ms", "Gbit/s", 3),
            ("pre_H2", "H2 from 5 to 10 ms", "Gbit/s", 3),
        ];
        let within = [
            ("H1_10p1_10p9", "H1 from 10.1 to 10.9 ms", "Gbit/s", 3),
            ("H2_10p1_10p9", "H2 from 10.1 to 10.9 ms", "Gbit/s", 3),
            ("burst_10p1_10p9", "bursts from 10.1 to 10.9 ms", "Gbit/s", 3),
            ("H1_burst", "H1 while bursts last", "Gbit/s", 3),
            ("H2_burst", "H2 while bursts last", "Gbit/s", 3),
            ("burst_burst", "bursts while they last", "Gbit/s", 3),
        ];
        let after = [
            ("H1_25_30", "H1 from 25 to 29.9 ms", "Gbit/s", 3),
            ("H2_25_30", "H2 from 25 to 29.9 ms", "Gbit/s", 3),
        ];
        let all = [("Before", &before[..]), ("During", &within), ("After", &after)];
        all.iter()
            .flat_map(|(title, rows)| tables(done, title, rows))
            .collect()
    },
};

pub(super) const MESSAGES: Reproduction = Reproduction {
    id: "ib-messages",
    data: None,
    title: "The bursts' messages: their times, marks and notifications",
    source: Citation::of(papers::RRCC_MODEL, "summaries of 24 runs"),
    setting: SETTING,
    notes: &[
        "A message's time begins when it comes to its host, its latency when its first packet goes; both end with the first bit of \
         its last packet at the receiver. Percentiles lie between the two nearest messages.",
        VARIANT,
        EQUAL,
    ],
    choices: &[],
    steps: &[],
    needs,
    panels: |done| {
        let messages = [
            ("n_msg", "messages that came", "", 0),
            ("burst_end_ms", "end of the bursts", "ms", 3),
            ("fct_mean_us", "time, mean", "us", 3),
            ("fct_p50_us", "time, p50", "us", 3),
            ("fct_p99_us", "time, p99", "us", 3),
            ("fct_max_us", "time, largest", "us", 3),
            ("lat_mean_us", "latency, mean", "us", 3),
            ("lat_p50_us", "latency, p50", "us", 3),
            ("lat_p99_us", "latency, p99", "us", 3),
            ("lat_max_us", "latency, largest", "us", 3),
        ];
        let marks = [
            ("marks_SW2up", "marks at the uplink", "", 0),
            ("marks_SW1toH5", "marks at H5's port", "", 0),
            ("marks_SW1toH3", "marks at H3's port", "", 0),
            ("FECN_rx_H1", "marked packets of H1", "", 0),
            ("FECN_rx_H2", "marked packets of H2", "", 0),
            ("FECN_rx_burst", "marked packets of the bursts", "", 0),
            ("BECN_rx_H1", "notifications to H1", "", 0),
            ("BECN_rx_H2", "notifications to H2", "", 0),
            ("BECN_rx_burst", "notifications to the bursts", "", 0),
        ];
        let mut panels = tables(done, "Messages", &messages);
        panels.extend(tables(done, "Marks and notifications", &marks));
        panels
    },
};
