//! A figure of the scenario with a single congestion point: queues and states of the thesis's ports P0 to P3.

use std::error::Error;

use paceline_fabric::outcome::{Binned, PortRef};
use paceline_fabric::{Outcome, Simulation};
use paceline_scenario::Overrides;
use plotters::prelude::*;

/// Name of the scenario, and path of the figure.
const SCENARIO: &str = "tcd-single-point";
const FILE: &str = "images/scenarios/tcd-single-point.svg";

/// Start of the bursts, and the figure's time span relative to it, ms.
const BURSTS_MS: f64 = 20.0;
const SPAN_MS: (f64, f64) = (-1.0, 20.0);

const SIZE: (u32, u32) = (760, 470);
/// Name, node, peer and colour of each port.
const PORTS: [(&str, (u32, u32), RGBColor); 4] = [
    ("P0", (0, 2), RGBColor(0x1f, 0x5f, 0xa8)),
    ("P1", (1, 2), RGBColor(0x4a, 0x9d, 0x5b)),
    ("P2", (2, 3), RGBColor(0xc8, 0x55, 0x1b)),
    ("P3", (3, 8), RGBColor(0x3a, 0x3a, 0x3a)),
];
/// Colours of the states.
const STATES: [(&str, RGBColor); 3] = [
    ("checking", RGBColor(0xb9, 0xa1, 0x3a)),
    ("undetermined", RGBColor(0xf0, 0xa2, 0x02)),
    ("congested", RGBColor(0xc4, 0x12, 0x2f)),
];

fn run() -> Outcome {
    let input = paceline_scenario::load(SCENARIO, &Overrides::default()).expect("it ships");
    let mut simulation = Simulation::new(input.run).expect("it was resolved");
    while !simulation.advance(1 << 20).done {}
    simulation.finish()
}

/// Returns the intervals, ms, in which a sampled value was constant.
fn stretches(series: &Binned, end_ms: f64) -> Vec<(f64, f64, u64)> {
    let bins: Vec<(f64, u64)> = series
        .bins()
        .map(|bin| (bin.at.as_ps() as f64 / 1e9 - BURSTS_MS, bin.max))
        .collect();
    let nexts = bins.iter().skip(1).map(|bin| bin.0).chain([end_ms]);
    let all = bins
        .iter()
        .zip(nexts)
        .map(|(&(from, value), to)| (from, to, value));
    all.filter(|&(from, to, _)| to > SPAN_MS.0 && from < SPAN_MS.1)
        .collect()
}

/// Returns the maximum queue in every 20 us, KB.
fn queue(series: &Binned, end_ms: f64) -> Vec<(f64, f64)> {
    const STEP_MS: f64 = 0.02;
    let count = ((SPAN_MS.1 - SPAN_MS.0) / STEP_MS) as usize;
    let mut largest = vec![0u64; count];
    for (from, to, bytes) in stretches(series, end_ms) {
        let place = |at: f64| ((at - SPAN_MS.0) / STEP_MS).max(0.0);
        let (first, last) = (place(from) as usize, place(to).ceil() as usize);
        for slot in largest.iter_mut().take(last).skip(first) {
            *slot = bytes.max(*slot);
        }
    }
    let at = |(k, bytes): (usize, u64)| (SPAN_MS.0 + (k as f64 + 0.5) * STEP_MS, bytes as f64 / 1e3);
    largest.into_iter().enumerate().map(at).collect()
}

/// Creates a panel with time on the horizontal axis.
fn panel<'a, 'b>(
    area: &'b DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    what: &str,
    top: f64,
    labels: &dyn Fn(f64) -> String,
    ticks: usize,
) -> Result<Chart<'a, 'b>, Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(6)
        .margin_left(8)
        .margin_right(26)
        .x_label_area_size(26)
        .y_label_area_size(52)
        .build_cartesian_2d(SPAN_MS.0..SPAN_MS.1, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .y_desc(what)
        .x_labels(11)
        .y_labels(ticks)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| labels(*y))
        .draw()?;
    Ok(chart)
}

