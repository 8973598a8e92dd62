//! Charts of known runs.

use super::per_flow::{SIZE_GROUPS, size_groups};
use paceline_lab::files::RunData;

use super::*;
use crate::track::Track;
use paceline_lab::files::Series;
use paceline_lab::results::FlowRow;
use paceline_lab::sample;

fn data() -> RunData {
    let (input, outcome) = sample::incast();
    RunData::new(&input, &sample::finished(&input, outcome))
}

fn named(data: &RunData) -> Named<'_> {
    Named {
        name: "none",
        color: 2,
        dash: 0,
        data,
    }
}

/// Returns the start of each bin in a track and its mean, as the page decodes them.
fn drawn(line: &Line) -> Vec<(f64, f64)> {
    let packed = line.track.as_ref().expect("a track");
    let at = |number: u64| round(packed.origin + number as f64 * packed.width, 7);
    let runs = crate::track::unpack(packed);
    let bins = runs
        .iter()
        .flat_map(|run| (run.number..run.number + run.count).map(|n| (n, run.mean)));
    bins.map(|(n, mean)| (at(n), round(mean, 7))).collect()
}

fn titles(charts: &[Chart]) -> Vec<&str> {
    charts.iter().map(|chart| chart.title.as_str()).collect()
}

#[test]
fn a_run_has_the_charts_that_it_has_data_for() {
    let mut data = data();
    assert_eq!(
        titles(&charts(&[named(&data)])),
        [
            "Slowdown by flow size",
            "Completion times",
            "Queues of the busiest ports",
            "Rates of flows",
            "PFC pause frames"
        ]
    );
    data.series.clear();
    data.pauses_ns.clear();
    data.flows = data.flows.changed(|flows| flows.truncate(1));
    assert!(charts(&[named(&data)]).is_empty());
}

#[test]
fn values_are_in_the_units_of_their_axes() {
    let data = data();
    let all = charts(&[named(&data)]);
    let [by_size, cdf, queue, rates, pauses] = &all[..] else {
        panic!("five charts")
    };
    assert_eq!(
        (by_size.lines[0].x.clone(), by_size.lines[0].y.clone()),
        (vec![1e3, 2e4], vec![2.0, 1.0])
    );
    assert_eq!(
        (cdf.lines[0].x.clone(), cdf.lines[0].y.clone()),
        (vec![6.0, 10.0], vec![50.0, 100.0])
    );
    // Times are those of the files: the first flow starts at 2 ms.
    assert_eq!(queue.x.unit, "µs");
    assert_eq!(
        drawn(&queue.lines[0]),
        [(2002.0, 1.048), (2003.0, 2.096), (2004.0, 2.096), (2005.0, 0.0)]
    );
    assert_eq!(queue.lines[0].name, "leaf 0 → host 2");
    assert_eq!(drawn(&rates.lines[1]), [(2000.0, 24.0), (2005.0, 8.0)]);
    assert_eq!(rates.lines[0].name, "flow 0: 1 → 4, 1 KB");
    assert_eq!(drawn(&pauses.lines[0]).iter().map(|bin| bin.1).sum::<f64>(), 1.0);
}

#[test]
fn queues_of_several_runs_stand_side_by_side_on_the_same_scales() {
    let data = data();
    let mut higher = data.clone();
    for series in higher
        .series
        .iter_mut()
        .filter(|series| series.metric == paceline_lab::files::QUEUE)
    {
        series.points.iter_mut().for_each(|point| point.1 *= 10.0);
    }
    let runs = [("a", &data), ("b", &higher), ("c", &data)].map(|(name, data)| Named { name, ..named(data) });
    let all = charts(&runs);
    let alone: Vec<&Chart> = all
        .iter()
        .filter(|chart| chart.title.starts_with("Queue, "))
        .collect();
    assert_eq!(
        alone.iter().map(|chart| chart.title.as_str()).collect::<Vec<_>>(),
        ["Queue, a", "Queue, b", "Queue, c"]
    );
    assert!(
        alone
            .iter()
            .all(|chart| (chart.y.max, chart.x.max) == (alone[1].y.max, alone[1].x.max))
    );
    assert_eq!(alone[1].y.max, Some(22.0));
    assert!(
        charts(&runs[..2])
            .iter()
            .all(|chart| !chart.title.starts_with("Queue, "))
    );
}

#[test]
fn many_flows_are_drawn_as_their_sum() {
    let mut data = data();
    let flow = data.series.pop().unwrap();
    data.series = (0..40)
        .map(|k| Series {
            entity: format!("flow {k}"),
            ..flow.clone()
        })
        .collect();
    let all = charts(&[named(&data)]);
    let rate = all
        .iter()
        .find(|chart| chart.title == "Rate of all flows together")
        .unwrap();
    assert_eq!(drawn(&rate.lines[0]), [(2000.0, 960.0), (2005.0, 320.0)]);
}

#[test]
fn what_a_scheme_allows_holds_until_the_next_sample() {
    let mut data = data();
    let start = data.flows.get(0).unwrap().start_ps;
    let points = [(0, 1e11), (4_000_000, 5e10), (10_000_000, 5e10)];
    let points = points.map(|(after, bps)| (start + after, bps)).to_vec();
    data.series.push(Series {
        period_ps: 2_000_000,
        bin_ps: 2_000_000,
        ..Series::new("flow 0", paceline_lab::files::RATE, points)
    });
    let all = charts(&[named(&data)]);
    let rate = all.last().unwrap();
    assert_eq!(rate.title, "Rates that the scheme allows");
    let expected = [
        (2000.0, 100.0),
        (2002.0, 100.0),
        (2004.0, 50.0),
        (2006.0, 50.0),
        (2008.0, 50.0),
        (2010.0, 50.0),
    ];
    assert_eq!(drawn(&rate.lines[0]), expected);
}

