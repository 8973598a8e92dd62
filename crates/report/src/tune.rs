//! Page of a search for the best values of parameters.

mod profiles;

use paceline_kernel::order::Sort as _;
use paceline_lab::stats::Interval;
use paceline_lab::text::number;
use paceline_lab::tune::{Found, Parameter, ParameterResult, Standing, Trial, Verdict, change};

use super::{Axis, Chart, ChartKind, Grid, Line, Part, RenderError, Sheet, Tile, Width, render_sheet};

/// Renders the page of a search.
///
/// # Errors
/// If the template is invalid.
pub fn render_tune(found: &Found) -> Result<String, RenderError> {
    let plan = &found.plan;
    let sheet = Sheet {
        kicker: "Paceline search".into(),
        title: format!("Tuning of {}", plan.scenario),
        story: story(found),
        warnings: found.warnings.clone(),
        tiles: tiles(found),
        parts: vec![
            parameters(found),
            over_trials(found),
            trade_off(found),
            profiles::profiles(found),
            held_out(found),
        ],
        command: format!("paceline tune {}", plan.arguments.join(" ")),
        facts: facts(found),
    };
    render_sheet(&sheet)
}

fn story(found: &Found) -> String {
    let plan = &found.plan;
    let end = match found.verdict {
        Verdict::Better => "The best candidate is better than the scenario as written.",
        Verdict::NoDifference => "No difference from the scenario as written is shown.",
        Verdict::Worse => "The best candidate is worse than the scenario as written: its gain was chance.",
    };
    format!(
        "{} candidates ran with {} each. The best one changes `{}` ({} is better) by {} on these seeds and by {} on {} \
         that the search never had. {end}",
        found.counts.trials,
        seeds(plan.seeds.len()),
        plan.objective.measure,
        direction(plan.objective.maximise),
        change(found.search),
        change(found.held_out.ratio),
        seeds(plan.held_out.len()),
    )
}

fn seeds(count: usize) -> String {
    format!("{count} seed{}", if count == 1 { "" } else { "s" })
}

const fn direction(maximise: bool) -> &'static str {
    if maximise { "more" } else { "less" }
}

/// Returns the change of a mean without its interval.
fn change_of_mean(ratio: Option<Interval>) -> String {
    change(ratio.map(|ratio| Interval::of_one(ratio.mean, ratio.n)))
}

fn tiles(found: &Found) -> Vec<Tile> {
    let ends = |ratio: Option<Interval>| match ratio.and_then(|ratio| ratio.ends()) {
        Some((lo, hi)) => format!(
            "95 % interval {:+.1} to {:+.1} %",
            100.0 * (lo - 1.0),
            100.0 * (hi - 1.0)
        ),
        None => "without an interval".to_string(),
    };
    let flat = found.parameters.iter().filter(|parameter| parameter.flat).count();
    let tile = |name: &str, value: String, note: String| Tile {
        name: name.into(),
        value,
        note,
    };
    vec![
        tile(
            "verdict",
            found.verdict.words().into(),
            format!("on {}", seeds(found.plan.held_out.len())),
        ),
        tile(
            "gain in the search",
            change_of_mean(found.search),
            ends(found.search),
        ),
        tile(
            "gain held out",
            change_of_mean(found.held_out.ratio),
            ends(found.held_out.ratio),
        ),
        tile(
            "flat parameters",
            format!("{flat} of {}", found.parameters.len()),
            "no value differs from the best".into(),
        ),
    ]
}

fn parameters(found: &Found) -> Part {
    let row = |(parameter, of): (&ParameterResult, &Parameter)| {
        vec![
            parameter.name.clone(),
            parameter.written.clone().unwrap_or_else(|| "-".into()),
            parameter.best.clone(),
            of.domain_text(),
            effect(parameter),
        ]
    };
    let counts = &found.counts;
    Part {
        title: "Values".into(),
        text: "`tuned.toml` is the scenario with the best values. The effect is the change of the objective along the \
               parameter, with the others at their best, on the held-out seeds."
            .into(),
        tables: vec![Grid {
            head: ["parameter", "as written", "best", "range", "effect"].map(String::from).to_vec(),
            rows: found.parameters.iter().zip(&found.plan.parameters).map(row).collect(),
            note: format!(
                "{} candidates in {} generations{}: {} over a limit, {} refused, {} failed.",
                counts.trials,
                counts.generations,
                if counts.converged { ", until they did not differ any more" } else { "" },
                counts.over_limit,
                counts.refused,
                counts.failed
            ),
            ..Grid::default()
        }],
        ..Part::default()
    }
}

