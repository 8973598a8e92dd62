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
    let training = TRAINING.into_iter().find(|known| *known == name).map(|name| Step {
        name,
        title: "training",
        work: |_| {
            Err(crate::StepError::of(
                "this program was built without `training`: `cargo install --path crates/cli --features training` \
                 builds one that has it",
            ))
        },
    });
    all().find(|step| step.name == name).or(training)
}

/// Names of the steps that come with the feature `training`.
#[cfg(any(test, not(feature = "training")))]
const TRAINING: [&str; 28] = [
    "DECC, episode by episode",
    "features",
    "train gains",
    "retrain gains",
    "networks, compressed",
    "models, counted",
    "DECC in trials",
    "train predictors",
    "swift for the grid",
    "td3, seed 1",
    "td3, seed 2",
    "td3, seed 3",
    "ppo, seed 1",
    "ppo, seed 2",
    "ppo, seed 3",
    "paper, seed 1",
    "paper, seed 2",
    "paper, seed 3",
    "no memory, seed 1",
    "no memory, seed 2",
    "no memory, seed 3",
    "own reward, seed 1",
    "own reward, seed 2",
    "own reward, seed 3",
    "on-policy predictors",
    "prediction value",
    "own gains",
    "elsewhere",
];

/// Returns every step without training.
#[cfg(not(feature = "training"))]
pub(crate) fn all() -> impl Iterator<Item = Step> {
    [excess::STEP, flows::STEP, follow::STEP].into_iter()
}

#[cfg(all(test, feature = "training"))]
mod tests;
