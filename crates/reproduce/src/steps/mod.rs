//! Work between runs and tables that no measure of a run is.

mod decc_loop;
mod excess;
mod features;
mod flows;
mod follow;
mod gains;
mod learning;
mod models;
mod predictors;
mod swift_grid;
mod value;
mod watched;

use crate::step::Step;

/// Every step that experiments name.
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
