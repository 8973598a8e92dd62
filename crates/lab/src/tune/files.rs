//! Files of a search: the best scenario, candidates, summary.

use std::io::{self, Write as _};
use std::path::Path;

use super::bench::study;
use super::{Found, Options, Standing};
use crate::files::{OutputError, write_file};
use crate::sweep::SweepError;

/// Files of a search, next to its rows.
pub(super) const NAMES: [&str; 5] = [
    "tune.json",
    "tuned.toml",
    "trials.csv",
    "summary.json",
    "index.html",
];

/// Writes `tuned.toml` with the files that it names, `trials.csv` and `summary.json`.
///
/// # Errors
/// A file cannot be written, or the scenario has changed meanwhile.
pub fn write(folder: &Path, options: &Options, found: &Found) -> Result<(), SweepError> {
    let best = &found.trials[found.best];
    let study = study(
        &options.input,
        &options.overrides,
        &found.plan.parameters,
        &best.values,
    );
    let input = study.load(&[], None)?;
    for (name, content) in &input.files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|source| OutputError::Io {
                action: "create",
                path: parent.to_path_buf(),
                source,
            })?;
        }
        write_file(&path, |out| out.write_all(content))?;
    }
    write_file(&folder.join("tuned.toml"), |out| {
        out.write_all(input.toml.as_bytes())
    })?;
    write_file(&folder.join("trials.csv"), |out| trials(out, found))?;
    // The summary is last, so that a folder with one is whole.
    write_file(&folder.join("summary.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, found)?;
        writeln!(out)
    })?;
    Ok(())
}

/// Writes a row per candidate; the first is the scenario as written.
fn trials(out: &mut impl io::Write, found: &Found) -> io::Result<()> {
    let plan = &found.plan;
    let mut csv = csv::Writer::from_writer(out);
    let mut head = vec!["trial".to_string(), "generation".to_string()];
    head.extend(plan.parameters.iter().map(super::Parameter::name));
    head.extend(["standing", "ratio"].map(String::from));
    head.extend(
        plan.seeds
            .iter()
            .map(|seed| format!("{}, seed {seed}", plan.objective.measure)),
    );
    head.push(plan.against.measure.clone());
    head.extend(plan.limits.iter().map(|limit| limit.measure.clone()));
    head.push("message".to_string());
    csv.write_record(&head)?;
    let shown = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (number, trial) in found.trials.iter().enumerate() {
        let (standing, message) = match &trial.standing {
            Standing::Feasible => ("feasible", ""),
            Standing::OverLimit(_) => ("over-limit", ""),
            Standing::Refused(why) => ("refused", why.as_str()),
            Standing::Failed(why) => ("failed", why.as_str()),
        };
        let mut row = vec![number.to_string(), trial.generation.to_string()];
        row.extend(trial.values.iter().cloned());
        row.push(standing.to_string());
        row.push(shown(trial.ratio(plan.objective.maximise)));
        row.extend((0..plan.seeds.len()).map(|seed| shown(trial.objective.get(seed).copied())));
        row.push(shown(trial.against));
        row.extend((0..plan.limits.len()).map(|limit| shown(trial.limits.get(limit).copied())));
        row.push(message.to_string());
        csv.write_record(&row)?;
    }
    csv.flush()
}
