//! Report page of a forest: influence of features, and proved claims.

use paceline_congestion::learned::forest::Forest;
use paceline_forest::prove::Finding;
use paceline_kernel::order::Sort as _;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_report::{Axis, Chart, ChartKind, Grid, Line, Part, Sheet, Tile, render_sheet};
use serde_json::Value;

use paceline_lab::text::percent;

use super::chart::chart;
use crate::Error;
use crate::distill::{JUDGED, Judged};

/// Rows of a random background.
const DRAWN: usize = 128;
/// Percentile shown in addition to the mean: the tenth, and symmetrically the ninetieth.
const TENTH: usize = 10;
/// Number of the random stream of a random background.
const BACKGROUND: u64 = 96;
/// Colour of the mean; `SPREAD` is that of the percentiles.
const MEAN: usize = 0;
const SPREAD: usize = 7;

/// Contents of the report on a forest.
#[derive(Debug)]
pub struct ForestPage<'a> {
    /// Forest that the page describes.
    pub forest: &'a Forest,
    /// Findings on its claims.
    pub findings: &'a [Finding],
    /// Command that reproduces the page.
    pub command: String,
}

/// Background: rows of features on which a forest is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    /// Features, row by row.
    pub rows: Vec<Vec<f32>>,
    /// True if the forest met these rows; otherwise each feature is drawn between its thresholds.
    pub met: bool,
}

impl Background {
    /// Returns the rows in the forest's file, or random ones.
    pub fn of(forest: &Forest) -> Self {
        let width = forest.parts().features.len();
        let row = |row: &Value| -> Option<Vec<f32>> {
            let row: Option<Vec<f32>> = row.as_array()?.iter().map(|x| Some(x.as_f64()? as f32)).collect();
            row.filter(|row| row.len() == width)
        };
        let met = forest.parts().about.get("met").and_then(Value::as_array);
        let rows: Option<Vec<Vec<f32>>> = met.and_then(|rows| rows.iter().map(row).collect());
        if let Some(rows) = rows.filter(|rows| !rows.is_empty()) {
            return Self { rows, met: true };
        }
        let mut rng = Rng::stream(1, Purpose::Training, BACKGROUND);
        let borders: Vec<Vec<i32>> = (0..width).map(|k| forest.parts().borders(k)).collect();
        let mut draw = |k: usize| {
            // One number of a cell stands for all of it, since no tree can tell them apart.
            let scale = forest.parts().features[k].scale;
            let cell = rng.below(borders[k].len() as u64 + 1) as usize;
            match (borders[k].get(cell), borders[k].last()) {
                (Some(border), _) => scale.number(*border),
                (None, Some(last)) => scale.number(last + 1),
                (None, None) => 0.0,
            }
        };
        let rows = (0..DRAWN).map(|_| (0..width).map(&mut draw).collect());
        Self {
            rows: rows.collect(),
            met: false,
        }
    }
}

/// Outputs for one value of a feature, with all other features from the background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// Value of the feature.
    pub x: f64,
    /// Mean output over the background (partial dependence).
    pub mean: f64,
    /// Output that a tenth of the background is below.
    pub low: f64,
    /// Output that a tenth of the background is above.
    pub high: f64,
}

/// Returns the output as a function of a feature: at both ends of each range between two thresholds, so that
/// straight lines in between are exact.
pub fn dependence(forest: &Forest, background: &Background, feature: usize) -> Vec<Dependence> {
    let scale = forest.parts().features[feature].scale;
    let borders = forest.parts().borders(feature);
    let seen = background.rows.iter().map(|row| scale.position(row[feature]));
    let ends = seen
        .chain(borders.first().copied())
        .chain(borders.last().map(|last| last + 1));
    let (low, high) = ends.fold((i32::MAX, i32::MIN), |(low, high), at| {
        (low.min(at), high.max(at))
    });
    let inner = borders.iter().filter(|border| (low..high).contains(border));
    let mut positions = vec![low];
    positions.extend(inner.flat_map(|border| [*border, border + 1]));
    positions.push(high);
    positions.dedup();
    let at = |position: &i32| {
        let x = scale.number(*position);
        let mut outputs: Vec<f64> = background
            .rows
            .iter()
            .map(|row| output(forest, row, feature, x))
            .collect();
        outputs.sort_by(f64::total_cmp);
        Dependence {
            x: f64::from(x),
            mean: outputs.iter().sum::<f64>() / outputs.len() as f64,
            low: outputs[outputs.len() / TENTH],
            high: outputs[outputs.len() - 1 - outputs.len() / TENTH],
        }
    };
    positions.iter().map(at).collect()
}

/// Returns the output of a row with one feature replaced.
fn output(forest: &Forest, row: &[f32], feature: usize, x: f32) -> f64 {
    let mut row = row.to_vec();
    row[feature] = x;
    f64::from(forest.decide(&row))
}

