//! Actions that are due now.

use super::job::Job;
use crate::program::{OperationId, Rank};

/// Action that is due now; actions are performed in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Todo {
    Begin(Rank),
    Start {
        rank: Rank,
        op: OperationId,
    },
    Done(Job),
    Try(Rank),
    Fire {
        instance: u32,
        member: u32,
        chunk: u64,
        channel: u32,
    },
}
