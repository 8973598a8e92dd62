//! Report page of a predictor.

use paceline_kernel::order::Sort as _;
use paceline_lab::text::percent;
use paceline_report::{Axis, Chart, ChartKind, Grid, Line, Part, Sheet, Tile, Width, render_sheet};

use super::chart::{STEPS_MAX, chart, thinned};
use super::courses::{self, CourseErrors};
use super::data::data;
use crate::Error;
use crate::dataset::{Dataset, Pair, Trace};
use crate::on_policy::Report;
use crate::train::{self, Options, Round, Trained};

/// Upper limit of the dots in a chart; more are unreadable.
const DOTS_MAX: usize = 3000;
/// Predictions are drawn up to this factor beyond all measurements.
const BEYOND: f64 = 2.0;
/// Lower end of an axis of errors, in per cent.
const LEAST_ERROR: f64 = 0.01;
/// Samples of the flow whose predictions are drawn over time.
const STRIP: usize = 240;
/// Upper limit of the runs drawn, each of another scenario or scheme.
const STRIPS_MAX: usize = 4;
/// Least number of samples for a chart.
const STRIP_LEAST: usize = 8;

/// Colours: `TRAIN`, `TEST` and `MEASURED` values.
const TRAIN: usize = 7;
const TEST: usize = 0;
const MEASURED: usize = 7;

/// Trained predictor with its outputs for unseen pairs.
pub struct Judged<'a> {
    /// Training of the predictor.
    pub trained: &'a Trained,
    /// Number of trained values.
    pub parameters: usize,
    /// Outputs for the pairs of [`test_pairs`].
    pub out: Vec<f32>,
    /// Mean absolute percentage error of these outputs, as a share.
    pub mape: f64,
}

impl<'a> Judged<'a> {
    /// Evaluates a predictor on `test`, pairs not used for training.
    ///
    /// # Errors
    /// The weights do not fit the network.
    pub fn new(trained: &'a Trained, test: &[Pair]) -> Result<Self, Error> {
        let out = train::predict(trained.options.network, &trained.weights, test)?;
        Ok(Self {
            trained,
            parameters: trained.weights.values().map(|tensor| tensor.values.len()).sum(),
            mape: train::mape(test, &out),
            out,
        })
    }

    /// Returns the name in tables.
    pub const fn name(&self) -> &'static str {
        self.trained.options.network.title()
    }

    /// Returns the results of each round.
    pub fn rounds(&self) -> &'a [Round] {
        &self.trained.rounds
    }

    const fn is_in_rounds(&self) -> bool {
        self.trained.options.network.is_recurrent()
    }
}

/// Returns the pairs of `data` that a training with `options` uses only for testing.
pub fn test_pairs(data: &Dataset, options: &Options) -> Vec<Pair> {
    let rounds = data.pairs.chunks(options.train_pairs + options.test_pairs);
    let test = rounds
        .take(options.rounds)
        .filter_map(|round| round.get(options.train_pairs..));
    test.flatten().copied().collect()
}

/// Contents of the report on a network. The first predictor is the one that was trained.
pub struct NetworkPage<'a> {
    /// Predictors, at least one.
    pub predictors: &'a [Judged<'a>],
    /// Dataset of the training.
    pub dataset: &'a Dataset,
    /// Pairs on which the predictors were evaluated.
    pub test: &'a [Pair],
    /// Recorded runs, if any.
    pub traces: &'a [Trace],
    /// Errors of each recorded course.
    pub courses: &'a [CourseErrors],
    /// Rounds of an on-policy training; empty for others.
    pub on_policy: &'a [Report],
    /// Command that reproduces it.
    pub command: String,
    /// Names and values of its inputs.
    pub facts: Vec<(String, String)>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Renders the page of a network.
