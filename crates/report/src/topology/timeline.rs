//! Activity of each port over time, in equal bins.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use serde::Serialize;

use super::pack::Packer;
use paceline_lab::files::ports::{BIN, BUFFER, MARKS, PAUSED, PAUSED_FOR, QUEUE_MAX, UTILISATION, WAITING};
use paceline_lab::files::{QUEUE, STATE, Series};

/// Largest number of bins on a page; the recorder has no more.
const BINS_MAX: u64 = 512;
/// Largest size of the values on a page, in characters.
const TEXT_MAX: usize = 4 << 20;

/// Method for merging the values of bins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    Largest,
    Mean,
    /// Value at the end.
    Last,
    /// Last value other than 0.
    Latest,
}

/// Quantity on the page, and the metrics it can be taken from, in order of preference.
struct Quantity {
    name: &'static str,
    metrics: &'static [&'static str],
    merge: Merge,
    /// True if a value takes two bytes instead of one.
    two: bool,
    /// Upper end of the scale; `None` for the largest value.
    top: Option<f64>,
    /// True for counts per bin, which the page shows per microsecond.
    counted: bool,
}

const QUANTITIES: [Quantity; 7] = [
    Quantity {
        name: "utilisation",
        metrics: &[UTILISATION],
        merge: Merge::Mean,
        two: false,
        top: Some(1.0),
        counted: false,
    },
    Quantity {
        name: "queue",
        metrics: &[QUEUE_MAX, QUEUE],
        merge: Merge::Largest,
        two: true,
        top: None,
        counted: false,
    },
    Quantity {
        name: "paused",
        metrics: &[PAUSED, WAITING],
        merge: Merge::Mean,
        two: false,
        top: Some(1.0),
        counted: false,
    },
    Quantity {
        name: "marks",
        metrics: &[MARKS],
        merge: Merge::Mean,
        two: true,
        top: None,
        counted: true,
    },
    Quantity {
        name: "state",
        metrics: &[STATE],
        merge: Merge::Last,
        two: false,
        top: Some(3.0),
        counted: false,
    },
    // The value on the page is an interface's number.
    Quantity {
        name: "cause",
        metrics: &[PAUSED_FOR],
        merge: Merge::Latest,
        two: true,
        top: Some(u16::MAX as f64),
        counted: false,
    },
    Quantity {
        name: "buffer",
        metrics: &[BUFFER],
        merge: Merge::Largest,
        two: true,
        top: None,
        counted: false,
    },
];

/// Quantities of ports and switches over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Timeline {
    /// Start of the first bin, in ps.
    pub start_ps: u64,
    /// Width of a bin, in ps.
    pub bin_ps: u64,
    /// Number of bins per row.
    pub bins: usize,
    /// Bin that is shown first: the one with most pauses, or with the longest queues.
    pub busiest: usize,
    /// Quantities that the run recorded.
    pub quantities: Vec<Packed>,
}

/// Quantity with its encoded values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Packed {
    pub name: &'static str,
    /// Bytes per value, 1 or 2.
    pub bytes: u8,
    /// Value that the largest number represents.
    pub top: f64,
    /// Encoded rows: see [`Packer`]; a row is a port, or a switch.
    pub data: String,
}

/// Returns the timeline of a run; `rows` are the ports and switches by their entities' names.
pub(super) fn timeline(series: &[Series], rows: &SortedMap<String, usize>) -> Option<Timeline> {
    within(TEXT_MAX, series, rows)
}

