//! How hosts repair losses: `recovery`, `nic`, `[network.irn]`.

use serde::{Deserialize, Serialize};

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RecoveryKind {
    GoBackN,
    Irn,
}

/// In which order a NIC can take packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArrivalOrder {
    InOrder,
    OutOfOrder,
}
