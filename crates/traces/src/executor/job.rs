//! Operations under way.

use super::results::Class;
use crate::program::{OperationId, Rank};

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) rank: Rank,
    pub(super) op: OperationId,
    /// The lane that it still holds.
    pub(super) lane: u8,
    pub(super) class: Class,
}
