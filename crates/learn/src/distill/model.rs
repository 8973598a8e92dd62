//! Notes in the file of a distilled forest.

use paceline_congestion::learned::Model;
use paceline_congestion::learned::card::{Data, LAW, Training};
use paceline_congestion::learned::forest::{Forest, ForestError, Parts};
use paceline_forest::distill::{Distilled, Round};
use paceline_forest::prove::{Verdict, prove_claim};
use paceline_forest::train::Rows;
use serde_json::{Map, Value, json};

use super::{Options, Results, Subject};
use crate::Error;

/// Upper limit of the ranges examined per claim.
const BUDGET: u64 = 20_000;
/// Number of rows kept in a forest's file, so that it can be examined without the runs.
const MET: usize = 128;

/// Returns the forest with its notes.
pub(super) fn model(
    teacher: &Model,
    subject: &Subject,
    results: Results<'_>,
    options: &Options,
    command: &str,
) -> Result<Model, Error> {
    let Results { distilled, judged } = results;
    let unwritten =
        |error: serde_json::Error| Error::Options(format!("the forest cannot be written: {error}"));
    let round = |round: &Round| json!({ "round": round.number, "worth": round.worth, "error": round.error, "rows": round.rows });
    let mut about = Map::new();
    let mut put = |key: &str, value: Value| about.insert(key.into(), value);
    put("version", crate::identity::version().into());
    put(
        "teacher",
        json!({ "name": teacher.card().name, "sha256": teacher.card().weights_sha256 }),
    );
    put(
        "training",
        serde_json::to_value(training(options, command)).map_err(unwritten)?,
    );
    put(
        "data",
        serde_json::to_value(data(distilled, subject, options)).map_err(unwritten)?,
    );
    if let Some(law) = teacher.law() {
        put(LAW, serde_json::to_value(law.values()).map_err(unwritten)?);
    }
    put("rounds", distilled.rounds.iter().map(round).collect());
    put("best", distilled.best.into());
    put("gains", distilled.gains.iter().copied().collect());
    put("judged", serde_json::to_value(judged).map_err(unwritten)?);
    put(
        "met",
        met(&distilled.rows, distilled.forest.parts().features.len()),
    );
    let unfit = |error: ForestError| Error::Options(error.to_string());
    let parts = distilled.forest.parts().clone();
    // Claims are proved of a complete forest, whose file then states them.
    let forest = Forest::new(Parts { about, ..parts }).map_err(unfit)?;
    let forest = Forest::new(said(&forest, subject)?).map_err(unfit)?;
    Model::of_forest(forest).map_err(|error| Error::Options(error.to_string()))
}

/// Adds the claims that are proved to the forest; its notes list the verdicts on the others.
fn said(forest: &Forest, subject: &Subject) -> Result<Parts, Error> {
    let mut parts = forest.parts().clone();
    let mut others = Vec::new();
    for claim in (subject.claims)() {
        let finding = prove_claim(forest, &claim, BUDGET).map_err(Error::Options)?;
        match finding.verdict {
            Verdict::Holds => parts.claims.push(claim),
            other => others.push(json!({ "what": claim.what, "verdict": other.name() })),
        }
    }
    if !others.is_empty() {
        parts.about.insert("not_proved".into(), others.into());
    }
    Ok(parts)
}

/// Returns some of the rows, evenly spaced and shortened.
fn met(rows: &Rows, width: usize) -> Value {
    let count = rows.len().min(MET);
    let row = |k: usize| -> Value {
        let at = k * rows.len() / count * width;
        let digits = |x: &f32| json!((f64::from(*x) * 1e4).round() / 1e4);
        rows.features[at..at + width].iter().map(digits).collect()
    };
    (0..count).map(row).collect()
}

fn training(options: &Options, command: &str) -> Training {
    Training {
        command: command.into(),
        rounds: options.rounds as u64,
        batch: 0,
        learning_rate: options.learning_rate,
        optimiser: "boosting".into(),
        loss: "mean square error to the teacher's action".into(),
        seed: options.seed,
        library: "none".into(),
    }
}

fn data(distilled: &Distilled, subject: &Subject, options: &Options) -> Data {
    let rows: usize = distilled.rounds.iter().map(|round| round.rows).sum();
    Data {
        pairs: rows as u64,
        // The last round's rows are not used for learning, because no forest follows.
        train: (rows - distilled.rounds.last().map_or(0, |round| round.rows)) as u64,
        sources: (subject.sources)(options),
        ..Data::default()
    }
}