/// Returns the range of changes along a parameter.
fn effect(parameter: &ParameterResult) -> String {
    let means = parameter
        .profile
        .iter()
        .filter_map(|point| Some(point.ratio?.mean));
    let least = means.clone().fold(1.0, f64::min);
    let most = means.clone().fold(1.0, f64::max);
    match (means.count(), parameter.flat) {
        (0, _) => "not measured".to_string(),
        (_, true) => "flat".to_string(),
        (_, false) => format!("{:+.1} to {:+.1} %", 100.0 * (least - 1.0), 100.0 * (most - 1.0)),
    }
}

fn chart(title: &str, note: String, (x, y): (Axis, Axis), lines: Vec<Line>) -> Chart {
    Chart {
        title: title.into(),
        note,
        x,
        y,
        kind: ChartKind::Dots,
        width: Width::Full,
        lines,
    }
}

fn guide(name: &str, color: usize, points: &[(f64, f64)]) -> Line {
    Line {
        guide: true,
        ..Line::new(name, color, points)
    }
}

/// Colours of candidates within and over the limits, of the scenario as written, the front, and the best.
const WITHIN: usize = 0;
const OVER: usize = 7;
const WRITTEN: usize = 3;
const FRONT: usize = 2;
const BEST: usize = 1;

fn over_trials(found: &Found) -> Part {
    let of = |wanted: fn(&Standing) -> bool| -> Vec<(f64, f64)> {
        let all = found.trials.iter().enumerate().skip(1);
        let some = all.filter(|(_, trial)| wanted(&trial.standing));
        some.filter_map(|(number, trial)| Some((number as f64, found.mean(trial)?)))
            .collect()
    };
    let within = of(|standing| matches!(standing, Standing::Feasible));
    let over = of(|standing| matches!(standing, Standing::OverLimit(_)));
    let mut lines = vec![Line::new("candidate", WITHIN, &within)];
    if !over.is_empty() {
        lines.push(Line::new("over a limit", OVER, &over));
    }
    let written = found.mean(&found.trials[0]).unwrap_or(0.0);
    let last = (found.trials.len() - 1) as f64;
    lines.push(guide("as written", WRITTEN, &[(1.0, written), (last, written)]));
    lines.push(Line::new(
        "best",
        BEST,
        &point(found.best as f64, found.mean(&found.trials[found.best])),
    ));
    let values = within.iter().chain(&over).map(|(_, value)| *value);
    let y = Axis::new(found.plan.objective.measure.clone(), "").log_if_wide(values);
    Part {
        title: "Trial by trial".into(),
        charts: vec![chart(
            "Objective of each candidate",
            format!(
                "Geometric mean over {}; {} is better.",
                seeds(found.plan.seeds.len()),
                direction(found.plan.objective.maximise)
            ),
            (Axis::new("trial", ""), y),
            lines,
        )],
        ..Part::default()
    }
}

fn point(x: f64, y: Option<f64>) -> Vec<(f64, f64)> {
    y.map(|y| (x, y)).into_iter().collect()
}

fn trade_off(found: &Found) -> Part {
    let plan = &found.plan;
    let at = |trial: &Trial| Some((trial.against?, found.mean(trial)?));
    let of = |wanted: fn(&Standing) -> bool| {
        let some = found
            .trials
            .iter()
            .skip(1)
            .filter(|trial| wanted(&trial.standing));
        let mut points: Vec<(f64, f64)> = some.filter_map(at).collect();
        // The best of equal ones is last, and is the one that a line keeps.
        points.order_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        points
    };
    let within = of(|standing| matches!(standing, Standing::Feasible));
    let over = of(|standing| matches!(standing, Standing::OverLimit(_)));
    let front = front(&within, plan.against.maximise, plan.objective.maximise);
    let mut lines = vec![Line::new("candidate", WITHIN, &within)];
    if !over.is_empty() {
        lines.push(Line::new("over a limit", OVER, &over));
    }
    lines.push(guide("Pareto front", FRONT, &front));
    lines.push(Line::new(
        "as written",
        WRITTEN,
        &at(&found.trials[0]).into_iter().collect::<Vec<_>>(),
    ));
    lines.push(Line::new(
        "best",
        BEST,
        &at(&found.trials[found.best]).into_iter().collect::<Vec<_>>(),
    ));
    let all = || within.iter().chain(&over);
    let axis = |name: &str, values: &mut dyn Iterator<Item = f64>| {
        let values: Vec<f64> = values.collect();
        Axis::new(name, "").log_if_wide(values.iter().copied())
    };
    Part {
        title: "Trade-off".into(),
        text: format!(
            "Means over {}, geometric ones of the objective. The front joins the {} candidates that no other one beats in both measures: {} is better for \
             `{}`, {} for `{}`. The best on the held-out seeds changes `{}` by {}.",
            seeds(plan.seeds.len()),
            front.len(),
            direction(plan.objective.maximise),
            plan.objective.measure,
            direction(plan.against.maximise),
            plan.against.measure,
            plan.against.measure,
            change(found.held_out.against),
        ),
        charts: vec![chart(
            "Objective and second measure",
            String::new(),
            (
                axis(&plan.against.measure, &mut all().map(|point| point.0)),
                axis(&plan.objective.measure, &mut all().map(|point| point.1)),
            ),
            lines,
        )],
        ..Part::default()
    }
}

