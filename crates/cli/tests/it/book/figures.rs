//! A figure for every scheme, drawn from a run in which it shares a link with a flow that comes and goes.

use std::error::Error;

use paceline_congestion::registry::{SCHEMES, Scheme};
use paceline_fabric::{Outcome, Simulation};
use paceline_scenario::Overrides;
use plotters::prelude::*;

/// Scenario of the figures.
const SCENARIO: &str = r#"
name = "share-and-take-back"
duration = "1ms"
topology.star = { hosts = 3, rate = "100Gbps", delay = "2us" }
cc.scheme = "none"
record.queue = "1us"
record.rates = "10us"

[[workload]]
flows = [{ src = 1, dst = 3, size = "100MB", start = "0s" }, { src = 2, dst = 3, size = "2500KB", start = "200us" }]
"#;

/// Bin widths of queue and rate, and the end of the run, us.
const QUEUE_US: f64 = 1.0;
const RATE_US: f64 = 10.0;
const END_US: f64 = 1000.0;

const SIZE: (u32, u32) = (760, 420);
const LONG: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const JOINING: RGBColor = RGBColor(0xc8, 0x55, 0x1b);
const QUEUE: RGBColor = RGBColor(0x3a, 0x3a, 0x3a);

/// Returns a parameter whose default does not suit this path: key, value and reason.
fn setting(scheme: &Scheme) -> Option<(&'static str, &'static str, &'static str)> {
    match scheme.name {
        // The default is meant for half the round trip, and would keep the sender at its minimum rate.
        "lstm-pid" => Some(("target", "10us", "above this path's round trip")),
        "fixed" => Some(("rate", "60Gbps", "so that two are more than the link carries")),
        "external" => Some(("initial-rate", "60Gbps", "which nobody changes here")),
        _ => None,
    }
}

/// Returns the figure's Markdown for a scheme's page.
pub(crate) fn markdown(scheme: &Scheme) -> String {
    let parameters = setting(scheme).map_or_else(
        || "default parameters".to_string(),
        |(key, value, why)| format!("`{key}` {value} ({why}), otherwise default parameters"),
    );
    format!(
        "\n![Rates of two flows and the queue between them under {title}](../../images/schemes/{name}.svg)\n\n\
         *A long flow has a link of 100 Gbit/s to itself until a second, of 2.5 MB, joins at 200 us; round-trip\n\
         time 8 us, {parameters}, time in us. Above: what is acknowledged per flow in every 10 us. Below:\n\
         the queue that they share. Drawn from a run of this version.*",
        title = scheme.title,
        name = scheme.name,
    )
}

fn run(scheme: &Scheme) -> Outcome {
    let overrides = Overrides {
        scheme: Some(scheme.name.to_string()),
        set: setting(scheme)
            .map(|(key, value, _)| format!("cc.{}.{key}={value}", scheme.name))
            .into_iter()
            .collect(),
        ..Overrides::default()
    };
    let resolved = paceline_scenario::load_text("share-and-take-back.toml", SCENARIO, &overrides)
        .unwrap_or_else(|error| panic!("{}: {error:?}", scheme.name));
    let mut simulation = Simulation::new(resolved.run).expect("it was resolved");
    while !simulation.advance(1 << 20).done {}
    simulation.finish()
}

/// Returns a flow's rate in Gbit/s by the middle of each bin, us.
fn rates(outcome: &Outcome, flow: u32) -> Vec<(f64, f64)> {
    let Some(record) = outcome.rates.iter().find(|record| record.flow == flow) else {
        return Vec::new();
    };
    let bins = (record.first_bin..).zip(&record.bytes);
    bins.map(|(bin, &bytes)| {
        let gbps = bytes as f64 * 8.0 / (RATE_US * 1000.0);
        ((bin as f64 + 0.5) * RATE_US, gbps)
    })
    .filter(|&(at, _)| at < END_US)
    .collect()
}

/// Returns the queue of the busiest port, KB by us; it is constant between points.
fn queue(outcome: &Outcome) -> Vec<(f64, f64)> {
    let Some(busiest) = outcome.queues.iter().max_by_key(|queue| queue.sum) else {
        return Vec::new();
    };
    let mut steps: Vec<(f64, f64)> = Vec::new();
    assert_eq!(
        busiest.series.width(),
        busiest.series.period(),
        "a sample in each bin"
    );
    for bin in busiest.series.bins() {
        let (at, kb) = (bin.at.as_ps() as f64 / 1e6, bin.last as f64 / 1000.0);
        if steps.last().is_some_and(|last| last.1 == kb) {
            continue;
        }
        if let Some(&(last, height)) = steps.last()
            && at - last > QUEUE_US
        {
            steps.push((at - QUEUE_US, height));
        }
        steps.push((at, kb));
    }
    if let Some(&(_, height)) = steps.last() {
        steps.push((END_US, height));
    }
    steps
}

type Panel<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Points = Vec<(f64, f64)>;

/// Draws lines over the run's time, from zero to slightly above the maximum.
fn panel(area: &Panel<'_>, what: &str, lines: [(&Points, RGBColor); 2]) -> Result<(), Box<dyn Error>> {
    let points = lines.iter().flat_map(|(points, _)| points.iter());
    let highest = points.map(|&(_, y)| y).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin_top(6)
        .margin_left(8)
        .margin_right(26)
        .x_label_area_size(26)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..END_US, 0.0..highest * 1.08)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .y_desc(what)
        .x_labels(11)
        .y_labels(5)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    for (points, color) in lines {
        chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
    }
    Ok(())
}

/// Draws the figure and returns the SVG text.
fn draw(outcome: &Outcome) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (names, panels) = root.split_vertically(26);
        for (x, name, color) in [(64, "long flow", LONG), (150, "flow of 2.5 MB", JOINING)] {
            let style = ("sans-serif", 14).into_font().color(&color);
            names.draw(&Text::new(name, (x, 10), style))?;
        }
        let (above, below) = panels.split_vertically((SIZE.1 - 26) * 55 / 100);
        let none = Points::new();
        let (long, joining) = (rates(outcome, 0), rates(outcome, 1));
        panel(&above, "Gbit/s", [(&long, LONG), (&joining, JOINING)])?;
        panel(&below, "queue, KB", [(&queue(outcome), QUEUE), (&none, QUEUE)])?;
        root.present()?;
    }
    Ok(text)
}

#[test]
fn every_scheme_has_a_figure_of_its_own_run() {
    for scheme in SCHEMES {
        let outcome = run(scheme);
        assert!(outcome.counters.data_hops > 10_000, "{}", scheme.name);
        let figure = draw(&outcome).unwrap();
        super::keep(&format!("images/schemes/{}.svg", scheme.name), &figure);
    }
}
