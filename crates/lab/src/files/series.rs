//! `series.parquet`: sampled and binned time series of a run.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use paceline_fabric::outcome::{Bin, Binned, FlowSeries, Outcome, QueueRecord, StateRecord};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_kernel::units::PS_PER_S;
use serde::{Deserialize, Serialize};

use super::columns::{Column, GROUP_ROWS, Values, groups, read_metadata, read_parquet};
use super::ports::{PAUSED, WAITING, port_series};

/// Maximum number of ports whose queues are written: those with the largest samples.
const PORTS_MAX: usize = 256;
/// Metadata key of each metric's [`Resolution`].
const RESOLUTION: &str = "resolution";

/// Writes time series, one bin per row: `entity, metric, time_ps, value, min, max, last`.
pub(super) fn write(out: &mut impl Write, all: &[Series], metadata: &[(&str, String)]) -> io::Result<()> {
    let mut metadata = metadata.to_vec();
    let resolution = serde_json::to_string(&resolution(all)).expect("texts and numbers");
    metadata.push((RESOLUTION, resolution));
    let mut rows = Rows::default();
    let mut file = groups(out, &Rows::default().columns(), &metadata)?;
    for one in all {
        let names = names(one);
        for i in 0..one.points.len() {
            rows.push(one, i, &names);
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
}

#[derive(Default)]
struct Rows {
    entity: Vec<Option<Arc<str>>>,
    metric: Vec<Option<Arc<str>>>,
    time: Vec<Option<i64>>,
    value: Vec<Option<f64>>,
    min: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    last: Vec<Option<f64>>,
}

/// Returns series as the columns of `series.parquet`.
pub fn series_columns<'a>(all: impl IntoIterator<Item = &'a Series>) -> Vec<Column> {
    let mut rows = Rows::default();
    for one in all {
        let names = names(one);
        (0..one.points.len()).for_each(|i| rows.push(one, i, &names));
    }
    rows.columns().into()
}

/// Returns entity and metric, shared by all rows of a series.
fn names(one: &Series) -> [Arc<str>; 2] {
    [&one.entity, &one.metric].map(|name| Arc::from(&**name))
}

impl Rows {
    /// Adds point `i` of a series.
    fn push(&mut self, one: &Series, i: usize, [entity, metric]: &[Arc<str>; 2]) {
        let (at, value) = one.points[i];
        let range = one.samples().then(|| one.range(i));
        self.entity.push(Some(entity.clone()));
        self.metric.push(Some(metric.clone()));
        self.time.push(Some(at as i64));
        self.value.push(Some(value));
        self.min.push(range.map(|range| range.min));
        self.max.push(range.map(|range| range.max));
        self.last.push(range.map(|range| range.last));
    }

    fn columns(self) -> [Column; 7] {
        [
            Column::new("entity", Values::Text(self.entity)),
            Column::new("metric", Values::Text(self.metric)),
            Column::new("time_ps", Values::Int(self.time)),
            Column::new("value", Values::Real(self.value)),
            Column::new("min", Values::Real(self.min)),
            Column::new("max", Values::Real(self.max)),
            Column::new("last", Values::Real(self.last)),
        ]
    }
}

/// Time resolution of a metric.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Resolution {
    /// Time between two samples or, for counts in bins, the requested width.
    recorded_ps: u64,
    /// Width of the bins of all entities except those in `wider`.
    bin_ps: u64,
    /// Widths of the bins of the other entities.
    #[serde(default)]
    wider: SortedMap<String, u64>,
}

/// Returns the resolution of each metric.
fn resolution(all: &[Series]) -> SortedMap<&str, Resolution> {
    let mut found: SortedMap<&str, Resolution> = SortedMap::new();
    for one in all.iter().filter(|one| one.bin_ps > 0) {
        let metric = found.entry(&one.metric).or_default();
        metric.recorded_ps = one.period_ps;
        if metric.bin_ps == 0 || one.bin_ps < metric.bin_ps {
            metric.bin_ps = one.bin_ps;
        }
    }
    for one in all {
        if let Some(metric) = found.get_mut(&*one.metric)
            && one.bin_ps > metric.bin_ps
        {
            metric.wider.insert(one.entity.clone(), one.bin_ps);
        }
    }
    found
}