/// Influence of a feature on a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Name of the feature.
    pub feature: String,
    /// Number of splits on it.
    pub questions: usize,
    /// Number of distinct thresholds.
    pub thresholds: usize,
    /// Share of the training gain of its splits; `None` if the file does not have it.
    pub gain: Option<f64>,
    /// Mean change of the output, over the background, if the feature is replaced by that of another row.
    pub moves: f64,
}

/// Returns the influence of each feature.
pub fn weights(forest: &Forest, background: &Background) -> Vec<Weight> {
    let parts = forest.parts();
    let gains = parts.about.get("gains").and_then(Value::as_array);
    let gains = gains.filter(|gains| gains.len() == parts.features.len());
    let of = |k: usize| {
        let asked = parts
            .trees
            .iter()
            .flat_map(|tree| &tree.splits)
            .filter(|split| split.feature == k);
        Weight {
            feature: parts.features[k].name.clone(),
            questions: asked.count(),
            thresholds: parts.borders(k).len(),
            gain: gains.and_then(|gains| gains[k].as_f64()),
            moves: moves(forest, background, k),
        }
    };
    (0..parts.features.len()).map(of).collect()
}

/// Returns the mean change of the output over all pairs of rows.
fn moves(forest: &Forest, background: &Background, feature: usize) -> f64 {
    let rows = &background.rows;
    let of = |row: &Vec<f32>| {
        let own = f64::from(forest.decide(row));
        let others = rows
            .iter()
            .map(|other| (output(forest, row, feature, other[feature]) - own).abs());
        others.sum::<f64>()
    };
    rows.iter().map(of).sum::<f64>() / (rows.len() * (rows.len() - 1)).max(1) as f64
}

/// Renders the page of a forest.
///
/// # Errors
/// The template is faulty.
pub fn forest(page: &ForestPage<'_>) -> Result<String, Error> {
    let (forest, parts) = (page.forest, page.forest.parts());
    let background = Background::of(forest);
    let weights = weights(forest, &background);
    let charts = (0..parts.features.len()).filter(|k| weights[*k].questions > 0);
    let curves = Part {
        title: "What comes of each feature".into(),
        text: format!(
            "The output along one feature while the others stay: the mean (partial dependence), and between which two \
             values eight of ten rows are. Lines are straight between thresholds, as the forest is. Rows are {}.",
            match background.met {
                true => format!("{} that it met in its training", background.rows.len()),
                false => format!(
                    "{} in which each feature is anywhere between its thresholds, whether or not they go together in a run",
                    background.rows.len()
                ),
            }
        ),
        charts: charts.map(|k| curve(forest, &background, k)).collect(),
        tables: Vec::new(),
    };
    let all = [
        Some(deciding(&weights)),
        Some(curves),
        proofs(forest, page.findings),
        judged(forest),
        rounds(forest),
    ];
    let sheet = Sheet {
        kicker: "Paceline forest".into(),
        title: parts.name.clone(),
        story: story(forest, &weights),
        warnings: Vec::new(),
        tiles: tiles(forest),
        parts: all.into_iter().flatten().collect(),
        command: page.command.clone(),
        facts: vec![("forest, SHA-256".into(), forest.sha256().into())],
    };
    Ok(render_sheet(&sheet)?)
}

fn story(forest: &Forest, weights: &[Weight]) -> String {
    let parts = forest.parts();
    let first = weights.iter().max_by(|a, b| a.moves.total_cmp(&b.moves));
    let teacher = parts.about.get("teacher").and_then(|teacher| teacher.get("name"));
    let from = teacher
        .and_then(Value::as_str)
        .map_or_else(String::new, |name| format!(", distilled from {name}"));
    match first {
        Some(first) => format!(
            "{} boosted oblivious trees{from}. They give {}; what moves it most is {}, by {:.3} in the mean when it is that \
             of another row.",
            parts.trees.len(),
            parts.output,
            first.feature,
            first.moves
        ),
        None => String::new(),
    }
}

fn tiles(forest: &Forest) -> Vec<Tile> {
    let parts = forest.parts();
    let cost = paceline_forest::c::cost(forest);
    let deepest = parts
        .trees
        .iter()
        .map(|tree| tree.splits.len())
        .max()
        .unwrap_or(0);
    let tile = |name: &str, value: String, note: String| Tile {
        name: name.into(),
        value,
        note,
    };
    vec![
        tile(
            "trees",
            parts.trees.len().to_string(),
            format!("{deepest} questions at most"),
        ),
        tile(
            "features",
            parts.features.len().to_string(),
            format!("to {}", parts.output),
        ),
        tile(
            "as C",
            format!("{} KB", cost.bytes.div_ceil(1000)),
            format!(
                "{} comparisons, {} additions a decision",
                cost.comparisons, cost.additions
            ),
        ),
    ]
}

