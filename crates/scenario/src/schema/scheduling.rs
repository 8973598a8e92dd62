//! Choice of a NIC's next queue pair: `qp-scheduling`.

use serde::{Deserialize, Serialize};

/// Rule for choosing among the queue pairs that may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchedulingKind {
    RoundRobin,
    Quantum,
    MaxMin,
}
