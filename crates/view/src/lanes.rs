//! Lanes of a time line: named rows of bars, and queues. Flows have their own file.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::files::{QUEUE, Series, ports};
use paceline_lab::results::{CollectiveRow, Summary};
use serde_json::{Value, json};

/// Pieces of a lane in a window; bars that start closer together become one.
const PIECES: u64 = 500;
/// Lanes of each kind: those with the longest bars, or the longest queues.
const LANES: usize = 10;

/// Bar with its times in ps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) text: String,
}

/// Named row of bars in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

impl Lane {
    /// Returns the bars of a window: `[from, to, bars, text]`, where a text is that of a single bar.
    pub(crate) fn window(&self, from: u64, to: u64) -> Vec<Value> {
        let least = (to - from) / PIECES;
        let mut pieces: Vec<(u64, u64, usize, &str)> = Vec::new();
        for bar in self.bars.iter().filter(|bar| bar.from < to && bar.to > from) {
            match pieces.last_mut() {
                Some((start, end, count, text)) if bar.from < (*start).max(from) + least => {
                    *end = bar.to.max(*end);
                    *count += 1;
                    *text = "";
                }
                _ => pieces.push((bar.from, bar.to, 1, &bar.text)),
            }
        }
        pieces
            .iter()
            .map(|(from, to, count, text)| json!([from, to, count, text]))
            .collect()
    }

    /// Returns the bars that a time interval touches.
    pub(crate) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &Bar> {
        self.bars.iter().filter(move |bar| bar.from < to && bar.to > from)
    }

    fn length(&self) -> u64 {
        let lengths = self.bars.iter().map(|bar| bar.to - bar.from);
        lengths.fold(0, u64::saturating_add)
    }
}

/// Returns the lanes of ports that were paused the longest, from the frames in `pfc.txt`.
///
/// # Errors
/// `pfc.txt` cannot be read, or is not of its format.
pub(crate) fn pauses(
    folder: &Path,
    series: &[Series],
    expires_after: u64,
    end: u64,
) -> io::Result<Vec<Lane>> {
    let file = folder.join("pfc.txt");
    if !file.is_file() {
        return Ok(longest(paused_bins(series, end)));
    }
    let named = |node: u64, interface: u64| {
        let prefix = format!("port {node}.{interface}->");
        let found = series.iter().find(|one| one.entity.starts_with(&prefix));
        found.map_or_else(|| format!("port {node}.{interface}"), |one| one.entity.clone())
    };
    // Per port the open pause and those that ended.
    let mut ports: SortedMap<(u64, u64), (Option<Bar>, Vec<Bar>)> = SortedMap::new();
    for line in BufReader::new(File::open(file)?).lines() {
        let line = line?;
        let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
        let Some(&[ns, node, _, interface, pauses]) = fields.as_deref() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("pfc.txt: `{line}` is no frame"),
            ));
        };
        let at = ns.saturating_mul(1000).min(end);
        let (open, bars) = ports.entry((node, interface)).or_default();
        bars.extend(open.take_if(|open| open.to <= at));
        let until = at.saturating_add(expires_after).min(end);
        match (open, pauses == 1) {
            (Some(open), true) => open.to = until,
            (open @ None, true) => {
                *open = Some(Bar {
                    from: at,
                    to: until,
                    text: "paused".into(),
                })
            }
            (open, false) => bars.extend(open.take().map(|open| Bar {
                to: at.max(open.from),
                ..open
            })),
        }
    }
    let lanes = ports.into_iter().map(|((node, interface), (open, mut bars))| {
        bars.extend(open);
        Lane {
            name: named(node, interface),
            bars,
        }
    });
    Ok(longest(lanes.collect()))
}

/// Returns the bins in which ports were paused, for runs without a list of frames.
fn paused_bins(series: &[Series], end: u64) -> Vec<Lane> {
    let paused = series.iter().filter(|one| one.metric == ports::PAUSED);
    let lane = |one: &Series| {
        let ends = one.points.iter().skip(1).map(|&(at, _)| at).chain([end]);
        let steps = one.points.iter().zip(ends).filter(|((_, share), _)| *share > 0.0);
        let bars = steps.map(|(&(from, share), to)| Bar {
            from,
            to: to.max(from),
            text: format!("paused for {:.0} % of the time", share * 100.0),
        });
        Lane {
            name: one.entity.clone(),
            bars: bars.collect(),
        }
    };
    paused.map(lane).collect()
}

