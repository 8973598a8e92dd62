//! Jobs by a model in scenarios, for commands that read traces.

use std::path::Path;
use std::sync::Arc;

use paceline_lab::InputWarnings;
use paceline_scenario::{Local, Overrides};
use paceline_traces::model::Plan;

use crate::failure::Failure;
use crate::output;

/// Returns true if a path is that of a scenario's file.
pub(super) fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml") && path.is_file()
}

/// Job of a scenario by a model.
pub(super) struct ModelJob {
    pub(super) label: String,
    pub(super) plan: Arc<Plan>,
    /// Prices of its messages inside servers, if they send no packets.
    pub(super) local: Option<Local>,
}

/// Returns the jobs by a model of a scenario.
///
/// # Errors
/// If the scenario is wrong, or has no such job.
pub(super) fn plans(path: &Path) -> Result<Vec<ModelJob>, Failure> {
    let name = path.display().to_string();
    let input = paceline_lab::load(&name, &Overrides::default())?;
    output::input_warnings(&InputWarnings::of([&input]));
    let jobs = input.jobs.iter();
    let plans: Vec<_> = jobs
        .filter_map(|job| {
            Some(ModelJob {
                label: job.label.clone(),
                plan: job.model.clone()?,
                local: job.local,
            })
        })
        .collect();
    if plans.is_empty() {
        return Err(Failure::arguments(format!(
            "{name}: the scenario has no job by a `model`: `paceline run` runs it, `paceline check` checks it"
        )));
    }
    Ok(plans)
}