/// Reads the series of a `series.parquet`, in its order.
///
/// # Errors
/// The file cannot be read, or is not what a run writes.
pub fn read_series(path: &Path) -> Result<Vec<Series>, String> {
    let columns = read_parquet(path).map_err(|error| error.to_string())?;
    let find = |name: &str| {
        let found = columns.iter().find(|column| column.name == name);
        found.map(|column| &column.values)
    };
    let column = |name: &str| find(name).ok_or_else(|| format!("there is no column `{name}`"));
    let (Values::Text(entity), Values::Text(metric), Values::Int(time), Values::Real(value)) = (
        column("entity")?,
        column("metric")?,
        column("time_ps")?,
        column("value")?,
    ) else {
        return Err("expected texts `entity` and `metric`, whole numbers `time_ps`, numbers `value`".into());
    };
    let range = |row: usize| -> Option<Range> {
        let [min, max, last] = ["min", "max", "last"].map(|name| match find(name) {
            Some(Values::Real(all)) => all[row],
            _ => None,
        });
        Some(Range {
            min: min?,
            max: max?,
            last: last?,
        })
    };
    let resolutions = read_resolution(path)?;
    let mut all: Vec<Series> = Vec::new();
    for (row, fields) in entity.iter().zip(metric).zip(time.iter().zip(value)).enumerate() {
        let ((Some(entity), Some(metric)), (&Some(time), &Some(value))) = fields else {
            return Err(format!("row {}: a value is missing", row + 1));
        };
        let time = u64::try_from(time).map_err(|_| format!("row {}: time {time} ps", row + 1))?;
        // The rows of a series follow each other, so only the last series can be the one of this row.
        let same = |last: &&mut Series| *last.entity == **entity && *last.metric == **metric;
        if all.last_mut().filter(same).is_none() {
            let mut one = Series::new(&**entity, &**metric, Vec::new());
            if let Some(resolution) = resolutions.get(&**metric) {
                one.period_ps = resolution.recorded_ps;
                one.bin_ps = resolution
                    .wider
                    .get(&**entity)
                    .copied()
                    .unwrap_or(resolution.bin_ps);
            }
            all.push(one);
        }
        let one = all.last_mut().expect("it is there");
        one.points.push((time, value));
        if one.bin_ps > one.period_ps {
            one.ranges.extend(range(row));
        }
    }
    Ok(all)
}

/// Reads the resolution of each metric; returns an empty map if the file has none.
fn read_resolution(path: &Path) -> Result<SortedMap<String, Resolution>, String> {
    let text = read_metadata(path, RESOLUTION).map_err(|error| error.to_string())?;
    text.map_or(Ok(SortedMap::new()), |text| {
        serde_json::from_str(&text).map_err(|error| format!("its `{RESOLUTION}`: {error}"))
    })
}

/// Samples or bins of one metric of one port, switch, flow or run.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Owner: `port <node>.<interface>-><peer>`, `switch <node>`, `flow <flow_id>`, `run`. With data in several
    /// classes, the entity of a port's states ends with ` class <class>`; with several lanes, that of its credits ends
    /// with ` lane <lane>`.
    pub entity: String,
    /// Quantity: [`QUEUE`], [`STATE`], [`CREDITS`], [`GOODPUT`], [`RATE`], [`WINDOW`], [`RTT`], or one of
    /// [`super::ports`].
    pub metric: String,
    /// (time in ps, value), in order of time. For a bin with several samples the value is their unweighted mean.
    pub points: Vec<(u64, f64)>,
    /// Ranges of the samples of each point; empty if every point is one sample.
    pub ranges: Vec<Range>,
    /// Time between two samples or, for counts in bins, the requested width; in ps. 0 if unknown.
    pub period_ps: u64,
    /// Width of a point's bin in ps; greater than `period_ps` if there were more samples than are kept.
    pub bin_ps: u64,
}

/// Range of the samples in a bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest sample in the bin.
    pub min: f64,
    /// Largest sample in the bin.
    pub max: f64,
    /// Last sample in order of time.
    pub last: f64,
}

impl Series {
    /// Creates a series of single values, without ranges or bins.
    pub fn new(entity: impl Into<String>, metric: impl Into<String>, points: Vec<(u64, f64)>) -> Self {
        Self {
            entity: entity.into(),
            metric: metric.into(),
            points,
            ranges: Vec::new(),
            period_ps: 0,
            bin_ps: 0,
        }
    }

    /// Sets the width of the bins to `bin_ps` and the requested width to `period_ps`.
    pub(super) fn in_bins(self, period_ps: u64, bin_ps: u64) -> Self {
        Self {
            period_ps,
            bin_ps,
            ..self
        }
    }

    /// Returns the range of the samples of point `i`; for a single sample, its value.
    pub fn range(&self, i: usize) -> Range {
        let value = self.points[i].1;
        self.ranges.get(i).copied().unwrap_or(Range {
            min: value,
            max: value,
            last: value,
        })
    }