fn longest(mut lanes: Vec<Lane>) -> Vec<Lane> {
    lanes.retain(|lane| !lane.bars.is_empty());
    lanes.order_by(|a, b| b.length().cmp(&a.length()).then_with(|| a.name.cmp(&b.name)));
    lanes.truncate(LANES);
    lanes
}

/// Returns the incidents of a run, one lane for each link, host or port, and the deadlock.
pub(crate) fn incidents(summary: &Summary, end: u64) -> Vec<Lane> {
    let mut lanes: SortedMap<&str, Vec<Bar>> = SortedMap::new();
    for one in &summary.incidents {
        let to = one.until_ps.unwrap_or(end).max(one.from_ps.saturating_add(1));
        let text = one.what.clone();
        lanes.entry(&one.place).or_default().push(Bar {
            from: one.from_ps,
            to,
            text,
        });
    }
    if let Some(deadlock) = &summary.deadlock {
        let found = ps(deadlock.found_s);
        let since = deadlock.cycles.iter().map(|cycle| ps(cycle.since_s)).min();
        let text = format!("deadlock of {} pauses", deadlock.pauses.len());
        let bar = Bar {
            from: since.unwrap_or(found).min(found),
            to: end.max(found.saturating_add(1)),
            text,
        };
        lanes.entry("deadlock").or_default().push(bar);
    }
    longest(
        lanes
            .into_iter()
            .map(|(name, bars)| Lane {
                name: name.to_string(),
                bars,
            })
            .collect(),
    )
}

/// Returns the iterations of jobs and collectives, one lane for each.
pub(crate) fn jobs(summary: &Summary, of_traces: &[CollectiveRow], end: u64) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    for job in &summary.jobs {
        let mut lane = Lane {
            name: job.label.clone(),
            ..Lane::default()
        };
        let mut from = ps(job.start_s);
        for (number, us) in job.iterations_us.iter().enumerate() {
            let to = from.saturating_add((us * 1e6).round() as u64);
            lane.bars.push(Bar {
                from,
                to,
                text: format!("iteration {number}"),
            });
            from = to;
        }
        lanes.push(lane);
    }
    let mut collectives: SortedMap<String, Vec<Bar>> = SortedMap::new();
    for one in of_traces {
        let bar = Bar {
            from: one.start_ps,
            to: one.end_ps.unwrap_or(end).max(one.start_ps.saturating_add(1)),
            text: format!("{}, iteration {}", one.name, one.iteration),
        };
        collectives
            .entry(format!("{}: {}", one.job, one.kind))
            .or_default()
            .push(bar);
    }
    // Those of traces are in their own table, whole.
    for one in summary.collectives.iter().filter(|one| one.name.is_none()) {
        let Some(start) = one.start_s else { continue };
        let bar = Bar {
            from: ps(start),
            to: one.end_s.map_or(end, ps).max(ps(start).saturating_add(1)),
            text: format!("iteration {}", one.iteration),
        };
        collectives.entry(one.label.clone()).or_default().push(bar);
    }
    for (name, mut bars) in collectives {
        bars.order_by_key(|bar| (bar.from, bar.to));
        lanes.push(Lane { name, bars });
    }
    longest(lanes)
}

fn ps(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

/// Returns the recorded queues of ports with the largest maxima: samples if there are any, else maxima of bins.
pub(crate) fn queues(series: Vec<Series>) -> Vec<(Series, f64)> {
    let metric = [QUEUE, ports::QUEUE_MAX]
        .into_iter()
        .find(|name| series.iter().any(|one| one.metric == *name));
    let most = |one: &Series| {
        (0..one.points.len())
            .map(|i| one.range(i).max)
            .fold(0.0, f64::max)
    };
    let of_metric = series
        .into_iter()
        .filter(|one| Some(one.metric.as_str()) == metric);
    let mut queues: Vec<(Series, f64)> = of_metric
        .map(|one| {
            let most = most(&one);
            (one, most)
        })
        .collect();
    queues.order_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.entity.cmp(&b.0.entity)));
    queues.retain(|(_, most)| *most > 0.0);
    queues.truncate(LANES);
    queues
}

