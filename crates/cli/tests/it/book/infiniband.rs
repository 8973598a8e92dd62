//! A figure of `infiniband-demo`: rates of the victim, the congested flow and the bursts under credits alone, IBCC and
//! RRCC.

use std::error::Error;
use std::sync::Arc;

use paceline_fabric::Simulation;
use paceline_lab::run::{Control, Resources, execute_on};
use paceline_query::{Cell, Ended, Run};
use paceline_scenario::{Overrides, load_shipped};
use plotters::prelude::*;

const FILE: &str = "images/scenarios/infiniband-demo.svg";
const SIZE: (u32, u32) = (760, 470);
/// Start and end of the figure, ms.
const SPAN_MS: (f64, f64) = (9.0, 16.0);
/// Number of bins of 0.1 ms, and the rate of one packet per bin, Gbit/s.
const BINS: usize = 160;
const PACKET: f64 = 0.163_84;

const CONTROLS: [(&str, &str); 3] = [("none", "credits alone"), ("ibcc", "IBCC"), ("rrcc", "RRCC")];
const LINES: [(&str, RGBColor); 3] = [
    ("H1, the victim", RGBColor(0x1f, 0x5f, 0xa8)),
    ("H2, the culprit", RGBColor(0xc8, 0x55, 0x1b)),
    ("fifteen bursts", RGBColor(0x8a, 0x8a, 0x8a)),
];

/// Returns the received rate of each sender by bin, Gbit/s.
fn rates(control: &str) -> [[f64; BINS]; 3] {
    let set = [
        format!("parity.ib-omnet.control={control}"),
        "parity.ib-omnet.log=true".into(),
        "duration=16ms".into(),
    ];
    let overrides = Overrides {
        set: set.to_vec(),
        ..Overrides::default()
    };
    let input = load_shipped("infiniband-demo", &overrides).expect("it ships");
    let finished = execute_on(&input, Resources::ONE_THREAD, &mut |_| Control::Continue).expect("it runs");
    let run = Run::new(Arc::new(Ended { input, finished }));
    let received = "SELECT min(src, 2), time_ps / 100000000, count(*) FROM ib_steps WHERE step = 'received' GROUP BY 1, 2";
    let mut rates = [[0.0; BINS]; 3];
    for row in run.ask(received).expect("SQL").rows {
        let [Cell::Int(sender), Cell::Int(bin), Cell::Int(packets)] = row[..] else {
            panic!("{row:?}");
        };
        if let Some(rate) = rates[sender as usize].get_mut(bin as usize) {
            *rate = packets as f64 * PACKET;
        }
    }
    rates
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    rates: &[[f64; BINS]; 3],
) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(4)
        .margin_left(8)
        .margin_right(26)
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d(SPAN_MS.0..SPAN_MS.1, 0.0..33.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .y_desc(title)
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    for (values, (_, color)) in rates.iter().zip(LINES) {
        let bins = values
            .iter()
            .enumerate()
            .map(|(bin, &rate)| (bin as f64 * 0.1, rate));
        let shown = bins.filter(|(at, _)| (SPAN_MS.0..SPAN_MS.1).contains(at));
        let steps = shown.flat_map(|(at, rate)| [(at, rate), (at + 0.1, rate)]);
        chart.draw_series(LineSeries::new(steps, color.stroke_width(1)))?;
    }
    Ok(())
}

fn draw(all: &[[[f64; BINS]; 3]]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (names, panels) = root.split_vertically(26);
        for (index, (name, color)) in (0..).zip(LINES) {
            let style = ("sans-serif", 14).into_font().color(&color);
            names.draw(&Text::new(name, (64 + 140 * index, 10), style))?;
        }
        for (area, (rates, (_, name))) in panels.split_evenly((3, 1)).iter().zip(all.iter().zip(CONTROLS)) {
            panel(area, &format!("{name}, Gbit/s"), rates)?;
        }
        root.present()?;
    }
    Ok(text)
}

/// During the bursts, the victim gets 2 of 32 Gbit/s under credits alone and under IBCC, and keeps most of its rate
/// under RRCC.
#[cfg(feature = "parity")]
#[test]
fn the_demo_of_infiniband_has_a_figure_of_its_runs() {
    let all = CONTROLS.map(|(control, _)| rates(control));
    let mean = |control: usize, line: usize| all[control][line][105..130].iter().sum::<f64>() / 25.0;
    assert!(
        (1.9..2.1).contains(&mean(0, 0)) && (1.9..2.1).contains(&mean(0, 1)),
        "{}",
        mean(0, 0)
    );
    assert!((1.9..2.1).contains(&mean(1, 0)), "{}", mean(1, 0));
    assert!(
        mean(2, 0) > 15.0 && mean(2, 1) < 15.0,
        "{} {}",
        mean(2, 0),
        mean(2, 1)
    );
    super::keep(FILE, &draw(&all).unwrap());
}

/// The flow to the idle host, as on the page about credits: rate control by service level slows it with its
/// neighbour, control by queue pair does not.
#[test]
fn an_innocent_flow_pays_by_service_level() {
    let took = |per_sl: bool| {
        let overrides = Overrides {
            set: vec![format!("cc.ibcc.per-sl={per_sl}")],
            ..Overrides::default()
        };
        let input = load_shipped("infiniband-service-level", &overrides).expect("it ships");
        let mut simulation = Simulation::new(input.run.clone()).expect("it was resolved");
        while !simulation.advance(1 << 20).done {}
        format!("{:.2}", simulation.finish().flows[0].fct.as_us_f64() / 1e3)
    };
    let (alone, shared) = (took(false), took(true));
    let said = format!("takes {alone} ms by queue pair, {shared} by service level");
    let page = std::fs::read_to_string(super::book().join("model/credits.md")).unwrap();
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.join(" ").contains(&said), "{said}");
}
