//! Dependence of results on ties, and on the reference's deviations from hardware.

use paceline_fabric::spec::{RunSpec, TieOrder};
use paceline_lab::run::Finished;
use paceline_scenario::{EXACT, Overrides, Resolved};

use crate::compare::{BUCKETS, Comparison, paragraph, percent, table};
use crate::equality::Checked;
use crate::reference::run;

const SEEDS: [u64; 3] = [1, 2, 3];

fn find<'a>(checked: &'a [Checked], scenario: &str, scheme: &str) -> Option<&'a Checked> {
    let is = |run: &&Checked| run.case.scenario == scenario && run.case.scheme == scheme;
    checked.iter().find(is)
}

/// Runs the scenario with simultaneous events in a random order.
fn shuffled(input: &Resolved, seed: u64) -> Finished {
    let mut input = input.clone();
    input.run_mut().ties = TieOrder::Shuffled(seed);
    run(&input)
}

/// Returns the section on the order of simultaneous events.
pub(crate) fn ties(checked: &[Checked]) -> String {
    let introduction = "The reference runs them in the order of their scheduling; any other order would be as good. What moves when \
                        they are shuffled hangs on chance, and differences between schemes that are not larger mean nothing.";
    let mut text = format!("## Order of simultaneous events\n\n{}\n", paragraph(introduction));
    if let Some(base) = find(checked, "e_fat_2ms", "hpcc") {
        let runs = SEEDS.map(|seed| shuffled(&base.input, seed));
        let compared = runs
            .each_ref()
            .map(|run| Comparison::of_runs(&base.input, &base.finished, run));
        let moved = [0.5, 0.95, 1.0].map(|p| 100.0 * compared[0].error(p));
        let fat_tree = format!(
            "Slowdown in the fat tree under HPCC (`e_fat_2ms`), in the reference's order and shuffled with seeds 1, 2, 3. \
             Completion times of single flows move by {:.2} % in the median, {:.1} % at the 95th percentile and {:.0} % at most \
             (seed 1).",
            moved[0], moved[1], moved[2]
        );
        text.push_str(&format!("{}\n{}\n", paragraph(&fat_tree), slowdowns(&compared)));
    }
    let mut rows = Vec::new();
    for scheme in ["hpcc", "dctcp"] {
        let Some(base) = find(checked, "b_incast20", scheme) else {
            continue;
        };
        rows.push(incast_row(scheme, "the reference's", &base.finished));
        for seed in SEEDS {
            let order = format!("shuffled, seed {seed}");
            rows.push(incast_row(scheme, &order, &shuffled(&base.input, seed)));
        }
    }
    let incast =
        "The incast of 20 (`b_incast20`): completion times in ms, RTT of every ACK in µs, rate in Gbit/s.";
    text.push_str(&format!("{}\n", paragraph(incast)));
    text.push_str(&table(
        &[
            "scheme",
            "order",
            "FCT median",
            "mean",
            "last",
            "RTT mean",
            "p99",
            "rate",
        ],
        &rows,
    ));
    text
}

fn slowdowns(compared: &[Comparison; 3]) -> String {
    let mut rows = Vec::new();
    for (bucket, (_, _, name)) in BUCKETS.iter().enumerate() {
        let of_seeds = compared
            .each_ref()
            .map(|comparison| comparison.slowdown(bucket, [0.5, 0.95, 0.99]).1);
        let mut row = vec![name.to_string()];
        for quantile in 0..3 {
            let reference = of_seeds[0][quantile].0;
            let shuffled = of_seeds.map(|of_seed| format!("{:.3}", of_seed[quantile].1));
            row.extend([format!("{reference:.3}"), shuffled.join(", ")]);
        }
        rows.push(row);
    }
    table(
        &["size", "p50", "shuffled", "p95", "shuffled", "p99", "shuffled"],
        &rows,
    )
}