/// In a real run's charts, every track of every level bounds the series in each bin.
#[test]
fn every_level_of_every_chart_bounds_the_series() {
    let mut spec = sample::spec();
    spec.record.queue_every = Some(paceline_kernel::Span::from_ns(200));
    spec.record.rate_every = Some(paceline_kernel::Span::from_us(1));
    spec.record.flow_every = Some(paceline_kernel::Span::from_us(1));
    spec.record.flows_max = 10;
    for flow in &mut spec.flows {
        flow.size = paceline_kernel::Bytes::new(300_000);
    }
    let mut simulation = paceline_fabric::Simulation::new(spec.clone()).unwrap();
    while !simulation.advance(1 << 20).done {}
    let outcome = simulation.finish();
    let mut data = data();
    data.series = paceline_lab::files::series_of(&spec, &outcome);
    let mut all = charts(&[named(&data)]);
    let lines: Vec<&mut Line> = all.iter_mut().flat_map(|chart| &mut chart.lines).collect();
    let mut checked = 0;
    for line in lines {
        let Some(source) = &mut line.source else { continue };
        let finest = source.track.clone();
        let values = |track: &Track, number: u64| {
            let run = track
                .runs
                .iter()
                .find(|run| (run.number..run.number + run.count).contains(&number));
            run.copied()
        };
        let bins = finest.runs.last().map_or(0, |run| run.number + run.count);
        for level in 1..6 {
            source.track = source.track.wider();
            for number in 0..bins {
                let Some(bin) = values(&finest, number) else {
                    continue;
                };
                let wide = values(&source.track, number >> level).expect("no bin is lost");
                assert!(
                    source.track.counts || wide.min <= bin.min && bin.max <= wide.max,
                    "{}",
                    line.name
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
    // The finest level equals the series.
    let queue = data
        .series
        .iter()
        .find(|one| one.metric == paceline_lab::files::QUEUE)
        .unwrap();
    let track = Track::of(queue);
    for &(at, bytes) in &queue.points {
        let number = (at - track.origin_ps) / track.width_ps;
        let run = track
            .runs
            .iter()
            .find(|run| (run.number..run.number + run.count).contains(&number));
        assert_eq!(run.unwrap().mean, bytes);
    }
}

/// If tracks are too large, the longest get wider bins, and the chart says so.
#[test]
fn long_tracks_get_wider_bins() {
    let data = data();
    let mut all = charts(&[named(&data)]);
    let noise = |k: u64| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    let chart = all
        .iter_mut()
        .find(|chart| chart.kind == ChartKind::Track)
        .unwrap();
    let mut long = chart.lines[0].clone();
    long.source.as_mut().unwrap().track = Track {
        counts: false,
        ..Track::of_counts(0, 1_000, (0..10_000).map(noise))
    };
    chart.lines.push(long);
    let widths = |charts: &[Chart]| -> Vec<u64> {
        let lines = charts.iter().flat_map(|chart| &chart.lines);
        lines
            .filter_map(|line| Some(line.track.as_ref()?.width_ps))
            .collect()
    };
    let before = widths(&all);
    pack(&mut all, 20_000);
    let size = all
        .iter()
        .flat_map(|chart| &chart.lines)
        .filter_map(|line| line.track.as_ref());
    assert!(size.map(|track| track.data.len()).sum::<usize>() <= 20_000);
    let after = widths(&all);
    assert_eq!(before.iter().zip(&after).filter(|(a, b)| a != b).count(), 1);
    assert!(after.contains(&4_000) || after.contains(&8_000), "{after:?}");
}

#[test]
fn labels_have_their_own_curves() {
    let mut data = data();
    let curve = |data: &RunData| {
        let all = charts(&[named(data)]);
        let cdf = all
            .into_iter()
            .find(|chart| chart.title == "Completion times")
            .unwrap();
        cdf.lines
            .into_iter()
            .map(|line| (line.name, line.y))
            .collect::<Vec<_>>()
    };
    // Only one flow of each label completed: too few for separate curves.
    assert_eq!(curve(&data), [("none".to_string(), vec![50.0, 100.0])]);
    let more: Vec<FlowRow<'_>> = data.flows.rows().take(2).collect();
    let more = more.into_iter().map(|flow| FlowRow {
        fct_ps: flow.fct_ps.map(|ps| 2 * ps),
        ..flow
    });
    data.flows = data.flows.rows().chain(more).collect();
    let found = curve(&data);
    assert_eq!(
        found,
        ["mice", "elephants"].map(|name| (name.to_string(), vec![50.0, 100.0]))
    );
}

#[test]
fn groups_of_sizes_hold_every_flow() {
    let mut data = data();
    let flow = data.flows.get(0).unwrap().into_owned();
    data.flows = (0..1000u64)
        .map(|k| FlowRow {
            size_bytes: 1000 + k / 2,
            slowdown: Some(1.0 + k as f64),
            ..flow.clone()
        })
        .collect();
    let groups = size_groups(&data);
    assert_eq!(groups.len(), SIZE_GROUPS);
    assert_eq!(groups.iter().map(|(_, all)| all.count()).sum::<u64>(), 1000);
    assert_eq!(groups[SIZE_GROUPS - 1].0, 1499.0);
    assert!(groups.windows(2).all(|pair| pair[0].0 < pair[1].0));
}