/// Returns the largest value of a step function in each bin of a window.
pub(crate) fn largest(series: &Series, (from, to): (u64, u64), bins: usize) -> Vec<f64> {
    let bin = |time: u64| (u128::from(time - from) * bins as u128 / u128::from(to - from)) as usize;
    let mut found = vec![0f64; bins];
    let first = series
        .points
        .partition_point(|&(at, _)| at <= from)
        .saturating_sub(1);
    for (i, &(at, _)) in series.points.iter().enumerate().skip(first) {
        if at >= to {
            break;
        }
        let until = series
            .points
            .get(i + 1)
            .map_or(to, |&(next, _)| next.min(to))
            .max(at + 1);
        if until <= from {
            continue;
        }
        let value = series.range(i).max;
        for of_bin in &mut found[bin(at.max(from))..=bin(until - 1)] {
            *of_bin = of_bin.max(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bin_has_the_largest_value_in_it(
            steps in prop::collection::vec((1u64..30, 0u32..100), 1..40),
            from in 0u64..300, length in 1u64..300, bins in 1usize..20,
        ) {
            let mut at = 0;
            let points: Vec<(u64, f64)> = steps.iter().map(|&(gap, value)| { at += gap; (at, value.into()) }).collect();
            let to = from + length;
            let value = |time: u64| points.iter().rev().find(|point| point.0 <= time).map_or(0.0, |point| point.1);
            let mut expected = vec![0f64; bins];
            for time in from..to {
                let bin = ((time - from) * bins as u64 / length) as usize;
                expected[bin] = expected[bin].max(value(time));
            }
            let mut found = largest(&Series::new("port 0.1->1", QUEUE, points.clone()), (from, to), bins);
            // Bins without a whole picosecond have no value of their own.
            for (bin, found) in found.iter_mut().enumerate() {
                if !(from..to).any(|time| ((time - from) * bins as u64 / length) as usize == bin) {
                    *found = 0.0;
                }
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn pauses_come_from_frames() {
        let tmp = tempfile::tempdir().unwrap();
        let text = "1 5 1 2 1\n2 5 1 2 1\n4 5 1 2 0\n6 5 1 2 1\n7 6 0 1 1\n";
        std::fs::write(tmp.path().join("pfc.txt"), text).unwrap();
        let spans = |expires: u64| {
            let lanes = pauses(
                tmp.path(),
                &[Series::new("port 5.2->9", "x", vec![])],
                expires,
                10_000,
            )
            .unwrap();
            let spans = |lane: &Lane| lane.bars.iter().map(|bar| (bar.from, bar.to)).collect();
            lanes
                .iter()
                .map(|lane| (lane.name.clone(), spans(lane)))
                .collect::<Vec<(String, Vec<(u64, u64)>)>>()
        };
        let until_resumed = [
            ("port 5.2->9", vec![(1000, 4000), (6000, 10_000)]),
            ("port 6.1", vec![(7000, 10_000)]),
        ];
        assert_eq!(
            spans(u64::MAX),
            until_resumed.map(|(name, spans)| (name.to_string(), spans))
        );
        let expired = [
            ("port 5.2->9", vec![(1000, 2500), (6000, 6500)]),
            ("port 6.1", vec![(7000, 7500)]),
        ];
        assert_eq!(spans(500)[1].1, expired[1].1);
        assert_eq!(spans(500)[0].1, [(1000, 1500), (2000, 2500), (6000, 6500)]);
    }

    #[test]
    fn a_lane_of_many_bars_is_short() {
        let bars = (0..100_000).map(|n| Bar {
            from: n * 10,
            to: n * 10 + 1,
            text: format!("{n}"),
        });
        let lane = Lane {
            name: "a".into(),
            bars: bars.collect(),
        };
        let pieces = lane.window(0, 1_000_000);
        assert!(pieces.len() <= PIECES as usize, "{}", pieces.len());
        assert_eq!(lane.window(100, 102), [json!([100, 101, 1, "10"])]);
    }
}
