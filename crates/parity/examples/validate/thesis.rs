//! The 20-to-1 incast of a thesis.

use paceline_lab::results::Summary;
use paceline_lab::stats::{RttSummary, mean, percentile};
use paceline_reproduce::{Done, find};

use crate::compare::{paragraph, percent, table};
use crate::equality::Checked;

/// Returns table 6 of the thesis: scheme, mean, 99th percentile and maximum of the RTT in µs, mean rate in Gbit/s.
fn printed() -> Vec<(String, [f64; 4])> {
    let table = find("thesis-table6")
        .expect("it is built in")
        .panels(&Done::default())
        .remove(0);
    let of = |(index, column): (usize, &paceline_reproduce::Column)| {
        let value = |row: usize| table.cells[row][index].paper.unwrap_or(f64::NAN);
        (column.scheme.clone(), [0, 2, 3, 1].map(value))
    };
    table.columns.iter().enumerate().map(of).collect()
}

fn figures(rtt: &RttSummary, summary: &Summary) -> [f64; 4] {
    [rtt.mean, rtt.p99, rtt.max, summary.rate_while_active_gbps].map(|value| value.unwrap_or(f64::NAN))
}

/// Computes statistics of ascending round-trip times.
fn settled(us: &[f64]) -> RttSummary {
    RttSummary {
        samples: us.len() as u64,
        mean: mean(us),
        p50: percentile(us, 0.5),
        p99: percentile(us, 0.99),
        max: us.last().copied(),
    }
}

/// Formats values with the thesis's numbers of digits.
fn digits([mean, p99, max, rate]: [f64; 4]) -> [String; 4] {
    [
        format!("{mean:.4}"),
        format!("{p99:.3}"),
        format!("{max:.3}"),
        format!("{rate:.4}"),
    ]
}

fn row(name: &str, which: &str, figures: [f64; 4], printed: [f64; 4]) -> Vec<String> {
    let pairs = digits(figures).into_iter().zip(digits(printed));
    // Values equal in every digit are set in bold.
    let cells = pairs.map(|(ours, theirs)| {
        if ours == theirs {
            format!("**{ours}**")
        } else {
            ours
        }
    });
    [name.to_string(), which.to_string()]
        .into_iter()
        .chain(cells)
        .collect()
}

/// Returns the candidate closest to each printed value, with its difference.
fn closest(candidates: &[(String, [f64; 4])], printed: [f64; 4]) -> String {
    let names = ["RTT mean", "p99", "max", "rate"];
    let closest = |i: usize| {
        let off = |figures: &[f64; 4]| figures[i] / printed[i] - 1.0;
        let order =
            |a: &&(String, [f64; 4]), b: &&(String, [f64; 4])| off(&a.1).abs().total_cmp(&off(&b.1).abs());
        let best = candidates.iter().min_by(order);
        best.map(|(name, figures)| format!("{}: {name} ({})", names[i], percent(off(figures))))
    };
    (0..4).filter_map(closest).collect::<Vec<_>>().join("; ")
}

/// Returns the section with table 6 of the thesis next to our results.
pub(crate) fn section(checked: &[Checked]) -> String {
    let find = |scheme: &str| {
        let mut runs = checked.iter();
        runs.find(|run| run.case.scenario == "b_incast20" && run.case.scheme == scheme)
    };
    let mut rows = Vec::new();
    let mut timely = Vec::new();
    for (scheme, printed) in printed() {
        rows.push(row(&scheme, "thesis", printed, [f64::NAN; 4]));
        // The other schemes have windows by design.
        let variants: &[&str] = if scheme == "timely" { &["", "_vwin"] } else { &[""] };
        for name in variants.iter().map(|variant| format!("{scheme}{variant}")) {
            let Some(run) = find(&name) else {
                continue;
            };
            let summary = &run.finished.summary;
            let mut ways = vec![
                ("every ACK", summary.rtt_per_ack_us),
                ("one per round trip", summary.rtt_per_round_trip_us),
            ];
            if scheme == "timely" {
                ways.push(("the same without the first 2.5 ms", settled(&run.settled_us)));
            }
            for (which, rtt) in ways {
                let ours = figures(&rtt, summary);
                rows.push(row(&name, which, ours, printed));
                if scheme == "timely" {
                    timely.push((format!("`{name}`, {which}"), ours));
                }
            }
        }
    }
    let introduction = "Table 6 of the thesis 基于神经网络的拥塞控制算法研究 (congestion control by neural networks) has the incast of 20 (`b_incast20`), run on the \
                        same simulator: RTT in µs, and payload over the sum of completion times in Gbit/s. Bold: the same in \
                        every digit.";
    let discussion = format!(
        "Where a figure of HPCC's or DCTCP's is not bold, the thesis and the reference differ, not the reference and Paceline: \
         our rates follow from `fct.txt` and our round trips are those of `rtt_samples.txt`, and both are the reference's byte \
         for byte. Shuffling simultaneous events alone moves HPCC's rate further than it is off here (below). \
         TIMELY's row is of another first rate: here its senders start at line rate, with a window (`timely_vwin`) or without, \
         which makes queues of milliseconds and pauses. From 10 Gbit/s (`cc.timely.start-rate`), by the round trips on which \
         TIMELY decides, all four figures come out in every digit (`paceline reproduce thesis-table6`; the rate was found by \
         trying nine). The closest of ours by figure: {}.",
        closest(&timely, printed()[1].1)
    );
    format!(
        "## The incast of a thesis\n\n{}\n{}\n{}",
        paragraph(introduction),
        table(
            &["scheme", "RTT samples", "RTT mean", "p99", "max", "rate"],
            &rows
        ),
        paragraph(&discussion)
    )
}
