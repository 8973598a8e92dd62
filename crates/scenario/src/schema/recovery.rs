//! Losses and their recovery: `recovery`, `receiver-order`, `[network.drop]`.

use serde::{Deserialize, Serialize};

/// Loss recovery of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RecoveryKind {
    GoBackN,
    Irn,
    Rud,
}

/// Order of packets that a NIC accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArrivalOrder {
    InOrder,
    OutOfOrder,
}

/// Rule for dropping packets of a lossy class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DropKind {
    Shared,
    Tail,
    Dynamic,
}
