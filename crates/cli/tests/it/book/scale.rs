//! Cost of runs by flows and hosts, drawn from the output of `paceline bench --scale --json`, which the book keeps in
//! `data/scale.json`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;

use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::prelude::*;
use serde::Deserialize;

const SIZE: (u32, u32) = (760, 420);
const FLOWS: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const HOSTS: RGBColor = RGBColor(0xc8, 0x55, 0x1b);
const ONE_HOST: &str = "one-host";

/// A row in the command's output.
#[derive(Deserialize)]
struct Measured {
    name: String,
    hosts: u64,
    flows: u64,
    packet_hops: u64,
    start_s: f64,
    start_rss_bytes: u64,
    run_cpu_s: f64,
    ns_per_hop: Option<f64>,
    peak_rss_bytes: u64,
    flows_held: u64,
}

impl Measured {
    fn is(&self, kind: &str) -> bool {
        self.name.starts_with(kind)
    }
}

/// Returns the points of one kind of complete runs, by flows or hosts.
fn series(rows: &[Measured], kind: &str, y: fn(&Measured) -> f64) -> Vec<(f64, f64)> {
    let x = |row: &Measured| if kind == "flows" { row.flows } else { row.hosts } as f64;
    let ours = rows.iter().filter(|row| row.is(kind));
    ours.map(|row| (x(row), y(row))).collect()
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Draws one measure of one kind of runs, on logarithmic axes.
fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    title: &str,
    points: &[(f64, f64)],
    color: RGBColor,
) -> Result<(), Box<dyn Error>> {
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (x0, x1) = ends(&mut points.iter().map(|point| point.0));
    let (_, y1) = ends(&mut points.iter().map(|point| point.1));
    let across: LogCoord<f64> = (x0 / 1.3..x1 * 1.3).log_scale().into();
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 14).into_font().color(&color))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(46)
        .build_cartesian_2d(across, 0.0..y1 * 1.15)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .x_labels(6)
        .y_labels(5)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, color.filled())))?;
    Ok(())
}

fn draw(rows: &[Measured]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let areas = root.split_evenly((2, 2));
        let ns = |row: &Measured| row.ns_per_hop.unwrap_or(0.0);
        let peak = |row: &Measured| megabytes(row.peak_rss_bytes);
        for (area, title, kind, y, color) in [
            (
                &areas[0],
                "ns per packet-hop, by flows",
                "flows",
                ns as fn(&Measured) -> f64,
                FLOWS,
            ),
            (&areas[1], "ns per packet-hop, by hosts", "hosts", ns, HOSTS),
            (&areas[2], "peak MB, by flows", "flows", peak, FLOWS),
            (&areas[3], "peak MB, by hosts", "hosts", peak, HOSTS),
        ] {
            panel(area, title, &series(rows, kind, y), color)?;
        }
        root.present()?;
    }
    Ok(text)
}

fn table(rows: &[Measured]) -> String {
    let mut table = String::from(
        "| hosts | flows | packet-hops | first packet after, s | memory then, MB | running, CPU s | ns per hop | peak MB | \
         flows held |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows.iter().filter(|row| !row.is("run") && !row.is(ONE_HOST)) {
        let held = if row.flows_held > 0 {
            row.flows_held.to_string()
        } else {
            "all".to_string()
        };
        let ran = !row.is("start");
        let or_dash = |text: String| if ran { text } else { "–".to_string() };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {:.2} | {:.0} | {} | {} | {} | {held} |",
            row.hosts,
            row.flows,
            or_dash(row.packet_hops.to_string()),
            row.start_s,
            megabytes(row.start_rss_bytes),
            or_dash(format!("{:.2}", row.run_cpu_s)),
            or_dash(row.ns_per_hop.map_or_else(String::new, |ns| format!("{ns:.0}"))),
            or_dash(format!("{:.0}", megabytes(row.peak_rss_bytes))),
        );
    }
    table
}

/// Returns the table of flows that one host starts at the same instant.
fn one_host_table(rows: &[Measured]) -> String {
    let mut table = String::from(
        "| flows | packet-hops | running, CPU s | µs per flow | peak MB |\n|---|---|---|---|---|\n",
    );
    for row in rows.iter().filter(|row| row.is(ONE_HOST)) {
        let _ = writeln!(
            table,
            "| {} | {} | {:.2} | {:.2} | {:.0} |",
            row.flows,
            row.packet_hops,
            row.run_cpu_s,
            row.run_cpu_s * 1e6 / row.flows as f64,
            megabytes(row.peak_rss_bytes),
        );
    }
    table
}

/// Returns the table of complete runs by `paceline run`.
fn runs_table(rows: &[Measured]) -> String {
    let mut table =
        String::from("| flows | packet-hops | CPU s | ns per hop | peak MB |\n|---|---|---|---|---|\n");
    for row in rows.iter().filter(|row| row.is("run")) {
        let _ = writeln!(
            table,
            "| {} | {} | {:.1} | {:.0} | {:.0} |",
            row.flows,
            row.packet_hops,
            row.run_cpu_s,
            row.ns_per_hop.unwrap_or(0.0),
            megabytes(row.peak_rss_bytes),
        );
    }
    table
}

#[test]
fn cost_is_drawn_as_it_was_measured() {
    let data = fs::read_to_string(super::book().join("data/scale.json")).unwrap();
    let rows: Vec<Measured> = serde_json::from_str(&data).unwrap();
    assert!(rows.iter().any(|row| row.flows > 1_000_000) && rows.iter().any(|row| row.hosts > 60_000));
    super::keep("images/scale.svg", &draw(&rows).unwrap());
    super::keep("data/scale.md", &table(&rows));
    super::keep("data/scale-runs.md", &runs_table(&rows));
    super::keep("data/scale-one-host.md", &one_host_table(&rows));
}