///
/// # Errors
/// The weights do not fit the network, or the template is faulty.
pub fn network(page: &NetworkPage<'_>) -> Result<String, Error> {
    let first = &page.predictors[0];
    let parts = [
        courses::rounds(page.on_policy),
        Some(training(first)),
        beside(page),
        courses::errors(page.predictors, page.courses),
        predicted(page, first)?,
        Some(data(page.dataset)),
    ];
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: format!("{}: the next round-trip time", first.name()),
        story: story(page, first),
        warnings: page.warnings.clone(),
        tiles: tiles(page, first),
        parts: parts.into_iter().flatten().collect(),
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

fn story(page: &NetworkPage<'_>, first: &Judged<'_>) -> String {
    let others = page.predictors[1..].iter();
    let best = others.min_by(|a, b| a.mape.total_cmp(&b.mape));
    let mut text = format!(
        "What a sender measures next is predicted from its last three features. For {} pairs that the \
         training never saw the prediction is off by {} on average",
        page.test.len(),
        percent(first.mape)
    );
    match best {
        Some(best) if best.mape <= first.mape => text.push_str(&format!(
            "; that of {} by {}: what is trained here is not the best predictor of these.",
            best.name(),
            percent(best.mape)
        )),
        Some(best) => text.push_str(&format!(
            "; that of {}, the best of the others, by {}.",
            best.name(),
            percent(best.mape)
        )),
        None => text.push('.'),
    }
    text
}

fn tiles(page: &NetworkPage<'_>, first: &Judged<'_>) -> Vec<Tile> {
    let parameters = |one: &Judged<'_>| match one.parameters {
        0 => "nothing trained".to_string(),
        parameters => format!("{parameters} parameters"),
    };
    let mut tiles: Vec<Tile> = page
        .predictors
        .iter()
        .map(|one| Tile {
            name: format!("{}, test MAPE", one.name()),
            value: percent(one.mape),
            note: parameters(one),
        })
        .collect();
    if let [start, .., end] = first.rounds() {
        tiles.push(Tile {
            name: "first round over last".into(),
            value: format!("{:.1} ×", start.test_mape / end.test_mape.max(f64::MIN_POSITIVE)),
            note: format!("{} to {}", percent(start.test_mape), percent(end.test_mape)),
        });
    }
    tiles.push(Tile {
        name: "pairs".into(),
        value: page.dataset.pairs.len().to_string(),
        note: match page.dataset.origins.len() {
            1 => "of one run".into(),
            runs => format!("of {runs} runs"),
        },
    });
    tiles
}

fn by_round(rounds: &[Round], of: impl Fn(&Round) -> f64) -> Vec<(f64, f64)> {
    rounds
        .iter()
        .map(|round| (round.number as f64, of(round)))
        .collect()
}

/// Returns the loss of every step, averaged over a fiftieth of the training, by completed rounds.
fn losses(rounds: &[Round]) -> Vec<(f64, f64)> {
    let steps: Vec<(f64, f64)> = rounds
        .iter()
        .flat_map(|round| {
            let steps = round.losses.len() as f64;
            let x = move |step: usize| (round.number - 1) as f64 + (step + 1) as f64 / steps;
            round
                .losses
                .iter()
                .enumerate()
                .map(move |(step, &loss)| (x(step), f64::from(loss)))
        })
        .collect();
    let wide = steps.len().div_ceil(50).max(1);
    let means = steps.windows(wide).map(|window| {
        let sum: f64 = window.iter().map(|step| step.1).sum();
        (window[wide - 1].0, sum / wide as f64)
    });
    thinned(&means.collect::<Vec<_>>(), STEPS_MAX)
}

