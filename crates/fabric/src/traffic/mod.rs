//! Flows: when they start, what they wait for, what became of them.

mod start;
mod tasks;

use crate::outcome::FlowRecord;

pub(crate) use tasks::Dependencies;
pub use tasks::find_cycle;

/// Flows: what they wait for and what became of them.
#[derive(Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) dependencies: Dependencies,
    pub(crate) completions: Vec<u32>,
}
