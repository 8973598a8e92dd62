//! From data to charts: plain descriptions that the page draws.

mod limits;
mod over_seeds;
mod over_time;
mod per_flow;

use serde::Serialize;

use super::data::RunData;
pub(super) use over_seeds::{Seeds, over_seeds};
use over_time::Clock;

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// The axis of places.
    pub x: Axis,
    /// The axis of values.
    pub y: Axis,
    /// How values are drawn.
    pub kind: Kind,
    /// How wide it is.
    pub width: Width,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Straight lines between points, which are shown.
    Points,
    /// Straight lines.
    Lines,
    /// A value holds until the next.
    Step,
    /// Points alone.
    Dots,
}

/// Share of the page's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// All of it.
    Full,
    /// A half.
    Half,
    /// A third.
    Third,
    /// A quarter.
    Quarter,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Which quantity.
    pub label: String,
    /// What follows a number.
    pub unit: &'static str,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Fixed largest value, so that charts side by side compare.
    pub max: Option<f64>,
}

impl Axis {
    /// A linear one.
    pub fn new(label: impl Into<String>, unit: &'static str) -> Self {
        Self {
            label: label.into(),
            unit,
            log: false,
            max: None,
        }
    }
    /// Logarithmic where the values span so much that a linear axis would hide most of them.
    pub fn log_if_wide(mut self, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        self.log = low > 0.0 && high / low > 30.0;
        self
    }
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Index of a colour of the page's palette.
    pub color: usize,
    /// Index of a dash pattern; 0 is solid.
    pub dash: usize,
    /// Whether it is drawn as a thin line whatever the chart's kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guide: bool,
    /// Places, in order.
    pub x: Vec<f64>,
    /// A value for each.
    pub y: Vec<f64>,
}

impl Line {
    /// Of points of the same x only the last is kept.
    pub fn new(name: impl Into<String>, color: usize, points: &[(f64, f64)]) -> Self {
        let mut line = Self {
            name: name.into(),
            color,
            dash: 0,
            guide: false,
            x: Vec::new(),
            y: Vec::new(),
        };
        for &(x, y) in points {
            let (x, y) = (round(x, 7), round(y, 4));
            if line.x.last() == Some(&x) {
                line.x.pop();
                line.y.pop();
            }
            line.x.push(x);
            line.y.push(y);
        }
        line
    }
}

/// `value` to so many digits that count: shorter text, same picture.
pub(super) fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A run with its name and colour on the page.
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub color: usize,
    pub dash: usize,
    pub data: &'a RunData,
}

/// So many runs get a small chart of the queue each.
const SIDE_BY_SIDE_MAX: usize = 12;

/// Every chart that the runs have data for.
pub(super) fn charts(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut charts = per_flow::slowdown_by_size(runs);
    charts.extend(per_flow::fct_cdf(runs));
    charts.extend(over_time(runs));
    fill_rows(&mut charts);
    charts
}

/// Those of them that are over time.
pub(super) fn over_time_of(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut charts = over_time(runs);
    fill_rows(&mut charts);
    charts
}