fn training(first: &Judged<'_>) -> Part {
    let rounds = first.rounds();
    let mape = [
        Line::new(
            "training pairs",
            TRAIN,
            &by_round(rounds, |r| r.train_mape * 100.0),
        ),
        Line::new("test pairs", TEST, &by_round(rounds, |r| r.test_mape * 100.0)),
    ];
    let row = |round: &Round| {
        vec![
            round.number.to_string(),
            format!("{:.4}", round.loss),
            percent(round.train_mape),
            percent(round.test_mape),
        ]
    };
    let loss = Chart {
        kind: ChartKind::Lines,
        ..chart(
            "Loss",
            "Mean absolute error of L, step by step; the mean of a fiftieth of the steps.",
            Axis::new("rounds", ""),
            Axis::new("loss", ""),
            vec![Line::new("loss", TEST, &losses(rounds))],
        )
    };
    Part {
        title: "Round by round".into(),
        text: String::new(),
        charts: vec![
            loss,
            chart(
                "Mean absolute percentage error",
                "Of the round-trip time itself. Each round has pairs of its own.",
                Axis::new("round", ""),
                Axis::new("MAPE", "%"),
                mape.to_vec(),
            ),
        ],
        tables: vec![Grid {
            head: ["round", "loss", "train MAPE", "test MAPE"]
                .map(String::from)
                .to_vec(),
            rows: rounds.iter().map(row).collect(),
            folded: "The same as a table".into(),
            ..Grid::default()
        }],
    }
}

fn beside(page: &NetworkPage<'_>) -> Option<Part> {
    if page.predictors.len() < 2 {
        return None;
    }
    let last = page.predictors[0].trained.last().number as f64;
    let line = |(one, color): (&Judged<'_>, usize)| match one.is_in_rounds() {
        true => Line::new(
            one.name(),
            color,
            &by_round(one.rounds(), |r| r.test_mape * 100.0),
        ),
        false => Line {
            dash: 1,
            guide: true,
            ..Line::new(one.name(), color, &[1.0, last].map(|x| (x, one.mape * 100.0)))
        },
    };
    Some(Part {
        title: "Predictors beside each other".into(),
        text: "All on the same pairs. Persistence predicts that the next round-trip time will be the last \
               one; AR(3) is linear in the last three features, by least squares."
            .into(),
        charts: vec![Chart {
            width: Width::Full,
            ..chart(
                "Test error by round",
                "Dashed, of all test pairs: what takes no rounds.",
                Axis::new("round", ""),
                Axis::new("test MAPE", "%"),
                page.predictors.iter().zip(0..).map(line).collect(),
            )
        }],
        tables: vec![Grid {
            head: COMPARED.map(String::from).to_vec(),
            rows: page.predictors.iter().map(compared).collect(),
            note: "Mean absolute percentage error: of the test pairs of the first round, of the last, and \
                   of all with the final weights."
                .into(),
            ..Grid::default()
        }],
    })
}

/// Column titles of the table of predictors.
pub const COMPARED: [&str; 5] = [
    "predictor",
    "parameters",
    "first round",
    "last round",
    "test MAPE",
];

/// Returns a predictor's row of that table.
pub fn compared(one: &Judged<'_>) -> Vec<String> {
    vec![
        one.name().to_string(),
        one.parameters.to_string(),
        percent(one.rounds()[0].test_mape),
        percent(one.trained.last().test_mape),
        percent(one.mape),
    ]
}

fn predicted(page: &NetworkPage<'_>, first: &Judged<'_>) -> Result<Option<Part>, Error> {
    if page.test.is_empty() {
        return Ok(None);
    }
    let mut charts = vec![dots(page.test, first), errors(page)];
    let run = |trace: &Trace| (trace.origin.scenario.clone(), trace.origin.scheme.clone());
    // One chart for each scenario and scheme, since further seeds and orders look alike.
    let mut seen = Vec::new();
    for trace in page.traces {
        if seen.len() < STRIPS_MAX && !seen.contains(&run(trace)) {
            seen.push(run(trace));
            charts.extend(strip(trace, first)?);
        }
    }
    Ok(Some(Part {
        title: "Predicted and measured".into(),
        text: "Pairs are drawn evenly from calm and restless moments. In a run most are calm, and errors \
               smaller."
            .into(),
        charts,
        tables: Vec::new(),
    }))
}

/// Returns the round-trip time that the output `out` predicts.
fn rtt(pair: &Pair, out: f32) -> f64 {
    (1.0 + f64::from(out)) * pair.s
}

