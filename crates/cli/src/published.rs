//! Published numbers that a comparison shows beside ours.

use paceline_lab::results::Summary;
use paceline_lab::table::{self, Published};

/// What a table is from.
pub(crate) const SOURCE: &str = "a thesis on congestion control by neural networks, table 6: \
                                 the 20-to-1 incast in HPCC's ns-3 simulator";

/// Scheme; mean RTT in µs over all ACKs, mean rate in Gbit/s, 99th percentile and largest RTT in µs.
const TABLE_6: [(&str, [f64; 4]); 3] = [
    ("hpcc", [4.3223, 16.3949, 4.56, 90.48]),
    ("timely", [11.9797, 15.6302, 102.673, 165.244]),
    ("dctcp", [14.6578, 17.4700, 28.054, 86.32]),
];

/// Measured with the public simulator, to tell a fault of ours from a setting of theirs.
const TIMELY_NOTE: &str = "\
TIMELY: HPCC's public simulator with its own parameters gives a mean of 72.68 µs and a maximum of
1879.1 µs, as we do in ns3-hpcc fidelity; the published run must have had other settings.
";

/// A quantity of the table, and where a summary has it.
type Quantity = (&'static str, fn(&Summary) -> Option<f64>);

const QUANTITIES: [Quantity; 4] = [
    ("mean RTT, µs", |s| s.rtt_all_us.mean),
    ("mean rate, Gbit/s", |s| s.rate_mean_gbps),
    ("p99 RTT, µs", |s| s.rtt_all_us.p99),
    ("max RTT, µs", |s| s.rtt_all_us.max),
];

/// Whether a scenario of this name is the one that the table is about.
pub(crate) fn covers(scenario: &str) -> bool {
    matches!(scenario, "incast-20" | "b_incast20")
}

/// Our values beside the published ones, for those of `runs` that have some.
pub(crate) fn beside(runs: &[&Summary]) -> String {
    let (mut published, mut ours) = (Vec::new(), Vec::new());
    for run in runs {
        let Some((_, values)) = TABLE_6.iter().find(|(scheme, _)| *scheme == run.scheme) else {
            continue;
        };
        for ((metric, of), &value) in QUANTITIES.iter().zip(values) {
            published.push(Published {
                case: run.scheme.clone(),
                metric: (*metric).to_string(),
                value,
            });
            ours.push(of(run));
        }
    }
    if published.is_empty() {
        return String::new();
    }
    let timely = runs.iter().any(|run| run.scheme == "timely");
    format!(
        "\npublished ({SOURCE}):\n{}{}",
        table::beside(&published, &ours),
        if timely { TIMELY_NOTE } else { "" }
    )
}

/// Metric and published value of every case, for `list reproductions`.
pub(crate) fn cases() -> impl Iterator<Item = (&'static str, &'static str, f64)> {
    TABLE_6.iter().flat_map(|(scheme, values)| {
        let metrics = QUANTITIES.iter().map(|(metric, _)| *metric);
        metrics
            .zip(values)
            .map(|(metric, &value)| (*scheme, metric, value))
    })
}
