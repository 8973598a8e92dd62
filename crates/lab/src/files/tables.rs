//! `flows.csv` and `series.csv`.

use std::io::{self, Write};

use paceline_fabric::outcome::{Outcome, QueueRecord};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::units::PS_PER_S;

use crate::RunInput;
use crate::results::flow_rows;

/// Ports whose queues are written: those with the largest samples.
const PORTS_MAX: usize = 256;

/// Writes a row per flow, in order of start.
pub(super) fn flows(out: &mut impl Write, input: &RunInput, outcome: &Outcome) -> io::Result<()> {
    let names = input.scheme_names();
    let mut csv = csv::Writer::from_writer(out);
    if outcome.flows.is_empty() {
        // The writer derives the header from the first row.
        csv.write_record(FLOW_COLUMNS).map_err(io::Error::from)?;
    }
    for row in flow_rows(input, outcome, &names) {
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

/// Whether there is anything for [`series`] to write.
pub(super) fn has_series(outcome: &Outcome) -> bool {
    !outcome.rates.is_empty() || outcome.queues.iter().any(|queue| !queue.series.is_empty())
}

/// Writes time series, one value a row: `entity, metric, time_ps, value`.
///
/// * `port <switch>.<interface>-><peer>`, `queue_bytes`: whenever a sample differs from the one before;
/// * `flow <flow_id>`, `goodput_bps`: bytes acknowledged in the bin that starts at the time, as a rate.
pub(super) fn series(out: &mut impl Write, spec: &RunSpec, outcome: &Outcome) -> io::Result<()> {
    writeln!(out, "entity,metric,time_ps,value")?;
    for queue in largest_queues(outcome) {
        let port = queue.port;
        for (time, bytes) in &queue.series {
            let (node, interface, peer) = (port.node.0, port.interface, port.peer.0);
            writeln!(
                out,
                "port {node}.{interface}->{peer},queue_bytes,{},{bytes}",
                time.as_ps()
            )?;
        }
    }
    let bin = spec.record.rate_every.map_or(0, |span| span.as_ps());
    for rate in outcome.rates.iter().filter(|_| bin > 0) {
        for (k, &bytes) in (rate.first_bin..).zip(&rate.bytes) {
            let bps = u128::from(bytes) * 8 * u128::from(PS_PER_S) / u128::from(bin);
            writeln!(out, "flow {},goodput_bps,{},{bps}", rate.flow, k * bin)?;
        }
    }
    Ok(())
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
        insta::assert_snapshot!("series_csv", text(|out| series(out, &input.run, &outcome)));
    }
}
