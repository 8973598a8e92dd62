//! Parts of a page on predictors by kind of run: those of training, and those of use.

use paceline_lab::text::percent;
use paceline_report::{Axis, Chart, Grid, Line, Part, Width};

use super::chart::{STEPS_MAX, chart, thinned};
use super::network::Judged;
use crate::Error;
use crate::dataset::{Dataset, Pair, Trace};
use crate::on_policy::{self, Report};
use crate::train::Network;

/// Pairs of one course, a kind of run.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Name of the course in tables.
    pub name: String,
    /// True if its runs were not used for training.
    pub unseen: bool,
    /// Pairs from its runs.
    pub pairs: Vec<Pair>,
}

/// Errors over the pairs of a course.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseErrors {
    /// Name of the course in tables.
    pub name: String,
    /// True if its runs were not used for training.
    pub unseen: bool,
    /// Number of pairs in the course.
    pub pairs: usize,
    /// Mean relative error of each predictor's round-trip times.
    pub errors: Vec<f64>,
}

/// Groups the test pairs of `data` by course.
pub fn tested_courses(data: &Dataset, test: &[Pair]) -> Vec<Course> {
    let mut courses: Vec<Course> = Vec::new();
    for pair in test {
        let Some(origin) = data.origins.get(usize::from(pair.source)) else {
            continue;
        };
        add(&mut courses, origin.course(), false, [*pair]);
    }
    courses
}

/// Groups all pairs of unseen traces by course.
pub fn unseen_courses<'a>(traces: impl IntoIterator<Item = &'a Trace>) -> Vec<Course> {
    let mut courses = Vec::new();
    for trace in traces {
        add(&mut courses, trace.origin.course(), true, trace.candidates(0));
    }
    courses
}

fn add(courses: &mut Vec<Course>, name: String, unseen: bool, pairs: impl IntoIterator<Item = Pair>) {
    match courses.iter_mut().find(|known| known.name == name) {
        Some(known) => known.pairs.extend(pairs),
        None => courses.push(Course {
            name,
            unseen,
            pairs: pairs.into_iter().collect(),
        }),
    }
}

