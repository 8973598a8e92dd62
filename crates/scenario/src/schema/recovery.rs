//! What is lost, and how hosts repair it: `recovery`, `receiver-order`, `[network.drop]`.

use serde::{Deserialize, Serialize};

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RecoveryKind {
    GoBackN,
    Irn,
    Rud,
}

/// In which order a NIC can take packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArrivalOrder {
    InOrder,
    OutOfOrder,
}

/// When a packet of a lossy class is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DropKind {
    Shared,
    Tail,
    Dynamic,
}
