//! Whose behaviour a run has.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which simulator's behaviour a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// Exact picosecond time, no quirks.
    #[default]
    Exact,
    /// HPCC's ns-3 simulator, quirk by quirk.
    Ns3Hpcc,
    /// The Bolt authors' ns-3 simulator, quirk by quirk.
    BoltNs3,
    /// The simulator of TCD's authors (ns-3), quirk by quirk.
    TcdNs3,
    /// The OMNeT++ model of RRCC's author: InfiniBand.
    IbOmnet,
}

impl Fidelity {
    /// Whether it accounts for where the time of flows goes.
    pub const fn accounts(self) -> bool {
        matches!(self, Self::Exact | Self::Ns3Hpcc | Self::IbOmnet)
    }

    /// As the scenario file says it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ns3Hpcc => "ns3-hpcc",
            Self::BoltNs3 => "bolt-ns3",
            Self::TcdNs3 => "tcd-ns3",
            Self::IbOmnet => "ib-omnet",
        }
    }
}

impl FromStr for Fidelity {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Self::Exact),
            "ns3-hpcc" => Ok(Self::Ns3Hpcc),
            "bolt-ns3" => Ok(Self::BoltNs3),
            "tcd-ns3" => Ok(Self::TcdNs3),
            "ib-omnet" => Ok(Self::IbOmnet),
            _ => Err(format!(
                "unknown fidelity `{text}`: expected `exact`, `ns3-hpcc`, `bolt-ns3`, `tcd-ns3` or `ib-omnet`"
            )),
        }
    }
}
