//! From an outcome to a summary.

mod checks;
mod collectives;
mod flows;
mod groups;
mod sizes;
mod summary;

pub use collectives::CollectiveTime;
pub use flows::{FlowRow, FlowState, flow_rows};
pub use groups::{FlowCount, Group, SIZE_EDGES, SizeBucket};
pub use sizes::{Buckets, FCT_ANALYSIS, fct_table};
pub use summary::{
    BusiestPort, Credits, Ecn, Goodput, Machine, Pfc, QueueBytes, RunStatus, Summary, Totals, summarise,
};
