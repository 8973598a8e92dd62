//! Which queue pair of a NIC goes next: `qp-scheduling`.

use serde::{Deserialize, Serialize};

/// Which of those that may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchedulingKind {
    RoundRobin,
    Quantum,
    MaxMin,
}
