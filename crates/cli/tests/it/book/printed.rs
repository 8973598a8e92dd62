//! Progress of the trainings of DECC's policy as the paper prints it, drawn from their `training.json`, which the
//! book keeps in `data/decc-paper.json`.

use std::error::Error;
use std::fs;

use plotters::prelude::*;
use serde::Deserialize;

const COLORS: [RGBColor; 3] = [
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0xc8, 0x55, 0x1b),
    RGBColor(0x2e, 0x86, 0x4b),
];
const SIZE: (u32, u32) = (760, 300);

#[derive(Deserialize)]
struct Training {
    seed: u64,
    cost_before: f64,
    cost_of_law: f64,
    cost_of_swift: f64,
    updates: Vec<Update>,
}

#[derive(Deserialize)]
struct Update {
    round: u64,
    reward: f64,
    trial: Option<(f64, f64)>,
}

fn draw(trainings: &[Training]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(380);
        let rounds = trainings.iter().flat_map(|one| &one.updates);
        let last = rounds.map(|update| update.round as f64).fold(0.0, f64::max);
        let mut costs = ChartBuilder::on(&left)
            .caption("cost in trials, over the oracle's", ("sans-serif", 14))
            .margin(8)
            .x_label_area_size(24)
            .y_label_area_size(46)
            .build_cartesian_2d(0.0..last, (1.0..100.0).log_scale())?;
        costs
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .draw()?;
        for (name, cost) in [
            ("law", trainings[0].cost_of_law),
            ("Swift", trainings[0].cost_of_swift),
        ] {
            let style = BLACK.mix(0.5).stroke_width(1);
            costs.draw_series(LineSeries::new([(0.0, cost), (last, cost)], style))?;
            costs.draw_series([Text::new(name, (last * 0.9, cost), ("sans-serif", 12))])?;
        }
        let mut rewards = ChartBuilder::on(&right)
            .caption("mean reward of a round", ("sans-serif", 14))
            .margin(8)
            .x_label_area_size(24)
            .y_label_area_size(46)
            .build_cartesian_2d(0.0..last, -0.1..0.1)?;
        rewards
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .draw()?;
        for (one, color) in trainings.iter().zip(COLORS) {
            let trials = one.updates.iter();
            let trials = trials.filter_map(|update| Some((update.round as f64, update.trial?.0)));
            let first = [(0.0, one.cost_before)];
            costs
                .draw_series(LineSeries::new(
                    first.into_iter().chain(trials),
                    color.stroke_width(2),
                ))?
                .label(format!("seed {}", one.seed))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
            let each = one
                .updates
                .iter()
                .map(|update| (update.round as f64, update.reward));
            rewards.draw_series(LineSeries::new(each, color.stroke_width(2)))?;
        }
        costs
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .draw()?;
        root.present()?;
    }
    Ok(text)
}

#[test]
fn trainings_are_drawn_as_they_went() {
    let data = fs::read_to_string(super::book().join("data/decc-paper.json")).unwrap();
    let trainings: Vec<Training> = serde_json::from_str(&data).unwrap();
    assert!(trainings.is_sorted_by(|one, next| one.seed < next.seed));
    super::keep("images/decc-paper.svg", &draw(&trainings).unwrap());
}