    /// Returns true if the points are samples rather than counts in bins.
    fn samples(&self) -> bool {
        [QUEUE, STATE, CREDITS, RATE, WINDOW, RTT].contains(&&*self.metric)
    }

    /// Returns the largest sample, or 0 if there is none.
    pub fn largest(&self) -> f64 {
        let all = (0..self.points.len()).map(|i| self.range(i).max);
        all.fold(0.0, f64::max)
    }
}

/// Bytes in a port's queues, sampled; a point wherever the samples of a bin differ from the one before.
pub const QUEUE: &str = "queue_bytes";
/// State of a port's detector, sampled: 0 not congested, 1 checking, 2 undetermined, 3 congested.
pub const STATE: &str = "state";
/// Credits of a lane of a port, sampled: the amount that it may send, in packets (fidelity ib-omnet) or in units of
/// `network.credit.unit`.
pub const CREDITS: &str = "credits";
/// Rate in bit/s at which a flow's bytes were acknowledged in the bin that starts at the time.
pub const GOODPUT: &str = "goodput_bps";
/// Rate that a flow's scheme allows, in bit/s, sampled.
pub const RATE: &str = "rate_bps";
/// Payload bytes that a flow's scheme allows in flight, sampled; only for schemes with a window.
pub const WINDOW: &str = "window_bytes";
/// Last round-trip time of a flow, in us, sampled.
pub const RTT: &str = "rtt_us";

/// Makes a series of samples; `of` converts a sample to a value.
fn sampled(entity: String, metric: &str, samples: &Binned, of: impl Fn(f64) -> f64) -> Series {
    let bins: Vec<Bin> = samples.bins().collect();
    let points = bins.iter().map(|bin| (bin.at.as_ps(), of(bin.mean)));
    let mut one = Series::new(entity, metric, points.collect())
        .in_bins(samples.period().as_ps(), samples.width().as_ps());
    if one.bin_ps > one.period_ps {
        let range = |bin: &Bin| Range {
            min: of(bin.min as f64),
            max: of(bin.max as f64),
            last: of(bin.last as f64),
        };
        one.ranges = bins.iter().map(range).collect();
    }
    one
}

/// Returns the time series of a run: queues in the order of ports, then flows.
pub fn series_of(spec: &RunSpec, outcome: &Outcome) -> Vec<Series> {
    let queue = |queue: &QueueRecord| sampled(queue.port.to_string(), QUEUE, &queue.series, |bytes| bytes);
    let mut all: Vec<Series> = largest_queues(outcome).into_iter().map(queue).collect();
    let named = if spec.lanes.is_some() { "lane" } else { "class" };
    all.extend(classes(&outcome.states, STATE, named));
    all.extend(classes(&outcome.credit_series, CREDITS, "lane"));
    let asked = spec.record.rate_every.map_or(0, |span| span.as_ps());
    let bin = outcome.rate_bin.as_ps();
    // In 64 bits, 2.3 MB in a bin would overflow.
    let bps = |bytes: u64| (u128::from(bytes) * 8 * u128::from(PS_PER_S) / u128::from(bin)) as f64;
    let recorded = outcome.rates.iter();
    all.extend(
        recorded
            .filter(|rate| asked > 0 && !rate.bytes.is_empty())
            .map(|rate| {
                let bins = (rate.first_bin..).zip(&rate.bytes);
                let points = bins.map(|(k, &bytes)| (k * bin, bps(bytes))).collect();
                Series::new(format!("flow {}", rate.flow), GOODPUT, points).in_bins(asked, bin)
            }),
    );
    if let Some(ports) = &outcome.ports {
        let asked = spec.record.port_bin.unwrap_or(ports.bin);
        let held_back = match spec.is_under_credits() {
            true => WAITING,
            false => PAUSED,
        };
        let stands = outcome.deadlock.as_ref().is_some_and(|found| found.ended);
        all.extend(port_series(ports, asked.as_ps(), held_back, stands));
    }
    all.extend(outcome.flow_series.iter().flat_map(limits));
    all
}

/// Returns rate, window and round-trip time of a flow.
fn limits(flow: &FlowSeries) -> impl Iterator<Item = Series> {
    let name = || format!("flow {}", flow.flow);
    let series = [
        sampled(name(), RATE, &flow.rate, |bps| bps),
        sampled(name(), WINDOW, &flow.window, |bytes| bytes),
        sampled(name(), RTT, &flow.rtt, |ps| ps / 1e6),
    ];
    series.into_iter().filter(|series| !series.points.is_empty())
}

