//! Steps between runs and tables, for numbers that are not measures of a single run.

#[cfg(feature = "training")]
mod decc_loop;
mod excess;
#[cfg(feature = "training")]
mod features;
mod flows;
mod follow;
#[cfg(feature = "training")]
mod gains;
#[cfg(feature = "training")]
mod learning;
#[cfg(feature = "training")]
mod models;
#[cfg(feature = "training")]
mod predictors;
#[cfg(feature = "training")]
mod swift_grid;
#[cfg(feature = "training")]
mod value;
#[cfg_attr(
    not(feature = "training"),
    allow(dead_code, reason = "trainings need most of it")
)]
mod watched;

use crate::step::Step;

/// Returns every step that experiments name.
#[cfg(feature = "training")]
pub(crate) fn all() -> impl Iterator<Item = Step> {
    const OTHERS: [Step; 12] = [
        decc_loop::STEP,
        excess::STEP,
        flows::STEP,
        features::STEP,
        follow::STEP,
        gains::TRAIN,
        gains::RETRAIN,
        models::COMPRESSED,
        models::COUNTED,
        models::TRIALS,
        predictors::STEP,
        swift_grid::STEP,
    ];
    let own = OTHERS.into_iter().chain(learning::STEPS);
    own.chain(value::STEPS)
}

/// Returns the step with this name.
#[cfg(feature = "training")]
pub(crate) fn named(name: &str) -> Option<Step> {
    all().find(|step| step.name == name)
}

/// Returns the step with this name. In a program built without training, a step that trains fails when it is
/// executed.
#[cfg(not(feature = "training"))]
pub(crate) fn named(name: &str) -> Option<Step> {
    let mut here = all();
    Some(here.find(|step| step.name == name).unwrap_or_else(|| Step {
        name: name.to_string().leak(),
        title: "training",
        work: |_| {
            Err(crate::StepError::of(
                "this program was built without `training`: `cargo install --path crates/cli --features training` \
                 builds one that has it",
            ))
        },
    }))
}

/// Returns every step without training.
#[cfg(not(feature = "training"))]
pub(crate) fn all() -> impl Iterator<Item = Step> {
    [excess::STEP, flows::STEP, follow::STEP].into_iter()
}
