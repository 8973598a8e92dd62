//! Profiles along each parameter.

use paceline_kernel::order::Sort as _;
use paceline_lab::stats::Interval;
use paceline_lab::tune::{Domain, Found, Parameter, ParameterResult, Unit, change};

use super::{BEST, WITHIN, chart, guide, seeds};
use crate::{Axis, Chart, ChartKind, Grid, Line, Part, Width};

/// Returns a value on the axis of its parameter; the index of a listed one.
fn on_axis(parameter: &Parameter, scale: f64, value: &str) -> Option<f64> {
    match &parameter.domain {
        Domain::Range(_) => Some(Unit::parse(value)?.0 / scale),
        Domain::Choices(all) => all.iter().position(|one| one == value).map(|at| at as f64 + 1.0),
    }
}

/// Returns the axis of a parameter's values, and the size of its unit.
fn axis_of(parameter: &Parameter) -> (Axis, f64) {
    let (unit, scale, log) = match &parameter.domain {
        Domain::Choices(_) => ("", 1.0, false),
        Domain::Range(range) => {
            let (unit, scale) = match range.unit {
                Unit::Number => ("", 1.0),
                Unit::Bytes => ("KB", 1e3),
                Unit::Time => ("µs", 1e6),
                Unit::Rate if range.high < 1e10 => ("Mbit/s", 1e6),
                Unit::Rate => ("Gbit/s", 1e9),
            };
            (unit, scale, range.log)
        }
    };
    let mut axis = Axis::new(parameter.short(), unit);
    axis.log = log;
    (axis, scale)
}

pub(super) fn profiles(found: &Found) -> Part {
    let one = |(result, parameter): (&ParameterResult, &Parameter)| {
        let (x, scale) = axis_of(parameter);
        let mut points: Vec<(f64, Interval)> = Vec::new();
        for point in &result.profile {
            points.extend(on_axis(parameter, scale, &point.value).zip(point.ratio));
        }
        let best = on_axis(parameter, scale, &result.best);
        points.extend(best.map(|at| (at, Interval::of_one(1.0, 1))));
        points.order_by(|a, b| a.0.total_cmp(&b.0));
        let line = |of: fn(&Interval) -> f64| -> Vec<(f64, f64)> {
            points
                .iter()
                .map(|(at, ratio)| (*at, 100.0 * (of(ratio) - 1.0)))
                .collect()
        };
        let end_line = |name: &str, of: fn(&Interval) -> f64| Line {
            dash: 1,
            ..guide(name, WITHIN, &line(of))
        };
        let note = match (&parameter.domain, result.flat) {
            (Domain::Choices(all), _) => format!("Values in the order {}.", all.join(", ")),
            (_, true) => "Flat: no value differs from the best.".to_string(),
            (_, false) => String::new(),
        };
        Chart {
            kind: ChartKind::Points,
            width: Width::Half,
            ..chart(
                &result.name,
                note,
                (x, Axis::new("change of the objective", "%")),
                vec![
                    Line::new("mean", WITHIN, &line(|ratio| ratio.mean)),
                    end_line("lower end", |ratio| ratio.ends().map_or(ratio.mean, |(lo, _)| lo)),
                    end_line("upper end", |ratio| ratio.ends().map_or(ratio.mean, |(_, hi)| hi)),
                    Line::new(
                        "best",
                        BEST,
                        &best.map(|at| (at, 0.0)).into_iter().collect::<Vec<_>>(),
                    ),
                ],
            )
        }
    };
    Part {
        title: "Along each parameter".into(),
        text: format!(
            "Change of `{}` from the best candidate, with all other parameters at their best, on the {} held out. The \
             intervals hold for all points of a chart together with 95 %.",
            found.plan.objective.measure,
            seeds(found.plan.held_out.len())
        ),
        charts: found
            .parameters
            .iter()
            .zip(&found.plan.parameters)
            .map(one)
            .collect(),
        tables: vec![points_table(found)],
    }
}

fn points_table(found: &Found) -> Grid {
    let row = |(parameter, point): (&ParameterResult, &paceline_lab::tune::ProfilePoint)| {
        let standing = match (&point.message, point.over_limit, point.differs) {
            (Some(why), ..) => why.clone(),
            (None, true, _) => "over a limit".into(),
            (None, false, true) => "differs".into(),
            (None, false, false) => "no difference shown".into(),
        };
        vec![
            parameter.name.clone(),
            point.value.clone(),
            change(point.ratio),
            standing,
        ]
    };
    let all = found.parameters.iter();
    let all = all.flat_map(|parameter| parameter.profile.iter().map(move |point| (parameter, point)));
    Grid {
        head: ["parameter", "value", "change from the best", ""]
            .map(String::from)
            .to_vec(),
        rows: all.map(row).collect(),
        folded: "All values".into(),
        ..Grid::default()
    }
}
