//! Work between runs and tables that no measure of a run is.

mod flows;

use crate::step::Step;

/// Every step that experiments name.
pub(crate) const ALL: &[Step] = &[flows::STEP];
