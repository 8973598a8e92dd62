//! Record of operations in progress.

use super::results::Class;
use crate::program::{OperationId, Rank};

/// Operation in progress, with the lane it occupies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) rank: Rank,
    pub(super) op: OperationId,
    /// Lane that it still occupies.
    pub(super) lane: u8,
    pub(super) class: Class,
}