fn deciding(weights: &[Weight]) -> Part {
    let all: usize = weights.iter().map(|weight| weight.questions).sum();
    let mut sorted: Vec<&Weight> = weights.iter().collect();
    sorted.order_by(|a, b| b.moves.total_cmp(&a.moves));
    let row = |weight: &&Weight| {
        vec![
            weight.feature.clone(),
            format!("{:.4}", weight.moves),
            weight.questions.to_string(),
            percent(weight.questions as f64 / all.max(1) as f64),
            weight.thresholds.to_string(),
            weight.gain.map_or_else(|| "-".into(), percent),
        ]
    };
    Part {
        title: "Which feature decides".into(),
        text: "How far the output moves when a feature is that of another row, in the mean; how many of the trees' \
               questions are about it, at how many thresholds; and its share of what all questions took away of the \
               square error in training, where the file says that."
            .into(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: ["feature", "moves the output by", "questions", "share", "thresholds", "gain"]
                .map(String::from)
                .to_vec(),
            rows: sorted.iter().map(row).collect(),
            ..Grid::default()
        }],
    }
}

fn curve(forest: &Forest, background: &Background, feature: usize) -> Chart {
    let parts = forest.parts();
    let name = &parts.features[feature].name;
    let course = dependence(forest, background, feature);
    let line =
        |of: fn(&Dependence) -> f64| -> Vec<(f64, f64)> { course.iter().map(|at| (at.x, of(at))).collect() };
    let spread = |what: &str, of: fn(&Dependence) -> f64| Line {
        dash: 1,
        guide: true,
        ..Line::new(what, SPREAD, &line(of))
    };
    Chart {
        kind: ChartKind::Lines,
        ..chart(
            &format!("{} along {name}", parts.output),
            "",
            Axis::new(name.clone(), ""),
            Axis::new(parts.output.clone(), ""),
            vec![
                Line::new("mean", MEAN, &line(|at| at.mean)),
                spread("a tenth is below", |at| at.low),
                spread("a tenth is above", |at| at.high),
            ],
        )
    }
}

fn proofs(forest: &Forest, findings: &[Finding]) -> Option<Part> {
    let row = |finding: &Finding| {
        vec![
            finding.what.clone(),
            finding.verdict.name().into(),
            finding.by.clone(),
            finding.ranges.to_string(),
        ]
    };
    let mut rows: Vec<Vec<String>> = findings.iter().map(row).collect();
    rows.extend(
        not_proved(forest)
            .map(|[what, verdict]| vec![what, verdict, "when it was distilled".into(), "-".into()]),
    );
    (!rows.is_empty()).then(|| Part {
        title: "What was proved".into(),
        text: "Over all that features can be, also where no run gets to. Open is what was neither proved nor refuted \
               within so many ranges; paceline prove shows counterexamples, and takes further claims."
            .into(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: ["claim", "verdict", "by", "ranges"].map(String::from).to_vec(),
            rows,
            ..Grid::default()
        }],
    })
}

/// Returns claims that were refuted or undecided when the forest was distilled, with their verdicts.
fn not_proved(forest: &Forest) -> impl Iterator<Item = [String; 2]> + '_ {
    let asked = forest.parts().about.get("not_proved").and_then(Value::as_array);
    asked.into_iter().flatten().filter_map(|one| {
        let [what, verdict] = ["what", "verdict"].map(|key| one.get(key).and_then(Value::as_str));
        Some([what?.to_string(), verdict?.to_string()])
    })
}

/// Returns the part on judging runs, from the notes in the forest's file.
fn judged(forest: &Forest) -> Option<Part> {
    let judged = forest.parts().about.get("judged")?;
    let judged: Vec<Judged> = serde_json::from_value(judged.clone()).ok()?;
    Some(Part {
        title: "Beside its teacher, where nothing learned".into(),
        text: "Scenarios and seeds that neither teacher nor forest learned from; the same seeds for both. Means over \
               seeds, and half of the 95 % interval."
            .into(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: JUDGED.map(String::from).to_vec(),
            rows: judged.iter().flat_map(Judged::rows).collect(),
            ..Grid::default()
        }],
    })
}

/// Returns the part on the rounds of its distillation.
fn rounds(forest: &Forest) -> Option<Part> {
    let about = &forest.parts().about;
    let kept = about.get("best").and_then(Value::as_u64);
    let row = |round: &Value| -> Option<Vec<String>> {
        let number = round.get("round")?.as_u64()?;
        let who = match number {
            0 => "teacher",
            _ if Some(number) == kept => "forest, kept",
            _ => "forest",
        };
        let [worth, error] = ["worth", "error"].map(|key| round.get(key).and_then(Value::as_f64));
        let rows = round.get("rows")?.as_u64()?;
        Some(vec![
            number.to_string(),
            who.into(),
            format!("{:.5}", worth?),
            format!("{:.4}", error?),
            rows.to_string(),
        ])
    };
    let rounds: Option<Vec<Vec<String>>> = about.get("rounds")?.as_array()?.iter().map(row).collect();
    Some(Part {
        title: "Round by round".into(),
        text: "Who decided in a round, what that was worth in the episodes by which rounds are chosen, how far it was from \
               the teacher there (root of the mean square), and how many decisions the next forest learned from beside \
               those of earlier rounds."
            .into(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: ["round", "decides", "worth", "off the teacher by", "decisions"]
                .map(String::from)
                .to_vec(),
            rows: rounds?,
            ..Grid::default()
        }],
    })
}