fn over_time(runs: &[Named<'_>]) -> Vec<Chart> {
    let clock = Clock::of(runs);
    let mut charts = Vec::new();
    let queues = over_time::queues(runs, &clock);
    let several = queues
        .as_ref()
        .filter(|chart| (3..=SIDE_BY_SIDE_MAX).contains(&chart.lines.len()));
    let alone = several.filter(|_| runs.len() > 1).map(over_time::side_by_side);
    charts.extend(queues);
    charts.extend(alone.into_iter().flatten());
    charts.extend(over_time::rates(runs, &clock));
    charts.extend(over_time::pauses(runs, &clock));
    charts.extend(limits::limits(runs, &clock));
    charts
}

/// No chart sits beside an empty space.
fn fill_rows(charts: &mut [Chart]) {
    for halves in charts
        .chunk_by_mut(|a, b| a.width == b.width)
        .filter(|part| part[0].width == Width::Half)
    {
        if halves.len() % 2 == 1 {
            halves[halves.len() - 1].width = Width::Full;
        }
    }
}

/// The unit in which times up to `longest` ps read best, and its size in ps.
fn unit_of_time(longest: u64) -> (&'static str, f64) {
    match longest {
        0..2_000_000 => ("ns", 1e3),
        2_000_000..2_000_000_000 => ("µs", 1e6),
        2_000_000_000..2_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    }
}

#[cfg(test)]
mod tests {
    use super::per_flow::{SIZE_GROUPS, size_groups};
    use super::*;
    use crate::files::Series;
    use crate::results::FlowRow;
    use crate::sample;

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
                "PFC pauses"
            ]
        );
        data.series.clear();
        data.pauses_ns.clear();
        data.flows.truncate(1);
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
        assert_eq!(
            (queue.x.unit, queue.lines[0].x[0], queue.lines[0].y[0]),
            ("µs", 2.0, 1.048)
        );
        assert_eq!(queue.lines[0].name, "switch 0 port 2 → 2");
        assert_eq!(
            (rates.lines[1].x.clone(), rates.lines[1].y.clone()),
            (vec![0.0, 5.0, 10.0], vec![24.0, 8.0, 0.0])
        );
        assert_eq!(rates.lines[0].name, "flow 0: 1 → 4, 1 KB");
        assert_eq!(pauses.lines[0].y.iter().sum::<f64>(), 1.0);
    }

    #[test]
    fn queues_of_several_runs_stand_side_by_side_on_the_same_scales() {
        let data = data();
        let mut higher = data.clone();
        for series in higher
            .series
            .iter_mut()
            .filter(|series| series.metric == crate::files::QUEUE)
        {
            series.points.iter_mut().for_each(|point| point.1 *= 10.0);
        }
        let runs =
            [("a", &data), ("b", &higher), ("c", &data)].map(|(name, data)| Named { name, ..named(data) });
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
        assert_eq!(rate.lines[0].y, [960.0, 320.0, 0.0]);
    }

    #[test]
    fn what_a_scheme_allows_holds_until_the_flow_ends() {
        let mut data = data();
        let start = data.flows[0].start_ps;
        data.series.push(Series {
            entity: "flow 0".into(),
            metric: crate::files::RATE.into(),
            points: vec![(start, 1e11), (start + 4_000_000, 5e10)],
        });
        let all = charts(&[named(&data)]);
        let rate = all.last().unwrap();
        assert_eq!(rate.title, "Rates that the scheme allows");
        assert_eq!(
            (rate.lines[0].x.clone(), rate.lines[0].y.clone()),
            (vec![0.0, 4.0, 10.0], vec![100.0, 50.0, 50.0])
        );
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
        // One flow of each label completed: too few.
        assert_eq!(curve(&data), [("none".to_string(), vec![50.0, 100.0])]);
        let more: Vec<FlowRow<'_>> = data.flows[..2].to_vec();
        data.flows.extend(more.into_iter().map(|flow| FlowRow {
            fct_ps: flow.fct_ps.map(|ps| 2 * ps),
            ..flow
        }));
        let found = curve(&data);
        assert_eq!(
            found,
            ["mice", "elephants"].map(|name| (name.to_string(), vec![50.0, 100.0]))
        );
    }

    #[test]
    fn groups_of_sizes_hold_every_flow() {
        let mut data = data();
        let flow = data.flows[0].clone();
        data.flows = (0..1000u64)
            .map(|k| FlowRow {
                size_bytes: 1000 + k / 2,
                slowdown: Some(1.0 + k as f64),
                ..flow.clone()
            })
            .collect();
        let groups = size_groups(&data);
        assert_eq!(groups.len(), SIZE_GROUPS);
        assert_eq!(groups.iter().map(|(_, all)| all.len()).sum::<usize>(), 1000);
        assert_eq!(groups[SIZE_GROUPS - 1].0, 1499.0);
        assert!(groups.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
