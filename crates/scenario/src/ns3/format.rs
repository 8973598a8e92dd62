//! Programs that an input may have been written for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::diagnostics::suggestion;
use crate::schema::{EXACT, Fidelity};

/// Program that a configuration was written for. The programs share most keys, but interpret some differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputFormat {
    /// The simulator of HPCC's authors (alibaba-edu/High-Precision-Congestion-Control).
    Ns3Hpcc,
    /// The simulator of TCD's authors.
    TcdNs3,
    /// The simulator of DCQCN's authors (bobzhuyb/ns3-rdma): flows are counted in packets.
    Ns3Rdma,
    /// The simulator of ConWeave's authors (conweave-project/conweave-ns3).
    Conweave,
    /// The simulator of PowerTCP's authors (inet-tub/ns3-datacenter).
    Ns3Datacenter,
    /// Settings of SimAI (aliyun/SimAI) in a file `SimAI.conf`.
    Simai,
    /// The simulator of THEMIS' authors (Networked-System-and-Security-Group/Themis).
    Themis,
    /// SimAI's simulator by itself (aliyun/ns-3-alibabacloud): keys with namespaces.
    Ns3Alibabacloud,
}

impl InputFormat {
    /// All formats, in the order in which messages list them.
    pub const ALL: [Self; 8] = [
        Self::Ns3Hpcc,
        Self::TcdNs3,
        Self::Ns3Rdma,
        Self::Conweave,
        Self::Ns3Datacenter,
        Self::Simai,
        Self::Themis,
        Self::Ns3Alibabacloud,
    ];

    /// Returns the name in options and scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns3Hpcc => "ns3-hpcc",
            Self::TcdNs3 => "tcd-ns3",
            Self::Ns3Rdma => "ns3-rdma",
            Self::Conweave => "conweave",
            Self::Ns3Datacenter => "ns3-datacenter",
            Self::Simai => "simai",
            Self::Themis => "themis",
            Self::Ns3Alibabacloud => "ns3-alibabacloud",
        }
    }

    /// Returns the name of the program, for sentences.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Ns3Hpcc => "HPCC's ns-3 simulator",
            Self::TcdNs3 => "the simulator of TCD's authors",
            Self::Ns3Rdma => "ns3-rdma, the simulator of DCQCN's authors",
            Self::Conweave => "ConWeave's ns-3 simulator",
            Self::Ns3Datacenter => "ns3-datacenter, PowerTCP's simulator",
            Self::Simai => "SimAI",
            Self::Themis => "THEMIS' ns-3 simulator",
            Self::Ns3Alibabacloud => "ns-3-alibabacloud",
        }
    }

    /// Returns the default fidelity of its runs. Programs whose quirks are not reproduced use `exact`: the same
    /// experiment in Paceline's own model.
    pub fn fidelity(self) -> Fidelity {
        match self {
            Self::Themis => Self::Ns3Hpcc.fidelity(),
            Self::Ns3Hpcc | Self::TcdNs3 | Self::Simai => Fidelity::named(self.name()).unwrap_or_default(),
            _ => EXACT,
        }
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for InputFormat {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| format!("unknown input format `{text}`: {}", suggestion(text, names)))
    }
}