fn dots(test: &[Pair], first: &Judged<'_>) -> Chart {
    let all: Vec<(f64, f64)> = test
        .iter()
        .zip(&first.out)
        .map(|(pair, &out)| (pair.r, rtt(pair, out)))
        .collect();
    let mut points = thinned(&all, DOTS_MAX);
    points.order_by(|a, b| a.0.total_cmp(&b.0));
    let ends = [points[0].0, points[points.len() - 1].0];
    // A few wild predictions would squeeze all other points together.
    for point in &mut points {
        point.1 = point.1.clamp(ends[0] / BEYOND, ends[1] * BEYOND);
    }
    let equal = Line {
        dash: 1,
        guide: true,
        ..Line::new("as measured", MEASURED, &ends.map(|r| (r, r)))
    };
    let wide = ends[1] > 8.0 * ends[0];
    let axis = |label: &str| Axis {
        log: wide,
        ..Axis::new(label, "µs")
    };
    Chart {
        kind: ChartKind::Dots,
        ..chart(
            "Each pair",
            "On the dashed line the prediction was right. What is beyond all that was measured is at the edge.",
            axis("measured RTT"),
            axis("predicted RTT"),
            vec![Line::new(first.name(), TEST, &points), equal],
        )
    }
}

fn errors(page: &NetworkPage<'_>) -> Chart {
    let line = |(one, color): (&Judged<'_>, usize)| {
        let pairs = page.test.iter().zip(&one.out);
        // Zero has no position on a logarithmic axis.
        let percent = |(pair, &out): (&Pair, &f32)| (pair.error(out) * 100.0).max(LEAST_ERROR);
        let mut errors: Vec<f64> = pairs.map(percent).collect();
        errors.sort_by(f64::total_cmp);
        let share = |i: usize| (i + 1) as f64 / errors.len() as f64 * 100.0;
        let points: Vec<(f64, f64)> = (0..errors.len()).map(|i| (errors[i], share(i))).collect();
        let mut points = thinned(&points, STEPS_MAX / 4);
        // Without the last point the curve could end below 100 %.
        points.push((errors[errors.len() - 1], 100.0));
        Line::new(one.name(), color, &points)
    };
    Chart {
        kind: ChartKind::Step,
        ..chart(
            "How far off",
            "Share of pairs whose error is at most so large.",
            Axis {
                log: true,
                ..Axis::new("error", "%")
            },
            Axis {
                max: Some(100.0),
                ..Axis::new("pairs", "%")
            },
            page.predictors.iter().zip(0..).map(line).collect(),
        )
    }
}

/// Returns a chart of the middle of a run's flow with the most samples.
fn strip(trace: &Trace, first: &Judged<'_>) -> Result<Option<Chart>, Error> {
    let candidates = trace.candidates(0);
    let longest = candidates
        .chunk_by(|a, b| a.flow == b.flow)
        .max_by_key(|pairs| pairs.len());
    let Some(flow) = longest.filter(|pairs| pairs.len() >= STRIP_LEAST) else {
        return Ok(None);
    };
    // The middle of the flow, since its start and end are unlike the rest.
    let from = flow.len().saturating_sub(STRIP) / 2;
    let pairs = &flow[from..flow.len().min(from + STRIP)];
    let out = train::predict(first.trained.options.network, &first.trained.weights, pairs)?;
    // The predicted sample was measured at the time of the next pair's newest feature.
    let next = pairs[1..].iter().map(|pair| pair.at.as_ps() as f64 / 1e6);
    let points = next.zip(pairs.iter().zip(&out));
    let (measured, predicted): (Vec<_>, Vec<_>) = points
        .map(|(at, (pair, &out))| ((at, pair.r), (at, rtt(pair, out))))
        .unzip();
    Ok(Some(Chart {
        kind: ChartKind::Lines,
        width: Width::Full,
        ..chart(
            &format!(
                "One sender of {} under {}",
                trace.origin.scenario, trace.origin.scheme
            ),
            "What was predicted for a sample, where that was measured.",
            Axis::new("time", "µs"),
            Axis::new("RTT", "µs"),
            vec![
                Line::new("measured", MEASURED, &measured),
                Line::new("predicted", TEST, &predicted),
            ],
        )
    }))
}
