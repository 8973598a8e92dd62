//! Figures of a page's charts.

use super::{Curve, Figure, Point, Scale, Shape};
use crate::charts::{Axis, Chart, ChartKind};

/// Draws the lines of a chart, except guide lines and tracks, which have no points.
pub fn of_chart(chart: &Chart) -> Figure {
    let lines = chart
        .lines
        .iter()
        .filter(|line| !line.guide && !line.x.is_empty());
    Figure {
        x: scale(&chart.x),
        y: scale(&chart.y),
        shape: match chart.kind {
            ChartKind::Step => Shape::Steps,
            ChartKind::Points | ChartKind::Lines | ChartKind::Dots | ChartKind::Track => Shape::Points,
        },
        curves: lines
            .map(|line| Curve {
                name: line.name.clone(),
                color: line.color,
                dash: line.dash,
                points: std::iter::zip(&line.x, &line.y)
                    .map(|(&x, &y)| Point {
                        x,
                        y: Some(y),
                        range: None,
                    })
                    .collect(),
            })
            .collect(),
    }
}

fn scale(axis: &Axis) -> Scale {
    let is_bytes = axis.unit == "B";
    let label = match axis.unit.as_str() {
        "" => axis.label.clone(),
        _ if is_bytes => axis.label.clone(),
        unit => format!("{} ({unit})", axis.label),
    };
    Scale {
        bytes: is_bytes,
        log: axis.log,
        max: axis.max,
        ..Scale::new(label)
    }
}