/// Returns the points that no other one beats in both directions, by x.
fn front(points: &[(f64, f64)], more_x: bool, more_y: bool) -> Vec<(f64, f64)> {
    let better = |a: f64, b: f64, more: bool| if more { a > b } else { a < b };
    let beats = |a: &(f64, f64), b: &(f64, f64)| {
        let (x, y) = (better(a.0, b.0, more_x), better(a.1, b.1, more_y));
        !better(b.0, a.0, more_x) && !better(b.1, a.1, more_y) && (x || y)
    };
    let mut front: Vec<(f64, f64)> = Vec::new();
    for one in points {
        if !points.iter().any(|other| beats(other, one)) && front.last() != Some(one) {
            front.push(*one);
        }
    }
    front
}

fn held_out(found: &Found) -> Part {
    let (plan, held) = (&found.plan, &found.held_out);
    let pairs = plan.held_out.iter().zip(held.written.iter().zip(&held.best));
    let row = |(seed, (written, best)): (&u64, (&f64, &f64))| {
        vec![
            seed.to_string(),
            number(Some(*written)),
            number(Some(*best)),
            format!("{:+.1} %", 100.0 * (best / written - 1.0)),
        ]
    };
    let limit = |(limit, (written, best, kept)): (&paceline_lab::tune::Limit, &(f64, f64, bool))| {
        let kept = if *kept { "kept" } else { "broken" };
        vec![
            limit.text.clone(),
            number(Some(*written)),
            number(Some(*best)),
            kept.to_string(),
        ]
    };
    let mut tables = vec![Grid {
        head: ["seed", "as written", "best", "change"]
            .map(String::from)
            .to_vec(),
        rows: pairs.map(row).collect(),
        note: format!("Geometric mean of the changes: {}.", change(held.ratio)),
        ..Grid::default()
    }];
    if !plan.limits.is_empty() {
        tables.push(Grid {
            head: ["limit", "as written", "best", ""].map(String::from).to_vec(),
            rows: plan.limits.iter().zip(&held.limits).map(limit).collect(),
            note: "Means over the held-out seeds.".into(),
            ..Grid::default()
        });
    }
    Part {
        title: "On seeds that the search never had".into(),
        text: format!("`{}`, with the same traffic for both.", plan.objective.measure),
        tables,
        ..Part::default()
    }
}

fn facts(found: &Found) -> Vec<(String, String)> {
    let plan = &found.plan;
    let list = |seeds: &[u64]| match seeds {
        [first, .., last] => format!("{first} to {last}"),
        seeds => seeds.iter().map(u64::to_string).collect(),
    };
    [
        ("version", plan.version.clone()),
        ("scheme", plan.scheme.clone()),
        ("seeds of the search", list(&plan.seeds)),
        ("held-out seeds", list(&plan.held_out)),
        ("scenario as written", plan.id.clone()),
        ("Kendall's W", number(found.agreement)),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_point_of_the_front_is_beaten() {
        let points = [(1.0, 5.0), (2.0, 4.0), (2.0, 3.0), (3.0, 3.0), (4.0, 1.0)];
        assert_eq!(front(&points, false, false), [(1.0, 5.0), (2.0, 3.0), (4.0, 1.0)]);
        assert_eq!(front(&points, true, false), [(4.0, 1.0)]);
        assert_eq!(
            front(&points, true, true),
            [(1.0, 5.0), (2.0, 4.0), (3.0, 3.0), (4.0, 1.0)]
        );
    }
}
