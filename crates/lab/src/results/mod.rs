//! From an outcome to a summary.

mod checks;
mod flows;
mod summary;

pub use flows::{FlowRow, FlowState, flow_rows};
pub use summary::{
    BusiestPort, Credits, Ecn, FlowCount, Goodput, Group, Machine, Pfc, QueueBytes, RunStatus, SIZE_EDGES,
    SizeBucket, Summary, Totals, summarise,
};
