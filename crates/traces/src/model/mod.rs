//! Training jobs from a model's description: messages and computation of each rank, without a trace.
//!
//! [`formulas`] has the size of each message, [`times`] the duration of each computation, [`layout`] the groups of
//! ranks, `schedule` the order of micro-batches, and [`program`](self::program()) puts them together.

mod communication;
mod experts;
pub mod formulas;
pub mod layout;
mod limits;
pub mod listing;
mod pass;
mod plan;
pub mod presets;
mod program;
mod schedule;
mod stage;
pub mod times;

use crate::collective::{Algorithm, CollectiveRules, Rings};

pub use communication::Purpose;
pub use limits::{Fault, MOST_OPERATIONS};
pub use plan::{Gpu, Granularity, PARTS, Parallel, Plan, Precision, Schedule, Training};
pub use presets::{Model, PRESETS, preset};
pub use program::{ModelProgram, program};

/// Returns the rules by which collectives of models run: `rings` of all ranks, and all-to-all directly.
pub fn collective_rules(rings: Rings) -> CollectiveRules {
    CollectiveRules {
        all_to_all: Algorithm::Direct,
        gather_size_is_part: false,
        rings,
        ..CollectiveRules::default()
    }
}