fn incast_row(scheme: &str, order: &str, finished: &Finished) -> Vec<String> {
    let summary = &finished.summary;
    let ms = |us: Option<f64>| us.map_or("–".into(), |us| format!("{:.3}", us / 1e3));
    let plain =
        |value: Option<f64>, digits: usize| value.map_or("–".into(), |value| format!("{value:.digits$}"));
    vec![
        scheme.to_string(),
        order.to_string(),
        ms(summary.fct_us.p50),
        ms(summary.fct_us.mean),
        ms(summary.makespan_us),
        plain(summary.rtt_per_ack_us.mean, 4),
        plain(summary.rtt_per_ack_us.p99, 3),
        plain(summary.rate_while_active_gbps, 4),
    ]
}

/// One change to a run in the reference's fidelity.
type Change = fn(&mut RunSpec);

const CHANGES: [(&str, Change); 4] = [
    ("only: nothing cut to ns", |run| run.quirks.truncate_to_ns = false),
    ("only: no lost wake-ups", |run| {
        run.quirks.wakeup_suppression = false;
    }),
    ("only: ACKs in a class of their own", |run| {
        run.quirks.ack_nic_class = false;
        run.nic.ack_class = Some(0);
    }),
    ("only: ties shuffled", |run| run.ties = TieOrder::Shuffled(1)),
];

/// Returns the section that compares exact time with the reference's.
pub(crate) fn nature(checked: &[Checked]) -> String {
    let mut rows = Vec::new();
    for base in checked {
        let (scenario, scheme) = (base.case.scenario.as_str(), base.case.scheme.as_str());
        if scenario.starts_with("a_single") && scheme != "hpcc" {
            continue;
        }
        eprintln!("{scenario} {scheme} in exact time");
        let exact = base.case.load(&Overrides {
            fidelity: Some(EXACT),
            ..Overrides::default()
        });
        rows.push(nature_row(base, "exact", &run(&exact)));
        if scenario == "e_fat_2ms" || scenario == "b_incast20" && ["hpcc", "dctcp"].contains(&scheme) {
            for (name, change) in CHANGES {
                let mut input = base.input.clone();
                change(input.run_mut());
                rows.push(nature_row(base, name, &run(&input)));
            }
        }
    }
    let text = "With `fidelity = \"exact\"` nothing of the reference's deviations from nature remains. The reference cuts transmission \
                times to whole nanoseconds (83 for 83.84 ns of 1048 bytes at 100 Gbit/s, so its links are up to 1 % too fast; at \
                400 Gbit/s 20 for 20.96 ns, 5 %), its telemetry wraps and rounds, a blocked queue pair may swallow another's \
                wake-up, acknowledgements wait and are paused with the data, random marks come from other streams. What the \
                difference does to completion times, flow by flow, exact against reference: median, 5th and 95th percentile of \
                the relative change, negative where the exact mode is faster. Single flows also move with the order of ties and \
                with the random marks, so with few flows a change says little. In rows with \"only\" a single thing is changed \
                and all else is the reference's.";
    let head = [
        "scenario",
        "scheme",
        "mode",
        "FCT, median",
        "5 %",
        "95 %",
        "last completion",
        "slowdown p99",
        "RTT mean",
    ];
    format!("## Exact time\n\n{}\n{}", paragraph(text), table(&head, &rows))
}

fn nature_row(base: &Checked, mode: &str, finished: &Finished) -> Vec<String> {
    let comparison = Comparison::of_runs(&base.input, &base.finished, finished);
    let (_, [(reference, ours), ..]) = comparison.slowdown(BUCKETS.len() - 1, [0.99, 0.5, 0.95]);
    let (before, after) = (&base.finished.summary, &finished.summary);
    let ratio = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => percent(b / a - 1.0),
        _ => "–".into(),
    };
    vec![
        base.case.scenario.clone(),
        base.case.scheme.clone(),
        mode.to_string(),
        percent(comparison.difference(0.5)),
        percent(comparison.difference(0.05)),
        percent(comparison.difference(0.95)),
        ratio(before.makespan_us, after.makespan_us),
        percent(ours / reference - 1.0),
        ratio(
            before.rtt_per_round_trip_us.mean,
            after.rtt_per_round_trip_us.mean,
        ),
    ]
}