/// Returns a timeline whose bins are wide enough for `limit` characters.
fn within(limit: usize, series: &[Series], rows: &SortedMap<String, usize>) -> Option<Timeline> {
    let groups: Vec<(&Quantity, Vec<(usize, &Series)>)> = QUANTITIES
        .iter()
        .map(|quantity| (quantity, rows_of(series, quantity, rows)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let points = || {
        groups
            .iter()
            .flat_map(|(_, rows)| rows)
            .flat_map(|(_, s)| &s.points)
    };
    let start_ps = points().map(|point| point.0).min()?;
    // If everything ends with the last bin, no further bin is needed.
    let ends = groups.iter().flat_map(|(_, rows)| rows).filter_map(|(_, one)| {
        let &(at, value) = one.points.last()?;
        Some(if value == 0.0 { at.saturating_sub(1) } else { at })
    });
    let end_ps = ends.max()?.max(start_ps);
    let recorded = series.iter().find(|s| s.entity == "run" && s.metric == BIN);
    let recorded = recorded
        .and_then(|s| s.points.first())
        .map(|point| point.1 as u64);
    let recorded = recorded.unwrap_or(0);
    let mut grid = Grid::new(start_ps, end_ps, recorded);
    // The compressed size is known only after packing, so bins are doubled until it fits.
    loop {
        let (timeline, size) = grid.pack(&groups, recorded);
        if size <= limit || grid.bins < 2 {
            return Some(timeline);
        }
        grid = Grid::new(start_ps, end_ps, grid.bin_ps * 2);
    }
}

/// Returns the port of a series, without its class or lane.
fn port_of(entity: &str) -> &str {
    let named = [" class ", " lane "];
    let parts = named.into_iter().find_map(|what| entity.split_once(what));
    parts.map_or(entity, |(port, _)| port)
}

/// Returns the series of a quantity in the order of rows, with the classes of a port one after another.
fn rows_of<'a>(
    series: &'a [Series],
    quantity: &Quantity,
    rows: &SortedMap<String, usize>,
) -> Vec<(usize, &'a Series)> {
    let of = |metric: &&str| -> Vec<(usize, &'a Series)> {
        let mut found: Vec<_> = series
            .iter()
            .filter(|one| one.metric == **metric && !one.points.is_empty())
            .filter_map(|one| Some((*rows.get(port_of(&one.entity))?, one)))
            .collect();
        found.order_by_key(|&(row, _)| row);
        found
    };
    quantity
        .metrics
        .iter()
        .map(of)
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Bins of equal width.
struct Grid {
    start_ps: u64,
    bin_ps: u64,
    bins: usize,
}

impl Grid {
    /// Creates bins of at least this width that extend beyond `end_ps`.
    fn new(start_ps: u64, end_ps: u64, bin_ps: u64) -> Self {
        let length = end_ps - start_ps + 1;
        let mut bin_ps = match bin_ps {
            0 => length.div_ceil(BINS_MAX),
            recorded => recorded,
        };
        while length.div_ceil(bin_ps) > BINS_MAX + 1 {
            bin_ps *= 2;
        }
        Self {
            start_ps,
            bin_ps,
            bins: length.div_ceil(bin_ps) as usize,
        }
    }

    /// Encodes the values; counts were made in bins of `counted_ps`.
    fn pack(&self, groups: &[(&Quantity, Vec<(usize, &Series)>)], counted_ps: u64) -> (Timeline, usize) {
        let mut quantities = Vec::new();
        let mut totals: SortedMap<&str, Vec<f64>> = SortedMap::new();
        let mut size = 0;
        for (quantity, rows) in groups {
            let largest = rows.iter().map(|(_, one)| one.largest());
            // A rate, which does not depend on the width of the bins.
            let scale = match quantity.counted {
                true => 1e6 / counted_ps.max(1) as f64,
                false => 1.0,
            };
            let top = quantity
                .top
                .unwrap_or_else(|| largest.fold(0.0, f64::max) * scale);
            let levels = f64::from(if quantity.two { u16::MAX } else { 255 });
            let mut packer = Packer::new(quantity.two);
            let total = totals
                .entry(quantity.name)
                .or_insert_with(|| vec![0.0; self.bins]);
            for of_row in rows.chunk_by(|(row, _), (next, _)| row == next) {
                let row = of_row[0].0;
                let mut values = vec![0.0; self.bins];
                for (_, one) in of_row {
                    let all = values.iter_mut().zip(self.values(one, quantity.merge));
                    all.for_each(|(value, other)| *value = f64::max(*value, other));
                }
                values.iter_mut().for_each(|value| *value *= scale);
                total
                    .iter_mut()
                    .zip(&values)
                    .for_each(|(total, value)| *total += value);
                packer.row(row, &quantised(&values, top, levels));
            }
            size += packer.len();
            quantities.push(Packed {
                name: quantity.name,
                bytes: if quantity.two { 2 } else { 1 },
                top,
                data: packer.text(),
            });
        }
        let timeline = Timeline {
            start_ps: self.start_ps,
            bin_ps: self.bin_ps,
            bins: self.bins,
            busiest: busiest(&totals),
            quantities,
        };
        (timeline, size)
    }

    /// Returns the value of a step function in each bin. A step that represents several samples counts with the
    /// largest of them, the mean, or the last.
    fn values(&self, series: &Series, merge: Merge) -> Vec<f64> {
        let points = &series.points;
        let mut bins = vec![0.0; self.bins];
        let end = self.start_ps + self.bins as u64 * self.bin_ps;
        let nexts = points.iter().skip(1).map(|point| point.0).chain([end]);
        for (i, (&(from, value), to)) in points.iter().zip(nexts).enumerate() {
            let value = match merge {
                Merge::Largest => series.range(i).max,
                Merge::Mean => value,
                Merge::Last | Merge::Latest => series.range(i).last,
            };
            if value <= 0.0 {
                continue;
            }
            let (from, to) = (from - self.start_ps, to - self.start_ps);
            // A step without a length still counts in its bin.
            for bin in from / self.bin_ps..to.max(from + 1).div_ceil(self.bin_ps).min(self.bins as u64) {
                let start = bin * self.bin_ps;
                let inside = to.min(start + self.bin_ps).saturating_sub(from.max(start));
                let slot = &mut bins[bin as usize];
                match merge {
                    Merge::Largest => *slot = f64::max(*slot, value),
                    Merge::Mean => *slot += value * inside as f64 / self.bin_ps as f64,
                    // A later step has the last value of this bin.
                    Merge::Last if to < start + self.bin_ps => {}
                    Merge::Last | Merge::Latest => *slot = value,
                }
            }
        }
        bins
    }
}

/// Quantises to integers up to `levels`, which represents `top`; only 0 becomes 0.
fn quantised(values: &[f64], top: f64, levels: f64) -> Vec<u16> {
    let level = |&value: &f64| {
        if value > 0.0 && top > 0.0 {
            (value / top * levels).round().clamp(1.0, levels) as u16
        } else {
            0
        }
    };
    values.iter().map(level).collect()
}

/// Returns the bin with most pauses; without any, with the longest queues; without these, with most data sent.
fn busiest(totals: &SortedMap<&str, Vec<f64>>) -> usize {
    let peak = |name: &&str| {
        let mut best: Option<(usize, f64)> = None;
        for (bin, &value) in totals.get(name)?.iter().enumerate() {
            if value > best.map_or(0.0, |best| best.1) {
                best = Some((bin, value));
            }
        }
        best.map(|best| best.0)
    };
    ["paused", "queue", "utilisation"]
        .iter()
        .find_map(peak)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::files::Range;

    fn series(entity: &str, metric: &str, points: &[(u64, f64)]) -> Series {
        Series::new(entity, metric, points.to_vec())
    }

    fn rows(names: &[&str]) -> SortedMap<String, usize> {
        names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.to_string(), i))
            .collect()
    }

    #[test]
    fn bins_of_a_step_function() {
        let grid = Grid {
            start_ps: 100,
            bin_ps: 10,
            bins: 5,
        };
        // 0.5 during the first bin, 1.0 during half of the second and of the third, 0 afterwards.
        let values = |points: &[(u64, f64)], merge| grid.values(&series("port 0.1->1", QUEUE, points), merge);
        let points = [(100, 0.5), (110, 0.0), (115, 1.0), (125, 0.0)];
        assert_eq!(values(&points, Merge::Mean), [0.5, 0.5, 0.5, 0.0, 0.0]);
        assert_eq!(values(&points, Merge::Largest), [0.5, 1.0, 1.0, 0.0, 0.0]);
        // The last value holds to the end.
        assert_eq!(values(&[(130, 2.0)], Merge::Largest), [0.0, 0.0, 0.0, 2.0, 2.0]);
        // The largest of several samples differs from their mean.
        let several = Series {
            ranges: vec![
                Range {
                    min: 0.0,
                    max: 9.0,
                    last: 1.0,
                },
                Range {
                    min: 0.0,
                    max: 0.0,
                    last: 0.0,
                },
            ],
            ..series("port 0.1->1", QUEUE, &[(110, 3.0), (120, 0.0)])
        };
        assert_eq!(grid.values(&several, Merge::Largest), [0.0, 9.0, 0.0, 0.0, 0.0]);
        assert_eq!(grid.values(&several, Merge::Mean), [0.0, 3.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn values_are_steps_of_the_top() {
        assert_eq!(
            quantised(&[0.0, 1e-9, 0.5, 1.0, 2.0], 1.0, 255.0),
            [0, 1, 128, 255, 255]
        );
        assert_eq!(quantised(&[0.0, 0.0], 0.0, 255.0), [0, 0]);
    }

    #[test]
    fn the_view_starts_where_most_is_paused() {
        let rows = rows(&["port 0.1->1", "port 1.1->0"]);
        let mut all = vec![
            series(
                "port 0.1->1",
                "queue_max_bytes",
                &[(0, 5.0), (20, 9.0), (30, 0.0)],
            ),
            series("run", "bin_ps", &[(0, 10.0)]),
            series("flow 0", "goodput_bps", &[(90, 5.0)]),
        ];
        let found = timeline(&all, &rows).unwrap();
        assert_eq!(
            (found.start_ps, found.bin_ps, found.bins, found.busiest),
            (0, 10, 3, 2)
        );
        all.push(series("port 1.1->0", "paused", &[(10, 0.25), (20, 0.0)]));
        let found = timeline(&all, &rows).unwrap();
        assert_eq!(found.busiest, 1);
        let names: Vec<&str> = found.quantities.iter().map(|q| q.name).collect();
        assert_eq!(names, ["queue", "paused"]);
        assert_eq!((found.quantities[0].top, found.quantities[1].top), (9.0, 1.0));
        assert!(timeline(&all[1..3], &rows).is_none());
    }

    #[test]
    fn samples_stand_in_for_bins() {
        let rows = rows(&["port 0.1->1"]);
        let samples: Vec<(u64, f64)> = (0..10_000).map(|i| (i * 1_000, (i % 7) as f64)).collect();
        let found = timeline(&[series("port 0.1->1", QUEUE, &samples)], &rows).unwrap();
        assert!((500..=513).contains(&found.bins), "{}", found.bins);
        assert_eq!(found.quantities[0].top, 6.0);
    }

    #[test]
    fn many_ports_get_wider_bins() {
        let names: Vec<String> = (0..10).map(|i| format!("port {i}.1->0")).collect();
        let rows = names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.clone(), i))
            .collect();
        let noise =
            |i: usize| (0..512u64).map(move |k| (k, ((k * 7919 + i as u64 * 31) % 101) as f64 / 100.0));
        let all: Vec<Series> = names
            .iter()
            .enumerate()
            .map(|(i, name)| series(name, "utilisation", &noise(i).collect::<Vec<_>>()))
            .chain([series("run", "bin_ps", &[(0, 1.0)])])
            .collect();
        // 10 ports of 512 bytes are some 6900 characters.
        let found = within(4_000, &all, &rows).unwrap();
        assert_eq!((found.bins, found.bin_ps), (256, 2));
        assert!(found.quantities[0].data.len() <= 4_000);
        assert_eq!(timeline(&all, &rows).unwrap().bins, 512);
    }
}
