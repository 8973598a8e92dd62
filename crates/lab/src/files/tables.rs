//! `flows.csv` and `series.parquet`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use paceline_fabric::outcome::{Outcome, QueueRecord};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::units::PS_PER_S;

use super::columns::{Column, Values, read_parquet, write_parquet};
use super::ports::{name_of, port_series};
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
pub(super) fn series(out: &mut (impl Write + Send), all: &[Series]) -> io::Result<()> {
    let rows: usize = all.iter().map(|one| one.points.len()).sum();
    let (mut entity, mut metric) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (mut time, mut value) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for one in all {
        let (of, what): (Arc<str>, Arc<str>) = (Arc::from(&*one.entity), Arc::from(&*one.metric));
        for &(at, v) in &one.points {
            entity.push(Some(of.clone()));
            metric.push(Some(what.clone()));
            time.push(Some(at as i64));
            value.push(Some(v));
        }
    }
    let columns = [
        Column::new("entity", Values::Text(entity)),
        Column::new("metric", Values::Text(metric)),
        Column::new("time_ps", Values::Int(time)),
        Column::new("value", Values::Real(value)),
    ];
    write_parquet(out, &columns, &[])
}

/// The series of a file that [`series`] wrote, in its order.
pub(crate) fn read_series(path: &Path) -> Result<Vec<Series>, String> {
    let columns = read_parquet(path).map_err(|error| error.to_string())?;
    let column = |name: &str| {
        let found = columns.iter().find(|column| column.name == name);
        found
            .map(|column| &column.values)
            .ok_or_else(|| format!("there is no column `{name}`"))
    };
    let (Values::Text(entity), Values::Text(metric), Values::Int(time), Values::Real(value)) = (
        column("entity")?,
        column("metric")?,
        column("time_ps")?,
        column("value")?,
    ) else {
        return Err("expected texts `entity` and `metric`, whole numbers `time_ps`, numbers `value`".into());
    };
    let mut all: Vec<Series> = Vec::new();
    for (row, fields) in entity.iter().zip(metric).zip(time.iter().zip(value)).enumerate() {
        let ((Some(entity), Some(metric)), (&Some(time), &Some(value))) = fields else {
            return Err(format!("row {}: a value is missing", row + 1));
        };
        let time = u64::try_from(time).map_err(|_| format!("row {}: time {time} ps", row + 1))?;
        match all.last_mut() {
            Some(last) if *last.entity == **entity && *last.metric == **metric => {
                last.points.push((time, value))
            }
            _ => all.push(Series {
                entity: entity.to_string(),
                metric: metric.to_string(),
                points: vec![(time, value)],
            }),
        }
    }
    Ok(all)
}

/// A time series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is about: `port <node>.<interface>-><peer>`, `switch <node>`, `flow <flow_id>`, `run`.
    pub entity: String,
    /// Which quantity: [`QUEUE`], [`GOODPUT`], or one of [`super::ports`].
    pub metric: String,
    /// (time in ps, value), in order of time.
    pub points: Vec<(u64, f64)>,
}

/// Bytes in a port's queues, whenever a sample differs from the one before.
pub const QUEUE: &str = "queue_bytes";
/// Bytes of a flow acknowledged in the bin that starts at the time, as a rate in bit/s.
pub const GOODPUT: &str = "goodput_bps";

/// The time series of a run: queues in the order of ports, then flows.
pub fn series_of(spec: &RunSpec, outcome: &Outcome) -> Vec<Series> {
    let queue = |queue: &QueueRecord| Series {
        entity: name_of(&queue.port),
        metric: QUEUE.to_string(),
        points: queue
            .series
            .iter()
            .map(|&(time, bytes)| (time.as_ps(), f64::from(bytes)))
            .collect(),
    };
    let mut all: Vec<Series> = largest_queues(outcome).into_iter().map(queue).collect();
    let bin = spec.record.rate_every.map_or(0, |span| span.as_ps());
    let bps = |bytes: u64| (u128::from(bytes) * 8 * u128::from(PS_PER_S) / u128::from(bin)) as f64;
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
    if let Some(ports) = &outcome.ports {
        all.extend(port_series(ports));
    }
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
    fn series_are_read_as_they_were_written() {
        let (input, outcome) = sample::incast();
        let all = series_of(&input.run, &outcome);
        assert!(all.len() > 1 && all.iter().all(|one| !one.points.is_empty()));
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("series.parquet");
        series(&mut std::fs::File::create(&path).unwrap(), &all).unwrap();
        assert_eq!(read_series(&path).unwrap(), all);
        insta::assert_debug_snapshot!("series", all);
    }

    #[test]
    fn a_file_of_other_columns_is_no_series() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("series.parquet");
        let columns = [Column::new("entity", Values::Int(vec![Some(1)]))];
        write_parquet(&mut std::fs::File::create(&path).unwrap(), &columns, &[]).unwrap();
        assert_eq!(read_series(&path).unwrap_err(), "there is no column `metric`");
    }
}
