//! Work between runs and tables that no measure of a run is.

mod excess;
mod flows;

use crate::step::Step;

/// Every step that experiments name.
pub(crate) const ALL: &[Step] = &[excess::STEP, flows::STEP];
