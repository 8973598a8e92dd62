//! Records of a network training, for `training.json` and for its page.

use paceline_learn::dataset::{Dataset, EDGES, Origin};
use paceline_learn::on_policy::{Driven, Report};
use paceline_learn::page::{CourseErrors, Judged, NetworkPage};
use paceline_learn::train::{Options, Round};
use serde_json::{Value, json};

/// Returns the content of `training.json`.
pub(super) fn training(report: &NetworkPage<'_>, partial: bool) -> Value {
    let first = &report.predictors[0];
    let options = &first.trained.options;
    let round = |round: &Round| {
        json!({
            "number": round.number,
            "loss": round.loss,
            "train_mape": round.train_mape,
            "test_mape": round.test_mape,
            "losses": round.losses,
        })
    };
    let predictor = |one: &Judged<'_>| {
        json!({
            "network": one.trained.options.network,
            "parameters": one.parameters,
            "test_mape": one.mape,
            "rounds": one.rounds().iter().map(round).collect::<Vec<_>>(),
        })
    };
    let driven = |driven: &Driven| {
        json!({
            "runs": driven.runs,
            "rtt_mean_us": driven.mean_us,
            "rtt_p99_us": driven.p99_us,
            "finish_ms": driven.finish_ms,
            "error": driven.error,
            "persistence": driven.persistence,
        })
    };
    let on_policy = |report: &Report| {
        json!({
            "number": report.number,
            "sources": report.sources,
            "pairs": report.pairs,
            "rounds": report.rounds.iter().map(round).collect::<Vec<_>>(),
            "loop": report.driven.as_ref().map(driven),
        })
    };
    let course = |course: &CourseErrors| {
        let errors = report.predictors.iter().zip(&course.errors);
        let errors =
            errors.map(|(one, &error)| (one.trained.options.network.name().to_string(), json!(error)));
        json!({
            "course": course.name,
            "unseen": course.unseen,
            "pairs": course.pairs,
            "errors": errors.collect::<serde_json::Map<_, _>>(),
        })
    };
    json!({
        "version": paceline_learn::version(),
        "network": options.network,
        "status": if partial { "partial" } else { "completed" },
        "command": report.command,
        "options": {
            "hidden": options.hidden,
            "rounds": options.rounds,
            "train_pairs": options.train_pairs,
            "test_pairs": options.test_pairs,
            "batch": options.batch,
            "learning_rate": options.learning_rate,
            "decay": options.decay,
            "seed": options.seed,
        },
        "data": {
            "sha256": report.dataset.hash(),
            "pairs": report.dataset.pairs.len(),
            "stratum_edges": EDGES,
            "strata": report.dataset.strata(),
            "origins": report.dataset.origins,
        },
        "tested_pairs": report.test.len(),
        "predictors": report.predictors.iter().map(predictor).collect::<Vec<_>>(),
        "courses": report.courses.iter().map(course).collect::<Vec<_>>(),
        "on_policy": report.on_policy.iter().map(on_policy).collect::<Vec<_>>(),
        "warnings": report.warnings,
    })
}

/// Lists the training's settings, for its page.
pub(super) fn facts(options: &Options, dataset: &Dataset) -> Vec<(String, String)> {
    let facts = [
        ("dataset, SHA-256", dataset.hash()),
        ("hidden units", options.hidden.to_string()),
        (
            "pairs of a round",
            format!(
                "{} to learn from, {} to test on",
                options.train_pairs, options.test_pairs
            ),
        ),
        ("pairs of a step", options.batch.to_string()),
        (
            "learning rate",
            match options.decay {
                true => format!("{}, falling to nothing", options.learning_rate),
                false => options.learning_rate.to_string(),
            },
        ),
        ("seed", options.seed.to_string()),
    ];
    facts.map(|(name, value)| (name.to_string(), value)).to_vec()
}

/// Formats the runs of a dataset, such as `incast-20 under timely, lstm-pid`.
pub(super) fn runs(dataset: &Dataset) -> String {
    let part = |part: &[Origin]| {
        let mut schemes: Vec<&str> = part.iter().map(|origin| origin.scheme.as_str()).collect();
        schemes.dedup();
        format!("{} under {}", part[0].scenario, schemes.join(", "))
    };
    let parts = dataset.origins.chunk_by(|a, b| a.scenario == b.scenario);
    parts.map(part).collect::<Vec<_>>().join("; ")
}
