//! `series.parquet`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use paceline_fabric::outcome::{FlowPoint, FlowSeries, Outcome, QueueRecord};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::units::PS_PER_S;
use paceline_kernel::{Bytes, Span};

use super::columns::{Column, GROUP_ROWS, GroupWriter, Values, read_parquet};
use super::ports::{name_of, port_series};

/// Ports whose queues are written: those with the largest samples.
const PORTS_MAX: usize = 256;

/// Writes time series, one value a row: `entity, metric, time_ps, value`.
pub(super) fn write(
    out: &mut (impl Write + Send),
    all: &[Series],
    metadata: &[(&str, String)],
) -> io::Result<()> {
    let write = || {
        let mut rows = Rows::default();
        let mut file = GroupWriter::new(out, &Rows::default().columns(), metadata)?;
        for one in all {
            let (of, what): (Arc<str>, Arc<str>) = (Arc::from(&*one.entity), Arc::from(&*one.metric));
            for &(at, value) in &one.points {
                rows.entity.push(Some(of.clone()));
                rows.metric.push(Some(what.clone()));
                rows.time.push(Some(at as i64));
                rows.value.push(Some(value));
                if rows.value.len() == GROUP_ROWS {
                    // There may be millions: they are never all here.
                    file.group(&std::mem::take(&mut rows).columns(), 0..GROUP_ROWS)?;
                }
            }
        }
        let left = rows.value.len();
        if left > 0 {
            file.group(&rows.columns(), 0..left)?;
        }
        file.close()
    };
    write().map_err(io::Error::other)
}

#[derive(Default)]
struct Rows {
    entity: Vec<Option<Arc<str>>>,
    metric: Vec<Option<Arc<str>>>,
    time: Vec<Option<i64>>,
    value: Vec<Option<f64>>,
}

impl Rows {
    fn columns(self) -> [Column; 4] {
        [
            Column::new("entity", Values::Text(self.entity)),
            Column::new("metric", Values::Text(self.metric)),
            Column::new("time_ps", Values::Int(self.time)),
            Column::new("value", Values::Real(self.value)),
        ]
    }
}

/// The series of a file that [`write`] wrote, in its order.
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
    /// Which quantity: [`QUEUE`], [`GOODPUT`], [`RATE`], [`WINDOW`], [`RTT`], or one of [`super::ports`].
    pub metric: String,
    /// (time in ps, value), in order of time.
    pub points: Vec<(u64, f64)>,
}

/// Bytes in a port's queues, whenever a sample differs from the one before.
pub const QUEUE: &str = "queue_bytes";
/// Bytes of a flow acknowledged in the bin that starts at the time, as a rate in bit/s.
pub const GOODPUT: &str = "goodput_bps";
/// The rate that a flow's scheme allows, in bit/s, from the time on.
pub const RATE: &str = "rate_bps";
/// Payload bytes that a flow's scheme allows in flight from the time on, where it bounds them.
pub const WINDOW: &str = "window_bytes";
/// A flow's last round-trip time, in us.
pub const RTT: &str = "rtt_us";

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
    all.extend(outcome.flow_series.iter().flat_map(limits));
    all
}

/// Rate, window and round-trip time of a flow, a point wherever one of them changes.
fn limits(flow: &FlowSeries) -> impl Iterator<Item = Series> {
    type Value = fn(&FlowPoint) -> Option<f64>;
    let metrics: [(&str, Value); 3] = [
        (RATE, |point| Some(point.rate.as_bps() as f64)),
        (WINDOW, |point| {
            (point.window != Bytes::MAX).then(|| point.window.get() as f64)
        }),
        (RTT, |point| {
            (point.rtt > Span::ZERO).then(|| point.rtt.as_ps() as f64 / 1e6)
        }),
    ];
    let series = metrics.map(|(metric, value)| {
        let points = flow.points.iter();
        let mut points: Vec<(u64, f64)> = points
            .filter_map(|point| Some((point.at.as_ps(), value(point)?)))
            .collect();
        points.dedup_by_key(|point| point.1);
        Series {
            entity: format!("flow {}", flow.flow),
            metric: metric.into(),
            points,
        }
    });
    series.into_iter().filter(|series| !series.points.is_empty())
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
    use crate::files::columns::write_parquet;
    use crate::sample;
    use paceline_kernel::{BitRate, Time};

    #[test]
    fn series_are_read_as_they_were_written() {
        let (input, outcome) = sample::incast();
        let all = series_of(&input.run, &outcome);
        assert!(all.len() > 1 && all.iter().all(|one| !one.points.is_empty()));
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("series.parquet");
        write(
            &mut std::fs::File::create(&path).unwrap(),
            &all,
            &[("seed", "7".to_string())],
        )
        .unwrap();
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

    #[test]
    fn many_points_take_several_groups() {
        let long = |entity: &str| Series {
            entity: entity.into(),
            metric: QUEUE.into(),
            points: (0..GROUP_ROWS as u64).map(|n| (n, (n % 7) as f64)).collect(),
        };
        let all = [long("port 0.1->1"), long("port 0.2->2")];
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("series.parquet");
        write(&mut std::fs::File::create(&path).unwrap(), &all, &[]).unwrap();
        assert_eq!(read_series(&path).unwrap(), all);
    }

    #[test]
    fn limits_have_points_where_they_change() {
        let point = |ns, gbps, window, rtt_ns| FlowPoint {
            at: Time::from_ns(ns),
            rate: BitRate::from_gbps(gbps),
            window,
            rtt: Span::from_ns(rtt_ns),
        };
        let flow = FlowSeries {
            flow: 3,
            points: vec![
                point(10, 100, Bytes::MAX, 0),
                point(20, 100, Bytes::MAX, 4_200),
                point(30, 50, Bytes::new(9_000), 4_200),
            ],
        };
        let found: Vec<_> = limits(&flow)
            .map(|series| (series.entity, series.metric, series.points))
            .collect();
        let series =
            |metric: &str, points: &[(u64, f64)]| ("flow 3".to_string(), metric.to_string(), points.to_vec());
        assert_eq!(
            found,
            [
                series("rate_bps", &[(10_000, 1e11), (30_000, 5e10)]),
                series("window_bytes", &[(30_000, 9e3)]),
                series("rtt_us", &[(20_000, 4.2)]),
            ]
        );
    }
}
