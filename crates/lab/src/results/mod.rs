//! From an outcome to a summary.

mod checks;
mod flows;
mod groups;
mod standstill;
mod summary;

pub use flows::{FlowRow, FlowState, flow_rows};
pub use groups::{FlowCount, Group, SIZE_EDGES, SizeBucket};
pub use standstill::{Cycle, EndlessPause, Standstill};
pub use summary::{
    BusiestPort, Credits, Ecn, Goodput, Machine, Pfc, QueueBytes, RunStatus, Summary, Totals, summarise,
};