type Chart<'a, 'b> = ChartContext<
    'b,
    SVGBackend<'a>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Draws the figure and returns the SVG text.
fn draw(outcome: &Outcome) -> Result<String, Box<dyn Error>> {
    let end = outcome.end.as_ps() as f64 / 1e9 - BURSTS_MS;
    let is_it = |port: &PortRef, ends: (u32, u32)| (port.node.0, port.peer.0) == ends;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (names, panels) = root.split_vertically(26);
        let ports = PORTS.map(|(name, _, color)| (name, color));
        for (place, (name, color)) in ports.into_iter().chain(STATES).enumerate() {
            let x = 64 + 44 * place as i32 + if place > 4 { 56 * (place as i32 - 4) } else { 0 };
            let style = ("sans-serif", 14).into_font().color(&color);
            names.draw(&Text::new(name, (x + if place > 3 { 40 } else { 0 }, 10), style))?;
        }
        let (above, below) = panels.split_vertically((SIZE.1 - 26) * 58 / 100);
        let lines: Vec<_> = PORTS
            .iter()
            .map(|&(_, ends, color)| {
                let record = outcome.queues.iter().find(|queue| is_it(&queue.port, ends));
                let record = record.expect("queues are sampled");
                (queue(&record.series, end), color)
            })
            .collect();
        let points = lines.iter().flat_map(|(points, _)| points);
        let highest = points.map(|point| point.1).fold(1.0, f64::max);
        let mut chart = panel(&above, "queue, KB", highest * 1.08, &|y| format!("{y:.0}"), 5)?;
        for (points, color) in lines {
            chart.draw_series(LineSeries::new(points, color.stroke_width(1)))?;
        }
        let name = |y: f64| {
            let place = y.floor() as usize;
            let named = PORTS.iter().rev().nth(place).filter(|_| y.fract() > 0.4);
            named.map_or(String::new(), |port| port.0.to_string())
        };
        let mut chart = panel(&below, "state", 4.0, &name, 9)?;
        for (lane, &(_, ends, _)) in PORTS.iter().rev().enumerate() {
            let record = outcome.states.iter().find(|state| is_it(&state.port, ends));
            let record = record.expect("states are sampled");
            for (from, to, state) in stretches(&record.series, end) {
                let Some((_, color)) = (state as usize).checked_sub(1).map(|place| STATES[place]) else {
                    continue;
                };
                let (from, to) = (from.max(SPAN_MS.0), to.min(SPAN_MS.1));
                let (low, high) = (lane as f64 + 0.15, lane as f64 + 0.85);
                chart.draw_series([Rectangle::new([(from, low), (to, high)], color.filled())])?;
            }
        }
        root.present()?;
    }
    Ok(text)
}

/// From the bursts on, P3 is congested for milliseconds and never undetermined. P0 to P2 are undetermined instead,
/// and free at the end.
#[test]
fn the_single_point_has_a_figure_of_its_run() {
    let outcome = run();
    let end = outcome.end.as_ps() as f64 / 1e9 - BURSTS_MS;
    for (name, ends, _) in PORTS {
        let mut all = outcome.states.iter();
        let record = all.find(|record| (record.port.node.0, record.port.peer.0) == ends);
        let record = record.expect("states are sampled");
        let mut times = [0.0; 4];
        for (from, to, state) in stretches(&record.series, end) {
            times[state as usize] += (to - from.max(0.0)).max(0.0);
        }
        let [_, _, undetermined, congested] = times;
        match name {
            "P3" => assert!(congested > 10.0 && undetermined == 0.0, "{name}: {times:?} ms"),
            _ => assert!(undetermined > 5.0 && congested < 0.2, "{name}: {times:?} ms"),
        }
        assert_eq!(record.series.bins().last().map(|bin| bin.last), Some(0), "{name}");
    }
    super::keep(FILE, &draw(&outcome).unwrap());
}