/// Returns the states of ports that were ever anything but not congested, or the credits of ports; entities name the
/// class or lane if there are several.
fn classes(all: &[StateRecord], metric: &'static str, what: &'static str) -> impl Iterator<Item = Series> {
    let first = all.first().map(|record| record.priority);
    let several = all.iter().any(|record| Some(record.priority) != first);
    let changed = all.iter().filter(|record| !record.series.is_empty());
    changed.map(move |record| {
        let port = record.port.to_string();
        let entity = match several {
            true => format!("{port} {what} {}", record.priority),
            false => port,
        };
        sampled(entity, metric, &record.series, |value| value)
    })
}

/// Returns the queues with the largest samples, in the order of ports.
fn largest_queues(outcome: &Outcome) -> Vec<&QueueRecord> {
    let mut order: Vec<usize> = (0..outcome.queues.len()).collect();
    order.retain(|&i| !outcome.queues[i].series.is_empty());
    order.order_by_key(|&i| (std::cmp::Reverse(outcome.queues[i].max), i));
    order.truncate(PORTS_MAX);
    order.sort_unstable();
    order.into_iter().map(|i| &outcome.queues[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::columns::write_parquet;
    use crate::sample;
    use paceline_kernel::{Span, Time};

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
        let points = || (0..GROUP_ROWS as u64).map(|n| (n, (n % 7) as f64)).collect();
        let long = |entity: &str| Series::new(entity, QUEUE, points());
        let all = [long("port 0.1->1"), long("port 0.2->2")];
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("series.parquet");
        write(&mut std::fs::File::create(&path).unwrap(), &all, &[]).unwrap();
        assert_eq!(read_series(&path).unwrap(), all);
    }

    #[test]
    fn limits_have_points_where_they_change() {
        let of = |samples: &[u64]| {
            let from = Time::from_ns(10);
            Binned::of_samples(from, Span::from_ns(10), samples.iter().copied())
        };
        let flow = FlowSeries {
            flow: 3,
            rate: of(&[100, 100, 50, 50]),
            window: of(&[]),
            rtt: of(&[0, 4_200_000, 4_200_000, 4_200_000]),
        };
        let found: Vec<_> = limits(&flow).collect();
        let series = |metric: &str, points: &[(u64, f64)]| {
            Series::new("flow 3", metric, points.to_vec()).in_bins(10_000, 10_000)
        };
        assert_eq!(
            found,
            [
                series("rate_bps", &[(10_000, 100.0), (30_000, 50.0), (40_000, 50.0)]),
                series("rtt_us", &[(20_000, 4.2), (40_000, 4.2)]),
            ]
        );
    }

    /// The file keeps the ranges of the samples in a bin and the widths of the bins.
    #[test]
    fn bins_of_many_samples_keep_what_these_were() {
        let samples = |k: u64| if k % 1000 < 5 { 1000 * (k % 7) } else { 0 };
        let busy = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        let of = |sample: &dyn Fn(u64) -> u64| {
            Binned::of_samples(Time::ZERO, Span::from_ns(200), (0..100_000).map(sample))
        };
        let all = [
            sampled("port 0.1->1".into(), QUEUE, &of(&busy), |bytes| bytes),
            sampled("port 0.2->2".into(), QUEUE, &of(&samples), |bytes| bytes),
        ];
        assert_eq!([all[0].bin_ps, all[1].bin_ps], [400_000, 200_000]);
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("series.parquet");
        write(&mut std::fs::File::create(&path).unwrap(), &all, &[]).unwrap();
        assert_eq!(read_series(&path).unwrap(), all);
        assert_eq!(
            read_metadata(&path, RESOLUTION).unwrap().unwrap(),
            r#"{"queue_bytes":{"recorded_ps":200000,"bin_ps":200000,"wider":{"port 0.1->1":400000}}}"#
        );
        let columns = read_parquet(&path).unwrap();
        let column = |name: &str| match &columns.iter().find(|column| column.name == name).unwrap().values {
            Values::Real(all) => all.iter().map(|value| value.unwrap()).collect::<Vec<f64>>(),
            other => panic!("{other:?}"),
        };
        let [value, min, max, last] = ["value", "min", "max", "last"].map(column);
        for k in 0..50_000 {
            let two = [busy(2 * k), busy(2 * k + 1)].map(|bytes| bytes as f64);
            let k = k as usize;
            assert_eq!((min[k], max[k]), (two[0].min(two[1]), two[0].max(two[1])));
            assert_eq!((value[k], last[k]), ((two[0] + two[1]) / 2.0, two[1]));
        }
        // A single sample is its own range, in the file too.
        assert!((50_000..value.len()).all(|i| [min[i], max[i], last[i]] == [value[i]; 3]));
    }
}
