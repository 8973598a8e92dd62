//! `flows.csv` and `series.csv`.

use std::io::{self, Write};

use paceline_fabric::outcome::{Outcome, QueueRecord};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::units::PS_PER_S;

use crate::results::flow_rows;
use paceline_scenario::Resolved;

/// Ports whose queues are written: those with the largest samples.
const PORTS_MAX: usize = 256;

/// Writes a row per flow, in order of start.
pub(super) fn flows(out: &mut impl Write, input: &Resolved, outcome: &Outcome) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    if outcome.flows.is_empty() {
        // The writer derives the header from the first row.
        csv.write_record(FLOW_COLUMNS).map_err(io::Error::from)?;
    }
    for row in flow_rows(input, outcome) {
        csv.serialize(row).map_err(io::Error::from)?;
    }
    csv.flush()
}

const FLOW_COLUMNS: [&str; 13] = [
    "flow_id",
    "label",
    "scheme",
    "src",
    "dst",
    "priority",
    "size_bytes",
    "start_ps",
    "fct_ps",
    "ideal_fct_ps",
    "slowdown",
    "retransmitted_bytes",
    "status",
];

/// Writes time series, one value a row: `entity, metric, time_ps, value`.
pub(super) fn series(out: &mut impl Write, all: &[Series]) -> io::Result<()> {
    writeln!(out, "entity,metric,time_ps,value")?;
    for one in all {
        for (time, value) in &one.points {
            writeln!(out, "{},{},{time},{value}", one.entity, one.metric)?;
        }
    }
    Ok(())
}

/// A time series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What it is about: `port <switch>.<interface>-><peer>`, `flow <flow_id>`.
    pub entity: String,
    /// Which quantity: [`QUEUE`] or [`GOODPUT`].
    pub metric: String,
    /// (time in ps, value), in order of time.
    pub points: Vec<(u64, u64)>,
}

/// Bytes in a port's queues, whenever a sample differs from the one before.
pub const QUEUE: &str = "queue_bytes";
/// Bytes of a flow acknowledged in the bin that starts at the time, as a rate in bit/s.
pub const GOODPUT: &str = "goodput_bps";

/// The time series of a run: queues in the order of ports, then flows.
pub fn series_of(spec: &RunSpec, outcome: &Outcome) -> Vec<Series> {
    let queue = |queue: &QueueRecord| Series {
        entity: format!(
            "port {}.{}->{}",
            queue.port.node.0, queue.port.interface, queue.port.peer.0
        ),
        metric: QUEUE.to_string(),
        points: queue
            .series
            .iter()
            .map(|&(time, bytes)| (time.as_ps(), u64::from(bytes)))
            .collect(),
    };
    let mut all: Vec<Series> = largest_queues(outcome).into_iter().map(queue).collect();
    let bin = spec.record.rate_every.map_or(0, |span| span.as_ps());
    let bps = |bytes: u64| (u128::from(bytes) * 8 * u128::from(PS_PER_S) / u128::from(bin)) as u64;
    all.extend(
        outcome
            .rates
            .iter()
            .filter(|rate| bin > 0 && !rate.bytes.is_empty())
            .map(|rate| Series {
                entity: format!("flow {}", rate.flow),
                metric: GOODPUT.to_string(),
                points: (rate.first_bin..)
                    .zip(&rate.bytes)
                    .map(|(k, &bytes)| (k * bin, bps(bytes)))
                    .collect(),
            }),
    );
    all
}

/// The queues with the largest samples, in the order of ports.
fn largest_queues(outcome: &Outcome) -> Vec<&QueueRecord> {
    let mut order: Vec<usize> = (0..outcome.queues.len()).collect();
    order.retain(|&i| !outcome.queues[i].series.is_empty());
    order.sort_by_key(|&i| (std::cmp::Reverse(outcome.queues[i].max), i));
    order.truncate(PORTS_MAX);
    order.sort_unstable();
    order.into_iter().map(|i| &outcome.queues[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn text(fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        fill(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn flows_csv() {
        let (mut input, outcome) = sample::incast();
        input.run.labels[1] = "big, \"quoted\"".into();
        let csv = text(|out| flows(out, &input, &outcome));
        assert_eq!(csv.lines().next().unwrap(), FLOW_COLUMNS.join(","));
        insta::assert_snapshot!("flows_csv", csv);
    }

    #[test]
    fn flows_csv_has_a_header_without_flows() {
        let (mut input, mut outcome) = sample::incast();
        input.run.flows.clear();
        outcome.flows.clear();
        assert_eq!(
            text(|out| flows(out, &input, &outcome)),
            format!("{}\n", FLOW_COLUMNS.join(","))
        );
    }

    #[test]
    fn series_csv() {
        let (input, outcome) = sample::incast();
        insta::assert_snapshot!(
            "series_csv",
            text(|out| series(out, &series_of(&input.run, &outcome)))
        );
    }
}