/// Returns the errors of `predictors` over the pairs of each course.
///
/// # Errors
/// A predictor cannot be made into a model.
pub fn errors_by_course(predictors: &[Judged<'_>], courses: &[Course]) -> Result<Vec<CourseErrors>, Error> {
    let predictors: Vec<Predict> = predictors.iter().map(predict).collect::<Result<_, _>>()?;
    let of = |course: &Course| {
        let error = |one: &Predict| {
            let errors = course.pairs.iter().map(|pair| pair.error(one(&pair.k)));
            errors.sum::<f64>() / course.pairs.len().max(1) as f64
        };
        CourseErrors {
            name: course.name.clone(),
            unseen: course.unseen,
            pairs: course.pairs.len(),
            errors: predictors.iter().map(error).collect(),
        }
    };
    Ok(courses.iter().map(of).collect())
}

/// Function from three features to an output.
type Predict = Box<dyn Fn(&[f32; 3]) -> f32>;

/// Returns the predictor as used in runs, which is faster than that of training: courses have many pairs.
fn predict(one: &Judged<'_>) -> Result<Predict, Error> {
    if one.trained.options.network == Network::Persistence {
        return Ok(Box::new(|k| k[2]));
    }
    let model = on_policy::model(one.trained, &one.trained.weights, 0)?;
    let model = model.model().cloned().expect("a model that was made is at hand");
    Ok(Box::new(move |k| model.predict(k)))
}

/// Returns the rows of the table of errors: course, kind of pairs, their number, and the error of each
/// predictor.
pub fn by_course(courses: &[CourseErrors]) -> Vec<Vec<String>> {
    let row = |course: &CourseErrors| {
        let whose = match course.unseen {
            true => "all of runs not learned from",
            false => "test pairs",
        };
        let mut row = vec![course.name.clone(), whose.to_string(), course.pairs.to_string()];
        row.extend(course.errors.iter().map(|&error| percent(error)));
        row
    };
    courses.iter().map(row).collect()
}

/// Returns the part of a page with errors by course.
pub(super) fn errors(predictors: &[Judged<'_>], courses: &[CourseErrors]) -> Option<Part> {
    if courses.is_empty() {
        return None;
    }
    let head = ["course", "pairs of", "pairs"].map(String::from).into_iter();
    let names = predictors.iter().map(|one| one.name().to_string());
    Some(Part {
        title: "Errors by course".into(),
        text: "A predictor is as good as the course that it works in: that of its controller. An error over a mixture \
               of courses is as much about the mixture as about the predictor."
            .into(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: head.chain(names).collect(),
            rows: by_course(courses),
            note: "Mean absolute percentage error of the round-trip time. Test pairs are of the runs that were learned from."
                .into(),
            ..Grid::default()
        }],
    })
}

/// Returns the part of a page on the rounds of an on-policy training.
pub(super) fn rounds(reports: &[Report]) -> Option<Part> {
    if reports.is_empty() {
        return None;
    }
    let curve = |report: &Report| {
        let points: Vec<(f64, f64)> = report
            .rounds
            .iter()
            .map(|round| (round.number as f64, round.test_mape * 100.0))
            .collect();
        Line::new(
            format!("round {}", report.number),
            report.number,
            &thinned(&points, STEPS_MAX),
        )
    };
    let driven = |name: &str, color, of: &dyn Fn(&Report) -> Option<f64>| {
        let points = reports
            .iter()
            .filter_map(|report| Some((report.number as f64, of(report)?)));
        Line::new(name, color, &points.collect::<Vec<_>>())
    };
    let tail = driven("p99", 0, &|report| Some(report.driven?.p99_us));
    let errors = [
        driven("predictor", 0, &|report| Some(report.driven?.error * 100.0)),
        driven("last round trip for the next", 7, &|report| {
            Some(report.driven?.persistence * 100.0)
        }),
    ];
    Some(Part {
        title: "On-policy rounds".into(),
        text: "Round 0 learns from the runs that there were. Then the loop runs with the predictor so far, and it is \
               trained anew on what the loop's senders measured. What the loop came to with each predictor is of runs \
               that this one had not learned from."
            .into(),
        charts: vec![
            Chart {
                width: Width::Full,
                ..chart(
                    "Test error by round of training",
                    "Of the test pairs of each on-policy round: each has a mixture of runs of its own.",
                    Axis::new("round of training", ""),
                    Axis::new("test MAPE", "%"),
                    reports.iter().map(curve).collect(),
                )
            },
            chart(
                "The loop's tail",
                "99th percentile of round-trip times, one per flow and round trip, mean over the round's runs.",
                Axis::new("predictor after on-policy round", ""),
                Axis::new("RTT", "µs"),
                vec![tail],
            ),
            chart(
                "Error in the loop",
                "Of what was predicted in those runs, and had the last round trip stood for the next.",
                Axis::new("predictor after on-policy round", ""),
                Axis::new("error", "%"),
                errors.to_vec(),
            ),
        ],
        tables: vec![Grid {
            head: ON_POLICY.map(String::from).to_vec(),
            rows: reports.iter().map(row).collect(),
            note: "The loop's numbers are means over its runs in this round.".into(),
            ..Grid::default()
        }],
    })
}

/// Column titles of the table of on-policy rounds.
pub const ON_POLICY: [&str; 8] = [
    "round",
    "runs learned from",
    "pairs",
    "test MAPE",
    "loop: p99 RTT, µs",
    "mean RTT, µs",
    "last completion, ms",
    "error",
];

/// Returns a round's row of that table.
pub fn row(report: &Report) -> Vec<String> {
    let number = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| "–".to_string(), |value| format!("{value:.decimals$}"))
    };
    let driven = report.driven.as_ref();
    vec![
        report.number.to_string(),
        report.sources.to_string(),
        report.pairs.to_string(),
        report
            .rounds
            .last()
            .map_or_else(|| "–".into(), |round| percent(round.test_mape)),
        number(driven.map(|driven| driven.p99_us), 3),
        number(driven.map(|driven| driven.mean_us), 3),
        number(driven.and_then(|driven| driven.finish_ms), 3),
        driven.map_or_else(|| "–".into(), |driven| percent(driven.error)),
    ]
}
